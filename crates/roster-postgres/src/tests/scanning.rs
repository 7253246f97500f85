//! The statistics of the server: no read and no write scans a table.

use std::{sync::Arc, time::Duration};

use roster_core::{Store, Timestamp, store::Outlived};
use roster_testkit::queries;
use tokio::time::{sleep, timeout};
use tokio_postgres::Client;

use super::support::{
    DAY, apply, beside, column, create, delete, named, once, open_with, patch, purge, restore,
    schema,
};

/// The number of scans of each table, without the tables that have only a few rows.
const SCANS: &str = "SELECT relname || ' ' || seq_scan FROM pg_stat_user_tables \
     WHERE schemaname = current_schema() \
     AND relname NOT IN ('log_head', 'keys_head', 'tenants', 'schema_steps', 'settings', \
     'clock_mark') \
     ORDER BY relname";

/// The scans after all sessions with this name have ended. The server counts the work of a session
/// only then.
async fn scans_after(client: &Client, name: &str) -> Vec<String> {
    let sessions = format!("SELECT pid FROM pg_stat_activity WHERE application_name = '{name}'");
    let gone = async {
        while !column(client, &sessions).await.is_empty() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(20), gone).await.expect("a store that is dropped leaves nobody");
    column(client, SCANS).await
}

#[tokio::test(flavor = "multi_thread")]
async fn no_read_and_no_write_scans_a_table() {
    let schema = schema();
    let (url, name) = named(&schema.url());
    let client = beside(&schema.url()).await;
    let store = Arc::new(open_with(&url, queries::RULES).await);
    let before = scans_after(&client, &name).await;
    assert_eq!(before.len(), 14, "{before:?}");
    let tally = queries::compare(store.clone(), 7, 25).await;
    assert!(tally.found > 0, "{tally}");
    for (at, command) in (1..).zip([
        create(1, r#"{"username":"zed","phone_numbers":[{"value":"+44 1"},{"value":"+44 2"}]}"#),
        patch(2, 1, r#"{"username":"zoe","phone_numbers":[{"value":"+44 3"}]}"#),
        delete(3, 1),
        restore(4, 1),
        delete(5, 1),
        purge(6, 1),
    ]) {
        apply(&store, once(at, command)).await.unwrap();
    }
    let late = Timestamp::from_millis(2 * DAY);
    while store.forget(Outlived { keys_before: late, events_before: late }).await.unwrap() > 0 {}
    store.close().await;
    drop(store);
    assert_eq!(scans_after(&client, &name).await, before);
}
