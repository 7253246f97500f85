//! Requests of identity providers that the RFC does not allow: accepted in tolerant parsing.

use super::*;

#[track_caller]
fn strict_refuses(list: &str, kind: ScimType) {
    assert_eq!(refused(list, Strictness::Strict), Some(kind), "{list}");
}

#[test]
fn entra_capitalises_operations() {
    let list = r#"{"op":"Replace","path":"title","value":"A"},
        {"op":"Add","path":"nickName","value":"N"},{"op":"Remove","path":"name.givenName"}"#;
    let tree = tolerant(list);
    holds(&tree, &["title"], r#""A""#);
    holds(&tree, &["nickName"], r#""N""#);
    holds(&tree, &["name", "givenName"], "null");
    strict_refuses(list, ScimType::InvalidSyntax);
}

#[test]
fn a_boolean_may_be_a_string_at_any_depth() {
    for text in ["False", "false", "FALSE"] {
        let list = format!(r#"{{"op":"Replace","path":"active","value":"{text}"}}"#);
        holds(&tolerant(&list), &["active"], "false");
    }
    let list = r#"{"op":"replace","value":{"active":"False"}}"#;
    holds(&tolerant(list), &["active"], "false");
    let list = r#"{"op":"Add","path":"roles","value":[{"primary":"True","value":"r"}]}"#;
    holds(&tolerant(list), &["roles"], r#"[{"primary":true,"value":"r"}]"#);
    strict_refuses(&list.replace("Add", "add"), ScimType::InvalidValue);
    let list =
        r#"{"op":"Replace","path":"emails[primary eq \"True\"].value","value":"n@x.example"}"#;
    holds(&tolerant(list), &["emails", "0", "value"], r#""n@x.example""#);
    strict_refuses(&list.replace("Replace", "replace"), ScimType::InvalidFilter);
}

#[test]
fn without_a_path_names_may_be_dotted_qualified_and_conditional() {
    let list = format!(
        r#"{{"op":"replace","value":{{"name.givenName":"G","displayName":"D",
            "{ENTERPRISE}:employeeNumber":"7","{ENTERPRISE}:manager.value":"m",
            "emails[type eq \"work\"].value":"n@x.example",
            "phoneNumbers[type eq \"mobile\"].value":"123"}}}}"#
    );
    let tree = tolerant(&list);
    holds(&tree, &["name"], r#"{"givenName":"G","familyName":"King"}"#);
    holds(&tree, &[ENTERPRISE], r#"{"employeeNumber":"7","manager":{"value":"m"}}"#);
    holds(&tree, &["emails", "0", "value"], r#""n@x.example""#);
    holds(&tree, &["phoneNumbers"], r#"[{"type":"mobile","value":"123"}]"#);
    strict_refuses(r#"{"op":"replace","value":{"name.givenName":"G"}}"#, ScimType::InvalidSyntax);
}

#[test]
fn okta_deactivates_without_a_path() {
    let list = r#"{"op":"replace","value":{"active":false}}"#;
    holds(&both(list), &["active"], "false");
}

#[test]
fn a_removal_may_have_its_values_in_value() {
    let list = r#"{"op":"Remove","path":"emails","value":[{"value":"ADA@home.example"}]}"#;
    let tree = tolerant(list);
    holds(&tree, &["emails"], r#"[{"value":"ada@work.example","type":"work","primary":true}]"#);
    assert_eq!(tolerant(r#"{"op":"Remove","path":"emails","value":[]}"#), ada());
    holds(&tolerant(r#"{"op":"Remove","path":"emails","value":null}"#), &["emails"], "null");
    holds(&tolerant(r#"{"op":"Remove","path":"title","value":"x"}"#), &["title"], "null");
    strict_refuses(&list.replace("Remove", "remove"), ScimType::InvalidSyntax);
}

#[test]
fn entra_replaces_a_typed_value_that_does_not_exist() {
    let list = r#"{"op":"Replace","path":"emails[type eq \"other\"].value","value":"n@x.example"}"#;
    holds(&tolerant(list), &["emails", "2"], r#"{"type":"other","value":"n@x.example"}"#);
    strict_refuses(&list.replace("Replace", "replace"), ScimType::NoTarget);
    let list = r#"{"op":"Add","path":"emails[type eq \"other\"].value","value":"n@x.example"}"#;
    holds(&tolerant(list), &["emails", "2"], r#"{"type":"other","value":"n@x.example"}"#);
    let list = r#"{"op":"Replace","path":"addresses[type eq \"work\"].formatted","value":"L"},
        {"op":"Replace","path":"addresses[type eq \"work\"].locality","value":"M"}"#;
    let address = r#"[{"type":"work","formatted":"L","locality":"M"}]"#;
    holds(&tolerant(list), &["addresses"], address);
    let list = r#"{"op":"Add","path":"roles[primary eq \"True\"].value","value":"r"}"#;
    holds(&tolerant(list), &["roles"], r#"[{"primary":true,"value":"r"}]"#);
}

#[test]
fn a_typed_value_that_is_replaced_keeps_the_parts_that_are_not_named() {
    let list =
        r#"{"op":"Replace","path":"emails[type eq \"home\"]","value":{"value":"n@x.example"}}"#;
    holds(&tolerant(list), &["emails", "1"], r#"{"value":"n@x.example","type":"home"}"#);
    let list =
        r#"{"op":"replace","path":"emails[value co \"ada\"]","value":{"value":"one@x.example"}}"#;
    let kept = r#"[{"value":"one@x.example","type":"work","primary":true},
        {"value":"one@x.example","type":"home"}]"#;
    holds(&tolerant(list), &["emails"], kept);
}

#[test]
fn a_manager_may_be_a_string_or_an_object() {
    let whole = r#"{"value":"m","$ref":"../Users/m","displayName":"Max"}"#;
    for (value, expected) in [
        (r#""m""#, r#"{"value":"m"}"#),
        (r#"{"value":"m"}"#, r#"{"value":"m"}"#),
        (whole, whole),
        (r#"[{"$ref":null,"value":"m"}]"#, r#"{"value":"m"}"#),
    ] {
        let list = format!(r#"{{"op":"Add","path":"{ENTERPRISE}:manager","value":{value}}}"#);
        holds(&tolerant(&list), &[ENTERPRISE, "manager"], expected);
    }
    let list = format!(r#"{{"op":"replace","path":"{ENTERPRISE}:manager","value":"m"}}"#);
    strict_refuses(&list, ScimType::InvalidValue);
    let cleared = format!(
        r#"{{"op":"add","path":"{ENTERPRISE}:manager.value","value":"m"}},
           {{"op":"replace","path":"{ENTERPRISE}:manager","value":""}}"#
    );
    assert_eq!(tolerant(&cleared), ada());
}

#[test]
fn unknown_attributes_are_ignored() {
    for list in [
        r#"{"op":"replace","path":"colour","value":"x"}"#,
        r#"{"op":"replace","path":"colours[type eq \"work\"].value","value":"x"}"#,
        r#"{"op":"replace","path":"urn:x:colour","value":"x"}"#,
        r#"{"op":"remove","path":"colour"}"#,
        r#"{"op":"replace","value":{"colour":"x","password":"secret","two words":1}}"#,
        r#"{"op":"add","path":"password","value":"secret"}"#,
    ] {
        assert_eq!(tolerant(list), ada(), "{list}");
    }
}

#[test]
fn an_unknown_part_of_a_known_attribute_is_an_error() {
    for path in [
        "name.colour",
        "title.value",
        "emails.valu",
        "name.givenName.x",
        "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager.valu",
    ] {
        let by_path = format!(r#"{{"op":"replace","path":"{path}","value":"x"}}"#);
        assert_eq!(refused(&by_path, Strictness::Tolerant), Some(ScimType::InvalidPath), "{path}");
        let by_name = format!(r#"{{"op":"replace","value":{{"{path}":"x"}}}}"#);
        assert_eq!(refused(&by_name, Strictness::Tolerant), Some(ScimType::InvalidPath), "{path}");
    }
}

#[test]
fn a_misspelt_member_of_a_removal_does_not_make_it_one_of_everything() {
    for list in [
        r#"{"op":"remove","path":"emails","valu":[{"value":"ada@work.example"}]}"#,
        r#"{"op":"remove","path":"emails","values":[{"value":"ada@work.example"}],"value":null}"#,
    ] {
        both_refuse(list, ScimType::InvalidSyntax);
    }
    // Others cannot do harm, and some clients name their operations.
    let named = r#"{"name":"x","op":"replace","path":"title","value":"T"}"#;
    holds(&tolerant(named), &["title"], r#""T""#);
    strict_refuses(named, ScimType::InvalidSyntax);
}

#[test]
fn a_removal_with_a_value_removes_only_the_parts_that_it_names() {
    let list = r#"{"op":"add","path":"name","value":{"givenName":"Ada","middleName":"M"}},
        {"op":"remove","path":"name","value":{"middleName":"M"}}"#;
    holds(&tolerant(list), &["name", "givenName"], r#""Ada""#);
    holds(&tolerant(list), &["name", "middleName"], "null");
    strict_refuses(list, ScimType::InvalidSyntax);
    let of_other = list.replace(r#""M"}}"#, r#""N"}}"#);
    let of_other = of_other.replacen(r#""middleName":"N"}}"#, r#""middleName":"M"}}"#, 1);
    assert_eq!(refused(&of_other, Strictness::Tolerant), Some(ScimType::InvalidValue));
    for (path, value) in [("title", r#"{"foo":1}"#), ("name", r#"{"foo":1}"#), ("name", "7")] {
        let list = format!(r#"{{"op":"remove","path":"{path}","value":{value}}}"#);
        assert_eq!(refused(&list, Strictness::Tolerant), Some(ScimType::InvalidValue), "{list}");
    }
}

#[test]
fn a_resource_may_be_sent_back_and_read_only_attributes_are_ignored() {
    let list = format!(
        r#"{{"op":"replace","value":{}}}"#,
        ADA.replace(r#""title": "Countess""#, r#""title": "Lady", "groups": []"#)
            .replace(r#"W/\"3\""#, r#"W/\"1\""#)
    );
    let tree = tolerant(&list);
    holds(&tree, &["title"], r#""Lady""#);
    holds(&tree, &["meta", "version"], r#""W/\"3\"""#);
}

#[test]
fn an_extensions_attribute_is_found_without_its_urn() {
    let list = r#"{"op":"Replace","path":"department","value":"D"}"#;
    holds(&tolerant(list), &[ENTERPRISE, "department"], r#""D""#);
    strict_refuses(&list.replace("Replace", "replace"), ScimType::InvalidPath);
}

#[test]
fn an_empty_path_is_none() {
    let list = r#"{"op":"replace","path":"","value":{"title":"A"}}"#;
    holds(&tolerant(list), &["title"], r#""A""#);
    strict_refuses(list, ScimType::InvalidPath);
}

#[test]
fn an_empty_string_clears_a_value_and_an_idle_value_is_left_out() {
    let list = r#"{"op":"Replace","path":"emails[type eq \"home\"].value","value":""}"#;
    let kept = r#"[{"value":"ada@work.example","type":"work","primary":true}]"#;
    holds(&tolerant(list), &["emails"], kept);
    let list = r#"{"op":"Add","path":"phoneNumbers[type eq \"work\"].primary","value":"True"}"#;
    assert_eq!(tolerant(list), ada());
    for list in [
        r#"{"op":"Add","path":"phoneNumbers[type eq \"work\"].display","value":"D"}"#,
        r#"{"op":"Add","path":"emails","value":[{"type":"work"}]}"#,
    ] {
        assert_eq!(refused(list, Strictness::Tolerant), Some(ScimType::InvalidValue), "{list}");
    }
    assert_eq!(tolerant(r#"{"op":"Add","path":"active","value":""}"#), ada());
}

#[test]
fn a_value_may_be_made_part_by_part() {
    let list = r#"{"op":"Add","path":"phoneNumbers[type eq \"work\"].display","value":"D"},
        {"op":"Add","path":"phoneNumbers[type eq \"work\"].value","value":"1"}"#;
    let made = r#"[{"type":"work","display":"D","value":"1"}]"#;
    holds(&tolerant(list), &["phoneNumbers"], made);
    holds(
        &patched(&list.replace("Add", "add"), Strictness::Strict).expect("a result"),
        &["phoneNumbers"],
        made,
    );
}

#[test]
fn an_entry_that_is_left_out_does_not_become_the_primary_one() {
    let path = r#"emails[type eq \"other\"].primary"#;
    for list in [
        format!(r#"{{"op":"add","path":"{path}","value":true}}"#),
        format!(r#"{{"op":"replace","path":"{path}","value":true}}"#),
        format!(r#"{{"op":"add","value":{{"{path}":true}}}}"#),
        format!(
            r#"{{"op":"add","path":"emails[type eq \"other\"].type","value":"other"}},
               {{"op":"add","path":"{path}","value":true}}"#
        ),
    ] {
        assert_eq!(tolerant(&list), ada(), "{list}");
    }
    // Once it has an address, it is the primary one.
    let list = format!(
        r#"{{"op":"add","path":"{path}","value":true}},
           {{"op":"add","path":"emails[type eq \"other\"].value","value":"n@x.example"}}"#
    );
    let tree = both(&list);
    holds(&tree, &["emails", "0", "primary"], "false");
    holds(&tree, &["emails", "2"], r#"{"type":"other","primary":true,"value":"n@x.example"}"#);
    // Until then a path to the primary value leads to it.
    let list = format!(
        r#"{{"op":"add","path":"{path}","value":true}},
           {{"op":"add","path":"emails[primary eq true].value","value":"n@x.example"}}"#
    );
    assert_eq!(both(&list), tree);
    // The last one that is named primary is the primary one.
    let of = |kind: &str, part: &str, value: &str| {
        format!(r#"{{"op":"add","path":"emails[type eq \"{kind}\"].{part}","value":{value}}}"#)
    };
    let list = [
        of("a", "primary", "true"),
        of("b", "primary", "true"),
        of("a", "value", r#""a@x.example""#),
        of("b", "value", r#""b@x.example""#),
    ];
    let tree = both(&list.join(","));
    for (at, is_primary) in [("0", "false"), ("2", "false"), ("3", "true")] {
        holds(&tree, &["emails", at, "primary"], is_primary);
    }
}

#[test]
fn a_removal_of_values_that_are_not_there_is_an_error() {
    let roster = "urn:ietf:params:scim:schemas:extension:roster:2.0:User";
    let other = r#"[{"value":"other@a.example"}]"#;
    for list in [
        format!(r#"{{"op":"remove","path":"emails","value":{other}}}"#),
        r#"{"op":"add","path":"roles","value":[{"value":"r"}]},
            {"op":"remove","path":"roles","value":[{"value":"s"}]}"#
            .to_owned(),
        format!(r#"{{"op":"remove","path":"{roster}:attributes.tags","value":["b"]}}"#),
    ] {
        assert_eq!(refused(&list, Strictness::Tolerant), Some(ScimType::InvalidValue), "{list}");
    }
    // A list without values has lost them already.
    let list = format!(r#"{{"op":"remove","path":"roles","value":{other}}}"#);
    assert_eq!(tolerant(&list), ada());
    let list = format!(r#"{{"op":"remove","path":"{roster}:attributes.tags","value":["b","a"]}}"#);
    holds(&tolerant(&list), &[roster, "attributes", "tags"], "null");
}
