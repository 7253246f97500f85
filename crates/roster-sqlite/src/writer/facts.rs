//! The facts of a batch, read in its transaction or in a snapshot.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use bytes::Bytes;
use roster_core::{
    Effect, EventKind, Group, GroupId, MemberKind, StoreError, Stored, Timestamp, UserId,
    group::Newcomer, limits::GROUP_NESTING_MAX,
};
use roster_engine::{
    ClaimKind, CommandError, Current, Facts, IdempotencyRecord, LogPosition, Request, StoredGroup,
};
use rusqlite::{CachedStatement, Connection, OptionalExtension as _};

use super::sql;
use crate::{
    columns::{corrupt, id_of, text_of},
    groups::{direct, get_with_count, group_of},
};

/// The effect of a request that changed nothing, as its idempotency record spells it.
pub(super) const UNCHANGED: &str = "unchanged";

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

/// Why a fact could not be read.
enum ReadError {
    /// An error of SQLite: it ends the transaction.
    Sqlite(rusqlite::Error),
    /// A damaged value: it fails the command that needs it.
    Store(StoreError),
}

impl From<rusqlite::Error> for ReadError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreError> for ReadError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
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

    fn keep_error<T>(&mut self, read: Result<T, ReadError>) -> Result<T, CommandError> {
        read.map_err(|error| match error {
            ReadError::Store(error) => error.into(),
            ReadError::Sqlite(error) => {
                self.error.get_or_insert(error);
                CommandError::MissingFact
            }
        })
    }

    fn read_live(&mut self, id: UserId) -> Result<Option<Arc<Current>>, ReadError> {
        let mut rows = self.load.query([id.as_bytes()])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        self.row_numbers.insert(id, row.get(0)?);
        let stored = text_of(row.get_ref(1)?, "users.record")?;
        let is_same = |parsed: &&Arc<Current>| parsed.user.id == id && parsed.record == stored;
        if let Some(parsed) = self.parsed.iter().find(is_same) {
            return Ok(Some(Arc::clone(parsed)));
        }
        let current = Current::read(id, Bytes::copy_from_slice(stored), "users")?;
        Ok(Some(Arc::new(current)))
    }

    fn read_deleted(&mut self, id: UserId) -> Result<Option<Arc<Current>>, ReadError> {
        let mut statement = self.connection.prepare_cached(sql::LOAD_DELETED)?;
        let mut rows = statement.query([id.as_bytes()])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        self.row_numbers.insert(id, row.get(0)?);
        let stored = text_of(row.get_ref(1)?, "deleted_users.record")?;
        let current = Current::read(id, Bytes::copy_from_slice(stored), "deleted_users")?;
        Ok(Some(Arc::new(current)))
    }

    fn read_holder(&mut self, kind: ClaimKind, key: &str) -> Result<Option<UserId>, ReadError> {
        let holder = |statement: &mut CachedStatement<'_>| {
            let mut rows = statement.query([key])?;
            let Some(row) = rows.next()? else { return Ok(None) };
            Ok(Some(id_of(row.get_ref(0)?, "users.id")?))
        };
        match kind {
            ClaimKind::Username => holder(&mut self.username_holder),
            ClaimKind::Email => holder(&mut self.email_holder),
            ClaimKind::ExternalId => {
                holder(&mut self.connection.prepare_cached(sql::EXTERNAL_ID_HOLDER)?)
            }
        }
    }

    fn read_idempotency(&self, key: &[u8; 32]) -> Result<Option<IdempotencyRecord>, ReadError> {
        let mut statement = self.connection.prepare_cached(sql::IDEMPOTENCY)?;
        let mut rows = statement.query([key])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let id = id_of(row.get_ref(2)?, "idempotency_keys.user_id")?;
        let (version, position) = (row.get(3)?, row.get(4)?);
        let effect: String = row.get(5)?;
        let (effect, record) = if effect == UNCHANGED {
            let record = text_of(row.get_ref(6)?, "idempotency_keys.record")?;
            (Effect::Unchanged, Some(Bytes::copy_from_slice(record)))
        } else {
            let kind = EventKind::parse(&effect);
            let kind = kind.ok_or_else(|| corrupt("idempotency_keys.effect"))?;
            (Effect::Changed(kind), self.event_record(position)?)
        };
        Ok(Some(IdempotencyRecord {
            fingerprint: row.get(0)?,
            at: Timestamp::from_millis(row.get(1)?),
            effect,
            stored: record.map(|record| Stored { id, version, record }),
            position: LogPosition::Committed(position),
        }))
    }

    fn event_record(&self, position: i64) -> Result<Option<Bytes>, ReadError> {
        let mut statement = self.connection.prepare_cached(sql::EVENT_RECORD)?;
        let mut rows = statement.query([position])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        Ok(Some(Bytes::copy_from_slice(text_of(row.get_ref(0)?, "events.record")?)))
    }

    fn read_group(&self, id: GroupId) -> Result<Option<StoredGroup>, ReadError> {
        let Some((stored, members)) = get_with_count(self.connection, id)? else { return Ok(None) };
        Ok(Some(StoredGroup { group: group_of(&stored)?, record: stored.record, members }))
    }

    fn read_group_name(&self, key: &str) -> Result<Option<GroupId>, ReadError> {
        let mut statement = self.connection.prepare_cached(sql::GROUP_NAME_HOLDER)?;
        let mut rows = statement.query([key])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        Ok(Some(id_of(row.get_ref(0)?, "groups.id")?))
    }

    fn read_members(
        &self,
        group: GroupId,
        among: Option<&BTreeSet<UserId>>,
    ) -> Result<BTreeSet<UserId>, ReadError> {
        let mut members = BTreeSet::new();
        match among {
            None => self.collect(sql::ALL_MEMBERS, group, usize::MAX, &mut members)?,
            Some(ids) => {
                let mut statement = self.connection.prepare_cached(sql::IS_MEMBER)?;
                for id in ids {
                    if statement.exists([group.as_bytes(), id.as_bytes()])? {
                        members.insert(*id);
                    }
                }
            }
        }
        Ok(members)
    }

    fn read_newcomers(
        &self,
        ids: &BTreeSet<UserId>,
    ) -> Result<BTreeMap<UserId, Newcomer>, ReadError> {
        let mut newcomers = BTreeMap::new();
        for id in ids {
            let exists = |sql| self.connection.prepare_cached(sql)?.exists([id.as_bytes()]);
            let kind = if exists(sql::IS_USER)? {
                MemberKind::User
            } else if exists(sql::IS_GROUP)? {
                MemberKind::Group
            } else {
                continue;
            };
            let mut count = self.connection.prepare_cached(sql::COUNT_GROUPS_OF)?;
            let groups: Option<i64> =
                count.query_row([id.as_bytes()], |row| row.get(0)).optional()?;
            let groups = groups.unwrap_or_default().unsigned_abs();
            newcomers.insert(*id, Newcomer { kind, groups });
        }
        Ok(newcomers)
    }

    fn read_front(
        &self,
        sql: &str,
        ids: &BTreeSet<GroupId>,
    ) -> Result<BTreeSet<GroupId>, ReadError> {
        let mut next = BTreeSet::new();
        for id in ids {
            self.collect(sql, *id, GROUP_NESTING_MAX, &mut next)?;
        }
        Ok(next)
    }

    /// The ids that a statement gives for one, until there are more than so many.
    fn collect(
        &self,
        sql: &str,
        of: UserId,
        most: usize,
        ids: &mut BTreeSet<UserId>,
    ) -> Result<(), ReadError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([of.as_bytes()])?;
        while ids.len() <= most
            && let Some(row) = rows.next()?
        {
            ids.insert(id_of(row.get_ref(0)?, "group_members")?);
        }
        Ok(())
    }
}

impl Facts for StoredFacts<'_> {
    fn live(&mut self, id: UserId) -> Result<Option<Arc<Current>>, CommandError> {
        let read = self.read_live(id);
        self.keep_error(read)
    }

    fn deleted(&mut self, id: UserId) -> Result<Option<Arc<Current>>, CommandError> {
        let read = self.read_deleted(id);
        self.keep_error(read)
    }

    fn holder(&mut self, kind: ClaimKind, key: &str) -> Result<Option<UserId>, CommandError> {
        let read = self.read_holder(kind, key);
        self.keep_error(read)
    }

    fn idempotency_record(
        &mut self,
        key: &[u8; 32],
    ) -> Result<Option<IdempotencyRecord>, CommandError> {
        let read = self.read_idempotency(key);
        self.keep_error(read)
    }

    fn groups_of(&mut self, member: UserId) -> Result<Vec<Group>, CommandError> {
        Ok(direct(self.connection, member)?)
    }

    fn group(&mut self, id: GroupId) -> Result<Option<StoredGroup>, CommandError> {
        let read = self.read_group(id);
        self.keep_error(read)
    }

    fn group_of_name(&mut self, key: &str) -> Result<Option<GroupId>, CommandError> {
        let read = self.read_group_name(key);
        self.keep_error(read)
    }

    fn members(
        &mut self,
        group: GroupId,
        among: Option<&BTreeSet<UserId>>,
    ) -> Result<BTreeSet<UserId>, CommandError> {
        let read = self.read_members(group, among);
        self.keep_error(read)
    }

    fn newcomers(
        &mut self,
        ids: &BTreeSet<UserId>,
    ) -> Result<BTreeMap<UserId, Newcomer>, CommandError> {
        let read = self.read_newcomers(ids);
        self.keep_error(read)
    }

    fn groups_above(&mut self, ids: &BTreeSet<GroupId>) -> Result<BTreeSet<GroupId>, CommandError> {
        let read = self.read_front(sql::GROUPS_ABOVE, ids);
        self.keep_error(read)
    }

    fn groups_below(&mut self, ids: &BTreeSet<GroupId>) -> Result<BTreeSet<GroupId>, CommandError> {
        let read = self.read_front(sql::GROUPS_BELOW, ids);
        self.keep_error(read)
    }
}
