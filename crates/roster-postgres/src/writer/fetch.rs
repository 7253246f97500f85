//! Fetching the facts of a batch.
//!
//! There is one statement for each kind of fact, and all of them are sent at once.
//!
//! Two transactions must never wait for each other. So each waits for locks only in its first step,
//! and in one order: the memberships of its tenant, then the keys that it may give to users, then
//! users by their ids, then deleted users. The first two are advisory locks. Memberships have one
//! lock a tenant: they do not change while a transaction has it. Without the locks of keys, two
//! transactions that insert the same keys in another order would wait for each other in the unique
//! indexes. A later step that finds a lock taken does not wait: the transaction begins again and
//! takes that lock in its first step.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    hash::{DefaultHasher, Hash, Hasher},
    mem,
    sync::Arc,
};

use futures_util::future::{join, try_join_all};
use roster_core::{LogId, StoreError, TenantId, UserId};
use roster_engine::{
    ClaimKind, Current, Facts as _, IdempotencyRecord, USERS_ROOM, Values, corrupt, direct_groups,
};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::{
    facts::{Claim, Fetched, UserRow},
    sql,
    steps::{Parameter, Step, begin, prepare},
};
use crate::{
    columns::uuid,
    connection::Connection,
    failure::{QueryError, QueryResult},
    reads::rows::{self, Rows, values},
};

/// What a step locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lock {
    /// Everything that the batch may change, after a wait if necessary. The keys are those of this
    /// log: two stores may be in one database.
    Wait(LogId),
    /// The same, without a wait.
    AtOnce(LogId),
    /// Nothing: the transaction writes nothing.
    Nothing,
}

type Keep = Box<dyn FnOnce(&mut Fetched, Vec<Values>) -> QueryResult<()> + Send>;

/// A statement that fetches facts, and the function that keeps its rows.
type Query = (Step<'static>, Keep);

fn query(
    sql: impl Into<Cow<'static, str>>,
    parameters: impl Into<Vec<Parameter<'static>>>,
    keep: impl FnOnce(&mut Fetched, Vec<Values>) -> QueryResult<()> + Send + 'static,
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
    let locks = lock != Lock::Nothing;
    let locks_groups = mem::take(&mut facts.locks_groups) || !groups.is_empty();
    let mut holders = facts.holders.take_missing();
    queries.extend(claim(facts.tenant(), locks_groups, &holders, lock));
    let mut followed = mem::take(&mut facts.followed);
    if locks {
        holders.retain(|claim| !followed.contains(claim));
    } else {
        followed.clear();
    }
    queries.extend(missing_users(facts, followed, lock));
    let of = |kind| keys(&holders, kind);
    let (usernames, emails) = (of(ClaimKind::Username), of(ClaimKind::Email));
    if !(usernames.is_empty() && emails.is_empty()) {
        queries.push(query(
            sql::HOLDERS,
            [tenant(facts), parameter(usernames), parameter(emails)],
            |facts, rows| Ok(facts.holders.keep(&rows, holder)?),
        ));
    }
    let external_ids = of(ClaimKind::ExternalId);
    if !external_ids.is_empty() {
        queries.push(query(
            sql::HOLDERS_OF_EXTERNAL_IDS,
            [tenant(facts), parameter(external_ids)],
            |facts, rows| Ok(facts.holders.keep(&rows, holder)?),
        ));
    }
    let indexed = holders.iter().filter_map(|(kind, key)| match kind {
        ClaimKind::Indexed(number) => Some((*number, key.as_bytes().to_vec())),
        ClaimKind::Username | ClaimKind::Email | ClaimKind::ExternalId => None,
    });
    let (numbers, indexed): (Vec<i16>, Vec<Vec<u8>>) = indexed.unzip();
    if !numbers.is_empty() {
        queries.push(query(
            sql::HOLDERS_OF_INDEXED_KEYS,
            [tenant(facts), parameter(numbers), parameter(indexed)],
            |facts, rows| Ok(facts.holders.keep(&rows, indexed_holder)?),
        ));
    }
    queries.extend(groups);
    if !facts.users_room.take_missing().is_empty() {
        queries.push(query(USERS_ROOM, [tenant(facts)], |facts, rows| {
            let room = rows.first().and_then(|row| row.number(0, "").ok());
            facts.users_room.fetched.insert((), room);
            Ok(())
        }));
    }
    let keys = facts.idempotency.take_missing();
    if !keys.is_empty() {
        // This statement is last: a request with the same key that had the locks above has
        // committed its record.
        let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.to_vec()).collect();
        let parameters = [tenant(facts), parameter(keys)];
        queries.push(query(sql::IDEMPOTENCY, parameters, |facts, rows| {
            Ok(facts.idempotency.keep(&rows, idempotency_record)?)
        }));
    }
    queries
}

/// A statement that locks rows.
fn locking(sql: &'static str, lock: Lock) -> Cow<'static, str> {
    match lock {
        Lock::AtOnce(_) => sql::at_once(sql).into(),
        Lock::Wait(_) | Lock::Nothing => sql.into(),
    }
}

/// The statement that locks the memberships of a tenant, if these are read, and then the keys whose
/// holders are fetched: the batch may give them to users.
fn claim(
    tenant: TenantId,
    locks_groups: bool,
    claims: &BTreeSet<Claim>,
    lock: Lock,
) -> Option<Query> {
    let (log, sql) = match lock {
        Lock::Wait(log) => (log, sql::CLAIM),
        Lock::AtOnce(log) => (log, sql::CLAIM_AT_ONCE),
        Lock::Nothing => return None,
    };
    // Two keys of one digest only wait for each other.
    let digest = |claim: Option<&Claim>| {
        let mut hasher = DefaultHasher::new();
        (log, tenant, claim).hash(&mut hasher);
        hasher.finish().cast_signed()
    };
    let keys: BTreeSet<i64> = claims.iter().map(|claim| digest(Some(claim))).collect();
    let digests: Vec<i64> = locks_groups.then(|| digest(None)).into_iter().chain(keys).collect();
    (!digests.is_empty()).then(|| {
        query(sql, [parameter(digests)], |_, rows| {
            if rows.is_empty() { Ok(()) } else { Err(QueryError::Locked) }
        })
    })
}

/// The statements for missing users, those that hold one of the followed keys included.
fn missing_users(facts: &mut Fetched, followed: BTreeSet<Claim>, lock: Lock) -> Vec<Query> {
    let mut queries = Vec::new();
    let (load, load_deleted) = match lock {
        Lock::Nothing => (sql::LOAD, sql::LOAD_DELETED),
        Lock::Wait(_) | Lock::AtOnce(_) => (sql::LOCK, sql::LOCK_DELETED),
    };
    let live = facts.live.take_missing();
    if !followed.is_empty() {
        let of = |kind| parameter(keys(&followed, kind));
        let parameters = [
            tenant(facts),
            uuids(&live),
            of(ClaimKind::Username),
            of(ClaimKind::Email),
            of(ClaimKind::ExternalId),
        ];
        queries.push(query(locking(sql::LOCK_HOLDERS, lock), parameters, move |facts, rows| {
            facts.live.keep(&rows, |row| user(row, "users"))?;
            keep_followed(facts, &followed, &rows)
        }));
    } else if !live.is_empty() {
        queries.push(query(locking(load, lock), [tenant(facts), uuids(&live)], |facts, rows| {
            Ok(facts.live.keep(&rows, |row| user(row, "users"))?)
        }));
    }
    let deleted = facts.deleted.take_missing();
    if !deleted.is_empty() {
        let parameters = [tenant(facts), uuids(&deleted)];
        queries.push(query(locking(load_deleted, lock), parameters, |facts, rows| {
            Ok(facts.deleted.keep(&rows, |row| user(row, "deleted_users"))?)
        }));
    }
    queries
}

/// Keeps which of the locked users hold the followed keys. A key without a holder here may have got
/// another one during the wait. Then the unique index rejects the batch, which runs again.
fn keep_followed(
    facts: &mut Fetched,
    followed: &BTreeSet<Claim>,
    rows: &[Values],
) -> QueryResult<()> {
    let kinds = [(2, ClaimKind::Username), (3, ClaimKind::Email), (4, ClaimKind::ExternalId)];
    for row in rows {
        for (index, kind) in kinds {
            // An absent key is not a text.
            let Ok(key) = row.text(index, "") else { continue };
            let claim = (kind, key.to_owned());
            if followed.contains(&claim) {
                facts.holders.fetched.insert(claim, Some(row.id(0, "users.id")?));
            }
        }
    }
    Ok(())
}

fn keys(claims: &BTreeSet<Claim>, kind: ClaimKind) -> Vec<Vec<u8>> {
    let claims = claims.iter().filter(|(of, _)| *of == kind);
    claims.map(|(_, key)| key.as_bytes().to_vec()).collect()
}

/// The statements for missing facts about groups.
fn missing_groups(facts: &mut Fetched) -> Vec<Query> {
    let mut queries = Vec::new();
    let members = facts.groups_of.take_missing();
    if !members.is_empty() {
        let parameters = [uuids(&members), tenant(facts)];
        queries.push(query(direct_groups::<Rows<'_>>(), parameters, keep_groups_of));
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

fn tenant(facts: &Fetched) -> Parameter<'static> {
    parameter(facts.tenant().number())
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
        Ok(current) => Ok(current),
        Err(StoreError::Corrupt { place }) => Err(place),
        Err(error) => return Err(error),
    };
    Ok((id, Some(current)))
}

fn keep_groups_of(facts: &mut Fetched, rows: Vec<Values>) -> QueryResult<()> {
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

fn indexed_holder(row: &Values) -> Result<((ClaimKind, String), Option<UserId>), StoreError> {
    let number = i16::try_from(row.number(0, "further_keys.kind")?);
    let number = number.map_err(|_| corrupt("further_keys.kind"))?;
    let key = row.text(1, "further_keys.key")?.to_owned();
    Ok(((ClaimKind::Indexed(number), key), Some(row.id(2, "further_keys.id")?)))
}

fn idempotency_record(row: &Values) -> Result<([u8; 32], Option<IdempotencyRecord>), StoreError> {
    IdempotencyRecord::of_row(row).map(|(key, record)| (key, Some(record)))
}
