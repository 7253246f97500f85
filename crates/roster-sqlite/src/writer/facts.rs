//! The facts of a batch, read in its transaction or in a snapshot.

use std::{collections::HashMap, sync::Arc};

use super::sql;
use crate::{
    failure::ReadError,
    reads::rows::{Rows, run},
};
use roster_core::{Group, TenantId, UserId};
use roster_engine::{
    Cell, ClaimKind, CommandError, Current, Facts, IdempotencyRecord, Request, USERS_ROOM, Values,
    direct_groups, rows,
};

pub(super) struct StoredFacts<'c> {
    rows: Rows<'c>,
    /// The users that requests were decided on. One whose record is the stored one is not parsed
    /// again.
    parsed: Vec<Current>,
    pub(super) row_numbers: HashMap<UserId, i64>,
    error: Option<rusqlite::Error>,
}

impl<'c> StoredFacts<'c> {
    pub(super) fn new(rows: Rows<'c>, batch: &[&Request]) -> Self {
        Self {
            rows,
            parsed: batch.iter().filter_map(|request| request.known_user()).collect(),
            row_numbers: HashMap::new(),
            error: None,
        }
    }

    /// Fails if a read failed with an error of SQLite.
    pub(super) fn check(&mut self) -> rusqlite::Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// The rows of a statement. An error of SQLite ends the transaction. A damaged value fails the
    /// command that needs it.
    fn read(&mut self, sql: &str, parameters: &[Cell]) -> Result<Vec<Values>, CommandError> {
        run(rows(self.rows, sql, parameters)).map_err(|error| match error {
            ReadError::Store(error) => error.into(),
            ReadError::Sqlite(error) => {
                self.error.get_or_insert(error);
                CommandError::MissingFact
            }
        })
    }

    /// The user of a row: the number of the row and the record.
    fn user(
        &mut self,
        sql: &str,
        table: &str,
        id: UserId,
    ) -> Result<Option<Current>, CommandError> {
        let rows = self.read(sql, &[self.tenant().into(), id.into()])?;
        let Some(row) = rows.first() else { return Ok(None) };
        self.row_numbers.insert(id, row.number(0, table)?);
        let record = row.bytes(1, table)?;
        let is_same = |parsed: &&Current| parsed.user.id == id && parsed.record == *record;
        if let Some(parsed) = self.parsed.iter().find(is_same) {
            return Ok(Some(parsed.clone()));
        }
        Ok(Some(Current::read(id, record.clone(), table)?))
    }
}

impl<'c> Facts for StoredFacts<'c> {
    type Dialect = Rows<'c>;

    fn tenant(&self) -> TenantId {
        self.rows.1
    }

    fn live(&mut self, id: UserId) -> Result<Option<Current>, CommandError> {
        self.user(sql::LOAD, "users", id)
    }

    fn deleted(&mut self, id: UserId) -> Result<Option<Current>, CommandError> {
        self.user(sql::LOAD_DELETED, "deleted_users", id)
    }

    fn holder(&mut self, kind: ClaimKind, key: &str) -> Result<Option<UserId>, CommandError> {
        let sql = match kind {
            ClaimKind::Username => sql::USERNAME_HOLDER,
            ClaimKind::Email => sql::EMAIL_HOLDER,
            ClaimKind::ExternalId => sql::EXTERNAL_ID_HOLDER,
            ClaimKind::Indexed(_) => sql::INDEXED_HOLDER,
        };
        let mut parameters = vec![self.tenant().into(), key.into()];
        if let ClaimKind::Indexed(number) = kind {
            parameters.insert(1, i64::from(number).into());
        }
        let rows = self.read(sql, &parameters)?;
        Ok(rows.first().map(|row| row.id(0, "users.id")).transpose()?)
    }

    fn users_room(&mut self) -> Result<Option<i64>, CommandError> {
        let rows = self.read(USERS_ROOM, &[self.tenant().into()])?;
        Ok(rows.first().and_then(|row| row.number(0, "").ok()))
    }

    fn idempotency_record(
        &mut self,
        key: &[u8; 32],
    ) -> Result<Option<IdempotencyRecord>, CommandError> {
        let parameters = [self.tenant().into(), key.as_slice().into()];
        let rows = self.read(sql::IDEMPOTENCY, &parameters)?;
        Ok(rows.first().map(IdempotencyRecord::of_row).transpose()?.map(|(_, record)| record))
    }

    fn groups_of(&mut self, member: UserId) -> Result<Vec<Group>, CommandError> {
        let parameters = [Cell::Ids(vec![member]), self.tenant().into()];
        let rows = self.read(&direct_groups::<Rows<'_>>(), &parameters)?;
        let mut groups = rows.iter().map(Values::group).collect::<Result<Vec<_>, _>>()?;
        groups.sort_unstable_by_key(|group| group.id);
        Ok(groups)
    }

    fn rows(
        &mut self,
        sql: String,
        parameters: Vec<Cell>,
    ) -> Result<Arc<Vec<Values>>, CommandError> {
        self.read(&sql, &parameters).map(Arc::new)
    }
}
