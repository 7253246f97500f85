//! Opening: one process, one secret, and data that the rules allow.

use roster_core::{Rules, Sharing, Store};

use super::support::{apply, create, delete, open, settings};
use crate::{OpenError, Sqlite};

#[test]
fn a_directory_is_served_by_one_store_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let first = open(directory.path());
    let refused = Sqlite::open(settings(directory.path())).err().unwrap();
    assert!(matches!(refused, OpenError::Locked { .. }), "{refused:?}");
    assert!(refused.to_string().contains("roster.lock"), "{refused}");
    drop(first);
    drop(open(directory.path()));
}

#[test]
fn a_directory_that_is_not_there_is_an_error_that_names_it() {
    let directory = tempfile::tempdir().unwrap();
    let refused = Sqlite::open(settings(&directory.path().join("none"))).err().unwrap();
    assert!(refused.to_string().contains("none"), "{refused}");
}

#[test]
fn secret_and_log_are_made_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let (secret, log) = (store.secret().0, store.log_id());
    drop(store);
    let store = open(directory.path());
    assert_eq!((store.secret().0, store.log_id()), (secret, log));
    assert_ne!(secret, [0; 32]);
    let other = tempfile::tempdir().unwrap();
    let other = open(other.path());
    assert_ne!((other.secret().0, other.log_id()), (secret, log));
}

#[tokio::test]
async fn a_stricter_policy_refuses_clashing_addresses_and_counts_them() {
    let directory = tempfile::tempdir().unwrap();
    let mut shared = settings(directory.path());
    shared.rules = Rules { email: Sharing::Shared, ..Rules::default() };
    let store = Sqlite::open(shared.clone()).unwrap();
    for (n, email) in [(1, "a"), (2, "a"), (3, "a"), (4, "b"), (5, "b"), (6, "c")] {
        let user = format!(r#"{{"username":"u{n}","email":"{email}@example.com"}}"#);
        apply(&store, create(n, &user)).await.unwrap();
    }
    // Two without any address share nothing.
    apply(&store, create(7, r#"{"username":"u7"}"#)).await.unwrap();
    apply(&store, create(8, r#"{"username":"u8"}"#)).await.unwrap();
    drop(store);
    let refused = Sqlite::open(settings(directory.path())).err().unwrap();
    assert!(matches!(refused, OpenError::SharedEmails { count: 2 }), "{refused:?}");
    assert!(refused.to_string().contains('2'), "{refused}");

    let store = Sqlite::open(shared).unwrap();
    for n in [1, 2, 4] {
        apply(&store, delete(9, n)).await.unwrap();
    }
    drop(store);
    drop(open(directory.path()));
}

#[tokio::test]
async fn a_stricter_policy_refuses_clashing_external_ids_and_counts_them() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    for n in [1, 2, 3] {
        let user = format!(r#"{{"username":"u{n}","external_id":"e"}}"#);
        apply(&store, create(n, &user)).await.unwrap();
    }
    drop(store);
    let mut unique = settings(directory.path());
    unique.rules.external_id = Sharing::Unique;
    let refused = Sqlite::open(unique).err().unwrap();
    assert!(matches!(refused, OpenError::SharedExternalIds { count: 1 }), "{refused:?}");
    drop(open(directory.path()));
}
