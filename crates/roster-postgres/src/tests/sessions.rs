//! Settings of a session from a role, a database or the URL do not change the behaviour of the
//! store.

use std::{sync::Arc, thread, time::Duration};

use roster_testkit::queries;

use super::support::{apply, beside, column, create, id, is_unavailable, open, open_with, schema};
use crate::{Connector, failure::was_idle};
use roster_core::Store;

/// A URL whose sessions start with these settings, as if the role had them.
fn with_settings(url: &str, settings: &[(&str, &str)]) -> String {
    let option = |(name, value): &(&str, &str)| format!("%20-c{name}%3D{value}");
    let options: String = settings.iter().map(option).collect();
    format!("{url}{options}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_hides_warnings_still_reports_a_doubtful_commit() {
    let schema = schema();
    let url = schema.url();
    let client = beside(&url).await;
    let store = open(&with_settings(&url, &[("client_min_messages", "error")])).await;
    let warning = "CREATE FUNCTION say() RETURNS trigger LANGUAGE plpgsql \
         AS $$ BEGIN RAISE WARNING 'said'; RETURN NULL; END $$; \
         CREATE TRIGGER said AFTER UPDATE ON log_head FOR EACH ROW EXECUTE FUNCTION say()";
    client.batch_execute(warning).await.unwrap();
    let result = apply(&store, create(1, r#"{"username":"ada"}"#)).await;
    assert!(is_unavailable(&result), "{result:?}");
    assert!(store.get(id(1)).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_of_a_role_change_no_response() {
    let schema = schema();
    let url = with_settings(
        &schema.url(),
        &[
            ("standard_conforming_strings", "off"),
            ("default_transaction_isolation", "serializable"),
            ("default_transaction_deferrable", "on"),
            ("row_security", "on"),
            ("DateStyle", "German"),
            ("bytea_output", "escape"),
            ("extra_float_digits", "-5"),
            ("synchronous_commit", "off"),
            ("lock_timeout", "1"),
            ("idle_in_transaction_session_timeout", "1"),
            ("idle_session_timeout", "100"),
            ("statement_timeout", "500"),
        ],
    );
    let store = Arc::new(open_with(&url, queries::RULES).await);
    let tally = queries::compare(store, 3, 60).await;
    assert!(tally.found > 0, "{tally}");
}

/// As on a machine that is so busy that a transaction pauses for longer than its session may. The
/// runtime has one thread, so the client hears of the end only after it has sent its commit. The
/// reset that answers the commit may come before the client has read the reason, so several try.
#[tokio::test]
async fn a_session_that_was_idle_has_not_committed() {
    let schema = schema();
    let mut errors = Vec::new();
    for _ in 0..5 {
        let client = beside(&schema.url()).await;
        let begin =
            "SET idle_in_transaction_session_timeout = 1; BEGIN; CREATE TABLE kept (id int)";
        client.batch_execute(begin).await.unwrap();
        thread::sleep(Duration::from_millis(200));
        errors.push(client.batch_execute("COMMIT").await.unwrap_err());
    }
    assert!(errors.iter().any(was_idle), "{errors:?}");
    let kept = "SELECT 1 FROM pg_tables WHERE tablename = 'kept'";
    assert!(column(&beside(&schema.url()).await, kept).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_maintenance_session_has_no_timeout() {
    let schema = schema();
    let url = with_settings(
        &schema.url(),
        &[
            ("statement_timeout", "5000"),
            ("idle_in_transaction_session_timeout", "5000"),
            ("idle_session_timeout", "5000"),
            ("lock_timeout", "5000"),
        ],
    );
    let connector = Connector::parse(&url).unwrap();
    let connection = connector.connect_for_maintenance().await.unwrap();
    let timeouts = "SELECT name || '=' || setting FROM pg_settings WHERE name IN \
         ('statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout', \
         'idle_session_timeout') ORDER BY name";
    let set = column(connection.client(), timeouts).await;
    assert!(set.len() >= 3 && set.iter().all(|set| set.ends_with("=0")), "{set:?}");
    assert_eq!(column(connection.client(), "SHOW lock_timeout").await, ["10min"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_text_column_is_ordered_by_bytes() {
    let schema = schema();
    open(&schema.url()).await.close().await;
    let client = beside(&schema.url()).await;
    let linguistic = "SELECT table_name || '.' || column_name FROM information_schema.columns \
         WHERE table_schema = current_schema() AND data_type = 'text' \
         AND collation_name IS DISTINCT FROM 'C'";
    assert!(column(&client, linguistic).await.is_empty());
}
