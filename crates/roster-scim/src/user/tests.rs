//! Names in the body of a POST or a PUT.

use roster_core::{
    UserSchema, json,
    schema::{DeclaredMember, ValueType},
};

use super::{Sent, UserBody, read};
use crate::{
    ScimError, ScimType, Strictness,
    schema::{ENTERPRISE_URN, ROSTER_URN, USER_URN},
};

/// A schema whose extension has the list `tags`.
fn declared() -> UserSchema {
    let tags = DeclaredMember {
        name: "tags".to_owned(),
        value_type: ValueType::String,
        multi_valued: true,
        required: false,
        index: None,
        case_exact: true,
        description: None,
        scim_schema: Some("urn:acme:User".to_owned()),
    };
    UserSchema { members: vec![tags], ..UserSchema::default() }
}

/// Parses a user with this member, where an extension declares the list `tags`.
fn body(member: &str, strictness: Strictness) -> Result<UserBody, ScimError> {
    let text = format!(r#"{{"schemas":["{USER_URN}"],"userName":"ada",{member}}}"#);
    read(json::read(text.as_bytes()).expect("JSON"), strictness, Sent::Replaced, &declared())
}

#[test]
fn a_path_below_a_known_attribute_is_an_error_unless_it_is_a_part() {
    let condition = r#"[type eq \"work\"].value"#;
    for member in [
        format!(r#""emails{condition}":"a@x.example""#),
        format!(r#""{USER_URN}:emails{condition}":"a@x.example""#),
        format!(r#""{USER_URN}":{{"title":"T","emails{condition}":"a@x.example"}}"#),
        r#""name.givnName":"Ada""#.to_owned(),
        format!(r#""{USER_URN}:Name.givnName":"Ada""#),
        r#""title.value":"T""#.to_owned(),
        r#""department.x":"D""#.to_owned(),
        format!(r#""{ENTERPRISE_URN}:manager.valu":"m""#),
        format!(r#""{ENTERPRISE_URN}":{{"department":"D","manager.valu":"m"}}"#),
        format!(r#""{ROSTER_URN}:attributes.team":"x""#),
        r#""tags.valu":"a""#.to_owned(),
        r#""urn:acme:User:tags[value eq \"a\"]":"b""#.to_owned(),
        r#""urn:acme:User:Tags.valu":"b""#.to_owned(),
        r#""urn:acme:User":{"tags.valu":"b"}"#.to_owned(),
    ] {
        for strictness in Strictness::ALL {
            let refused = body(&member, *strictness).expect_err(&member);
            assert_eq!(refused.scim_type, Some(ScimType::InvalidSyntax), "{member}");
            assert!(!refused.detail.contains("work"), "{member}: {}", refused.detail);
        }
    }
}

#[test]
fn a_path_of_a_part_is_accepted_and_one_of_nothing_known_is_dropped() {
    for member in [
        r#""name.givenName":"Ada""#.to_owned(),
        r#""emails.value":"a@x.example""#.to_owned(),
        format!(r#""{ENTERPRISE_URN}.manager.value":"m""#),
        r#""Manager.value":"m""#.to_owned(),
        format!(r#""{ENTERPRISE_URN}":{{"manager.value":"m"}}"#),
        r#""urn:acme:User:tags.value":["a"]"#.to_owned(),
        r#""urn:acme:User":{"tags.value":["a"]}"#.to_owned(),
        r#""meta.x":1"#.to_owned(),
    ] {
        let read = body(&member, Strictness::Tolerant).expect(&member);
        let is_read_only = member.contains("meta");
        assert_eq!(read.dropped.is_empty(), !is_read_only, "{member}: {:?}", read.dropped);
    }
    let unknown = body(r#""custom.name":1,"urn:x:1.0:User:name.x":2"#, Strictness::Tolerant);
    assert_eq!(unknown.expect("a user").dropped, ["custom.name", "urn:x:1.0:User:name.x"]);
}

#[test]
fn an_empty_username_is_none() {
    for strictness in Strictness::ALL {
        let text = format!(
            r#"{{"schemas":["{USER_URN}"],"userName":"","emails":[{{"value":"a@x.example"}}]}}"#
        );
        let tree = json::read(text.as_bytes()).expect("JSON");
        let refused = read(tree, *strictness, Sent::Replaced, &UserSchema::default());
        assert_eq!(refused.expect_err("no name").scim_type, Some(ScimType::InvalidValue));
    }
}

#[test]
fn repeated_values_of_a_declared_list_are_merged() {
    for strictness in Strictness::ALL {
        let text = format!(
            r#"{{"schemas":["{USER_URN}","urn:acme:User"],"userName":"ada",
                "urn:acme:User":{{"tags":["a","a","b"]}}}}"#
        );
        let tree = json::read(text.as_bytes()).expect("JSON");
        let read = read(tree, *strictness, Sent::Replaced, &declared()).expect("a user");
        let wanted = json::read(br#"["a","b"]"#).expect("JSON");
        assert_eq!(read.changes, [("tags".to_owned(), wanted)], "{strictness}");
    }
}
