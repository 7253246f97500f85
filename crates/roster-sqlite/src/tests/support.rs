//! Shared by the tests of the engine: stores, commands and ids.

use std::path::Path;

use crate::{Settings, Sqlite, settings::DATABASE};
use roster_core::{
    Act, Actor, Caller, Command, Draft, Failure, GroupAct, Idempotency, Json, OnConflict, Outcome,
    Rules, Store, Timestamp, UserAct, UserId,
    group::{GroupDraft, StatedKinds},
    json,
};
use rusqlite::{Connection, types::Value};

pub(super) const DAY: i64 = 1_790_000_000_000;

/// The n-th id. Its time is n milliseconds after `DAY`.
pub(super) fn id(n: u64) -> UserId {
    let millis = DAY.unsigned_abs() + n;
    UserId::from_bytes(
        ((u128::from(millis) << 80) | (0x7 << 76) | (0x2 << 62) | u128::from(n)).to_be_bytes(),
    )
}

pub(super) fn settings(directory: &Path) -> Settings {
    Settings::new(directory.to_owned(), Rules::default())
}

pub(super) fn open(directory: &Path) -> Sqlite {
    Sqlite::open(settings(directory)).unwrap()
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

pub(super) fn replace(at: u64, n: u64, user: &str) -> Command {
    let draft = Box::new(Draft::parse(tree(user)));
    command(at, UserAct::Replace { id: id(n), draft })
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

/// The create of the n-th id as a group with these members.
pub(super) fn create_group(n: u64, name: &str, members: &[u64]) -> Command {
    let draft = Box::new(GroupDraft::of(Some(name.to_owned()), Some(format!("x{n}"))));
    let members = members.iter().copied().map(id).collect();
    command(
        n,
        GroupAct::Create { id: id(n), draft, members, kinds: StatedKinds::new(), otherwise: None },
    )
}

/// The create command, with its behaviour on a conflict.
pub(super) fn or(on_conflict: OnConflict, create: Command) -> Command {
    let Act::User(UserAct::Create { id, draft, .. }) = create.act else { panic!("a create") };
    let act = UserAct::Create { id, draft, upsert: on_conflict.into() };
    Command { act: act.into(), ..create }
}

/// The command with an idempotency key.
pub(super) fn once(key: u8, command: Command) -> Command {
    let mark = Idempotency { key: [key; 32], fingerprint: [1; 32] };
    Command { idempotency: Some(mark), ..command }
}

/// The first column of a statement's rows, as texts, read on a separate connection.
pub(super) fn column(directory: &Path, sql: &str) -> Vec<String> {
    let connection = Connection::open(directory.join(DATABASE)).unwrap();
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get::<_, Value>(0)).unwrap();
    rows.map(|value| match value.unwrap() {
        Value::Integer(number) => number.to_string(),
        Value::Text(text) => text,
        other @ (Value::Null | Value::Real(_) | Value::Blob(_)) => format!("{other:?}"),
    })
    .collect()
}

/// Executes one command.
pub(super) async fn apply(store: &Sqlite, command: Command) -> Result<Outcome, Failure> {
    store.apply(vec![command]).await.pop().unwrap()
}
