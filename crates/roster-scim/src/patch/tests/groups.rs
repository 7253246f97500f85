//! PATCH of a group.

use roster_core::UserId;

use super::*;
use crate::patch::{
    PATCH_URN,
    group::{self, GroupPatch},
};

const GROUP: &str = r#"{"schemas":["urn:ietf:params:scim:schemas:core:2.0:Group"],
    "id":"0190d1c2-8000-7000-8000-00000000000a","displayName":"Engines","externalId":"e"}"#;

fn id(n: u8) -> String {
    format!("0190d1c2-8000-7000-8000-0000000000{n:02x}")
}

fn member(n: u8) -> String {
    format!(r#"{{"value":"{}"}}"#, id(n))
}

fn group(list: &str, strictness: Strictness) -> Result<GroupPatch, ScimError> {
    let urn = PATCH_URN;
    let body = format!(r#"{{"schemas":["{urn}"],"Operations":[{list}]}}"#);
    let operations = group::read(body.as_bytes(), strictness).expect("JSON")?;
    group::apply(tree(GROUP), &operations, strictness, &Work::new(COMPARISONS_MAX))
}

/// Returns whether all members are replaced, who is added, and who is removed.
fn change(list: &str, strictness: Strictness) -> (bool, Vec<String>, Vec<String>) {
    let patched = group(list, strictness).unwrap_or_else(|error| panic!("{list}: {error:?}"));
    assert_eq!(patched.tree, tree(GROUP), "{list}");
    let texts = |ids: &std::collections::BTreeSet<UserId>| {
        ids.iter().map(UserId::to_string).collect::<Vec<_>>()
    };
    let members = &patched.members;
    (members.replaces, texts(&members.added), texts(&members.removed))
}

#[test]
fn members_are_added_and_removed_by_value() {
    let list = format!(
        r#"{{"op":"add","path":"members","value":[{},{}]}},
           {{"op":"remove","path":"members[value eq \"{}\"]"}},
           {{"op":"add","value":{{"members":[{}]}}}}"#,
        member(1),
        member(2),
        id(3),
        member(4)
    );
    for strictness in Strictness::ALL {
        let expected = (false, vec![id(1), id(2), id(4)], vec![id(3)]);
        assert_eq!(change(&list, *strictness), expected);
    }
}

#[test]
fn the_last_operation_on_a_member_decides() {
    let list = format!(
        r#"{{"op":"add","path":"members","value":[{0},{1}]}},
           {{"op":"remove","path":"members[value eq \"{2}\" or value eq \"{3}\"]"}},
           {{"op":"add","path":"members","value":{4}}}"#,
        member(1),
        member(2),
        id(1),
        id(3),
        member(3)
    );
    let expected = (false, vec![id(2), id(3)], vec![id(1)]);
    assert_eq!(change(&list, Strictness::Strict), expected);
}

#[test]
fn members_are_replaced_and_removed_all_at_once() {
    let replace = format!(r#"{{"op":"replace","path":"members","value":[{}]}}"#, member(1));
    assert_eq!(change(&replace, Strictness::Strict), (true, vec![id(1)], vec![]));
    let more = format!(
        r#"{replace},{{"op":"add","path":"members","value":[{}]}},
           {{"op":"remove","path":"members[value eq \"{}\"]"}}"#,
        member(2),
        id(1)
    );
    assert_eq!(change(&more, Strictness::Strict), (true, vec![id(2)], vec![]));
    for clearing in [
        r#"{"op":"remove","path":"members"}"#,
        r#"{"op":"replace","path":"members","value":[]}"#,
        r#"{"op":"replace","value":{"members":null}}"#,
    ] {
        assert_eq!(change(clearing, Strictness::Strict), (true, vec![], vec![]), "{clearing}");
    }
}

#[test]
fn a_condition_names_the_member_whatever_the_value() {
    let list = |value| {
        let path = format!(r#"members[value eq \"{}\"]"#, id(1));
        format!(r#"{{"op":"remove","path":"{path}","value":{value}}}"#)
    };
    for value in ["[]", "null", "\"\""] {
        let removed = (false, vec![], vec![id(1)]);
        assert_eq!(change(&list(value), Strictness::Tolerant), removed, "{value}");
    }
    assert!(group(&list("[]"), Strictness::Strict).is_err());
    let nobody = r#"{"op":"remove","path":"members","value":[]}"#;
    assert_eq!(change(nobody, Strictness::Tolerant), (false, vec![], vec![]));
}

#[test]
fn entra_removes_members_by_a_list_in_value() {
    let list = format!(r#"{{"op":"Remove","path":"members","value":[{}]}}"#, member(1));
    assert_eq!(change(&list, Strictness::Tolerant), (false, vec![], vec![id(1)]));
    let nobody = r#"{"op":"Remove","path":"members","value":[{"value":"not an id"}]}"#;
    let refused = group(nobody, Strictness::Tolerant).expect_err("not an id");
    assert_eq!(refused.scim_type, Some(ScimType::InvalidValue));
    let strict = group(&list.replace("Remove", "remove"), Strictness::Strict);
    assert_eq!(strict.expect_err("a value").scim_type, Some(ScimType::InvalidSyntax));
}

#[test]
fn other_parts_of_a_member_are_ignored() {
    let list = format!(
        r#"{{"op":"Add","path":"members","value":[{{"$ref":null,"value":"{}","display":"Ada",
            "type":"User"}}]}}"#,
        id(1)
    );
    assert_eq!(change(&list, Strictness::Tolerant), (false, vec![id(1)], vec![]));
    let bare = format!(r#"{{"op":"Add","path":"members","value":["{}"]}}"#, id(1));
    assert_eq!(change(&bare, Strictness::Tolerant), (false, vec![id(1)], vec![]));
}

#[test]
fn okta_renames_a_group_with_its_id_in_the_value() {
    let id = id(10);
    let list = format!(r#"{{"op":"replace","value":{{"id":"{id}","displayName":"New"}}}}"#);
    for strictness in Strictness::ALL {
        let patched = group(&list, *strictness).expect("a group");
        holds(&patched.tree, &["displayName"], r#""New""#);
        assert!(patched.members.is_none());
    }
    let other = list.replace(&id, "0190d1c2-8000-7000-8000-00000000000b");
    let error = group(&other, Strictness::Tolerant).expect_err("another id");
    assert_eq!(error.scim_type, Some(ScimType::Mutability));
}

#[test]
fn unsupported_operations_on_members_fail() {
    let id = id(1);
    for (list, kind) in [
        (r#"{"op":"add","path":"members","value":[{"value":"x"}]}"#, ScimType::InvalidValue),
        (r#"{"op":"add","path":"members","value":[{"type":"User"}]}"#, ScimType::InvalidValue),
        (r#"{"op":"add","path":"members","value":7}"#, ScimType::InvalidValue),
        (r#"{"op":"remove","path":"members[type eq \"User\"]"}"#, ScimType::InvalidFilter),
        (r#"{"op":"remove","path":"members[value sw \"0190\"]"}"#, ScimType::InvalidFilter),
        (r#"{"op":"remove","path":"members[value"}"#, ScimType::InvalidPath),
        (
            &format!(r#"{{"op":"replace","path":"members[value eq \"{id}\"].value","value":"y"}}"#),
            ScimType::Mutability,
        ),
        (
            &format!(r#"{{"op":"replace","path":"members[value eq \"{id}\"].type","value":"y"}}"#),
            ScimType::Mutability,
        ),
        (r#"{"op":"remove","path":"displayName"}"#, ScimType::Mutability),
    ] {
        for strictness in Strictness::ALL {
            let error = group(list, *strictness).expect_err(list);
            assert_eq!(error.scim_type, Some(kind), "{list} {strictness}");
        }
    }
}

#[test]
fn a_change_of_a_large_group_has_only_the_named_members() {
    let values: Vec<String> =
        (0..20_000).map(|n| format!(r#"{{"value":"0190d1c2-8000-7000-8000-{n:012x}"}}"#)).collect();
    let list = format!(r#"{{"op":"add","path":"members","value":[{}]}}"#, values.join(","));
    let patched = group(&list, Strictness::Strict).expect("a group");
    assert_eq!(patched.members.added.len(), 20_000);
}

#[test]
fn members_that_occur_twice_in_a_value_are_an_error() {
    let urn = crate::schema::GROUP_URN;
    for list in [
        format!(r#"{{"op":"replace","value":{{"Members":[{}],"members":[]}}}}"#, member(1)),
        format!(r#"{{"op":"add","value":{{"members":[],"{urn}:members":[{}]}}}}"#, member(1)),
        format!(
            r#"{{"op":"replace","value":{{"members":[{}],"{urn}":{{"members":[]}}}}}}"#,
            member(1)
        ),
        format!(
            r#"{{"op":"replace","path":"{urn}","value":{{"members":[{}],"MEMBERS":[]}}}}"#,
            member(1)
        ),
    ] {
        for strictness in Strictness::ALL {
            let error = group(&list, *strictness).expect_err(&list);
            assert_eq!(error.scim_type, Some(ScimType::InvalidSyntax), "{list} {strictness}");
            // Strict parsing does not know the qualified name.
            let is_unknown = *strictness == Strictness::Strict && list.contains(&format!("{urn}:"));
            let end = if is_unknown { "/Schemas lists the attributes" } else { "it occurs twice" };
            assert!(error.detail.ends_with(end), "{}", error.detail);
        }
    }
}

#[test]
fn a_name_that_is_nearly_members_is_an_error() {
    let urn = crate::schema::GROUP_URN;
    for list in [
        format!(r#"{{"op":"add","path":"member","value":[{}]}}"#, member(1)),
        r#"{"op":"remove","path":"membres"}"#.to_owned(),
        format!(r#"{{"op":"remove","path":"member[value eq \"{}\"]"}}"#, id(1)),
        format!(r#"{{"op":"add","path":"{urn}:member","value":[{}]}}"#, member(1)),
        format!(r#"{{"op":"add","value":{{"member":[{}]}}}}"#, member(1)),
        format!(r#"{{"op":"add","value":{{"displayName":"X","{urn}":{{"member":[]}}}}}}"#),
    ] {
        let error = group(&list, Strictness::Tolerant).expect_err(&list);
        assert_eq!(error.scim_type, Some(ScimType::InvalidSyntax), "{list}");
        assert!(group(&list, Strictness::Strict).is_err(), "{list}");
    }
    let other = r#"{"op":"add","value":{"memberOf":[],"colour":"x"}}"#;
    assert_eq!(change(other, Strictness::Tolerant), (false, vec![], vec![]));
}

#[test]
fn a_removal_below_the_urn_of_a_group_removes_the_named_members() {
    let urn = crate::schema::GROUP_URN;
    let list = format!(r#"{{"op":"remove","path":"{urn}","value":{{"members":[{}]}}}}"#, member(1));
    assert_eq!(change(&list, Strictness::Tolerant), (false, vec![], vec![id(1)]));
    let error = group(&list, Strictness::Strict).expect_err("a value");
    assert_eq!(error.scim_type, Some(ScimType::InvalidSyntax));
    // Unknown names beside them are ignored.
    for sent in [
        format!(r#"{{"op":"remove","path":"{urn}","value":{{"members":[{}],"x":1}}}}"#, member(1)),
        format!(
            r#"{{"op":"add","value":{{"{urn}":{{"memberOf":[],"members":[{}]}}}}}}"#,
            member(9)
        ),
        format!(r#"{{"op":"add","value":{{"member-of":[],"members":[{}]}}}}"#, member(9)),
        r#"{"op":"add","value":{"member_of":[]}}"#.to_owned(),
    ] {
        assert!(group(&sent, Strictness::Tolerant).is_ok(), "{sent}");
    }
}

#[test]
fn a_body_and_a_patch_read_the_same_members() {
    use Strictness::{Strict, Tolerant};
    let one = id(1);
    for (value, reads) in [
        ("null".to_owned(), ["", ""]),
        ("[]".to_owned(), ["", ""]),
        (format!("[{}]", member(1)), ["1", "1"]),
        (format!("[{},{}]", member(1), member(1)), ["1", "1"]),
        (format!(r#"[{{"value":"{one}","display":"Ada","$ref":null,"type":"User"}}]"#), ["1", "1"]),
        (format!(r#""{one}""#), ["1", "refused"]),
        (format!(r#"["{one}"]"#), ["1", "refused"]),
        (format!(r#"[{{"VALUE":"{one}","role":"lead"}}]"#), ["1", "refused"]),
        (format!(r#"[{{"value":{{"value":"{one}"}}}}]"#), ["1", "refused"]),
        (format!(r#"[{{"value":"{one}","Value":"{one}"}}]"#), ["refused"; 2]),
        (format!(r#"[{{"id":"{one}"}}]"#), ["refused"; 2]),
        (format!("[{},null]", member(1)), ["refused"; 2]),
        (format!("[[{}]]", member(1)), ["refused"; 2]),
        ("[{}]".to_owned(), ["refused"; 2]),
        ("[\"\"]".to_owned(), ["refused"; 2]),
        ("\"\"".to_owned(), ["refused"; 2]),
        ("[{\"value\":null}]".to_owned(), ["refused"; 2]),
        ("[17]".to_owned(), ["refused"; 2]),
        ("17".to_owned(), ["refused"; 2]),
        ("true".to_owned(), ["refused"; 2]),
        ("[{\"value\":\"ada\"}]".to_owned(), ["refused"; 2]),
    ] {
        for (strictness, reads) in [Tolerant, Strict].into_iter().zip(reads) {
            let urn = crate::schema::GROUP_URN;
            let text = format!(r#"{{"schemas":["{urn}"],"displayName":"a","members":{value}}}"#);
            let body = crate::group::read(text.as_bytes(), strictness).expect("JSON");
            let operation = format!(r#"{{"op":"replace","path":"members","value":{value}}}"#);
            let patch = group(&operation, strictness);
            let told = |members: Option<std::collections::BTreeSet<UserId>>| match members {
                None => "refused",
                Some(ids) if ids.is_empty() => "",
                Some(ids) => {
                    assert!(ids.len() == 1 && ids.contains(&UserId::parse(&one).expect("an id")));
                    "1"
                }
            };
            assert_eq!(told(body.ok().map(|body| body.members)), reads, "{strictness} {text}");
            let members = patch.ok().map(|patch| patch.members.added);
            assert_eq!(told(members), reads, "{strictness} {operation}");
        }
    }
    // One operation of a PATCH may add a single value (RFC 7644 section 3.5.2.1).
    for strictness in Strictness::ALL {
        let operation = format!(r#"{{"op":"add","path":"members","value":{}}}"#, member(1));
        assert_eq!(change(&operation, *strictness), (false, vec![one.clone()], Vec::new()));
        let body = format!(
            r#"{{"schemas":["{}"],"displayName":"a","members":{}}}"#,
            crate::schema::GROUP_URN,
            member(1)
        );
        let read = crate::group::read(body.as_bytes(), *strictness).expect("JSON");
        assert_eq!(read.is_ok(), strictness.is_tolerant());
    }
}
