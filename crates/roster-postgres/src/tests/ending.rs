//! Sessions that the server ends: whoever reads is answered all the same, and no write is lost
//! or happens twice.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use roster_core::{Outcome, Store, list::PageQuery};
use tokio::time::sleep;
use tokio_postgres::Client;

use super::support::{
    apply, assert_sound, beside, column, create, id, is_unavailable, named, once, open, patch,
    schema,
};
use crate::Postgres;

/// The statement that ends all sessions of that name.
fn ending(name: &str) -> String {
    format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{name}'"
    )
}

/// Ends all sessions; gives how many there were.
async fn end_all(client: &Client, end: &str) -> usize {
    column(client, end).await.len()
}

/// Ends all sessions once there are any again, after a pause: so they are met at different work.
async fn end_some_again(client: &Client, end: &str, pause: Duration) {
    loop {
        sleep(pause).await;
        if end_all(client, end).await > 0 {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_sessions_that_are_ended_are_not_noticed_by_anybody() {
    let schema = schema();
    let (url, name) = named(&schema.url());
    let end = ending(&name);
    let client = beside(&schema.url()).await;
    let store = open(&url).await;
    for n in 1..=6 {
        apply(&store, create(n, &format!(r#"{{"username":"u{n}"}}"#))).await.unwrap();
        for _ in 0..8 {
            assert!(store.get(id(n)).await.unwrap().is_some());
        }
        let query = PageQuery { count: true, ..PageQuery::first(600) };
        assert_eq!(store.page(query).await.unwrap().items.len(), usize::try_from(n).unwrap());
        assert!(end_all(&client, &end).await >= 3, "writer, shared, own");
        let began = Instant::now();
        if n % 2 == 0 {
            assert!(store.get(id(n)).await.unwrap().is_some());
            assert_eq!(store.head().await.unwrap().position, n.cast_signed());
            assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
        }
        // The next write comes over a session that is ended, too.
    }
    assert_eq!(assert_sound(&url).await, 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_under_way_are_answered_by_another_session() {
    let schema = schema();
    let (url, name) = named(&schema.url());
    let end = ending(&name);
    let client = beside(&schema.url()).await;
    let store = Arc::new(open(&url).await);
    apply(&store, create(1, r#"{"username":"ada"}"#)).await.unwrap();
    let ends = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..8)
        .map(|reader| {
            let (store, ends) = (Arc::clone(&store), Arc::clone(&ends));
            tokio::spawn(async move {
                let mut reads = 0;
                while !ends.load(Ordering::SeqCst) || reads < 5 {
                    let limit = if reader % 2 == 0 { 5 } else { 600 };
                    assert!(store.get(id(1)).await.unwrap().is_some());
                    assert_eq!(store.page(PageQuery::first(limit)).await.unwrap().items.len(), 1);
                    reads += 1;
                }
            })
        })
        .collect();
    for turn in 0..10 {
        end_some_again(&client, &end, Duration::from_millis(5 + 11 * turn % 60)).await;
    }
    ends.store(true, Ordering::SeqCst);
    for reader in readers {
        reader.await.unwrap();
    }
}

/// Writes a request with a key until it is told what became of it.
async fn insist(store: &Postgres, n: u64) -> Outcome {
    loop {
        let change = format!(r#"{{"title":"{n}"}}"#);
        let result = apply(store, once(n, patch(n, 1, &change))).await;
        if !is_unavailable(&result) {
            return result.unwrap();
        }
    }
}

/// Writes a request without a key, once: `None` where it is not known what became of it. It is
/// never in its own way.
async fn try_once(store: &Postgres, n: u64) -> Option<Outcome> {
    let result = apply(store, create(n, &format!(r#"{{"username":"u{n}"}}"#))).await;
    (!is_unavailable(&result)).then(|| result.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_are_ended_under_writes_lose_none_and_double_none() {
    const WRITERS: u64 = 6;
    let schema = schema();
    let (url, name) = named(&schema.url());
    let end = ending(&name);
    let client = beside(&schema.url()).await;
    let store = Arc::new(open(&url).await);
    apply(&store, create(1, r#"{"username":"ada"}"#)).await.unwrap();
    let ends = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (store, ends) = (Arc::clone(&store), Arc::clone(&ends));
            tokio::spawn(async move {
                let mut told = Vec::new();
                for n in (1..).map(|turn| turn * WRITERS + writer + 2) {
                    if n.is_multiple_of(4) {
                        told.push((n, Some(insist(&store, n).await)));
                    } else {
                        told.push((n, try_once(&store, n).await));
                    }
                    if ends.load(Ordering::SeqCst) {
                        return told;
                    }
                }
                told
            })
        })
        .collect();
    for turn in 0..30 {
        end_some_again(&client, &end, Duration::from_millis(5 + 7 * turn % 50)).await;
    }
    ends.store(true, Ordering::SeqCst);
    let mut told = Vec::new();
    for writer in writers {
        told.extend(writer.await.unwrap());
    }
    let (mut happened, mut positions) = (1, vec![1]);
    for (n, outcome) in told {
        let got = store.get(id(n)).await.unwrap();
        match outcome {
            Some(outcome) => {
                assert!(n.is_multiple_of(4) || got == Some(outcome.stored), "{n}");
                positions.push(outcome.position);
                happened += 1;
            }
            None => happened += i64::from(got.is_some()),
        }
    }
    assert_eq!(assert_sound(&url).await, happened, "each request happened once, or never");
    let count = positions.len();
    positions.sort_unstable();
    positions.dedup();
    assert_eq!(positions.len(), count, "each has a position of its own");
}
