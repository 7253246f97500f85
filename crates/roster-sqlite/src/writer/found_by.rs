//! The rows by which a user is found beside its primary keys: its words, and the keys of its
//! further addresses and numbers.
//!
//! Live users alone have such rows, and exactly those that their record gives. What they are is
//! the core's matter.

use roster_core::{UserId, found_by::FoundBy};
use rusqlite::{CachedStatement, Connection, Result, params};

use super::sql;

/// The number of an e-mail address's kind in `further_keys`.
pub(crate) const EMAIL: i64 = 0;
/// The number of a telephone number's kind in `further_keys`.
pub(crate) const PHONE_NUMBER: i64 = 1;

/// The rows by which users are found.
pub(crate) struct FoundByRows<'c> {
    connection: &'c Connection,
    add_word: CachedStatement<'c>,
}

impl<'c> FoundByRows<'c> {
    pub(crate) fn new(connection: &'c Connection) -> Result<Self> {
        Ok(Self { connection, add_word: connection.prepare_cached(sql::ADD_WORD)? })
    }

    /// Adds the rows of a user that has none of them.
    pub(crate) fn add(&mut self, id: UserId, found_by: &FoundBy) -> Result<()> {
        let id = id.as_bytes();
        for word in &found_by.words {
            self.add_word.execute(params![word, id])?;
        }
        for (kind, key) in keys(found_by) {
            self.connection.prepare_cached(sql::ADD_KEY)?.execute(params![kind, key, id])?;
        }
        Ok(())
    }

    /// Drops the rows of a user.
    pub(super) fn drop(&mut self, id: UserId, found_by: &FoundBy) -> Result<()> {
        let id = id.as_bytes();
        for word in &found_by.words {
            self.connection.prepare_cached(sql::DROP_WORD)?.execute(params![word, id])?;
        }
        for (kind, key) in keys(found_by) {
            self.connection.prepare_cached(sql::DROP_KEY)?.execute(params![kind, key, id])?;
        }
        Ok(())
    }
}

/// The further keys, each with the number of its kind.
fn keys(found_by: &FoundBy) -> impl Iterator<Item = (i64, &String)> {
    let emails = found_by.emails.iter().map(|key| (EMAIL, key));
    emails.chain(found_by.phone_numbers.iter().map(|key| (PHONE_NUMBER, key)))
}
