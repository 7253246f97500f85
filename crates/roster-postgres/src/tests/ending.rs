//! The server ends sessions: reads still succeed, and no write is lost or executed twice.

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

/// The statement that ends all sessions with this application name.
fn end_statement(name: &str) -> String {
    format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{name}'"
    )
}

/// Ends all sessions and returns how many there were.
async fn end_all(client: &Client, end: &str) -> usize {
    column(client, end).await.len()
}

/// After a pause, ends all sessions as soon as there is one. The pause varies, so the sessions are
/// ended at different points of their work.
async fn end_some_again(client: &Client, end: &str, pause: Duration) {
    loop {
        sleep(pause).await;
        if end_all(client, end).await > 0 {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ended_idle_sessions_cause_no_error() {
    let schema = schema();
    let (url, name) = named(&schema.url());
    let end = end_statement(&name);
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
        // The connection of the next write was ended, too.
    }
    assert_eq!(assert_sound(&url).await, 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn running_reads_are_repeated_on_another_session() {
    let schema = schema();
    let (url, name) = named(&schema.url());
    let end = end_statement(&name);
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

/// Repeats a write with an idempotency key until its outcome is known.
async fn write_until_known(store: &Postgres, n: u64) -> Outcome {
    loop {
        let change = format!(r#"{{"title":"{n}"}}"#);
        let result = apply(store, once(n, patch(n, 1, &change))).await;
        if !is_unavailable(&result) {
            return result.unwrap();
        }
    }
}

/// Sends a write without a key, once. Returns `None` if its outcome is unknown. These writes do not
/// conflict with each other.
async fn try_once(store: &Postgres, n: u64) -> Option<Outcome> {
    let result = apply(store, create(n, &format!(r#"{{"username":"u{n}"}}"#))).await;
    (!is_unavailable(&result)).then(|| result.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn ended_sessions_neither_lose_nor_repeat_writes() {
    const WRITERS: u64 = 6;
    let schema = schema();
    let (url, name) = named(&schema.url());
    let end = end_statement(&name);
    let client = beside(&schema.url()).await;
    let store = Arc::new(open(&url).await);
    apply(&store, create(1, r#"{"username":"ada"}"#)).await.unwrap();
    let ends = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (store, ends) = (Arc::clone(&store), Arc::clone(&ends));
            tokio::spawn(async move {
                let mut outcomes = Vec::new();
                for n in (1..).map(|turn| turn * WRITERS + writer + 2) {
                    if n.is_multiple_of(4) {
                        outcomes.push((n, Some(write_until_known(&store, n).await)));
                    } else {
                        outcomes.push((n, try_once(&store, n).await));
                    }
                    if ends.load(Ordering::SeqCst) {
                        return outcomes;
                    }
                }
                outcomes
            })
        })
        .collect();
    for turn in 0..30 {
        end_some_again(&client, &end, Duration::from_millis(5 + 7 * turn % 50)).await;
    }
    ends.store(true, Ordering::SeqCst);
    let mut outcomes = Vec::new();
    for writer in writers {
        outcomes.extend(writer.await.unwrap());
    }
    let (mut written, mut positions) = (1, vec![1]);
    for (n, outcome) in outcomes {
        let got = store.get(id(n)).await.unwrap();
        match outcome {
            Some(outcome) => {
                assert!(n.is_multiple_of(4) || got == Some(outcome.stored), "{n}");
                positions.push(outcome.position);
                written += 1;
            }
            None => written += i64::from(got.is_some()),
        }
    }
    assert_eq!(assert_sound(&url).await, written, "each request was executed at most once");
    let count = positions.len();
    positions.sort_unstable();
    positions.dedup();
    assert_eq!(positions.len(), count, "each has a position of its own");
}
