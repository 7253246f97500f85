//! Locks of other sessions: a write waits for them, up to a deadline.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use roster_core::{IndexStep, SchemaDraft, Store};
use tokio::{join, time::sleep};
use tokio_postgres::Client;

use super::support::{
    apply, assert_sound, beside, column, command, create, id, is_unavailable, open, patch, schema,
    tree,
};

const HEAD: &str = "SELECT FROM log_head FOR UPDATE";

/// Longer than the maximum wait of a write plus that of a statement of its last attempt.
const TOO_LONG: Duration = Duration::from_millis(10_500);

async fn hold(client: &Client, what: &str, time: Duration) {
    client.batch_execute(&format!("BEGIN; {what}")).await.unwrap();
    sleep(time).await;
    client.batch_execute("COMMIT").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_wait_for_the_lock_on_the_log_head() {
    let schema = schema();
    let url = schema.url();
    let (client, store) = (beside(&url).await, open(&url).await);
    apply(&store, create(1, r#"{"username":"ada"}"#)).await.unwrap();
    let began = Instant::now();
    let write = async {
        sleep(Duration::from_millis(100)).await;
        let create = |n| apply(&store, create(n, &format!(r#"{{"username":"u{n}"}}"#)));
        let (created, changed) =
            join!(join_all((2..=6).map(create)), apply(&store, patch(7, 1, r#"{"title":"T"}"#)));
        assert!(created.iter().all(Result::is_ok), "{created:?}");
        assert!(changed.is_ok(), "{changed:?}");
        began.elapsed()
    };
    let read = async {
        sleep(Duration::from_millis(300)).await;
        // Reads do not wait.
        assert_eq!(store.head().await.unwrap().position, 1);
        assert!(store.get(id(1)).await.unwrap().is_some());
        began.elapsed()
    };
    let ((), written, read) = join!(hold(&client, HEAD, Duration::from_secs(2)), write, read);
    assert!(written >= Duration::from_secs(2), "{written:?}");
    assert!(read < Duration::from_secs(2), "{read:?}");
    assert_eq!(assert_sound(&url).await, 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_is_built_beside_locks_and_compared_in_another_era() {
    let schema = schema();
    let url = schema.url();
    let (client, store) = (beside(&url).await, open(&url).await);
    apply(&store, create(1, r#"{"username":"ada","attributes":{"badge":"7"}}"#)).await.unwrap();
    let badge = r#"{"attributes":[{"name":"badge","type":"string","unique":true}]}"#;
    apply(&store, command(2, SchemaDraft::parse(tree(badge)))).await.unwrap();
    client.batch_execute("BEGIN; SELECT FROM users FOR UPDATE").await.unwrap();
    for _ in 0..5 {
        assert_eq!(store.indexes().index_step().await.unwrap(), IndexStep::Busy);
        // It gets the same connection.
        let after = Some((String::new(), id(0)));
        assert_eq!(store.indexes().index_keys(1, after).await.unwrap().len(), 0);
    }
    client.batch_execute("COMMIT").await.unwrap();
    let kind = loop {
        if let IndexStep::Check(kind) = store.indexes().index_step().await.unwrap() {
            break kind;
        }
    };
    let era = "SELECT era FROM log_head";
    let before = column(&client, era).await;
    assert_eq!(store.indexes().index_keys(kind, None).await.unwrap().len(), 1);
    // A write that began before it is executed again.
    assert_ne!(column(&client, era).await, before);
    store.indexes().end_index_check(kind, Vec::new()).await.unwrap();
    assert_sound(&url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_waits_too_long_is_not_executed() {
    join!(wait_too_long_for_the_head(), wait_too_long_for_a_row());
}

async fn wait_too_long_for_the_head() {
    let schema = schema();
    let url = schema.url();
    let (client, store) = (beside(&url).await, open(&url).await);
    let write = async {
        sleep(Duration::from_millis(50)).await;
        let began = Instant::now();
        let refused = apply(&store, create(1, r#"{"username":"ada"}"#)).await;
        assert!(is_unavailable(&refused), "{refused:?}");
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    };
    join!(hold(&client, HEAD, TOO_LONG), write);
    sleep(Duration::from_millis(300)).await;
    assert_eq!(column(&client, "SELECT count(*) FROM users").await, ["0"]);
    assert_eq!(assert_sound(&url).await, 0);
    let created = apply(&store, create(2, r#"{"username":"ada"}"#)).await.unwrap();
    assert_eq!(created.position, 1);
}

async fn wait_too_long_for_a_row() {
    let schema = schema();
    let url = schema.url();
    let (client, store) = (beside(&url).await, open(&url).await);
    for n in 1..=2 {
        apply(&store, create(n, &format!(r#"{{"username":"u{n}"}}"#))).await.unwrap();
    }
    let row = format!("SELECT FROM users WHERE id = '{}' FOR UPDATE", id(1));
    let write = async {
        sleep(Duration::from_millis(50)).await;
        let refused = apply(&store, patch(3, 1, r#"{"title":"T"}"#)).await;
        assert!(is_unavailable(&refused), "{refused:?}");
    };
    // These writes use the other connection for writes.
    let others = async {
        sleep(Duration::from_millis(200)).await;
        let began = Instant::now();
        for n in 10..20 {
            apply(&store, patch(n, 2, &format!(r#"{{"title":"{n}"}}"#))).await.unwrap();
        }
        assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    };
    join!(hold(&client, &row, TOO_LONG), write, others);
    sleep(Duration::from_millis(300)).await;
    assert_eq!(store.get(id(1)).await.unwrap().unwrap().version, 1);
    assert_eq!(assert_sound(&url).await, 12);
    assert!(apply(&store, patch(30, 1, r#"{"title":"T"}"#)).await.is_ok());
}
