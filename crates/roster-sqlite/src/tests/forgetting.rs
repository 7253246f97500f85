//! Deletion by age: in steps of bounded size, from the start of the log. It does not delay a close.

use roster_core::{EventsQuery, Outlived, Store, StoreError, Timestamp};

use super::support::{DAY, apply, column, create, once, open, patch};

fn before(keys: i64, events: i64) -> Outlived {
    let moment = |after| Timestamp::from_millis(DAY + after);
    Outlived { keys_before: moment(keys), events_before: moment(events) }
}

#[tokio::test]
async fn expired_data_is_deleted_in_steps() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let user = |n: u64| format!(r#"{{"username":"u{n}"}}"#);
    let creates = (1..=2500).map(|n| create(n, &user(n))).collect();
    assert!(store.apply(creates).await.iter().all(Result::is_ok));
    let mut steps = Vec::new();
    while let step @ 1.. = store.forget(before(0, 2201)).await.unwrap() {
        steps.push(step);
    }
    assert_eq!(steps, [1000, 1000, 200]);
    let page = store.events(EventsQuery::after(0, 1)).await.unwrap();
    assert_eq!((page.oldest, page.events[0].0), (2201, 2201));
    assert_eq!(store.head().await.unwrap().active, 2500);
}

#[tokio::test]
async fn events_are_deleted_only_from_the_start_of_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    // The second event has a later time than the third, because the clock went back.
    apply(&store, create(1, r#"{"username":"a"}"#)).await.unwrap();
    apply(&store, create(90, r#"{"username":"b"}"#)).await.unwrap();
    apply(&store, create(3, r#"{"username":"c"}"#)).await.unwrap();
    assert_eq!(store.forget(before(0, 50)).await.unwrap(), 1);
    assert_eq!(store.forget(before(0, 50)).await.unwrap(), 0);
    assert_eq!(
        column(directory.path(), "SELECT position FROM events ORDER BY position"),
        ["2", "3"]
    );
    assert_eq!(store.forget(before(0, 91)).await.unwrap(), 2);
    let next = apply(&store, create(4, r#"{"username":"d"}"#)).await.unwrap();
    assert_eq!(next.position, 4, "positions go on");
}

#[tokio::test]
async fn idempotency_records_expire_by_their_own_age() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    apply(&store, once(1, create(1, r#"{"username":"a"}"#))).await.unwrap();
    apply(&store, once(2, patch(20, 1, r#"{"title":"T"}"#))).await.unwrap();
    assert_eq!(store.forget(before(20, 0)).await.unwrap(), 1);
    assert!(apply(&store, once(2, patch(21, 1, "{}"))).await.unwrap().replayed);
    assert!(!apply(&store, once(1, patch(22, 1, "{}"))).await.unwrap().replayed);
}

#[tokio::test]
async fn deletion_after_a_close_returns_an_error_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    apply(&store, create(1, r#"{"username":"a"}"#)).await.unwrap();
    store.close();
    let refused = store.forget(before(99, 99)).await.unwrap_err();
    assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
}
