//! `attributes`: free data, stored as sent within its limits.

use roster_core::{
    Draft, ViolationCode, json,
    limits::{ATTRIBUTES_BYTES_MAX, ATTRIBUTES_DEPTH_MAX},
};
use serde_json::{Value, json};

use crate::support::{faults, faults_of_every_write, patch, replace, stored, user, view};

fn nested(levels: usize) -> Value {
    (1..levels).fold(json!({"a": 1}), |inner, level| {
        if level % 2 == 0 { json!({"a": inner}) } else { json!({"a": [inner]}) }
    })
}

fn depth(tree: &Value) -> usize {
    match tree {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

#[test]
fn eight_levels_are_accepted_and_nine_rejected() {
    let chain = |levels: usize| (1..levels).fold(json!({"a": 1}), |inner, _| json!({"a": inner}));
    let accepted = user(&json!({"username": "ada", "attributes": chain(ATTRIBUTES_DEPTH_MAX)}));
    assert_eq!(view(&accepted)["attributes"], chain(8));
    let deep = (String::from("/attributes"), ViolationCode::TooDeep);
    let body = json!({"attributes": chain(ATTRIBUTES_DEPTH_MAX + 1)});
    assert_eq!(faults_of_every_write(&body), std::slice::from_ref(&deep));
    // Arrays count as levels.
    let with_arrays = nested(6);
    assert_eq!(depth(&with_arrays), 9);
    assert_eq!(faults_of_every_write(&json!({"attributes": with_arrays})), [deep]);
    assert_eq!(depth(&nested(5)), 7);
    user(&json!({"username": "ada", "attributes": nested(5)}));
}

#[test]
fn sixteen_kib_of_json_are_accepted_and_one_byte_more_rejected() {
    let frame = r#"{"a":""}"#.len();
    let filled = |bytes: usize| json!({"a": "x".repeat(bytes - frame)});
    user(&json!({"username": "ada", "attributes": filled(ATTRIBUTES_BYTES_MAX)}));
    let body = json!({"attributes": filled(ATTRIBUTES_BYTES_MAX + 1)});
    let large = (String::from("/attributes"), ViolationCode::TooLarge);
    assert_eq!(faults_of_every_write(&body), [large]);
}

#[test]
fn the_limits_apply_to_the_result_of_a_patch() {
    let half = "x".repeat(ATTRIBUTES_BYTES_MAX / 2);
    let before = user(&json!({"username": "ada", "attributes": {"a": half}}));
    let large = (String::from("/attributes"), ViolationCode::TooLarge);
    assert_eq!(faults(patch(&before, &json!({"attributes": {"b": half}}))), [large]);
    let moved = patch(&before, &json!({"attributes": {"a": null, "b": half}})).expect("it fits");
    assert_eq!(view(&moved)["attributes"], json!({"b": half}));
}

#[test]
fn numbers_are_exact_or_rejected() {
    let text = br#"{"username":"a","attributes":{"a":9223372036854775807,"b":-0.5,"c":1e300}}"#;
    let draft = Draft::parse(json::read(text).expect("valid"));
    assert!(format!("{draft:?}").contains("Int(9223372036854775807)"));
    for number in ["9223372036854775808", "-9223372036854775809", "1e400", "123456789012345678901"]
    {
        let text = format!(r#"{{"attributes":{{"a":{number}}}}}"#);
        assert!(json::read(text.as_bytes()).is_err(), "{number}");
    }
}

#[test]
fn null_members_are_dropped_and_nulls_in_arrays_stay() {
    let own = json!({"a": null, "b": {"c": null}, "d": [null, {"e": null, "f": 1}]});
    let kept = user(&json!({"username": "ada", "attributes": own}));
    assert_eq!(view(&kept)["attributes"], json!({"b": {}, "d": [null, {"f": 1}]}));
    let nothing = user(&json!({"username": "ada", "attributes": {"a": null}}));
    assert_eq!(view(&nothing).get("attributes"), None);
}

#[test]
fn line_breaks_are_allowed_in_free_data_and_other_controls_are_not() {
    user(&json!({"username": "ada", "attributes": {"a": "x\r\n\ty"}}));
    let control = ViolationCode::ControlCharacter;
    let body = json!({"attributes": {"a\u{1}": 1, "b": ["x", {"c": "\u{0}"}]}});
    let found =
        [("/attributes/a\u{1}".to_owned(), control), ("/attributes/b/1/c".to_owned(), control)];
    assert_eq!(faults_of_every_write(&body), found);
}

#[test]
fn stored_data_over_the_limits_may_stay_but_not_change() {
    let own = json!({"a": "x".repeat(ATTRIBUTES_BYTES_MAX + 1)});
    let before = stored(&json!({"attributes": own}));
    let kept = replace(&before, &json!({"attributes": own, "name": "Ada"})).expect("as stored");
    assert_eq!(view(&kept)["attributes"], own);
    let mut changed = own;
    changed["b"] = json!(1);
    assert_eq!(faults(replace(&before, &json!({"attributes": changed}))).len(), 1);
}
