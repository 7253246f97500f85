//! Tests of declarations, and of values against them.

use super::*;
use crate::json;

fn draft(text: &str) -> SchemaDraft {
    SchemaDraft::parse(json::read(text.as_bytes()).unwrap())
}

fn schema(text: &str) -> UserSchema {
    let (members, indexed_members) = draft(text).members().unwrap();
    UserSchema { members, indexed_members, ..UserSchema::default() }
}

/// The pointers and codes of the violations.
fn faults(found: impl IntoIterator<Item = Violation>) -> Vec<(String, ViolationCode)> {
    found.into_iter().map(|fault| (fault.pointer, fault.code)).collect()
}

fn members(text: &str) -> Vec<(String, Json)> {
    let Ok(Json::Object(members)) = json::read(text.as_bytes()) else { panic!("not an object") };
    members
}

#[test]
fn all_violations_of_a_schema_are_reported_together() {
    use ViolationCode::{InvalidValue, Required, TooLong, UnknownMember, WrongType};
    let refused = |text: &str| faults(draft(text).members().unwrap_err());
    let at = |pointer: &str, code| (pointer.to_owned(), code);
    assert_eq!(refused("7"), [at("", WrongType)]);
    assert_eq!(refused("{}"), [at("/attributes", Required)]);
    assert_eq!(refused(r#"{"attributes":{}}"#), [at("/attributes", WrongType)]);
    let long = "x".repeat(300);
    let text = format!(
        r#"{{"atributes":1,"version":"1","attributes":[
            7, {{}}, {{"name":"1a","type":"text","kind":1}},
            {{"name":"a","type":"string","required":1,"scim_schema":"acme"}},
            {{"name":"A","type":"string"}},
            {{"name":"b.c","type":7}},
            {{"name":"d","type":"string","scim_schema":"urn:a:{long}"}},
            {{"name":"e","type":"string",
              "scim_schema":"urn:ietf:params:scim:schemas:core:2.0:User"}},
            {{"name":"f","type":"string","scim_schema":"urn:acme:User"}},
            {{"name":"g","type":"string","scim_schema":"urn:acme:User"}},
            {{"name":"h","type":"string","scim_schema":"urn:ACME:user"}},
            {{"name":"i","type":"string","scim_schema":"urn:acme:user:F"}}]}}"#
    );
    assert_eq!(
        refused(&text),
        [
            at("/atributes", UnknownMember),
            at("/version", WrongType),
            at("/attributes/0", WrongType),
            at("/attributes/1/name", Required),
            at("/attributes/1/type", Required),
            at("/attributes/2/name", InvalidValue),
            at("/attributes/2/type", InvalidValue),
            at("/attributes/2/kind", UnknownMember),
            at("/attributes/3/required", WrongType),
            at("/attributes/3/scim_schema", InvalidValue),
            at("/attributes/4/name", InvalidValue),
            at("/attributes/5/name", InvalidValue),
            at("/attributes/5/type", WrongType),
            at("/attributes/6/scim_schema", TooLong),
            at("/attributes/7/scim_schema", InvalidValue),
            at("/attributes/10/scim_schema", InvalidValue),
            at("/attributes/11/scim_schema", InvalidValue),
        ]
    );
    let many = vec![r#"{"name":"a","type":"string"}"#; 101].join(",");
    let many = refused(&format!(r#"{{"attributes":[{many}]}}"#));
    assert_eq!(many, [at("/attributes", ViolationCode::TooMany)]);
}

#[test]
fn a_record_is_read_back_as_it_was_written() {
    let mut schema = schema(
        r#"{"attributes":[
            {"name":"badge","type":"string","required":true,"description":"On the door",
             "scim_schema":"urn:ietf:params:scim:schemas:extension:acme:2.0:User"},
            {"name":"levels","type":"integer","multi_valued":true}]}"#,
    );
    schema.version = 3;
    schema.updated_at = Some(Timestamp::from_millis(7));
    assert_eq!(UserSchema::from_record(&schema.to_record()), Ok(schema));
    let empty = UserSchema::default();
    assert_eq!(UserSchema::from_record(&empty.to_record()), Ok(empty));
    assert!(UserSchema::from_record(b"{}").is_err());
}

#[test]
fn values_are_checked_against_their_declarations() {
    use ViolationCode::{InvalidValue, Required, WrongType};
    let schema = schema(
        r#"{"attributes":[
            {"name":"badge","type":"string","required":true},
            {"name":"level","type":"integer"}, {"name":"rate","type":"number"},
            {"name":"remote","type":"boolean"}, {"name":"since","type":"date_time"},
            {"name":"tags","type":"string","multi_valued":true}]}"#,
    );
    let found = |sent: &str, stored: Option<&str>| {
        let stored = stored.map(members);
        faults(schema.violations(&members(sent), stored.as_deref()))
    };
    let at = |name: &str, code| (format!("/attributes/{name}"), code);
    let fine = r#"{"badge":"7","level":1,"rate":1,"remote":true,"since":"2026-01-02T03:04:05Z",
        "tags":["a"],"more":{}}"#;
    assert_eq!(found(fine, None), []);
    assert_eq!(found(r#"{"badge":"7","rate":0.5,"tags":[]}"#, None), []);
    let wrong = r#"{"badge":7,"level":1.5,"rate":"1","remote":"true","since":"today","tags":"a"}"#;
    let faults = [
        at("badge", WrongType),
        at("level", WrongType),
        at("rate", WrongType),
        at("remote", WrongType),
        at("since", InvalidValue),
        at("tags", WrongType),
    ];
    assert_eq!(found(wrong, None), faults);
    // A stored value is not checked again, even if other members change.
    assert_eq!(found(wrong, Some(wrong)), []);
    let changed = wrong.replace("1.5", "2.5");
    assert_eq!(found(&changed, Some(wrong)), [at("level", WrongType)]);
    assert_eq!(found(r#"{"badge":"7","tags":["a",1]}"#, None), [at("tags/1", WrongType)]);
    // A required member must be given and must not be removed. A stored user without it stays
    // valid.
    assert_eq!(found("{}", None), [at("badge", Required)]);
    assert_eq!(found("{}", Some(r#"{"badge":"7"}"#)), [at("badge", Required)]);
    assert_eq!(found(r#"{"level":1}"#, Some("{}")), []);
}

#[test]
fn a_schema_is_replaced_at_its_version_and_an_equal_one_changes_nothing() {
    use crate::write::command::{Actor, Caller, Preconditions, Tags};
    let decide = |current: &UserSchema, text: &str, if_match: Option<i64>| {
        let if_match = if_match.map(|version| Tags::Versions(vec![version]));
        let preconditions = Preconditions { if_match, if_none_match: None };
        let caller = Caller { actor: Actor::Anonymous, request_id: "r".to_owned() };
        let command = Command::of(draft(text), Timestamp::from_millis(7), caller);
        decide_schema(current, &draft(text), &Command { preconditions, ..command })
    };
    let current = UserSchema::default();
    let one = r#"{"attributes":[{"name":"badge","type":"string"}],"version":1}"#;
    let change = decide(&current, one, Some(1)).unwrap().unwrap();
    assert_eq!((change.schema.version, change.event.version), (2, 2));
    assert_eq!(change.schema.updated_at, Some(Timestamp::from_millis(7)));
    assert_eq!(change.event.record, change.schema.to_record());
    let stale = Err(Refusal::VersionMismatch { current: 1 });
    assert_eq!(decide(&current, one, Some(2)).map(|_| ()), stale);
    let stale = Err(Refusal::VersionMismatch { current: 2 });
    assert_eq!(decide(&change.schema, one, None).map(|_| ()), stale);
    let equal = one.replace(r#","version":1"#, "");
    assert!(decide(&change.schema, &equal, None).unwrap().is_none());

    // The rows of an index are deleted, and its number is not that of a later one.
    let indexed = |name: &str| {
        format!(r#"{{"attributes":[{{"name":"{name}","type":"string","indexed":true}}]}}"#)
    };
    let first = decide(&current, &indexed("a"), None).unwrap().unwrap().schema;
    let none = decide(&first, r#"{"attributes":[]}"#, None).unwrap().unwrap().schema;
    let none = UserSchema { indexes: Vec::new(), ..(*none).clone() };
    let second = decide(&none, &indexed("b"), None).unwrap().unwrap().schema;
    assert_ne!(second.indexes[0].kind, first.indexes[0].kind);
    let last = UserSchema { version: i64::from(i16::MAX) * 1000, ..none };
    assert!(decide(&last, &indexed("c"), None).unwrap().unwrap().schema.indexes[0].kind > 1);
}
