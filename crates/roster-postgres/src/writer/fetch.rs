//! Fetching the facts of a batch.
//!
//! There is one statement for each kind of fact, and all of them are sent at once. A writer locks
//! the rows of users in the order of their ids, so that two writers never wait for each other.

use std::{collections::BTreeSet, sync::Arc};

use bytes::Bytes;
use futures_util::future::{join, try_join_all};
use roster_core::{
    Effect, EventKind, GroupId, MemberKind, StoreError, Stored, Timestamp, UserId, group::Newcomer,
};
use roster_engine::{ClaimKind, Current, IdempotencyRecord, LogPosition, StoredGroup, UNCHANGED};
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

use super::{
    facts::{Fetched, UserRow},
    sql,
    steps::{Parameter, Step, begin, prepare},
};
use crate::{
    columns::{column, corrupt, id_column, record_column, uuid},
    connect::Connection,
    groups::{DIRECT, group_of, stored_at},
    query_error::QueryResult,
};

/// Whether rows are locked for a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lock {
    Rows,
    Nothing,
}

type Keep = Box<dyn FnOnce(&mut Fetched, &[Row]) -> Result<(), StoreError> + Send>;

/// A statement that fetches facts, and the function that keeps its rows.
type Query = (Step<'static>, Keep);

fn query(
    sql: &'static str,
    parameters: impl Into<Vec<Parameter<'static>>>,
    keep: impl FnOnce(&mut Fetched, &[Row]) -> Result<(), StoreError> + Send + 'static,
) -> Query {
    (Step { sql, parameters: parameters.into() }, Box::new(keep))
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
        keep(facts, &rows)?;
    }
    Ok(())
}

/// The statements for all missing facts.
pub(super) fn missing(facts: &mut Fetched, lock: Lock) -> Vec<Query> {
    let mut queries = Vec::new();
    let groups = missing_groups(facts);
    if lock == Lock::Rows && !groups.is_empty() {
        // First: no transaction that waits for this lock has another one.
        queries.push(query(sql::LOCK_GROUPS, [], |_, _| Ok(())));
    }
    let (load, load_deleted) = match lock {
        Lock::Rows => (sql::LOCK, sql::LOCK_DELETED),
        Lock::Nothing => (sql::LOAD, sql::LOAD_DELETED),
    };
    let live = facts.live.take_missing();
    if !live.is_empty() {
        queries.push(query(load, [uuids(&live)], |facts, rows| {
            facts.live.keep(rows, |row| user(row, "users"))
        }));
    }
    let deleted = facts.deleted.take_missing();
    if !deleted.is_empty() {
        queries.push(query(load_deleted, [uuids(&deleted)], |facts, rows| {
            facts.deleted.keep(rows, |row| user(row, "deleted_users"))
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
            |facts, rows| facts.holders.keep(rows, holder),
        ));
    }
    let external_ids = keys(ClaimKind::ExternalId);
    if !external_ids.is_empty() {
        queries.push(query(
            sql::HOLDERS_OF_EXTERNAL_IDS,
            [parameter(external_ids)],
            |facts, rows| facts.holders.keep(rows, holder),
        ));
    }
    queries.extend(groups);
    let keys = facts.idempotency.take_missing();
    if !keys.is_empty() {
        // Last: a request with the same key that had the locks above has committed its record.
        let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.to_vec()).collect();
        queries.push(query(sql::IDEMPOTENCY, [parameter(keys)], |facts, rows| {
            facts.idempotency.keep(rows, idempotency_record)
        }));
    }
    queries
}

/// The statements for missing facts about groups.
fn missing_groups(facts: &mut Fetched) -> Vec<Query> {
    let mut queries = Vec::new();
    let members = facts.groups_of.take_missing();
    if !members.is_empty() {
        queries.push(query(DIRECT, [uuids(&members)], keep_groups_of));
    }
    for id in facts.group.take_missing() {
        queries.push(query(sql::GROUP, [parameter(uuid(id))], move |facts, rows| {
            facts.group.keep(rows, |row| Ok((id, Some(stored_group(row)?))))
        }));
    }
    for name in facts.group_names.take_missing() {
        let key = parameter(name.clone().into_bytes());
        queries.push(query(sql::GROUP_NAME_HOLDER, [key], move |facts, rows| {
            let holder = |row: &Row| Some(id_column(row, 0, "groups.id")).transpose();
            facts.group_names.keep(rows, |row| Ok((name.clone(), holder(row)?)))
        }));
    }
    for (group, among) in facts.members.take_missing() {
        let id = parameter(uuid(group));
        let (sql, parameters) = match &among {
            Some(among) => (sql::MEMBERS_AMONG, vec![id, uuids(among)]),
            None => (sql::ALL_MEMBERS, vec![id]),
        };
        queries.push(query(sql, parameters, move |facts, rows| {
            facts.members.fetched.insert((group, among), ids(rows)?);
            Ok(())
        }));
    }
    for named in facts.newcomers.take_missing() {
        queries.push(query(sql::NEWCOMERS, [uuids(&named)], move |facts, rows| {
            let newcomers = rows.iter().filter_map(|row| newcomer(row).transpose());
            facts.newcomers.fetched.insert(named, newcomers.collect::<Result<_, _>>()?);
            Ok(())
        }));
    }
    for front in facts.above.take_missing() {
        queries.push(query(sql::GROUPS_ABOVE, [uuids(&front)], move |facts, rows| {
            facts.above.fetched.insert(front, ids(rows)?);
            Ok(())
        }));
    }
    for front in facts.below.take_missing() {
        queries.push(query(sql::GROUPS_BELOW, [uuids(&front)], move |facts, rows| {
            facts.below.fetched.insert(front, ids(rows)?);
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

fn user(row: &Row, table: &str) -> Result<(UserId, UserRow), StoreError> {
    let id = id_column(row, 0, table)?;
    let current = match Current::read(id, record_column(row, 1, table)?, table) {
        Ok(current) => Ok(Arc::new(current)),
        Err(StoreError::Corrupt { place }) => Err(place),
        Err(error) => return Err(error),
    };
    Ok((id, Some(current)))
}

fn keep_groups_of(facts: &mut Fetched, rows: &[Row]) -> Result<(), StoreError> {
    let groups_of = &mut facts.groups_of.fetched;
    for row in rows {
        let member = id_column(row, 0, "group_members.member_id")?;
        groups_of.entry(member).or_default().push(group_of(&stored_at(row, 1)?)?);
    }
    for groups in groups_of.values_mut() {
        groups.sort_unstable_by_key(|group| group.id);
    }
    Ok(())
}

fn ids(rows: &[Row]) -> Result<BTreeSet<GroupId>, StoreError> {
    rows.iter().map(|row| id_column(row, 0, "group_members")).collect()
}

fn stored_group(row: &Row) -> Result<StoredGroup, StoreError> {
    let stored = stored_at(row, 0)?;
    let members: i64 = column(row, 3, "groups.members")?;
    let group = group_of(&stored)?;
    Ok(StoredGroup { group, record: stored.record, members: members.unsigned_abs() })
}

/// `None` for an id that is neither of a user nor of a group.
fn newcomer(row: &Row) -> Result<Option<(UserId, Newcomer)>, StoreError> {
    let kind: Option<i32> = column(row, 1, "group_members.kind")?;
    let kind = match kind {
        Some(0) => MemberKind::User,
        Some(1) => MemberKind::Group,
        Some(_) => return Err(corrupt("group_members.kind")),
        None => return Ok(None),
    };
    let groups: i64 = column(row, 2, "group_members")?;
    let id = id_column(row, 0, "group_members.member_id")?;
    Ok(Some((id, Newcomer { kind, groups: groups.unsigned_abs() })))
}

fn holder(row: &Row) -> Result<((ClaimKind, String), Option<UserId>), StoreError> {
    let key: &[u8] = column(row, 1, "users keys")?;
    let key = std::str::from_utf8(key).map_err(|_| corrupt("users keys"))?.to_owned();
    let kind = match column(row, 0, "users keys")? {
        0_i32 => ClaimKind::Username,
        1 => ClaimKind::Email,
        _ => ClaimKind::ExternalId,
    };
    Ok(((kind, key), Some(id_column(row, 2, "users.id")?)))
}

fn idempotency_record(row: &Row) -> Result<([u8; 32], Option<IdempotencyRecord>), StoreError> {
    let digest = |index, place| -> Result<[u8; 32], StoreError> {
        let bytes: &[u8] = column(row, index, place)?;
        bytes.try_into().map_err(|_| corrupt(place))
    };
    let effect: &str = column(row, 6, "idempotency_keys.effect")?;
    let effect = match effect {
        UNCHANGED => Effect::Unchanged,
        kind => {
            let kind = EventKind::parse(kind);
            Effect::Changed(kind.ok_or_else(|| corrupt("idempotency_keys.effect"))?)
        }
    };
    let record: Option<&str> = column(row, 7, "idempotency_keys.record")?;
    let id = id_column(row, 3, "idempotency_keys.user_id")?;
    let version = column(row, 4, "idempotency_keys.version")?;
    let record = IdempotencyRecord {
        fingerprint: digest(1, "idempotency_keys.fingerprint")?,
        at: Timestamp::from_millis(column(row, 2, "idempotency_keys.at")?),
        effect,
        stored: record.map(|record| Stored {
            id,
            version,
            record: Bytes::copy_from_slice(record.as_bytes()),
        }),
        position: LogPosition::Committed(column(row, 5, "idempotency_keys.position")?),
    };
    Ok((digest(0, "idempotency_keys.key")?, Some(record)))
}
