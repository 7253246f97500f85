//! Damage in the data that purged users and requests with an idempotency key leave.

use roster_sqlite::{Findings, check};

use super::{
    damage::hex,
    support::{
        Place, alter, apply, create, delete, full, id, must_tell, must_tell_alone, once, open,
        patch, purge, told,
    },
};

/// The findings for a store that is changed by `sql`. User 1 was purged. Four requests had an
/// idempotency key: they created user 2, patched it without a change, created user 3 and purged
/// user 1.
fn altered(sql: &str) -> Findings {
    let place = Place::new();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let store = open(&place.data());
        let commands = vec![
            create(1, &full(1)),
            once(2, create(2, &full(2))),
            once(3, create(3, &full(3))),
            delete(4, 1),
            once(4, purge(5, 1)),
            once(5, patch(6, 2, r#"{"username":"u2"}"#)),
        ];
        apply(&store, commands).await;
        store.close();
    });
    alter(&place.data(), sql);
    check(&place.data()).unwrap()
}

#[test]
fn a_valid_store_has_no_findings() {
    let findings = altered("");
    assert!(findings.is_sound(), "{}", told(&findings));
    let keys = findings.lines.iter().find(|line| line.name == "idempotency keys").unwrap();
    assert_eq!(keys.count, 4);
}

#[test]
fn a_record_in_the_log_of_a_purged_user_is_found() {
    let sql = format!(
        "UPDATE events SET record = (SELECT replace(record, 'u2', 'u1') FROM users
         WHERE id = x'{}') WHERE position = 1",
        hex(2)
    );
    let what = format!("events of {}: a record is there, but the user was purged", id(1));
    must_tell(&altered(&sql), "events", &what);
}

#[test]
fn a_stored_user_that_was_purged_is_found() {
    let sql = format!(
        "INSERT INTO deleted_users SELECT NULL, 0, x'{}', version, updated_at, username_key,
         email_key, external_id, record FROM users WHERE id = x'{}';
         UPDATE tenants SET deleted = 1",
        hex(1),
        hex(2)
    );
    let findings = altered(&sql);
    let what = format!("events of {}: the user is there, but was purged", id(1));
    must_tell(&findings, "events", &what);
    must_tell(&findings, "deleted users", "the record has another id");
}

#[test]
fn a_user_that_is_live_and_deleted_at_once_is_found() {
    let sql = format!(
        "INSERT INTO deleted_users SELECT NULL, 0, id, version, updated_at, username_key, email_key,
         external_id, record FROM users WHERE id = x'{}';
         UPDATE tenants SET deleted = 1",
        hex(2)
    );
    let what = format!("deleted_users of {}: is live and deleted at once", id(2));
    must_tell(&altered(&sql), "deleted users", &what);
}

#[test]
fn an_idempotency_record_of_the_wrong_event_is_found() {
    for (change, what) in [
        ("position = 1", "the event there is not what the request came to"),
        ("version = 2", "the event there is not what the request came to"),
        ("effect = 'user.updated'", "the event there is not what the request came to"),
        ("position = 99", "there is no such position"),
        ("record = 'x'", "it holds a record that the log has"),
    ] {
        let of = format!("WHERE user_id = x'{}' AND effect = 'user.created'", hex(2));
        let sql = format!("UPDATE idempotency_keys SET {change} {of}");
        must_tell_alone(&altered(&sql), "idempotency keys", what);
    }
}

#[test]
fn an_idempotency_record_without_a_user_record_is_found() {
    for record in ["NULL", "'x'", "replace(record, '\"version\":1', '\"version\":2')"] {
        let sql =
            format!("UPDATE idempotency_keys SET record = {record} WHERE effect = 'unchanged'");
        let what = "its record is not of that user and version";
        must_tell_alone(&altered(&sql), "idempotency keys", what);
    }
}

#[test]
fn an_idempotency_record_of_a_purged_user_is_found() {
    let sql =
        format!("UPDATE idempotency_keys SET user_id = x'{}' WHERE effect = 'unchanged'", hex(1));
    must_tell_alone(&altered(&sql), "idempotency keys", "there is no such user");
}
