//! Fetching the facts of a batch.
//!
//! There is one statement for each kind of fact, and all of them are sent at once. A writer locks
//! the rows of users in the order of their ids, so that two writers never wait for each other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::try_join_all;
use roster_core::{
    Effect, EventKind, GroupId, MemberKind, StoreError, Stored, Timestamp, UserId, group::Newcomer,
};
use roster_engine::{ClaimKind, Current, IdempotencyRecord, LogPosition, StoredGroup};
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

use super::{
    facts::{Fetched, Members, Missing, UserRow},
    sql,
};
use crate::{
    columns::{column, corrupt, id_column, id_of, record_column, uuid},
    connect::Connection,
    groups::{DIRECT, group_of, stored_at},
    pool::QueryResult,
};

/// Whether rows are locked for a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lock {
    Rows,
    Nothing,
}

/// The effect of a request that changed nothing, as its idempotency record spells it.
pub(super) const UNCHANGED: &str = "unchanged";

/// The parameters of the statements that fetch.
struct Parameters<'m> {
    live: Vec<Uuid>,
    deleted: Vec<Uuid>,
    usernames: Vec<&'m [u8]>,
    emails: Vec<&'m [u8]>,
    external_ids: Vec<&'m [u8]>,
    idempotency: Vec<&'m [u8]>,
    leaving: Vec<Uuid>,
    group: Option<Uuid>,
    group_name: Option<&'m [u8]>,
    members_of: Option<Uuid>,
    among: Vec<Uuid>,
    newcomers: Vec<Uuid>,
    above: Vec<Uuid>,
    below: Vec<Uuid>,
}

impl<'m> Parameters<'m> {
    fn of(missing: &'m Missing) -> Self {
        let keys = |kind: ClaimKind| {
            let claims = missing.holders.iter().filter(move |(of, _)| *of == kind);
            claims.map(|(_, key)| key.as_bytes()).collect()
        };
        let among = missing.members.as_ref().and_then(|(_, among)| among.as_ref());
        Self {
            live: uuids(Some(&missing.live)),
            deleted: uuids(Some(&missing.deleted)),
            usernames: keys(ClaimKind::Username),
            emails: keys(ClaimKind::Email),
            external_ids: keys(ClaimKind::ExternalId),
            idempotency: missing.idempotency.iter().map(<[u8; 32]>::as_slice).collect(),
            leaving: uuids(Some(&missing.groups_of)),
            group: missing.group.map(uuid),
            group_name: missing.group_name.as_deref().map(str::as_bytes),
            members_of: missing.members.as_ref().map(|(group, _)| uuid(*group)),
            among: uuids(among),
            newcomers: uuids(missing.newcomers.as_ref()),
            above: uuids(missing.above.as_ref()),
            below: uuids(missing.below.as_ref()),
        }
    }
}

fn uuids(ids: Option<&BTreeSet<UserId>>) -> Vec<Uuid> {
    ids.into_iter().flatten().copied().map(uuid).collect()
}

/// Fetches what is missing.
pub(super) async fn fetch(
    connection: &Connection,
    lock: Lock,
    facts: &mut Fetched,
) -> QueryResult<()> {
    let missing = std::mem::take(&mut facts.missing);
    let p = Parameters::of(&missing);
    let (live, deleted) = match lock {
        Lock::Rows => (sql::LOCK, sql::LOCK_DELETED),
        Lock::Nothing => (sql::LOAD, sql::LOAD_DELETED),
    };
    let (some, all) = match &missing.members {
        Some((_, Some(_))) => (true, false),
        Some((_, None)) => (false, true),
        None => (false, false),
    };
    let steps: [(&str, bool, Vec<&(dyn ToSql + Sync)>); 14] = [
        // First: who holds this lock never waits for one who waits for it.
        (sql::LOCK_GROUPS, lock == Lock::Rows && missing.needs_groups(), vec![]),
        (live, !p.live.is_empty(), vec![&p.live]),
        (DIRECT, !p.leaving.is_empty(), vec![&p.leaving]),
        (deleted, !p.deleted.is_empty(), vec![&p.deleted]),
        (
            sql::HOLDERS,
            !(p.usernames.is_empty() && p.emails.is_empty()),
            vec![&p.usernames, &p.emails],
        ),
        (sql::HOLDERS_OF_EXTERNAL_IDS, !p.external_ids.is_empty(), vec![&p.external_ids]),
        (sql::GROUP, p.group.is_some(), vec![&p.group]),
        (sql::GROUP_NAME_HOLDER, p.group_name.is_some(), vec![&p.group_name]),
        (sql::MEMBERS_AMONG, some, vec![&p.members_of, &p.among]),
        (sql::ALL_MEMBERS, all, vec![&p.members_of]),
        (sql::NEWCOMERS, !p.newcomers.is_empty(), vec![&p.newcomers]),
        (sql::GROUPS_ABOVE, !p.above.is_empty(), vec![&p.above]),
        (sql::GROUPS_BELOW, !p.below.is_empty(), vec![&p.below]),
        // Last: a first request that holds the locks above has committed its record by then.
        (sql::IDEMPOTENCY, !p.idempotency.is_empty(), vec![&p.idempotency]),
    ];
    // All are prepared before any is sent, so that they are sent in this order.
    let prepare = |(sql, wanted, _): &(&str, bool, Vec<_>)| {
        let (sql, wanted) = ((*sql).to_owned(), *wanted);
        async move { if wanted { connection.prepare(&sql).await.map(Some) } else { Ok(None) } }
    };
    let statements = try_join_all(steps.iter().map(prepare)).await?;
    let queries = statements.iter().zip(&steps).map(|(statement, (.., parameters))| async move {
        match statement {
            Some(statement) => connection.client().query(statement, parameters).await,
            None => Ok(Vec::new()),
        }
    });
    let rows = try_join_all(queries).await?;
    Ok(keep(facts, missing, rows)?)
}

/// Keeps the rows of the statements, in the order of [`fetch`].
fn keep(facts: &mut Fetched, missing: Missing, rows: Vec<Vec<Row>>) -> Result<(), StoreError> {
    let mut rows = rows.into_iter().skip(1);
    let mut next = || rows.next().unwrap_or_default();
    facts.live.extend(users(&missing.live, &next(), "users")?);
    keep_groups_of(facts, &missing, &next())?;
    facts.deleted.extend(users(&missing.deleted, &next(), "deleted_users")?);
    facts.holders.extend(missing.holders.into_iter().map(|claim| (claim, None)));
    for row in next().iter().chain(&next()) {
        let (kind, key, id) = holder(row)?;
        facts.holders.insert((kind, key), Some(id));
    }
    let (group, name) = (next(), next());
    if let Some(id) = missing.group {
        facts.group.insert(id, group.first().map(stored_group).transpose()?);
    }
    if let Some(key) = missing.group_name {
        let holder = name.first().map(|row| id_column(row, 0, "groups.id")).transpose()?;
        facts.group_names.insert(key, holder);
    }
    keep_members(facts, missing.members, &[next(), next()].concat())?;
    let newcomers = next();
    if let Some(ids) = missing.newcomers {
        facts.newcomers.insert(
            ids,
            newcomers
                .iter()
                .filter_map(|row| newcomer(row).transpose())
                .collect::<Result<_, _>>()?,
        );
    }
    let (above, below) = (next(), next());
    if let Some(front) = missing.above {
        facts.above.insert(front, ids(&above)?);
    }
    if let Some(front) = missing.below {
        facts.below.insert(front, ids(&below)?);
    }
    facts.idempotency.extend(missing.idempotency.into_iter().map(|key| (key, None)));
    for row in next() {
        let (key, record) = idempotency_record(&row)?;
        facts.idempotency.insert(key, Some(record));
    }
    Ok(())
}

/// The rows of users; those that have none as well.
fn users(
    ids: &BTreeSet<UserId>,
    rows: &[Row],
    table: &str,
) -> Result<BTreeMap<UserId, UserRow>, StoreError> {
    let mut users: BTreeMap<UserId, UserRow> = ids.iter().map(|id| (*id, Ok(None))).collect();
    for row in rows {
        let id = id_column(row, 0, table)?;
        let current = match Current::read(id, record_column(row, 1, table)?, table) {
            Ok(current) => Ok(Some(Arc::new(current))),
            Err(StoreError::Corrupt { place }) => Err(place),
            Err(error) => return Err(error),
        };
        users.insert(id, current);
    }
    Ok(users)
}

fn keep_groups_of(facts: &mut Fetched, missing: &Missing, rows: &[Row]) -> Result<(), StoreError> {
    for id in &missing.groups_of {
        facts.groups_of.insert(*id, Vec::new());
    }
    for row in rows {
        let member = id_column(row, 0, "group_members.member_id")?;
        let group = group_of(&stored_at(row, 1)?)?;
        facts.groups_of.entry(member).or_default().push(group);
    }
    for id in &missing.groups_of {
        if let Some(groups) = facts.groups_of.get_mut(id) {
            groups.sort_unstable_by_key(|group| group.id);
        }
    }
    Ok(())
}

fn keep_members(
    facts: &mut Fetched,
    question: Option<Members>,
    rows: &[Row],
) -> Result<(), StoreError> {
    if let Some(question) = question {
        facts.members.insert(question, ids(rows)?);
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

fn holder(row: &Row) -> Result<(ClaimKind, String, UserId), StoreError> {
    let key: &[u8] = column(row, 1, "users keys")?;
    let key = std::str::from_utf8(key).map_err(|_| corrupt("users keys"))?.to_owned();
    let kind = match column(row, 0, "users keys")? {
        0_i32 => ClaimKind::Username,
        1 => ClaimKind::Email,
        _ => ClaimKind::ExternalId,
    };
    Ok((kind, key, id_of(column(row, 2, "users.id")?)))
}

fn idempotency_record(row: &Row) -> Result<([u8; 32], IdempotencyRecord), StoreError> {
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
    Ok((digest(0, "idempotency_keys.key")?, record))
}
