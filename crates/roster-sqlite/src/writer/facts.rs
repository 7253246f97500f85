//! The facts of a batch, read in its transaction or in a snapshot.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use bytes::Bytes;
use roster_core::{
    Effect, EventKind, Group, GroupId, MemberKind, Stored, Timestamp, UserId, group::Newcomer,
    limits::GROUP_NESTING_MAX,
};
use roster_engine::{
    ClaimKind, CommandError, Current, Facts, IdempotencyRecord, LogPosition, Request, StoredGroup,
    UNCHANGED,
};
use rusqlite::{CachedStatement, Connection, Row};

use super::sql;
use crate::{
    columns::{corrupt, id_of, record_of, text_of},
    failure::{ReadError, ReadResult},
    groups::{direct, get, group_of},
};

/// Reads the facts of a batch.
pub(super) struct StoredFacts<'c> {
    connection: &'c Connection,
    load: CachedStatement<'c>,
    username_holder: CachedStatement<'c>,
    email_holder: CachedStatement<'c>,
    /// The users that requests were decided on. One whose record is the stored one is not parsed
    /// again.
    parsed: Vec<Arc<Current>>,
    /// The numbers of the rows that were read.
    pub(super) row_numbers: HashMap<UserId, i64>,
    /// The error that ends the transaction.
    error: Option<rusqlite::Error>,
}

impl<'c> StoredFacts<'c> {
    pub(super) fn new(connection: &'c Connection, batch: &[&Request]) -> rusqlite::Result<Self> {
        Ok(Self {
            connection,
            load: connection.prepare_cached(sql::LOAD)?,
            username_holder: connection.prepare_cached(sql::USERNAME_HOLDER)?,
            email_holder: connection.prepare_cached(sql::EMAIL_HOLDER)?,
            parsed: batch.iter().filter_map(|request| request.decided_on()).collect(),
            row_numbers: HashMap::new(),
            error: None,
        })
    }

    /// Fails with the error that a read met.
    pub(super) fn check(&mut self) -> rusqlite::Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// An error of SQLite ends the transaction. A damaged value fails the command that needs it.
    fn read<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> ReadResult<T>,
    ) -> Result<T, CommandError> {
        read(self).map_err(|error| match error {
            ReadError::Store(error) => error.into(),
            ReadError::Sqlite(error) => {
                self.error.get_or_insert(error);
                CommandError::MissingFact
            }
        })
    }

    fn event_record(&self, position: i64) -> ReadResult<Option<Bytes>> {
        let mut statement = self.connection.prepare_cached(sql::EVENT_RECORD)?;
        let record = |row: &Row<'_>| record_of(row, 0, "events.record");
        statement.query_and_then([position], record)?.next().transpose()
    }

    /// The groups that a statement gives for any of these.
    fn adjacent(
        &mut self,
        sql: &str,
        ids: &BTreeSet<GroupId>,
    ) -> Result<BTreeSet<GroupId>, CommandError> {
        self.read(|facts| {
            let mut found = BTreeSet::new();
            for id in ids {
                facts.collect(sql, *id, GROUP_NESTING_MAX, &mut found)?;
            }
            Ok(found)
        })
    }

    /// The ids that a statement gives for one, until there are more than so many.
    fn collect(
        &self,
        sql: &str,
        of: UserId,
        most: usize,
        ids: &mut BTreeSet<UserId>,
    ) -> ReadResult<()> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([of.as_bytes()])?;
        while ids.len() <= most
            && let Some(row) = rows.next()?
        {
            ids.insert(id_of(row, 0, "group_members")?);
        }
        Ok(())
    }
}

/// The holder of a unique key.
fn holder(
    statement: &mut CachedStatement<'_>,
    key: &str,
    place: &str,
) -> ReadResult<Option<UserId>> {
    statement.query_and_then([key], |row| id_of(row, 0, place))?.next().transpose()
}

impl Facts for StoredFacts<'_> {
    fn live(&mut self, id: UserId) -> Result<Option<Arc<Current>>, CommandError> {
        self.read(|facts| {
            let mut rows = facts.load.query([id.as_bytes()])?;
            let Some(row) = rows.next()? else { return Ok(None) };
            facts.row_numbers.insert(id, row.get(0)?);
            let stored = text_of(row, 1, "users.record")?;
            let is_same = |parsed: &&Arc<Current>| parsed.user.id == id && parsed.record == stored;
            if let Some(parsed) = facts.parsed.iter().find(is_same) {
                return Ok(Some(Arc::clone(parsed)));
            }
            let current = Current::read(id, Bytes::copy_from_slice(stored), "users")?;
            Ok(Some(Arc::new(current)))
        })
    }

    fn deleted(&mut self, id: UserId) -> Result<Option<Arc<Current>>, CommandError> {
        self.read(|facts| {
            let mut statement = facts.connection.prepare_cached(sql::LOAD_DELETED)?;
            let mut rows = statement.query([id.as_bytes()])?;
            let Some(row) = rows.next()? else { return Ok(None) };
            facts.row_numbers.insert(id, row.get(0)?);
            let stored = record_of(row, 1, "deleted_users.record")?;
            Ok(Some(Arc::new(Current::read(id, stored, "deleted_users")?)))
        })
    }

    fn holder(&mut self, kind: ClaimKind, key: &str) -> Result<Option<UserId>, CommandError> {
        self.read(|facts| match kind {
            ClaimKind::Username => holder(&mut facts.username_holder, key, "users.id"),
            ClaimKind::Email => holder(&mut facts.email_holder, key, "users.id"),
            ClaimKind::ExternalId => {
                let mut statement = facts.connection.prepare_cached(sql::EXTERNAL_ID_HOLDER)?;
                holder(&mut statement, key, "users.id")
            }
        })
    }

    fn idempotency_record(
        &mut self,
        key: &[u8; 32],
    ) -> Result<Option<IdempotencyRecord>, CommandError> {
        self.read(|facts| {
            let mut statement = facts.connection.prepare_cached(sql::IDEMPOTENCY)?;
            let mut rows = statement.query([key])?;
            let Some(row) = rows.next()? else { return Ok(None) };
            let id = id_of(row, 2, "idempotency_keys.user_id")?;
            let (version, position) = (row.get(3)?, row.get(4)?);
            let effect: String = row.get(5)?;
            let (effect, record) = if effect == UNCHANGED {
                (Effect::Unchanged, Some(record_of(row, 6, "idempotency_keys.record")?))
            } else {
                let kind = EventKind::parse(&effect);
                let kind = kind.ok_or_else(|| corrupt("idempotency_keys.effect"))?;
                (Effect::Changed(kind), facts.event_record(position)?)
            };
            Ok(Some(IdempotencyRecord {
                fingerprint: row.get(0)?,
                at: Timestamp::from_millis(row.get(1)?),
                effect,
                stored: record.map(|record| Stored { id, version, record }),
                position: LogPosition::Committed(position),
            }))
        })
    }

    fn groups_of(&mut self, member: UserId) -> Result<Vec<Group>, CommandError> {
        self.read(|facts| direct(facts.connection, member))
    }

    fn group(&mut self, id: GroupId) -> Result<Option<StoredGroup>, CommandError> {
        self.read(|facts| {
            let Some((stored, members)) = get(facts.connection, id)? else { return Ok(None) };
            Ok(Some(StoredGroup { group: group_of(&stored)?, record: stored.record, members }))
        })
    }

    fn group_of_name(&mut self, key: &str) -> Result<Option<GroupId>, CommandError> {
        self.read(|facts| {
            let mut statement = facts.connection.prepare_cached(sql::GROUP_NAME_HOLDER)?;
            holder(&mut statement, key, "groups.id")
        })
    }

    fn members(
        &mut self,
        group: GroupId,
        among: Option<&BTreeSet<UserId>>,
    ) -> Result<BTreeSet<UserId>, CommandError> {
        self.read(|facts| {
            let mut members = BTreeSet::new();
            let Some(ids) = among else {
                facts.collect(sql::ALL_MEMBERS, group, usize::MAX, &mut members)?;
                return Ok(members);
            };
            let mut statement = facts.connection.prepare_cached(sql::IS_MEMBER)?;
            for id in ids {
                if statement.exists([group.as_bytes(), id.as_bytes()])? {
                    members.insert(*id);
                }
            }
            Ok(members)
        })
    }

    fn newcomers(
        &mut self,
        ids: &BTreeSet<UserId>,
    ) -> Result<BTreeMap<UserId, Newcomer>, CommandError> {
        self.read(|facts| {
            let mut newcomers = BTreeMap::new();
            for id in ids {
                let exists = |sql| facts.connection.prepare_cached(sql)?.exists([id.as_bytes()]);
                let kind = if exists(sql::IS_USER)? {
                    MemberKind::User
                } else if exists(sql::IS_GROUP)? {
                    MemberKind::Group
                } else {
                    continue;
                };
                let mut count = facts.connection.prepare_cached(sql::COUNT_GROUPS_OF)?;
                let groups: i64 = count.query_row([id.as_bytes()], |row| row.get(0))?;
                newcomers.insert(*id, Newcomer { kind, groups: groups.unsigned_abs() });
            }
            Ok(newcomers)
        })
    }

    fn groups_above(&mut self, ids: &BTreeSet<GroupId>) -> Result<BTreeSet<GroupId>, CommandError> {
        self.adjacent(sql::GROUPS_ABOVE, ids)
    }

    fn groups_below(&mut self, ids: &BTreeSet<GroupId>) -> Result<BTreeSet<GroupId>, CommandError> {
        self.adjacent(sql::GROUPS_BELOW, ids)
    }
}
