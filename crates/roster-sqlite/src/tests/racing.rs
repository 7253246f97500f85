//! Concurrent readers and the writer: no read returns old data or a part of a transaction.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    thread,
};

use roster_core::{Store, list::PageQuery};
use tokio::runtime::Runtime;

use super::support::{apply, create, id, open, patch, settings};
use crate::Sqlite;

const USERS: u64 = 4;

#[test]
fn a_read_sees_every_acknowledged_write() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(open(directory.path()));
    let runtime = Runtime::new().unwrap();
    for n in 0..USERS {
        let user = format!(r#"{{"username":"u{n}"}}"#);
        runtime.block_on(apply(&store, create(n, &user))).unwrap();
    }
    let answered: Arc<[AtomicI64]> = (0..USERS).map(|_| AtomicI64::new(1)).collect();
    let ends = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (store, answered, ends) =
                (Arc::clone(&store), Arc::clone(&answered), Arc::clone(&ends));
            thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                let mut reads = 0_u64;
                while !ends.load(Ordering::SeqCst) {
                    let n = reads % USERS;
                    let at_least = answered[usize::try_from(n).unwrap()].load(Ordering::SeqCst);
                    let got = runtime.block_on(store.get(id(n))).unwrap().unwrap();
                    assert!(got.version >= at_least, "{} < {at_least}", got.version);
                    reads += 1;
                }
                reads
            })
        })
        .collect();
    for at in 1..=600 {
        let n = at % USERS;
        let change = format!(r#"{{"title":"title {at}"}}"#);
        let outcome = runtime.block_on(apply(&store, patch(at, n, &change))).unwrap();
        answered[usize::try_from(n).unwrap()].store(outcome.stored.version, Ordering::SeqCst);
    }
    ends.store(true, Ordering::SeqCst);
    for reader in readers {
        assert!(reader.join().unwrap() > 0);
    }
}

#[test]
fn a_page_and_its_position_come_from_one_snapshot() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(open(directory.path()));
    let ends = Arc::new(AtomicBool::new(false));
    let reader = {
        let (store, ends) = (Arc::clone(&store), Arc::clone(&ends));
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            while !ends.load(Ordering::SeqCst) {
                let query = PageQuery { count: true, ..PageQuery::first(1000) };
                let page = runtime.block_on(store.page(query)).unwrap();
                // This test only creates users, each with one event.
                assert_eq!(i64::try_from(page.items.len()).unwrap(), page.position);
            }
        })
    };
    let runtime = Runtime::new().unwrap();
    for n in 1..=300 {
        let user = format!(r#"{{"username":"u{n}"}}"#);
        runtime.block_on(apply(&store, create(n, &user))).unwrap();
    }
    ends.store(true, Ordering::SeqCst);
    reader.join().unwrap();
}

#[test]
fn exactly_one_of_many_concurrent_claims_of_a_name_succeeds() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(open(directory.path()));
    let runtime = Runtime::new().unwrap();
    for round in 0..20 {
        let tasks: Vec<_> = (0..16)
            .map(|n| {
                let store = Arc::clone(&store);
                let user = format!(r#"{{"username":"name {round}"}}"#);
                runtime.spawn(async move { apply(&store, create(round * 16 + n, &user)).await })
            })
            .collect();
        let results = tasks.into_iter().map(|task| runtime.block_on(task).unwrap());
        assert_eq!(results.flatten().count(), 1);
    }
}

#[test]
fn checkpoints_run_during_writes_and_closing_empties_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let mut settings = settings(directory.path());
    settings.checkpoint_pages = 200;
    let store = Sqlite::open(settings).unwrap();
    let log = directory.path().join("roster.db-wal");
    let runtime = Runtime::new().unwrap();
    let mut largest = 0;
    for batch in 0..150 {
        let user = |n: u64| format!(r#"{{"username":"u{n}","name":"{}"}}"#, "x".repeat(200));
        let commands = (batch * 64..(batch + 1) * 64).map(|n| create(n, &user(n))).collect();
        for result in runtime.block_on(store.apply(commands)) {
            result.unwrap();
        }
        largest = largest.max(log.metadata().unwrap().len());
    }
    // About 20 MB were written to the log.
    assert!(largest < 12 << 20, "the log grew to {largest} bytes");
    store.close();
    assert_eq!(log.metadata().unwrap().len(), 0);
}
