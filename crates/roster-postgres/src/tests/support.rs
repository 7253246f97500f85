//! Shared by the tests of the engine: stores in separate schemas, commands, ids, and a session
//! outside the stores.

use std::time::Duration;

use roster_core::{
    Act, Actor, Caller, Command, Draft, Failure, Idempotency, Json, OnConflict, Outcome, PolicyKey,
    Preconditions, Rules, Store, StoreError, Timestamp, UserAct, UserId,
    access::AuditView,
    json,
    webhook::{WebhookAct, WebhookChange, WebhookDraft, WebhookId, WebhookSecret},
};
use roster_testkit::postgres::{Cluster, Schema};
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::{Connector, Postgres, Settings, change_policy, check};

pub(super) const DAY: i64 = 1_790_000_000_000;

pub(super) fn schema() -> Schema {
    Cluster::shared().schema()
}

/// The n-th id. Its time is n milliseconds after `DAY`.
pub(super) fn id(n: u64) -> UserId {
    let millis = DAY.unsigned_abs() + n;
    UserId::from_bytes(
        ((u128::from(millis) << 80) | (0x7 << 76) | (0x2 << 62) | u128::from(n)).to_be_bytes(),
    )
}

pub(super) fn settings(url: &str) -> Settings {
    let settings = Settings::new(Connector::parse(url).unwrap(), Rules::default());
    Settings { schema_lease: Duration::ZERO, ..settings }
}

pub(super) async fn open(url: &str) -> Postgres {
    Postgres::open(settings(url)).await.unwrap()
}

pub(super) async fn open_with(url: &str, rules: Rules) -> Postgres {
    Postgres::open(Settings { rules, ..settings(url) }).await.unwrap()
}

/// When policies are changed.
pub(super) const AT: Timestamp = Timestamp::from_millis(1);

/// Changes the policy of a store to that of these rules.
pub(super) async fn set_policy(url: &str, rules: Rules) {
    let connector = Connector::parse(url).unwrap();
    for key in PolicyKey::ALL.iter().copied() {
        change_policy(&connector, key, rules.sharing(key), AT).await.unwrap();
    }
}

/// A session outside the stores, such as that of an operator.
pub(super) async fn beside(url: &str) -> Client {
    let (client, wire) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(wire);
    client
}

/// A URL that gives its sessions a unique application name, and that name.
pub(super) fn named(url: &str) -> (String, String) {
    // The name of the schema, which only this URL contains.
    let name = url.rsplit_once("%3D").unwrap().1.to_owned();
    (format!("{url}&application_name={name}"), name)
}

/// The first column of a statement's rows, each as text.
pub(super) async fn column(client: &Client, sql: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for message in client.simple_query(sql).await.unwrap() {
        if let SimpleQueryMessage::Row(row) = message {
            texts.push(row.get(0).unwrap_or("NULL").to_owned());
        }
    }
    texts
}

pub(super) fn tree(text: &str) -> Json {
    json::read(text.as_bytes()).unwrap()
}

pub(super) fn command(at: u64, act: impl Into<Act>) -> Command {
    let caller = Caller { actor: Actor::Anonymous, request_id: format!("request-{at}") };
    let at = Timestamp::from_millis(DAY + i64::try_from(at).unwrap());
    Command::of(act, at, caller)
}

pub(super) fn create(n: u64, user: &str) -> Command {
    let draft = Box::new(Draft::parse(tree(user)));
    command(n, UserAct::Create { id: id(n), draft, upsert: OnConflict::Fail.into() })
}

pub(super) fn patch(at: u64, n: u64, patch: &str) -> Command {
    let patch = std::sync::Arc::new(tree(patch));
    command(at, UserAct::Patch { id: id(n), patch })
}

pub(super) fn delete(at: u64, n: u64) -> Command {
    command(at, UserAct::Delete { id: id(n) })
}

pub(super) fn restore(at: u64, n: u64) -> Command {
    command(at, UserAct::Restore { id: id(n), joins_groups: false })
}

pub(super) fn purge(at: u64, n: u64) -> Command {
    command(at, UserAct::Purge { id: id(n) })
}

/// The command with an idempotency key.
pub(super) fn once(key: u64, command: Command) -> Command {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&key.to_be_bytes());
    let mark = Idempotency { key: bytes, fingerprint: [1; 32] };
    Command { idempotency: Some(mark), ..command }
}

/// Creates a webhook.
pub(super) fn new_webhook(id: WebhookId) -> WebhookChange {
    let draft = tree(r#"{"name":"search","url":"https://h.example.com"}"#);
    let draft = WebhookDraft::parse(&draft).unwrap();
    WebhookChange {
        act: WebhookAct::Create { id, draft, secret: WebhookSecret([7; 32]) },
        preconditions: Preconditions::default(),
        at: Timestamp::from_millis(1),
        caller: Caller { actor: Actor::System, request_id: "r".to_owned() },
        audit: AuditView::Nothing,
        all_tenants: true,
        is_dry_run: false,
    }
}

/// Executes one command.
pub(super) async fn apply(store: &Postgres, command: Command) -> Result<Outcome, Failure> {
    store.apply(vec![command]).await.pop().unwrap()
}

/// Whether the outcome of the write is reported as unknown.
pub(super) fn is_unavailable<T>(result: &Result<T, Failure>) -> bool {
    matches!(result, Err(Failure::Store(StoreError::Unavailable(_))))
}

/// Fails the test if a check finds a fault. Returns the last position.
pub(super) async fn assert_sound(url: &str) -> i64 {
    let findings = check(&Connector::parse(url).unwrap()).await.unwrap();
    assert!(findings.is_sound(), "{findings}");
    let client = beside(url).await;
    column(&client, "SELECT position FROM log_head").await[0].parse().unwrap()
}
