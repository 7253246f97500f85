//! The rules of the RFC.

use super::*;

#[test]
fn operations_are_applied_in_order() {
    let tree = both(
        r#"{"op":"replace","path":"title","value":"A"},{"op":"remove","path":"title"},
           {"op":"add","path":"title","value":"B"},{"op":"add","path":"nickName","value":"N"}"#,
    );
    holds(&tree, &["title"], r#""B""#);
    holds(&tree, &["nickName"], r#""N""#);
}

#[test]
fn when_an_operation_fails_there_is_no_result_and_the_detail_has_its_number() {
    let list =
        r#"{"op":"replace","path":"title","value":"A"},{"op":"replace","path":"id","value":"x"}"#;
    both_refuse(list, ScimType::Mutability);
    let error = patched(list, Strictness::Strict).expect_err("a refusal");
    assert!(error.detail.starts_with("operation 2: "), "{}", error.detail);
}

#[test]
fn a_body_without_operations_or_of_another_form_is_invalid_syntax() {
    both_refuse("", ScimType::InvalidSyntax);
    for body in [
        "[]",
        "{}",
        r#"{"Operations":{}}"#,
        r#"{"Operations":[7]}"#,
        r#"{"Operations":[{}]}"#,
        r#"{"Operations":[{"op":7}]}"#,
        r#"{"Operations":[{"op":"move","path":"title"}]}"#,
        r#"{"Operations":[{"op":"add","OP":"add","path":"title"}]}"#,
        r#"{"Operations":[{"op":"add"}],"operations":[]}"#,
    ] {
        for strictness in Strictness::ALL {
            let error = read(tree(body), *strictness).expect_err(body);
            assert_eq!(error.scim_type, Some(ScimType::InvalidSyntax), "{body}");
        }
    }
    let without_urn = r#"{"schemas":["x"],"Operations":[{"op":"remove","path":"title"}]}"#;
    assert!(read(tree(without_urn), Strictness::Tolerant).is_ok());
    let error = read(tree(without_urn), Strictness::Strict).expect_err("no URN");
    assert_eq!(error.scim_type, Some(ScimType::InvalidSyntax));
}

#[test]
fn too_many_operations_are_rejected() {
    let list = vec![r#"{"op":"remove","path":"title"}"#; 1001].join(",");
    let error = operations(&list, Strictness::Tolerant).expect_err("too many");
    assert_eq!((error.status, error.scim_type), (413, None));
    assert!(error.detail.contains("1000"));
}

#[test]
fn without_a_path_each_member_of_the_value_is_an_attribute() {
    let list = format!(
        r#"{{"op":"replace","value":{{"title":"A","NAME":{{"givenName":"G"}},"active":false,
            "{ENTERPRISE}":{{"department":"D","manager":{{"value":"m"}},"division":"V"}}}}}}"#
    );
    let tree = both(&list);
    holds(&tree, &["title"], r#""A""#);
    holds(&tree, &["active"], "false");
    holds(&tree, &["name"], r#"{"givenName":"G","familyName":"King"}"#);
    holds(&tree, &[ENTERPRISE], r#"{"department":"D","manager":{"value":"m"},"division":"V"}"#);
    both_refuse(r#"{"op":"add","value":"x"}"#, ScimType::InvalidValue);
    both_refuse(r#"{"op":"replace"}"#, ScimType::InvalidValue);
    both_refuse(r#"{"op":"replace","path":"title"}"#, ScimType::InvalidValue);
}

#[test]
fn strict_parsing_knows_no_qualified_key_and_no_part_that_a_schema_lacks() {
    for (value, is_list) in [
        (format!(r#"{{"{ENTERPRISE}:department":"D"}}"#), false),
        (r#"{"name":{"displayName":"x","givenName":"g"}}"#.to_owned(), false),
        (r#"{"emails":[{"value":"q@x.example","displayName":"x"}]}"#.to_owned(), false),
        // Parts of any list (RFC 7643 section 2.4), which the service computes.
        (r#"{"emails":[{"value":"q@x.example","display":"x","$ref":"y"}]}"#.to_owned(), true),
    ] {
        let list = format!(r#"{{"op":"add","value":{value}}}"#);
        assert!(patched(&list, Strictness::Tolerant).is_ok(), "{value}");
        assert_eq!(patched(&list, Strictness::Strict).is_ok(), is_list, "{value}");
    }
}

#[test]
fn a_removal_without_a_path_has_no_target() {
    both_refuse(r#"{"op":"remove"}"#, ScimType::NoTarget);
    both_refuse(r#"{"op":"remove","value":{"title":"x"}}"#, ScimType::NoTarget);
}

#[test]
fn a_malformed_path_is_an_invalid_path_and_a_malformed_condition_an_invalid_filter() {
    for path in [
        "title.",
        "emails[type eq \\\"work\\\"",
        "emails[type eq \\\"work\\\"]value",
        "emails[type eq \\\"work\\\"].value.x",
        "emails[type eq \\\"work\\\"] ",
        "title title",
        "!title",
        "[type eq \\\"work\\\"]",
        "title[type eq \\\"work\\\"]",
        "name[givenName eq \\\"Ada\\\"]",
        "emails[",
        "emails[type",
        "emails[type eq",
    ] {
        let list = format!(r#"{{"op":"replace","path":"{path}","value":"x"}}"#);
        both_refuse(&list, ScimType::InvalidPath);
    }
    for path in [
        "emails[type is \\\"work\\\"]",
        "emails[colour eq \\\"work\\\"]",
        "emails[type eq 'work']",
        "emails[primary gt true].value",
        "emails[]",
        "x509Certificates[value gt \\\"MII\\\"]",
    ] {
        let list = format!(r#"{{"op":"replace","path":"{path}","value":"x"}}"#);
        both_refuse(&list, ScimType::InvalidFilter);
    }
    both_refuse(r#"{"op":"remove","path":7}"#, ScimType::InvalidPath);
    let unknown = r#"{"op":"replace","path":"colour","value":"x"}"#;
    assert_eq!(refused(unknown, Strictness::Strict), Some(ScimType::InvalidPath));
    let unknown = r#"{"op":"replace","value":{"colour":"x"}}"#;
    assert_eq!(refused(unknown, Strictness::Strict), Some(ScimType::InvalidSyntax));
}

#[test]
fn a_path_ignores_case_and_may_have_a_urn() {
    for path in ["TITLE", "urn:ietf:params:scim:schemas:core:2.0:User:title"] {
        let list = format!(r#"{{"op":"replace","path":"{path}","value":"A"}}"#);
        holds(&both(&list), &["title"], r#""A""#);
    }
    let path = "URN:ietf:params:scim:schemas:extension:ENTERPRISE:2.0:User:Manager.Value";
    let list = format!(r#"{{"op":"add","path":"{path}","value":"m"}}"#);
    holds(&both(&list), &[ENTERPRISE, "manager", "value"], r#""m""#);
}

#[test]
fn adding_appends_to_a_list_replaces_one_value_and_merges_an_object() {
    let tree = both(
        r#"{"op":"add","path":"emails","value":[{"value":"c@x.example","type":"other"}]},
           {"op":"add","path":"emails","value":{"value":"d@x.example"}},
           {"op":"add","path":"title","value":"A"},
           {"op":"add","path":"name","value":{"givenName":"G","middleName":"M"}},
           {"op":"add","path":"name.honorificPrefix","value":"Dr."}"#,
    );
    holds(&tree, &["emails", "2"], r#"{"value":"c@x.example","type":"other"}"#);
    holds(&tree, &["emails", "3"], r#"{"value":"d@x.example"}"#);
    holds(&tree, &["title"], r#""A""#);
    let name = r#"{"givenName":"G","familyName":"King","middleName":"M","honorificPrefix":"Dr."}"#;
    holds(&tree, &["name"], name);
}

#[test]
fn adding_an_existing_value_changes_nothing() {
    for list in [
        r#"{"op":"add","path":"emails","value":[{"value":"ada@home.example","type":"home"}]}"#,
        r#"{"op":"add","path":"emails","value":{"value":"ADA@HOME.example"}}"#,
        r#"{"op":"add","path":"emails","value":{"value":"ada@work.example","primary":true}}"#,
        r#"{"op":"add","path":"emails[type eq \"home\"]","value":{"value":"ada@home.example"}}"#,
        r#"{"op":"add","path":"title","value":"Countess"}"#,
        r#"{"op":"add","path":"name","value":{"givenName":"Ada"}}"#,
        r#"{"op":"add","path":"title","value":null}"#,
        r#"{"op":"add","path":"emails","value":[]}"#,
        r#"{"op":"replace","path":"active","value":true}"#,
        r#"{"op":"remove","path":"nickName"}"#,
        r#"{"op":"remove","path":"emails[value eq \"nobody@x.example\"]"}"#,
        r#"{"op":"remove","path":"phoneNumbers"}"#,
    ] {
        assert_eq!(both(list), ada(), "{list}");
    }
}

#[test]
fn the_same_address_of_another_type_is_another_value() {
    let list = r#"{"op":"add","path":"emails","value":{"value":"ada@home.example","type":"x"}}"#;
    holds(&both(list), &["emails", "2"], r#"{"value":"ada@home.example","type":"x"}"#);
}

#[test]
fn removing_all_values_removes_the_attribute() {
    let tree = both(
        r#"{"op":"remove","path":"title"},{"op":"remove","path":"name.givenName"},
           {"op":"remove","path":"emails[type eq \"home\"]"}"#,
    );
    holds(&tree, &["title"], "null");
    holds(&tree, &["name"], r#"{"familyName":"King"}"#);
    let kept = r#"[{"value":"ada@work.example","type":"work","primary":true}]"#;
    holds(&tree, &["emails"], kept);
    let tree = both(
        r#"{"op":"remove","path":"name.givenName"},{"op":"remove","path":"name.familyName"},
           {"op":"remove","path":"emails[value ew \"example\"]"}"#,
    );
    assert_eq!((at(&tree, &["name"]), at(&tree, &["emails"])), (None, None));
    holds(&both(r#"{"op":"remove","path":"emails"}"#), &["emails"], "null");
    holds(&both(r#"{"op":"remove","path":"emails.type"}"#), &["emails", "0", "type"], "null");
    let tree = both(r#"{"op":"remove","path":"emails[type eq \"home\"].value"}"#);
    holds(&tree, &["emails", "1"], "null");
}

#[test]
fn required_and_read_only_attributes_cannot_be_removed() {
    for path in ["userName", "id", "meta", "meta.created", "schemas"] {
        both_refuse(&format!(r#"{{"op":"remove","path":"{path}"}}"#), ScimType::Mutability);
    }
    let user = r#"{"op":"remove","path":"urn:ietf:params:scim:schemas:core:2.0:User"}"#;
    both_refuse(user, ScimType::Mutability);
    both_refuse(r#"{"op":"replace","path":"userName","value":null}"#, ScimType::Mutability);
    both_refuse(r#"{"op":"replace","value":{"userName":null}}"#, ScimType::Mutability);
}

#[test]
fn replacing_a_missing_value_adds_it() {
    let tree = both(
        r#"{"op":"replace","path":"nickName","value":"N"},
           {"op":"replace","path":"phoneNumbers","value":[{"value":"1"}]},
           {"op":"replace","path":"ims.value","value":"x"}"#,
    );
    holds(&tree, &["nickName"], r#""N""#);
    holds(&tree, &["phoneNumbers"], r#"[{"value":"1"}]"#);
    holds(&tree, &["ims"], r#"[{"value":"x"}]"#);
}

#[test]
fn replacing_sets_a_list_whole_and_the_named_parts_of_an_object() {
    let tree = both(
        r#"{"op":"replace","path":"emails","value":[{"value":"x@x.example"}]},
           {"op":"replace","path":"name","value":{"givenName":"G","familyName":null}}"#,
    );
    holds(&tree, &["emails"], r#"[{"value":"x@x.example"}]"#);
    holds(&tree, &["name"], r#"{"givenName":"G"}"#);
    for none in ["null", "[]"] {
        let list = format!(r#"{{"op":"replace","path":"emails","value":{none}}}"#);
        holds(&both(&list), &["emails"], "null");
    }
    holds(&both(r#"{"op":"replace","path":"title","value":null}"#), &["title"], "null");
}

#[test]
fn replacing_by_a_condition_changes_the_matching_values() {
    let list = r#"{"op":"replace","path":"emails[type eq \"home\"].value","value":"n@x.example"}"#;
    let tree = both(list);
    holds(&tree, &["emails", "1"], r#"{"value":"n@x.example","type":"home"}"#);
    holds(&tree, &["emails", "0", "value"], r#""ada@work.example""#);
    let list = r#"{"op":"replace","path":"emails[type eq \"home\"]",
        "value":{"value":"n@x.example","type":"other","display":"D"}}"#;
    let whole = r#"{"value":"n@x.example","type":"other","display":"D"}"#;
    holds(&both(list), &["emails", "1"], whole);
    let list =
        r#"{"op":"replace","path":"emails[value co \"ada\"]","value":{"value":"one@x.example"}}"#;
    let strict = patched(list, Strictness::Strict).expect("a result");
    holds(&strict, &["emails"], r#"[{"value":"one@x.example"}]"#);
    let list =
        r#"{"op":"replace","path":"emails[type eq \"home\"]","value":{"value":"n@x.example"}}"#;
    let strict = patched(list, Strictness::Strict).expect("a result");
    holds(&strict, &["emails", "1"], r#"{"value":"n@x.example"}"#);
}

#[test]
fn replacing_by_a_condition_without_a_match_has_no_target() {
    let list = r#"{"op":"replace","path":"emails[type eq \"x\"].value","value":"n@x.example"}"#;
    assert_eq!(refused(list, Strictness::Strict), Some(ScimType::NoTarget));
    for op in ["add", "replace"] {
        let list = format!(
            r#"{{"op":"{op}","path":"ims[type eq \"x\" or type eq \"y\"].value","value":"a"}}"#
        );
        both_refuse(&list, ScimType::NoTarget);
        let list =
            format!(r#"{{"op":"{op}","path":"emails[not (type pr)].value","value":"a@b.c"}}"#);
        both_refuse(&list, ScimType::NoTarget);
    }
}

#[test]
fn adding_by_a_condition_without_a_match_creates_the_value() {
    let list = r#"{"op":"add","path":"phoneNumbers[type eq \"mobile\"].value","value":"123"}"#;
    holds(&both(list), &["phoneNumbers"], r#"[{"type":"mobile","value":"123"}]"#);
    let list = r#"{"op":"add","path":"addresses[type eq \"work\" and primary eq true]",
        "value":{"locality":"London"}}"#;
    let address = r#"[{"type":"work","primary":true,"locality":"London"}]"#;
    holds(&both(list), &["addresses"], address);
    let list = r#"{"op":"add","path":"emails[type eq \"x\"].display","value":"D"}"#;
    assert_eq!(refused(list, Strictness::Strict), Some(ScimType::InvalidValue));
}

#[test]
fn becoming_primary_clears_the_flag_of_the_others() {
    for list in [
        r#"{"op":"replace","path":"emails[type eq \"home\"].primary","value":true}"#,
        r#"{"op":"add","path":"emails[type eq \"home\"]","value":{"primary":true}}"#,
        r#"{"op":"add","path":"emails","value":{"value":"ada@home.example","primary":true}}"#,
    ] {
        let tree = both(list);
        holds(&tree, &["emails", "0", "primary"], "false");
        holds(&tree, &["emails", "1", "primary"], "true");
    }
    let list = r#"{"op":"add","path":"emails","value":{"value":"n@x.example","primary":true}}"#;
    let tree = both(list);
    holds(&tree, &["emails", "0", "primary"], "false");
    holds(&tree, &["emails", "2", "primary"], "true");
    both_refuse(r#"{"op":"replace","path":"emails.primary","value":true}"#, ScimType::InvalidValue);
    both_refuse(
        r#"{"op":"replace","path":"emails","value":[{"value":"a@b.c","primary":true},
            {"value":"d@e.f","primary":true}]}"#,
        ScimType::InvalidValue,
    );
}

#[test]
fn read_only_attributes_fail_unless_they_are_unchanged() {
    for (path, value) in [
        ("id", r#""x""#),
        ("meta.version", r#""W/\"9\"""#),
        ("meta", r#"{"version":"W/\"9\""}"#),
        ("urn:ietf:params:scim:schemas:extension:roster:2.0:User:status", r#""suspended""#),
    ] {
        for op in ["add", "replace"] {
            let list = format!(r#"{{"op":"{op}","path":"{path}","value":{value}}}"#);
            both_refuse(&list, ScimType::Mutability);
        }
    }
    for (path, value) in [
        ("id", r#""0190d1c2-8000-7000-8000-000000000001""#),
        ("meta.version", r#""W/\"3\"""#),
        ("meta", r#"{"resourceType":"User"}"#),
        ("schemas", r#"["urn:ietf:params:scim:schemas:core:2.0:User"]"#),
        ("urn:ietf:params:scim:schemas:extension:roster:2.0:User:status", r#""active""#),
    ] {
        let list = format!(r#"{{"op":"replace","path":"{path}","value":{value}}}"#);
        assert_eq!(both(&list), ada(), "{list}");
    }
    both_refuse(r#"{"op":"replace","value":{"id":"x"}}"#, ScimType::Mutability);
    let list = r#"{"op":"replace","value":{"meta":{"version":"W/\"1\""}}}"#;
    assert_eq!(refused(list, Strictness::Strict), Some(ScimType::Mutability));
    let list = r#"{"op":"add","path":"schemas","value":["urn:x"]}"#;
    assert_eq!(refused(list, Strictness::Strict), Some(ScimType::InvalidValue));
}

#[test]
fn schemas_follow_the_attributes_of_an_extension() {
    let list = format!(r#"{{"op":"add","path":"{ENTERPRISE}:department","value":"D"}}"#);
    let tree = both(&list);
    holds(&tree, &["schemas", "2"], &format!("\"{ENTERPRISE}\""));
    let list = format!(r#"{list},{{"op":"remove","path":"{ENTERPRISE}:department"}}"#);
    assert_eq!(both(&list), ada());
    let list = format!(
        r#"{{"op":"add","path":"{ENTERPRISE}","value":{{"department":"D","division":"V"}}}},
           {{"op":"remove","path":"{ENTERPRISE}"}}"#
    );
    assert_eq!(both(&list), ada());
}

#[test]
fn a_value_of_another_type_is_an_invalid_value() {
    for (path, value) in [
        ("title", "7.5"),
        ("title", r#"{"a":1}"#),
        ("title", r#"["a","b"]"#),
        ("active", r#""maybe""#),
        ("active", "1"),
        ("name", r#""Ada King""#),
        ("name.givenName", "true"),
        ("emails", "7"),
        ("emails", r#"[["a"]]"#),
        ("emails", r#"[{"value":true}]"#),
        ("emails[type eq \\\"home\\\"]", r#"[{"value":"a"},{"value":"b"}]"#),
    ] {
        let list = format!(r#"{{"op":"replace","path":"{path}","value":{value}}}"#);
        both_refuse(&list, ScimType::InvalidValue);
    }
    let number = r#"{"op":"replace","path":"title","value":7}"#;
    assert_eq!(refused(number, Strictness::Strict), Some(ScimType::InvalidValue));
    holds(&tolerant(number), &["title"], r#""7""#);
    let incomplete = r#"{"op":"replace","path":"emails","value":[{"type":"work"}]}"#;
    assert_eq!(refused(incomplete, Strictness::Strict), Some(ScimType::InvalidValue));
    let unknown = r#"{"op":"replace","path":"name","value":{"colour":"x"}}"#;
    assert_eq!(refused(unknown, Strictness::Strict), Some(ScimType::InvalidSyntax));
    assert_eq!(refused(unknown, Strictness::Tolerant), Some(ScimType::InvalidValue));
    let twice = r#"{"op":"replace","path":"name","value":{"givenName":"a","GIVENNAME":"b"}}"#;
    both_refuse(twice, ScimType::InvalidSyntax);
}

#[test]
fn custom_attributes_are_changed_key_by_key() {
    let roster = "urn:ietf:params:scim:schemas:extension:roster:2.0:User";
    let list = format!(
        r#"{{"op":"add","path":"{roster}:attributes.tags","value":["a","b"]}},
           {{"op":"replace","path":"{roster}:attributes.Team","value":7}},
           {{"op":"replace","path":"{roster}:attributes.deep.y","value":{{"z":null}}}},
           {{"op":"remove","path":"{roster}:attributes.team"}},
           {{"op":"add","path":"{roster}:attributes","value":{{"new":true}}}}"#
    );
    let expected = r#"{"tags":["a","b"],"deep":{"x":1,"y":{"z":null}},"Team":7,"new":true}"#;
    holds(&both(&list), &[roster, "attributes"], expected);
    let list = format!(r#"{{"op":"remove","path":"{roster}:attributes"}}"#);
    holds(&both(&list), &[roster], r#"{"status":"active"}"#);
    both_refuse(
        &format!(r#"{{"op":"replace","path":"{roster}:attributes","value":"x"}}"#),
        ScimType::InvalidValue,
    );
}

#[test]
fn a_list_does_not_grow_without_bound_in_between() {
    let values: Vec<String> = (0..1001).map(|n| format!(r#"{{"value":"{n}"}}"#)).collect();
    let list = format!(r#"{{"op":"add","path":"roles","value":[{}]}}"#, values.join(","));
    both_refuse(&list, ScimType::InvalidValue);
    let adds: Vec<String> = (0..501)
        .map(|n| {
            format!(
                r#"{{"op":"add","path":"roles","value":[{{"value":"{n}"}},{{"value":"-{n}"}}]}}"#
            )
        })
        .collect();
    both_refuse(&adds.join(","), ScimType::InvalidValue);
}

#[test]
fn an_empty_text_is_no_value() {
    for operation in [
        r#"{"op":"add","path":"title","value":""}"#,
        r#"{"op":"add","path":"name.givenName","value":""}"#,
        r#"{"op":"add","path":"userName","value":""}"#,
        r#"{"op":"add","value":{"title":""}}"#,
    ] {
        assert_eq!(both(operation), ada(), "{operation}");
    }
    let removed = both(r#"{"op":"replace","path":"title","value":""}"#);
    assert_eq!(at(&removed, &["title"]), None);
}
