//! A store in its own directory, and short functions for the tests.

use std::path::{Path, PathBuf};

use roster_core::{
    Actor, Caller, Command, Draft, Event, EventsQuery, Idempotency, Json, OnConflict, Rules, Store,
    Stored, Timestamp, UserAct, UserId, json,
    list::{PageKey, PageQuery},
};
use roster_sqlite::{Findings, Made, Making, Settings, Sqlite, backup, check};
use rusqlite::Connection;
use tempfile::TempDir;

pub(crate) const DAY: i64 = 1_790_000_000_000;

/// When a backup is restored.
pub(crate) const AT: Timestamp = Timestamp::from_millis(DAY);

/// A place for data directories and backups.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("data")).unwrap();
        Self(place)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path("data")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// An empty directory.
    pub(crate) fn empty(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir(&path).unwrap();
        path
    }

    /// The names in a directory, sorted.
    pub(crate) fn names(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

pub(crate) fn open(directory: &Path) -> Sqlite {
    Sqlite::open(Settings::new(directory.to_owned(), Rules::default())).unwrap()
}

/// Makes a backup with a fixed time.
pub(crate) fn make(directory: &Path, file: &Path) -> Made {
    let making = Making { at: Timestamp::from_millis(DAY), program: "9.9.9" };
    backup(directory, file, making).unwrap()
}

/// The n-th id. Its time is n milliseconds into the day.
pub(crate) fn id(n: u64) -> UserId {
    let millis = DAY.unsigned_abs() + n;
    UserId::from_bytes(
        ((u128::from(millis) << 80) | (0x7 << 76) | (0x2 << 62) | u128::from(n)).to_be_bytes(),
    )
}

fn tree(text: &str) -> Json {
    json::read(text.as_bytes()).unwrap()
}

fn command(at: u64, act: UserAct) -> Command {
    let caller = Caller { actor: Actor::Anonymous, request_id: format!("request-{at}") };
    let at = Timestamp::from_millis(DAY + i64::try_from(at).unwrap());
    Command::of(act, at, caller)
}

pub(crate) fn create(n: u64, user: &str) -> Command {
    let draft = Box::new(Draft::parse(tree(user)));
    command(n, UserAct::Create { id: id(n), draft, upsert: OnConflict::Fail.into() })
}

pub(crate) fn patch(at: u64, n: u64, patch: &str) -> Command {
    command(at, UserAct::Patch { id: id(n), patch: std::sync::Arc::new(tree(patch)) })
}

pub(crate) fn delete(at: u64, n: u64) -> Command {
    command(at, UserAct::Delete { id: id(n) })
}

pub(crate) fn purge(at: u64, n: u64) -> Command {
    command(at, UserAct::Purge { id: id(n) })
}

/// The command with an idempotency key.
pub(crate) fn once(key: u8, command: Command) -> Command {
    let idempotency = Some(Idempotency { key: [key; 32], fingerprint: [0; 32] });
    Command { idempotency, ..command }
}

/// Executes commands that must all succeed.
pub(crate) async fn apply(store: &Sqlite, commands: Vec<Command>) {
    for result in store.apply(commands).await {
        result.unwrap();
    }
}

/// A user with values for every table and key column.
pub(crate) fn full(n: u64) -> String {
    format!(
        r#"{{"username":"u{n}","name":"Ada {n} Lovelace","given_name":"Ada",
        "family_name":"Lovelace","external_id":"x{n}","emails":[{{"value":"a{n}@example.com",
        "primary":true}},{{"value":"b{n}@example.com"}}],"phone_numbers":[{{"value":"+44 20 {n}"}},
        {{"value":"+44 30 {n}"}}],"attributes":{{"n":{n}}}}}"#
    )
}

/// Fills a store with users 1 to 6: 3 is suspended, 4 and 5 are deleted, and 6 is changed.
pub(crate) async fn lived(directory: &Path) {
    let store = open(directory);
    apply(&store, (1..=6).map(|n| create(n, &full(n))).collect()).await;
    let changes = [
        patch(10, 3, r#"{"status":"suspended"}"#),
        delete(11, 4),
        delete(12, 5),
        patch(13, 6, r#"{"name":"Grace Hopper","emails":null}"#),
        patch(14, 6, r#"{"title":"Rear admiral"}"#),
    ];
    apply(&store, changes.into()).await;
    store.close();
}

/// The findings for a store filled by [`lived`] and then changed by this SQL.
pub(crate) fn altered(place: &Place, sql: &str) -> Findings {
    tokio::runtime::Runtime::new().unwrap().block_on(lived(&place.data()));
    alter(&place.data(), sql);
    check(&place.data()).unwrap()
}

/// Changes the file of a store that no process serves.
pub(crate) fn alter(directory: &Path, sql: &str) {
    let connection = Connection::open(directory.join("roster.db")).unwrap();
    connection.execute_batch(sql).unwrap();
}

/// The findings as they are printed.
pub(crate) fn told(findings: &Findings) -> String {
    let lines: Vec<String> = findings.lines.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// Asserts that a fault of this line contains this text.
#[track_caller]
pub(crate) fn must_tell(findings: &Findings, name: &str, what: &str) {
    let line = findings.lines.iter().find(|line| line.name == name).unwrap();
    assert!(line.named.iter().any(|fault| fault.contains(what)), "{what}: {}", told(findings));
    assert!(!findings.is_sound());
}

/// Asserts the same, and that no other line has faults.
#[track_caller]
pub(crate) fn must_tell_alone(findings: &Findings, name: &str, what: &str) {
    must_tell(findings, name, what);
    let faulty = findings.lines.iter().filter(|line| line.faults > 0).count();
    assert_eq!(faulty, 1, "{}", told(findings));
}

/// The whole log.
pub(crate) async fn events(store: &Sqlite) -> Vec<(i64, Event)> {
    let mut all = Vec::new();
    loop {
        let after = all.last().map_or(0, |(position, _)| *position);
        let page = store.events(EventsQuery::after(after, 500)).await.unwrap();
        if page.events.is_empty() {
            return all;
        }
        all.extend(page.events);
    }
}

/// All live users in the order of their ids.
pub(crate) async fn users(store: &Sqlite) -> Vec<Stored> {
    let mut all = Vec::new();
    let mut after: Option<PageKey> = None;
    loop {
        let page = store.page(PageQuery { after, ..PageQuery::first(500) }).await.unwrap();
        all.extend(page.items);
        after = page.next;
        if after.is_none() {
            return all;
        }
    }
}
