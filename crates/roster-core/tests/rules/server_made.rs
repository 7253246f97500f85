//! Members that the server sets, in a body: preconditions (`id`, `version`) or ignored.

use roster_core::{Refusal, ViolationCode};
use serde_json::json;

use crate::support::{ID, create, faults, patch, replace, stored, user, view};

const OTHER: &str = "0190d1c2-8000-7000-8000-000000000002";

#[test]
fn server_set_members_are_ignored_on_a_create() {
    let made = user(&json!({
        "id": OTHER, "version": 7, "created_at": "x", "updated_at": [], "username": "ada",
    }));
    let seen = view(&made);
    assert_eq!((&seen["id"], &seen["version"]), (&json!(ID), &json!(1)));
    assert_eq!(seen["created_at"], "2024-07-20T20:08:23.296Z");
    for odd in [json!({"id": 1}), json!({"version": "1"}), json!({"version": 1.5})] {
        let mut body = odd;
        body["username"] = json!("ada");
        create(&body).expect("ignored");
    }
}

#[test]
fn the_id_of_a_later_write_is_that_of_the_path_or_rejected() {
    let before = stored(&json!({}));
    for write in [replace, patch] {
        write(&before, &json!({"id": ID, "name": "Ada"})).expect("the same");
        write(&before, &json!({"id": ID.to_uppercase(), "name": "Ada"})).expect("the same");
        write(&before, &json!({"id": null, "name": "Ada"})).expect("none");
        let mismatch = |body| {
            let found = faults(write(&before, &body));
            assert_eq!(found, [("/id".to_owned(), ViolationCode::IdMismatch)], "{body}");
        };
        mismatch(json!({"id": OTHER}));
        mismatch(json!({"id": ""}));
        let found = faults(write(&before, &json!({"id": 7})));
        assert_eq!(found, [("/id".to_owned(), ViolationCode::WrongType)]);
    }
}

#[test]
fn the_version_of_a_later_write_is_a_precondition_like_if_match() {
    let before = stored(&json!({}));
    for write in [replace, patch] {
        assert_eq!(write(&before, &json!({"version": 3, "name": "A"})).expect("held").version, 4);
        write(&before, &json!({"version": null, "name": "A"})).expect("none");
        for stale in [2, 4, 0, -1, i64::MAX] {
            let result = write(&before, &json!({"version": stale, "name": "A"}));
            assert_eq!(result, Err(Refusal::VersionMismatch { current: 3 }));
        }
        for odd in [json!("3"), json!(3.0), json!(true), json!([3])] {
            let found = faults(write(&before, &json!({"version": odd})));
            assert_eq!(found, [("/version".to_owned(), ViolationCode::WrongType)]);
        }
    }
}

#[test]
fn times_of_a_later_write_are_ignored() {
    let before = stored(&json!({"name": "Ada"}));
    for write in [replace, patch] {
        let body = json!({"name": "Ada", "created_at": "1999", "updated_at": 7});
        assert_eq!(write(&before, &body), Ok(before.clone()));
    }
}

#[test]
fn a_stale_version_is_reported_before_violations() {
    let before = stored(&json!({}));
    let body = json!({"version": 2, "locale": "?", "nmae": 1, "id": OTHER});
    for write in [replace, patch] {
        assert_eq!(write(&before, &body), Err(Refusal::VersionMismatch { current: 3 }));
    }
}

#[test]
fn the_get_form_replaces_itself_without_a_change() {
    let before = user(&json!({
        "email": "ada@example.com", "name": "Ada", "status": "suspended", "picture": "urn:x:y",
        "phone_numbers": [{"value": "+44 20", "type": "x"}, {"value": "+44 21", "primary": true}],
        "email_verified": true, "manager": {"id": "1"}, "attributes": {"a": [1.0, 1, null]},
    }));
    assert_eq!(replace(&before, &view(&before)), Ok(before.clone()));
    assert_eq!(patch(&before, &view(&before)), Ok(before.clone()));
}
