//! A response lists 32 violations and counts the others. The cap does not change which of them
//! count.

use roster_core::{Refusal, User, ViolationCode, Violations, limits::ERRORS_MAX};
use serde_json::{Map, Value, json};

use crate::support::{create, patch, replace, stored, view};

fn violations<T: std::fmt::Debug>(result: Result<T, Refusal>) -> Violations {
    match result {
        Err(Refusal::Invalid(violations)) => violations,
        other => panic!("expected violations, found {other:?}"),
    }
}

/// This number of unknown members.
fn unknown(count: usize) -> Map<String, Value> {
    (0..count).map(|number| (format!("emial{number}"), json!(1))).collect()
}

/// A body with further members.
fn with(mut body: Value, further: Map<String, Value>) -> Value {
    body.as_object_mut().expect("an object").extend(further);
    body
}

/// A user whose stored values break rules more often than a response lists.
fn faulty() -> User {
    let texts: Map<String, Value> =
        (0..100).map(|number| (format!("k{number}"), json!("\u{1}"))).collect();
    let entries = |value: &str| -> Value { (0..40).map(|_| json!({ "value": value })).collect() };
    stored(&json!({
        "attributes": texts, "phone_numbers": entries("call me"),
        "roles": (0..510).map(|_| json!({"primary": true, "value": "a\n"})).collect::<Value>(),
    }))
}

#[test]
fn many_violations_are_32_and_a_count() {
    let body = with(json!({"username": "ada"}), unknown(1000));
    let current = stored(&json!({}));
    for found in [
        violations(create(&body)),
        violations(replace(&current, &body)),
        violations(patch(&current, &body)),
    ] {
        assert_eq!((found.items().len(), found.omitted()), (ERRORS_MAX, 1000 - ERRORS_MAX));
        assert!(found.items().iter().all(|found| found.code == ViolationCode::UnknownMember));
    }
    let numbers: Value = (0..1000).map(|_| json!(1)).collect();
    let found = violations(create(&json!({"username": "ada", "emails": numbers})));
    // The list is also too long.
    assert_eq!((found.items().len(), found.total()), (ERRORS_MAX, 1001));
    let parts = json!({"username": "ada", "roles": [unknown(500), unknown(500)]});
    let found = violations(create(&parts));
    // Neither role has a value.
    assert_eq!((found.items().len(), found.total()), (ERRORS_MAX, 1002));
}

#[test]
fn stored_values_excuse_more_violations_than_are_listed() {
    let current = faulty();
    let same = view(&current);
    assert!(replace(&current, &same).is_ok());
    assert!(patch(&current, &json!({"title": "Countess"})).is_ok());
    // A user without such values cannot get them.
    let other = with(same.clone(), Map::new());
    assert!(violations(replace(&stored(&json!({})), &other)).total() > ERRORS_MAX);
}

#[test]
fn excused_violations_hide_none_that_count() {
    let current = faulty();
    let one = violations(replace(&current, &with(view(&current), unknown(1))));
    assert_eq!((one.total(), one.items()[0].pointer.as_str()), (1, "/emial0"));
    let many = violations(replace(&current, &with(view(&current), unknown(40))));
    assert_eq!((many.items().len(), many.omitted()), (ERRORS_MAX, 8));
    assert!(many.items().iter().all(|found| found.code == ViolationCode::UnknownMember));
    // A list that is too long is excused as a whole or not at all.
    let mut longer = view(&current);
    longer["roles"].as_array_mut().expect("a list").push(json!({"value": "b"}));
    let found = violations(replace(&current, &longer));
    assert!(found.items().iter().all(|found| found.pointer.starts_with("/roles")), "{found:?}");
    assert!(found.items().iter().any(|found| found.code == ViolationCode::TooMany));
}

#[test]
fn an_item_that_is_not_an_entry_is_never_excused() {
    let current = faulty();
    let mut longer = view(&current);
    longer["roles"].as_array_mut().expect("a list").push(json!(1));
    let found = violations(replace(&current, &longer));
    assert_eq!((found.total(), found.items()[0].code), (1, ViolationCode::WrongType));
}
