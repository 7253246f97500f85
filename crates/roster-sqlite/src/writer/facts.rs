//! The facts of a batch, read in its transaction or in a snapshot.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use roster_core::{Group, UserId};
use roster_engine::{
    Cell, ClaimKind, CommandError, Current, Facts, IdempotencyRecord, Request, Values,
    direct_groups, rows,
};
use rusqlite::{CachedStatement, Connection};

use super::sql;
use crate::{
    columns::{id_of, record_of, text_of},
    failure::{ReadError, ReadResult},
    rows::{Rows, run},
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
}

/// The holder of a unique key.
fn holder(statement: &mut CachedStatement<'_>, key: &str) -> ReadResult<Option<UserId>> {
    statement.query_and_then([key], |row| id_of(row, 0, "users.id"))?.next().transpose()
}

impl<'c> Facts for StoredFacts<'c> {
    type Dialect = Rows<'c>;

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
            ClaimKind::Username => holder(&mut facts.username_holder, key),
            ClaimKind::Email => holder(&mut facts.email_holder, key),
            ClaimKind::ExternalId => {
                holder(&mut facts.connection.prepare_cached(sql::EXTERNAL_ID_HOLDER)?, key)
            }
        })
    }

    fn idempotency_record(
        &mut self,
        key: &[u8; 32],
    ) -> Result<Option<IdempotencyRecord>, CommandError> {
        self.read(|facts| {
            let key = [Cell::from(key.as_slice())];
            let found = run(rows(Rows(facts.connection), sql::IDEMPOTENCY, &key))?;
            Ok(found.first().map(IdempotencyRecord::of_row).transpose()?.map(|(_, record)| record))
        })
    }

    fn groups_of(&mut self, member: UserId) -> Result<Vec<Group>, CommandError> {
        let rows = self.rows(direct_groups::<Rows<'_>>(), vec![Cell::Ids(vec![member])])?;
        let mut groups = rows.iter().map(Values::group).collect::<Result<Vec<_>, _>>()?;
        groups.sort_unstable_by_key(|group| group.id);
        Ok(groups)
    }

    fn rows(
        &mut self,
        sql: String,
        parameters: Vec<Cell>,
    ) -> Result<Arc<Vec<Values>>, CommandError> {
        self.read(|facts| Ok(Arc::new(run(rows(Rows(facts.connection), &sql, &parameters))?)))
    }
}
