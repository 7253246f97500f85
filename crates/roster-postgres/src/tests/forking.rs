//! A log that came to another server, or that was restored: it gets a new identity, and no process
//! uses a server whose log does not continue the one that it has read.

use std::time::Duration;

use roster_core::{
    EventKind, EventsQuery, LogId, PolicyKey, Position, SchemaDraft, Sharing, Store, StoreError,
    event::LOG_SUBJECT, list::PageQuery, webhook::WebhookId,
};
use roster_testkit::postgres::Cluster;
use tokio::time::{sleep, timeout};
use tokio_postgres::Client;

use super::support::{
    AT, apply, assert_sound, beside, column, command, create, id, is_unavailable, named,
    new_webhook, open, schema, tree,
};
use crate::{ConnectError, Connector, Postgres, change_policy};

/// As after a failover: the log was last on another server.
const MOVE: &str = "UPDATE log_head SET server = 'another'";

/// As after a restore of a copy: the last two events are gone.
const LOSE_TWO: &str = "DELETE FROM events WHERE position > 3; \
     DELETE FROM users WHERE id IN (SELECT id FROM users ORDER BY id DESC LIMIT 2); \
     DELETE FROM words WHERE id NOT IN (SELECT id FROM users); \
     UPDATE log_head SET position = 3; UPDATE tenants SET active = 3";

fn user(n: u64) -> String {
    format!(r#"{{"username":"u{n}"}}"#)
}

/// Ends the sessions of a store, so that it connects again.
async fn cut(client: &Client, name: &str) {
    let end = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{name}'"
    );
    assert!(!column(client, &end).await.is_empty());
}

/// Reads until the store has followed its log.
async fn read(store: &Postgres) {
    let read = async {
        while store.page(PageQuery::first(1)).await.is_err() || store.health().await.is_err() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(20), read).await.expect("the store can be read");
}

/// A store with five users, the name of its sessions, and a session beside it.
async fn store_of_five(url: &str) -> (Postgres, String, Client) {
    let (named_url, name) = named(url);
    let (store, client) = (open(&named_url).await, beside(url).await);
    for n in 1..=5 {
        apply(&store, create(n, &user(n))).await.unwrap();
    }
    (store, name, client)
}

/// Asserts that the log of a store continues this one after a position.
async fn assert_forked(store: &Postgres, before: LogId, end: i64) {
    let log = store.log_id();
    assert_ne!(log, before);
    assert_eq!(store.former_log_end(before).await.unwrap(), Some(end));
    assert_eq!(store.former_log_end(log).await.unwrap(), None);
    let page = store.events(EventsQuery::after(end, 10)).await.unwrap();
    assert_eq!(page.log, log);
    let (position, event) = &page.events[0];
    assert_eq!(
        (*position, event.kind, event.user_id),
        (end + 1, EventKind::LogForked, LOG_SUBJECT)
    );
    let parent = Position { log: before, number: end };
    assert_eq!(event.record, format!(r#"{{"parent":"{parent}"}}"#).as_bytes());
    assert_eq!(event.actor, "system");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_on_another_server_continues_under_a_new_identity() {
    let schema = schema();
    let url = schema.url();
    let (store, name, client) = store_of_five(&url).await;
    // Another process, whose connections stay open.
    let other = open(&url).await;
    let before = store.log_id();
    client.batch_execute(MOVE).await.unwrap();
    cut(&client, &name).await;
    read(&store).await;
    assert_forked(&store, before, 5).await;
    assert_eq!(apply(&store, create(6, &user(6))).await.unwrap().position, 7);
    // The other process looks at its log now and then.
    read(&other).await;
    assert_eq!(other.log_id(), store.log_id());
    assert_eq!(apply(&other, create(7, &user(7))).await.unwrap().position, 8);
    assert_eq!(assert_sound(&url).await, 8);
    // A process that starts now changes nothing.
    let third = open(&url).await;
    assert_eq!(third.log_id(), store.log_id());
    assert_eq!(third.head().await.unwrap().position, 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_meet_another_server_at_once_begin_one_log() {
    let schema = schema();
    let url = schema.url();
    let (store, _, client) = store_of_five(&url).await;
    let before = store.log_id();
    drop(store);
    client.batch_execute(MOVE).await.unwrap();
    let (one, two, three) = tokio::join!(open(&url), open(&url), open(&url));
    for store in [&one, &two, &three] {
        assert_forked(store, before, 5).await;
        assert_eq!(store.log_id(), one.log_id());
    }
    assert_eq!(one.head().await.unwrap().position, 6);
    client.batch_execute(MOVE).await.unwrap();
    let next = open(&url).await;
    assert_forked(&next, one.log_id(), 6).await;
    assert_eq!(next.former_log_end(before).await.unwrap(), Some(5));
    assert_sound(&url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_lost_events_under_a_process_gets_a_new_identity() {
    let schema = schema();
    let url = schema.url();
    let (store, name, client) = store_of_five(&url).await;
    let before = store.log_id();
    // The process notes the end of the log.
    store.health().await.unwrap();
    store.log_grown(4).await;
    client.batch_execute(LOSE_TWO).await.unwrap();
    cut(&client, &name).await;
    read(&store).await;
    assert_forked(&store, before, 3).await;
    // The log is shorter than it was when its end was last read.
    let waits = timeout(Duration::from_millis(200), store.log_grown(4));
    assert!(waits.await.is_err());
    assert_eq!(apply(&store, create(4, &user(4))).await.unwrap().position, 5);
    assert_sound(&url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_goes_back_below_open_connections_gets_a_new_identity() {
    let schema = schema();
    let url = schema.url();
    let (store, _name, client) = store_of_five(&url).await;
    read(&store).await;
    store.renew_schema().await.unwrap();
    let before = store.log_id();
    client.batch_execute(LOSE_TWO).await.unwrap();
    store.renew_schema().await.unwrap();
    assert_forked(&store, before, 3).await;
    apply(&store, create(8, &user(8))).await.unwrap();
}

/// The sessions stay open, and the first request is a write. The era is that of before. Other
/// processes may have read positions that are lost, whatever this one has.
#[tokio::test(flavor = "multi_thread")]
async fn no_position_is_used_again_after_a_dump_was_loaded_below_open_connections() {
    for (lose, end) in [(LOSE_TWO, 3), ("", 5)] {
        let schema = schema();
        let url = schema.url();
        let (store, _name, client) = store_of_five(&url).await;
        let before = store.log_id();
        let load = format!(
            "ALTER TABLE log_head RENAME TO gone; CREATE TABLE log_head (LIKE gone INCLUDING ALL); \
             INSERT INTO log_head SELECT * FROM gone; DROP TABLE gone; {lose}"
        );
        client.batch_execute(&load).await.unwrap();
        let created = apply(&store, create(8, &user(8))).await.unwrap();
        assert_eq!(created.position, end + 2);
        assert_forked(&store, before, end).await;
        assert_sound(&url).await;
    }
}

/// The era of the lost change is that of the rules before it, as if another change had come since.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_the_policy_and_of_a_schema_that_is_lost_is_forgotten() {
    let schema = schema();
    let url = schema.url();
    let (store, name, client) = store_of_five(&url).await;
    let stored = "SELECT encode(value, 'hex') FROM settings WHERE name = 'email_sharing'";
    let before = column(&client, stored).await.remove(0);
    change_policy(&Connector::parse(&url).unwrap(), PolicyKey::Email, Sharing::Shared, AT)
        .await
        .unwrap();
    let declared = r#"{"attributes":[{"name":"badge","type":"string"}]}"#;
    apply(&store, command(1, SchemaDraft::parse(tree(declared)))).await.unwrap();
    read(&store).await;
    assert_eq!(store.rules().email, Sharing::Shared);
    assert_eq!(store.schema().version, 2);
    let lose = format!(
        "UPDATE settings SET value = '\\x{before}' WHERE name = 'email_sharing'; \
         DELETE FROM settings WHERE name IN ('user_schema', 'indexes'); \
         UPDATE tenants SET rules_era = 0; {MOVE}"
    );
    client.batch_execute(&lose).await.unwrap();
    cut(&client, &name).await;
    let user = |n| create(n, &format!(r#"{{"username":"v{n}","email":"v@example.com"}}"#));
    apply(&store, user(6)).await.unwrap();
    assert!(store.preview(user(7)).await.is_err());
    assert!(apply(&store, user(7)).await.is_err());
    assert_eq!(store.rules().email, Sharing::Unique);
    assert_eq!(store.schema().version, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_log_does_not_continue_the_known_one_is_refused() {
    let schema = schema();
    let url = schema.url();
    let (store, name, client) = store_of_five(&url).await;
    let former = column(&client, "SELECT encode(log_id, 'hex') FROM log_head").await.remove(0);
    client.batch_execute(MOVE).await.unwrap();
    cut(&client, &name).await;
    read(&store).await;
    assert_eq!(store.faults().superseded_servers, 0);
    // The server that the log came from: it has no event after the fork.
    let back = format!(
        "DELETE FROM events WHERE position > 5; DELETE FROM former_logs; \
         UPDATE log_head SET position = 5, log_id = '\\x{former}', era = 1, writer_era = NULL"
    );
    client.batch_execute(&back).await.unwrap();
    cut(&client, &name).await;
    let superseded =
        |result: &Result<_, StoreError>| matches!(result, Err(StoreError::Superseded(_)));
    let refused = store.health().await;
    assert!(superseded(&refused), "{refused:?}");
    assert!(store.faults().superseded_servers > 0);
    let write = apply(&store, create(6, &user(6))).await;
    assert!(write.is_err() && !is_unavailable(&write), "{write:?}");
    assert_eq!(column(&client, "SELECT count(*) FROM users").await, ["5"]);
    assert_eq!(column(&client, "SELECT count(*) FROM events").await, ["5"]);
    // A process that has read nothing cannot know better.
    assert_eq!(open(&url).await.head().await.unwrap().position, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_of_two_clusters_are_refused() {
    let clusters = [Cluster::with(&[], &[]), Cluster::with(&[], &[])];
    let [one, other] = clusters.each_ref().map(|cluster| cluster.url("postgres"));
    let (_, host) = other.split_once('@').unwrap();
    let (host, _) = host.split_once('/').unwrap();
    let both = one.replacen("/postgres", &format!(",{host}/postgres"), 1);
    let refused = Connector::parse(&both).unwrap().connect().await.err();
    assert!(matches!(refused, Some(ConnectError::OtherCluster(_))), "{refused:?}");
    // One of them may be down.
    let gone = both.replacen(host, "127.0.0.1:1", 1);
    Connector::parse(&gone).unwrap().connect().await.unwrap();
}

/// Whether the webhook of a store is active after its log was found in this place.
async fn is_active_after(place: &str) -> bool {
    let schema = schema();
    let (store, name, client) = store_of_five(&schema.url()).await;
    store.webhooks().change(new_webhook(WebhookId(id(1)))).await.unwrap();
    let before = store.log_id();
    client.batch_execute(&format!("UPDATE log_head SET server = {place}")).await.unwrap();
    cut(&client, &name).await;
    read(&store).await;
    assert_ne!(store.log_id(), before);
    !store.webhooks().served().await.unwrap().is_empty()
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_are_paused_in_a_copy_and_not_after_a_promotion() {
    let with = |part, value| {
        format!(
            "array_to_string((string_to_array(server, '-'))[:{part} - 1] || '{value}'::text \
             || (string_to_array(server, '-'))[{part} + 1:], '-')"
        )
    };
    assert!(is_active_after(&with(2, "00000000")).await);
    assert!(!is_active_after(&with(1, "7")).await);
    assert!(!is_active_after(&with(3, "7")).await);
    assert!(!is_active_after(&with(4, "7")).await);
}
