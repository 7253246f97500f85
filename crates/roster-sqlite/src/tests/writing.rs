//! Writes: an acknowledged write is stored, and a failed command does not fail others.

use std::sync::Arc;

use roster_core::{EventsQuery, Failure, Refusal, Store, StoreError};
use roster_engine::{Job, Request};
use rusqlite::Connection;

use super::support::{apply, create, delete, id, open, patch, replace, settings};
use crate::{Sqlite, settings::DATABASE};

fn user(n: u64) -> String {
    format!(r#"{{"username":"u{n}","name":"{}"}}"#, "x".repeat(250))
}

#[tokio::test]
async fn a_created_user_survives_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let created = apply(&store, create(1, r#"{"email":"ada@example.com"}"#)).await.unwrap();
    assert_eq!(created.position, 1);
    assert_eq!(store.get(id(1)).await.unwrap().as_ref(), Some(&created.stored));
    drop(store);
    let store = open(directory.path());
    assert_eq!(store.get(id(1)).await.unwrap(), Some(created.stored));
    assert_eq!(store.get(id(2)).await.unwrap(), None);
}

#[tokio::test]
async fn head_and_log_survive_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    apply(&store, create(1, r#"{"username":"a"}"#)).await.unwrap();
    apply(&store, create(2, r#"{"username":"b","status":"suspended"}"#)).await.unwrap();
    apply(&store, replace(3, 1, r#"{"username":"a","title":"t"}"#)).await.unwrap();
    apply(&store, patch(4, 2, r#"{"status":"active"}"#)).await.unwrap();
    apply(&store, delete(5, 1)).await.unwrap();
    let (head, events) = (
        store.head().await.unwrap(),
        store.events(EventsQuery::after(0, 99)).await.unwrap().events,
    );
    assert_eq!((head.position, head.active, head.suspended, head.deleted), (5, 1, 0, 1));
    assert_eq!(events.len(), 5);
    drop(store);
    let store = open(directory.path());
    assert_eq!(store.head().await.unwrap(), head);
    assert_eq!(store.events(EventsQuery::after(0, 99)).await.unwrap().events, events);
    assert_eq!(store.events(EventsQuery::after(3, 1)).await.unwrap().events, events[3..4]);
}

#[tokio::test]
async fn a_full_disk_fails_writes_until_space_is_free_and_reads_continue() {
    let directory = tempfile::tempdir().unwrap();
    let mut small = settings(directory.path());
    small.pages_max = 120;
    let store = Sqlite::open(small).unwrap();
    let mut kept = 0;
    let error = loop {
        match apply(&store, create(kept + 1, &user(kept + 1))).await {
            Ok(_) => kept += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Failure::Store(StoreError::Full(_))), "{error:?}");
    assert!(kept > 10);
    assert!(matches!(store.health().await, Err(StoreError::Full(_))));
    assert!(store.get(id(1)).await.unwrap().is_some());
    assert_eq!(store.head().await.unwrap().position, i64::try_from(kept).unwrap());
    drop(store);
    let store = open(directory.path());
    apply(&store, create(kept + 1, &user(kept + 1))).await.unwrap();
    store.health().await.unwrap();
}

#[tokio::test]
async fn a_full_disk_fails_the_whole_batch_and_leaves_no_gap_in_positions() {
    let directory = tempfile::tempdir().unwrap();
    let mut small = settings(directory.path());
    small.pages_max = 150;
    let store = Sqlite::open(small).unwrap();
    apply(&store, create(1, &user(1))).await.unwrap();
    let results = store.apply((2..=400).map(|n| create(n, &user(n))).collect()).await;
    let full =
        |result: &Result<_, Failure>| matches!(result, Err(Failure::Store(StoreError::Full(_))));
    assert!(results.iter().all(full));
    // There is still space for a smaller write.
    let next = apply(&store, create(2, &user(2))).await.unwrap();
    assert_eq!(next.position, 2);
    store.health().await.unwrap();
}

#[tokio::test]
async fn an_unexpected_error_fails_only_its_command() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    apply(&store, create(1, &user(1))).await.unwrap();
    Connection::open(directory.path().join(DATABASE))
        .unwrap()
        .execute_batch(
            "CREATE TRIGGER poison BEFORE INSERT ON users WHEN new.username_key = 'u5' \
             BEGIN SELECT RAISE(ABORT, 'poison'); END",
        )
        .unwrap();
    let results = store.apply((2..=9).map(|n| create(n, &user(n))).collect()).await;
    for (n, result) in (2..=9).zip(&results) {
        if n == 5 {
            assert!(matches!(result, Err(Failure::Store(StoreError::Internal(_)))), "{result:?}");
        } else {
            assert!(result.is_ok(), "{n}: {result:?}");
        }
        assert_eq!(store.get(id(n)).await.unwrap().is_some(), n != 5);
    }
    let positions: Vec<i64> = results.iter().flatten().map(|outcome| outcome.position).collect();
    assert_eq!(positions, (2..=8).collect::<Vec<_>>());
}

#[tokio::test]
async fn after_a_failed_sync_writes_stop_and_reads_continue() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    apply(&store, create(1, &user(1))).await.unwrap();
    store.shared.health.stop();
    let refused = apply(&store, create(2, &user(2))).await.unwrap_err();
    assert!(matches!(refused, Failure::Store(StoreError::WritesStopped)), "{refused:?}");
    assert!(matches!(store.health().await, Err(StoreError::WritesStopped)));
    assert!(store.get(id(1)).await.unwrap().is_some());
    drop(store);
    // The content of the disk is unknown after a failed sync. The next start recovers from the log.
    assert!(directory.path().join("roster.db-wal").metadata().unwrap().len() > 0);
    let store = open(directory.path());
    assert!(store.get(id(1)).await.unwrap().is_some());
    apply(&store, create(2, &user(2))).await.unwrap();
}

#[tokio::test]
async fn a_full_queue_rejects_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut short = settings(directory.path());
    short.write_queue_max = 600;
    let store = Arc::new(Sqlite::open(short).unwrap());
    // Another connection locks the file, so that the writer executes nothing until all batches are
    // queued.
    let other = Connection::open(directory.path().join(DATABASE)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let batches: Vec<_> = (0..20)
        .map(|batch| {
            let store = Arc::clone(&store);
            let commands = (batch * 500..(batch + 1) * 500).map(|n| create(n, &user(n)));
            let commands = commands.collect();
            tokio::spawn(async move { store.apply(commands).await })
        })
        .collect();
    tokio::task::yield_now().await;
    other.execute_batch("ROLLBACK").unwrap();
    let (mut kept, mut refused) = (0, 0);
    for batch in batches {
        for result in batch.await.unwrap() {
            match result {
                Ok(_) => kept += 1,
                Err(Failure::Store(StoreError::Unavailable(_))) => refused += 1,
                Err(error) => panic!("{error:?}"),
            }
        }
    }
    assert_eq!(kept + refused, 20 * 500);
    assert!(refused > 0, "nothing was refused");
    assert_eq!(store.head().await.unwrap().active, kept);
}

#[tokio::test]
async fn closing_executes_queued_commands_and_rejects_later_ones() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let queued = |n| {
        let request =
            Request::new(store.tenant, store.rules(), &store.schema(), create(n, &user(n)));
        let (job, answer) = Job::new(vec![request]);
        store.shared.queue.push(job).unwrap();
        answer
    };
    let writes: Vec<_> = (1..=200).map(queued).collect();
    store.close();
    for write in writes {
        assert!(write.await.unwrap().results.pop().unwrap().is_ok());
    }
    let refused = apply(&store, create(201, &user(201))).await.unwrap_err();
    assert!(matches!(refused, Failure::Store(StoreError::Unavailable(_))), "{refused:?}");
    drop(store);
    assert_eq!(open(directory.path()).head().await.unwrap().active, 200);
}

#[tokio::test]
async fn commands_that_are_sent_together_do_not_fill_the_cache() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let is_cached = |n| store.shared.cache.get(store.tenant, id(n)).is_some();
    store.apply((1..=3).map(|n| create(n, &user(n))).collect()).await;
    let title = |n, at| patch(at, n, r#"{"title":"Countess"}"#);
    let results = store.apply((1..=2).map(|n| title(n, 4)).collect()).await;
    assert!(results.iter().all(Result::is_ok));
    apply(&store, title(3, 5)).await.unwrap();
    assert_eq!([1, 2, 3].map(is_cached), [false, false, true]);
    let other = |n| patch(6, n, r#"{"title":"Duchess"}"#);
    let results = store.apply((1..=3).map(other).collect()).await;
    assert!(results.iter().all(Result::is_ok));
    let stored = store.get(id(3)).await.unwrap().unwrap();
    assert_eq!(stored.version, 3, "the cache has no former record");
}

#[tokio::test]
async fn commands_of_a_batch_see_each_other_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let mut results = store
        .apply(vec![
            create(1, r#"{"username":"ada"}"#),
            create(2, r#"{"username":"Ada"}"#),
            delete(3, 1),
            create(4, r#"{"username":"ADA"}"#),
            patch(5, 4, r#"{"username":"ada"}"#),
            patch(6, 4, r#"{"username":"ada"}"#),
        ])
        .await
        .into_iter();
    let mut next = || results.next().unwrap();
    assert_eq!(next().unwrap().position, 1);
    assert!(matches!(next(), Err(Failure::Refused(Refusal::Taken(_)))));
    assert_eq!(next().unwrap().position, 2);
    assert_eq!(next().unwrap().position, 3);
    assert_eq!(next().unwrap().position, 4);
    let unchanged = next().unwrap();
    assert_eq!((unchanged.position, unchanged.stored.version), (4, 2));
}
