//! Changes of large groups: how many of them one transaction executes.

use std::{
    sync::{Arc, mpsc},
    task::{Context, Waker},
};

use roster_core::{Command, GroupStore, Store, StoreError};
use roster_engine::MEMBERSHIPS_MAX;

use super::support::{apply, create, create_group, id, open};
use crate::Sqlite;

/// Keeps the writer busy until the sender is dropped.
fn hold_writer(store: &Arc<Sqlite>) -> mpsc::Sender<()> {
    let (release, released) = mpsc::channel::<()>();
    let (started, wait_for_start) = mpsc::channel();
    let store = Arc::clone(store);
    tokio::spawn(async move {
        let wait = move |_: &_| {
            started.send(()).unwrap();
            assert!(released.recv().is_err(), "nobody sends");
            Ok::<_, StoreError>(())
        };
        store.shared.task(wait).await
    });
    wait_for_start.recv().unwrap();
    release
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_holds_one_change_of_a_large_group() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(open(directory.path()));
    let members: Vec<u64> = (1..=u64::try_from(MEMBERSHIPS_MAX).unwrap()).collect();
    let users = members.iter().map(|n| create(*n, &format!(r#"{{"username":"u{n}"}}"#)));
    assert!(store.apply(users.collect()).await.iter().all(Result::is_ok));

    let transactions = async |commands: Vec<Command>| {
        let release = hold_writer(&store);
        let before = store.shared.checkpoints.commits();
        let asked = commands.into_iter().map(|command| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { apply(&store, command).await })
        });
        let asked: Vec<_> = asked.collect();
        let last = {
            let store = Arc::clone(&store);
            let last = create(90_000 + before, &format!(r#"{{"username":"last{before}"}}"#));
            tokio::spawn(async move { apply(&store, last).await })
        };
        while store.shared.queue.waiting() <= asked.len() {
            tokio::task::yield_now().await;
        }
        drop(release);
        for answer in asked {
            answer.await.unwrap().unwrap();
        }
        last.await.unwrap().unwrap();
        // The count is read on the writer's thread, because results are sent before their commit is
        // counted.
        let shared = Arc::clone(&store.shared);
        let count = move |_: &_| Ok::<_, StoreError>(shared.checkpoints.commits());
        let after = store.shared.task(count).await.unwrap();
        // The job that blocked the writer counts as one.
        after - before - 1
    };
    let large = (0..4).map(|n| create_group(80_000 + n, &format!("Large {n}"), &members));
    assert!((4..=5).contains(&transactions(large.collect()).await));
    let small = (0..4).map(|n| create_group(80_010 + n, &format!("Small {n}"), &members[..9]));
    assert_eq!(transactions(small.collect()).await, 1);
    for n in 0..4 {
        assert!(store.group(id(80_000 + n)).await.unwrap().is_some());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_of_a_large_change_is_read_on_a_scan_thread() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let members: Vec<u64> = (1..=300).collect();
    let users = members.iter().map(|n| create(*n, &format!(r#"{{"username":"u{n}"}}"#)));
    assert!(store.apply(users.collect()).await.iter().all(Result::is_ok));
    let pause = store.shared.long_reads.pause();
    let small = create_group(700, "Small", &members[..9]);
    store.preview(small).await.unwrap();
    let mut large = store.preview(create_group(701, "Large", &members));
    let first = large.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(first.is_pending());
    drop(pause);
    large.await.unwrap();
}
