//! Erasing a long history: it takes several steps, also across restarts and backups, and leaves no
//! data.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use roster_core::{Erasure, EventsQuery, Purged, Store, TenantId, Timestamp};
use rusqlite::Connection;
use tokio::runtime::Runtime;

use super::support::{apply, create, delete, id, patch, purge, settings};
use crate::{Making, Sealed, Sqlite, backup, check, purge::mark, settings::DATABASE};

/// The n-th user of the default tenant.
fn of_default(n: u64) -> Purged {
    Purged { tenant: TenantId::DEFAULT, user: Some(id(n)) }
}

/// More events than two steps erase.
const EVENTS: u64 = 2500;

/// The text that every record of the user contains.
const MARK: &str = "Lovelace-4711";

/// A store in which a user with a long history is purged and another one stays.
fn purged(directory: &Path, runtime: &Runtime) -> Sqlite {
    let store = Sqlite::open(settings(directory)).unwrap();
    let user = format!(r#"{{"username":"ada","family_name":"{MARK}"}}"#);
    runtime.block_on(apply(&store, create(1, &user))).unwrap();
    runtime.block_on(apply(&store, create(2, r#"{"username":"grace"}"#))).unwrap();
    for first in (0..EVENTS).step_by(250) {
        let patches = (first..first + 250).map(|n| patch(n, 1, &format!(r#"{{"title":"T{n}"}}"#)));
        let results = runtime.block_on(store.apply(patches.collect()));
        assert!(results.iter().all(Result::is_ok));
    }
    runtime.block_on(apply(&store, delete(EVENTS, 1))).unwrap();
    runtime.block_on(apply(&store, purge(EVENTS, 1))).unwrap();
    store
}

/// How many records of the user are still in the table.
fn records(directory: &Path) -> i64 {
    let connection = Connection::open(directory.join(DATABASE)).unwrap();
    let count = "SELECT count(*) FROM events WHERE subject_id = ?1 AND record <> ''";
    connection.query_row(count, [id(1).as_bytes()], |row| row.get(0)).unwrap()
}

fn is_found(directory: &Path) -> bool {
    fs::read_dir(directory).unwrap().any(|entry| {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        bytes.windows(MARK.len()).any(|it| it.eq_ignore_ascii_case(MARK.as_bytes()))
    })
}

/// Erases the whole history. A step waits while the files are swept.
fn erase(store: &Sqlite, runtime: &Runtime) {
    let begin = Instant::now();
    while runtime.block_on(store.erase(of_default(1))).unwrap() != Erasure::Done {
        assert!(begin.elapsed() < Duration::from_mins(1), "it never ends");
    }
}

fn wait_until_swept(directory: &Path) {
    let begin = Instant::now();
    let connection = Connection::open(directory.join(DATABASE)).unwrap();
    while mark::number(&connection, mark::NAME).unwrap().is_some() {
        assert!(begin.elapsed() < Duration::from_mins(1), "it is never swept");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// No read returns a record of the purged user. The record of the other user is still there.
fn assert_hidden(store: &Sqlite, runtime: &Runtime) {
    let page = runtime.block_on(store.events(EventsQuery::after(0, 10_000))).unwrap();
    let of_users = page.events.iter().filter(|(_, event)| event.kind.is_of_user());
    let shown = of_users.filter(|(_, event)| !event.record.is_empty());
    let shown: Vec<_> = shown.map(|(_, event)| event.user_id).collect();
    assert_eq!(shown, [id(2)]);
}

fn assert_sound(directory: &Path) {
    let findings = check(directory).unwrap();
    let faults: Vec<_> = findings.lines.iter().flat_map(|line| &line.named).collect();
    assert!(faults.is_empty(), "{faults:?}");
}

#[test]
fn a_step_erases_a_thousand_events_and_a_restart_continues() {
    let (directory, runtime) = (tempfile::tempdir().unwrap(), Runtime::new().unwrap());
    let store = purged(directory.path(), &runtime);
    assert_eq!(records(directory.path()), 2502, "the purge leaves a long history to the steps");
    assert_hidden(&store, &runtime);
    assert_eq!(runtime.block_on(store.erase(of_default(1))).unwrap(), Erasure::Pending);
    assert_eq!(records(directory.path()), 1502);
    assert_sound(directory.path());
    drop(store);
    assert!(is_found(directory.path()));

    let store = Sqlite::open(settings(directory.path())).unwrap();
    assert_hidden(&store, &runtime);
    assert_eq!(runtime.block_on(store.pending_erasures()).unwrap(), [of_default(1)]);
    erase(&store, &runtime);
    assert_eq!(runtime.block_on(store.pending_erasures()).unwrap(), []);
    assert_hidden(&store, &runtime);
    wait_until_swept(directory.path());
    assert!(!is_found(directory.path()));
    assert_sound(directory.path());
    drop(store);
    assert!(!is_found(directory.path()));
}

#[test]
fn a_short_history_is_erased_with_the_purge() {
    let (directory, runtime) = (tempfile::tempdir().unwrap(), Runtime::new().unwrap());
    let store = Sqlite::open(settings(directory.path())).unwrap();
    // With the deletion, the user has 1,000 events.
    runtime.block_on(apply(&store, create(1, r#"{"username":"ada"}"#))).unwrap();
    let patches = (0..998).map(|n| patch(n, 1, &format!(r#"{{"title":"T{n}"}}"#))).collect();
    assert!(runtime.block_on(store.apply(patches)).iter().all(Result::is_ok));
    runtime.block_on(store.apply(vec![delete(1000, 1), purge(1000, 1)]));
    assert_eq!(runtime.block_on(store.pending_erasures()).unwrap(), []);
    assert_eq!(records(directory.path()), 0);
}

#[test]
fn purges_of_one_transaction_erase_a_thousand_events_together() {
    let (directory, runtime) = (tempfile::tempdir().unwrap(), Runtime::new().unwrap());
    let store = Sqlite::open(settings(directory.path())).unwrap();
    for n in 1..=2 {
        runtime.block_on(apply(&store, create(n, &format!(r#"{{"username":"u{n}"}}"#)))).unwrap();
        let patches = (0..600).map(|at| patch(at, n, &format!(r#"{{"title":"T{at}"}}"#)));
        let results = runtime.block_on(store.apply(patches.collect()));
        assert!(results.iter().all(Result::is_ok));
        runtime.block_on(apply(&store, delete(1000, n))).unwrap();
    }
    runtime.block_on(store.apply(vec![purge(1000, 1), purge(1000, 2)]));
    assert_eq!(runtime.block_on(store.pending_erasures()).unwrap(), [of_default(2)]);
}

#[test]
fn a_restored_backup_of_a_pending_erasure_hides_the_user() {
    let (directory, runtime) = (tempfile::tempdir().unwrap(), Runtime::new().unwrap());
    let store = purged(directory.path(), &runtime);
    runtime.block_on(store.erase(of_default(1))).unwrap();
    let file = directory.path().join("backup");
    let making = Making { at: Timestamp::from_millis(1), program: "test" };
    backup(directory.path(), &file, making).unwrap();
    let restored = tempfile::tempdir().unwrap();
    let mut sealed = Sealed::open(&file).unwrap();
    let findings = sealed.check().unwrap();
    assert!(findings.lines.iter().all(|line| line.named.is_empty()));
    sealed.restore(restored.path(), Timestamp::from_millis(0)).unwrap();
    let store = Sqlite::open(settings(restored.path())).unwrap();
    assert_hidden(&store, &runtime);
    erase(&store, &runtime);
    wait_until_swept(restored.path());
    assert!(!is_found(restored.path()));
    assert_sound(restored.path());
}

#[test]
fn an_erasure_of_a_user_that_was_not_purged_is_reported() {
    let (directory, runtime) = (tempfile::tempdir().unwrap(), Runtime::new().unwrap());
    let store = Sqlite::open(settings(directory.path())).unwrap();
    runtime.block_on(apply(&store, create(1, r#"{"username":"ada"}"#))).unwrap();
    drop(store);
    let connection = Connection::open(directory.path().join(DATABASE)).unwrap();
    connection.execute("INSERT INTO erasures VALUES (0, ?1, 0)", [id(1).as_bytes()]).unwrap();
    let findings = check(directory.path()).unwrap();
    let faults: Vec<_> = findings.lines.iter().flat_map(|line| &line.named).collect();
    assert_eq!(faults.len(), 1, "{faults:?}");
}
