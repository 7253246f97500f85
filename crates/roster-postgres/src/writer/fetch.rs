//! Fetching the facts of a batch.
//!
//! There is one statement for each kind of fact, and all of them are sent at once. A writer locks
//! the rows of users in the order of their ids, so that two writers never wait for each other.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use futures_util::future::{join, try_join_all};
use roster_core::{StoreError, UserId};
use roster_engine::{ClaimKind, Current, IdempotencyRecord, Values, direct_groups};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::{
    facts::{Fetched, UserRow},
    sql,
    steps::{Parameter, Step, begin, prepare},
};
use crate::{
    columns::uuid,
    connect::Connection,
    failure::QueryResult,
    rows::{self, values},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lock {
    Rows,
    Nothing,
}

type Keep = Box<dyn FnOnce(&mut Fetched, Vec<Values>) -> Result<(), StoreError> + Send>;

/// A statement that fetches facts, and the function that keeps its rows.
type Query = (Step<'static>, Keep);

fn query(
    sql: impl Into<Cow<'static, str>>,
    parameters: impl Into<Vec<Parameter<'static>>>,
    keep: impl FnOnce(&mut Fetched, Vec<Values>) -> Result<(), StoreError> + Send + 'static,
) -> Query {
    (Step { sql: sql.into(), parameters: parameters.into() }, Box::new(keep))
}

/// Executes the statements in a transaction, and keeps the facts.
pub(super) async fn fetch(
    connection: &Connection,
    has_begun: bool,
    queries: Vec<Query>,
    facts: &mut Fetched,
) -> QueryResult<()> {
    let (steps, keep): (Vec<Step<'_>>, Vec<Keep>) = queries.into_iter().unzip();
    let rows = async { try_join_all(prepare(connection, &steps).await?).await };
    let (opened, rows) = join(begin(connection, has_begun), rows).await;
    opened?;
    for (keep, rows) in keep.into_iter().zip(rows?) {
        keep(facts, rows.iter().map(values).collect::<Result<_, _>>()?)?;
    }
    Ok(())
}

pub(super) fn missing(facts: &mut Fetched, lock: Lock) -> Vec<Query> {
    let mut queries = Vec::new();
    let groups = missing_groups(facts);
    if lock == Lock::Rows && !groups.is_empty() {
        // This statement is first: no transaction that waits for this lock has another one.
        queries.push(query(sql::LOCK_GROUPS, [], |_, _| Ok(())));
    }
    let (load, load_deleted) = match lock {
        Lock::Rows => (sql::LOCK, sql::LOCK_DELETED),
        Lock::Nothing => (sql::LOAD, sql::LOAD_DELETED),
    };
    let live = facts.live.take_missing();
    if !live.is_empty() {
        queries.push(query(load, [uuids(&live)], |facts, rows| {
            facts.live.keep(&rows, |row| user(row, "users"))
        }));
    }
    let deleted = facts.deleted.take_missing();
    if !deleted.is_empty() {
        queries.push(query(load_deleted, [uuids(&deleted)], |facts, rows| {
            facts.deleted.keep(&rows, |row| user(row, "deleted_users"))
        }));
    }
    let holders = facts.holders.take_missing();
    let keys = |kind| -> Vec<Vec<u8>> {
        let claims = holders.iter().filter(|(of, _)| *of == kind);
        claims.map(|(_, key)| key.as_bytes().to_vec()).collect()
    };
    let (usernames, emails) = (keys(ClaimKind::Username), keys(ClaimKind::Email));
    if !(usernames.is_empty() && emails.is_empty()) {
        queries.push(query(
            sql::HOLDERS,
            [parameter(usernames), parameter(emails)],
            |facts, rows| facts.holders.keep(&rows, holder),
        ));
    }
    let external_ids = keys(ClaimKind::ExternalId);
    if !external_ids.is_empty() {
        queries.push(query(
            sql::HOLDERS_OF_EXTERNAL_IDS,
            [parameter(external_ids)],
            |facts, rows| facts.holders.keep(&rows, holder),
        ));
    }
    queries.extend(groups);
    let keys = facts.idempotency.take_missing();
    if !keys.is_empty() {
        // This statement is last: a request with the same key that had the locks above has
        // committed its record.
        let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.to_vec()).collect();
        queries.push(query(sql::IDEMPOTENCY, [parameter(keys)], |facts, rows| {
            facts.idempotency.keep(&rows, idempotency_record)
        }));
    }
    queries
}

/// The statements for missing facts about groups.
fn missing_groups(facts: &mut Fetched) -> Vec<Query> {
    let mut queries = Vec::new();
    let members = facts.groups_of.take_missing();
    if !members.is_empty() {
        queries.push(query(direct_groups::<&Connection>(), [uuids(&members)], keep_groups_of));
    }
    for key in facts.rows.take_missing() {
        let parameters: Vec<Parameter<'_>> =
            key.1.iter().cloned().map(|cell| parameter(rows::Parameter(cell))).collect();
        queries.push(query(key.0.clone(), parameters, |facts, rows| {
            facts.rows.fetched.insert(key, Arc::new(rows));
            Ok(())
        }));
    }
    queries
}

fn parameter<T: ToSql + Sync + Send + 'static>(value: T) -> Parameter<'static> {
    Box::new(value)
}

fn uuids(ids: &BTreeSet<UserId>) -> Parameter<'static> {
    parameter(ids.iter().copied().map(uuid).collect::<Vec<Uuid>>())
}

fn user(row: &Values, table: &str) -> Result<(UserId, UserRow), StoreError> {
    let id = row.id(0, table)?;
    let current = match Current::read(id, row.bytes(1, table)?.clone(), table) {
        Ok(current) => Ok(Arc::new(current)),
        Err(StoreError::Corrupt { place }) => Err(place),
        Err(error) => return Err(error),
    };
    Ok((id, Some(current)))
}

fn keep_groups_of(facts: &mut Fetched, rows: Vec<Values>) -> Result<(), StoreError> {
    let groups_of = &mut facts.groups_of.fetched;
    for row in rows {
        let member = row.id(3, "group_members.member_id")?;
        groups_of.entry(member).or_default().push(row.group()?);
    }
    for groups in groups_of.values_mut() {
        groups.sort_unstable_by_key(|group| group.id);
    }
    Ok(())
}

fn holder(row: &Values) -> Result<((ClaimKind, String), Option<UserId>), StoreError> {
    let kind = match row.number(0, "users keys")? {
        0 => ClaimKind::Username,
        1 => ClaimKind::Email,
        _ => ClaimKind::ExternalId,
    };
    Ok(((kind, row.text(1, "users keys")?.to_owned()), Some(row.id(2, "users.id")?)))
}

fn idempotency_record(row: &Values) -> Result<([u8; 32], Option<IdempotencyRecord>), StoreError> {
    IdempotencyRecord::of_row(row).map(|(key, record)| (key, Some(record)))
}
