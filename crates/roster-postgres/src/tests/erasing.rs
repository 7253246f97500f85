//! Erasing a long history: step by step, by one process at a time, across restarts.

use roster_core::{Erasure, EventsQuery, Purged, Store, TenantId};
use tokio::join;
use tokio_postgres::Client;

use super::support::{apply, beside, column, create, delete, id, open, patch, purge, schema};
use crate::Postgres;

/// More events than two steps erase.
const EVENTS: u64 = 2500;

/// Purges a user with a long history; another user stays.
async fn purge_long(store: &Postgres) {
    apply(store, create(1, r#"{"username":"ada","family_name":"Lovelace"}"#)).await.unwrap();
    apply(store, create(2, r#"{"username":"grace"}"#)).await.unwrap();
    for first in (0..EVENTS).step_by(250) {
        let patches = (first..first + 250).map(|n| patch(n, 1, &format!(r#"{{"title":"T{n}"}}"#)));
        let results = store.apply(patches.collect()).await;
        assert!(results.iter().all(Result::is_ok));
    }
    apply(store, delete(EVENTS, 1)).await.unwrap();
    apply(store, purge(EVENTS, 1)).await.unwrap();
}

/// How many records of the user are still in the table.
async fn records(client: &Client) -> String {
    let count = "SELECT count(*) FROM events WHERE subject_id = '{}' AND record <> ''";
    column(client, &count.replace("{}", &id(1).to_string())).await.remove(0)
}

/// The n-th user of the default tenant.
fn of_default(n: u64) -> Purged {
    Purged { tenant: TenantId::DEFAULT, user: Some(id(n)) }
}

async fn assert_hidden(store: &Postgres) {
    let page = store.events(EventsQuery::after(0, 10_000)).await.unwrap();
    let shown = page.events.iter().filter(|(_, event)| !event.record.is_empty());
    let shown: Vec<_> = shown.map(|(_, event)| event.user_id).collect();
    assert_eq!(shown, [id(2)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_erases_a_thousand_events_and_another_process_continues() {
    let schema = schema();
    let url = schema.url();
    let (client, first) = (beside(&url).await, open(&url).await);
    purge_long(&first).await;
    assert_eq!(records(&client).await, "2502", "the purge leaves a long history to the steps");
    assert_hidden(&first).await;
    assert_eq!(first.erase(of_default(1)).await.unwrap(), Erasure::Pending);
    assert_eq!(records(&client).await, "1502");
    first.close().await;

    let second = open(&url).await;
    assert_hidden(&second).await;
    assert_eq!(second.pending_erasures().await.unwrap(), [of_default(1)]);
    assert_eq!(second.erase(of_default(1)).await.unwrap(), Erasure::Pending);
    assert_eq!(second.erase(of_default(1)).await.unwrap(), Erasure::Done);
    assert_eq!(second.pending_erasures().await.unwrap(), []);
    assert_eq!(records(&client).await, "0");
    assert_hidden(&second).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_erase_at_once_do_not_wait_for_each_other() {
    let schema = schema();
    let url = schema.url();
    let (client, store) = (beside(&url).await, open(&url).await);
    purge_long(&store).await;
    client.batch_execute("BEGIN; SELECT FROM erasures FOR UPDATE").await.unwrap();
    assert_eq!(store.erase(of_default(1)).await.unwrap(), Erasure::Waiting);
    client.batch_execute("COMMIT").await.unwrap();
    let other = open(&url).await;
    let all = async |store: &Postgres| {
        while !store.pending_erasures().await.unwrap().is_empty() {
            store.erase(of_default(1)).await.unwrap();
        }
    };
    join!(all(&store), all(&other));
    assert_eq!(records(&client).await, "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn purges_of_one_transaction_erase_a_thousand_events_together() {
    let schema = schema();
    let store = open(&schema.url()).await;
    for n in 1..=2 {
        apply(&store, create(n, &format!(r#"{{"username":"u{n}"}}"#))).await.unwrap();
        let patches = (0..600).map(|at| patch(at, n, &format!(r#"{{"title":"T{at}"}}"#)));
        let results = store.apply(patches.collect()).await;
        assert!(results.iter().all(Result::is_ok));
        apply(&store, delete(1000, n)).await.unwrap();
    }
    let results = store.apply(vec![purge(1000, 1), purge(1000, 2)]).await;
    assert!(results.iter().all(Result::is_ok));
    assert_eq!(store.pending_erasures().await.unwrap(), [of_default(1), of_default(2)]);
    apply(&store, create(3, r#"{"username":"u3"}"#)).await.unwrap();
    store.apply(vec![delete(2000, 3), purge(2000, 3)]).await;
    assert_eq!(
        store.pending_erasures().await.unwrap(),
        [of_default(1), of_default(2)],
        "a short one is done"
    );
}
