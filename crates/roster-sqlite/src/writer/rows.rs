//! The rows of a user: its own, those by which it is found, and the one that is kept aside once it
//! is deleted.
//!
//! They change together, in the transaction of the write. Counters and the log are not known here.

use bytes::Bytes;
use roster_core::{Change, Keys, found_by::FoundByChange};
use rusqlite::{CachedStatement, Connection, Result, params};

use super::{
    erasure,
    found_by::FoundByRows,
    judge::Current,
    sql::{self, KeyColumn},
};
use crate::columns::{SortText, status_number};

/// The rows of users.
pub(super) struct Rows<'c> {
    connection: &'c Connection,
    create: CachedStatement<'c>,
    found_by: FoundByRows<'c>,
}

impl<'c> Rows<'c> {
    pub(super) fn new(connection: &'c Connection) -> Result<Self> {
        Ok(Self {
            connection,
            create: connection.prepare_cached(sql::CREATE)?,
            found_by: FoundByRows::new(connection)?,
        })
    }

    pub(super) fn create(&mut self, change: &Change, found_by: &FoundByChange) -> Result<()> {
        let Change { user, record, keys, .. } = change;
        self.create.execute(params![
            user.id.as_bytes(),
            user.version,
            status_number(user.status),
            user.updated_at.as_millis(),
            keys.username,
            SortText(keys.email.as_deref()),
            keys.phone_number,
            keys.external_id,
            SortText(keys.family_name.as_deref()),
            SortText(keys.name.as_deref()),
            text(record)?,
        ])?;
        self.found_by.add(user.id, &found_by.added)
    }

    pub(super) fn replace(
        &mut self,
        change: &Change,
        found_by: &FoundByChange,
        current: &Current,
    ) -> Result<()> {
        let before = Keys::of(&current.user);
        let differs = |column: &KeyColumn| column.differs(&before, &change.keys);
        let set: Vec<KeyColumn> = KeyColumn::ALL.into_iter().filter(differs).collect();
        self.set(&set, change, current.number)?;
        self.found_by.drop(change.user.id, &found_by.dropped)?;
        self.found_by.add(change.user.id, &found_by.added)
    }

    pub(super) fn remove(
        &mut self,
        change: &Change,
        found_by: &FoundByChange,
        current: &Current,
    ) -> Result<()> {
        let Change { user, record, keys, .. } = change;
        self.connection.prepare_cached(sql::DELETE)?.execute([current.number])?;
        self.found_by.drop(user.id, &found_by.dropped)?;
        self.connection.prepare_cached(sql::KEEP_DELETED)?.execute(params![
            user.id.as_bytes(),
            user.version,
            user.updated_at.as_millis(),
            keys.username,
            keys.email,
            keys.external_id,
            text(record)?,
        ])?;
        Ok(())
    }

    pub(super) fn restore(
        &mut self,
        change: &Change,
        found_by: &FoundByChange,
        current: &Current,
    ) -> Result<()> {
        self.connection.prepare_cached(sql::DROP_DELETED)?.execute([current.number])?;
        self.create(change, found_by)
    }

    /// Drops all that tells who the user was: the row that was kept, and its history if that is
    /// within the room that the transaction has left. Returns how much of a history was erased.
    pub(super) fn purge(&mut self, current: &Current, room: i64) -> Result<Option<i64>> {
        self.connection.prepare_cached(sql::DROP_DELETED)?.execute([current.number])?;
        erasure::begin(self.connection, current.user.id, room)
    }

    fn set(&mut self, set: &[KeyColumn], change: &Change, number: i64) -> Result<()> {
        let Change { user, record, keys, .. } = change;
        let mut statement = self.connection.prepare_cached(&sql::replace(set))?;
        statement.raw_bind_parameter(1, number)?;
        statement.raw_bind_parameter(2, user.version)?;
        statement.raw_bind_parameter(3, user.updated_at.as_millis())?;
        statement.raw_bind_parameter(4, text(record)?)?;
        for column in set {
            let parameter = column.parameter();
            match column {
                KeyColumn::Status => {
                    statement.raw_bind_parameter(parameter, status_number(keys.status))
                }
                KeyColumn::Username => statement.raw_bind_parameter(parameter, &keys.username),
                KeyColumn::Email => {
                    statement.raw_bind_parameter(parameter, SortText(keys.email.as_deref()))
                }
                KeyColumn::PhoneNumber => {
                    statement.raw_bind_parameter(parameter, &keys.phone_number)
                }
                KeyColumn::ExternalId => statement.raw_bind_parameter(parameter, &keys.external_id),
                KeyColumn::FamilyName => {
                    statement.raw_bind_parameter(parameter, SortText(keys.family_name.as_deref()))
                }
                KeyColumn::Name => {
                    statement.raw_bind_parameter(parameter, SortText(keys.name.as_deref()))
                }
            }?;
        }
        statement.raw_execute()?;
        Ok(())
    }
}

/// A record as the text it is.
pub(super) fn text(record: &Bytes) -> Result<&str> {
    std::str::from_utf8(record)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}
