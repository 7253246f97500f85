//! The rows of search keys: words, and the keys of further addresses and numbers.

use roster_core::{SearchKeys, UserId};
use rusqlite::{CachedStatement, Connection, Result, params};

use super::sql;

/// The number of an e-mail address's kind in `further_keys`.
pub(crate) const EMAIL: i64 = 0;
/// The number of a telephone number's kind in `further_keys`.
pub(crate) const PHONE_NUMBER: i64 = 1;

/// Writes rows of search keys.
pub(crate) struct SearchRows<'c> {
    connection: &'c Connection,
    add_word: CachedStatement<'c>,
}

impl<'c> SearchRows<'c> {
    pub(crate) fn new(connection: &'c Connection) -> Result<Self> {
        Ok(Self { connection, add_word: connection.prepare_cached(sql::ADD_WORD)? })
    }

    pub(crate) fn add(&mut self, id: UserId, keys: &SearchKeys) -> Result<()> {
        let id = id.as_bytes();
        for word in &keys.words {
            self.add_word.execute(params![word, id])?;
        }
        for (kind, key) in further(keys) {
            self.connection.prepare_cached(sql::ADD_KEY)?.execute(params![kind, key, id])?;
        }
        Ok(())
    }

    pub(super) fn remove(&self, id: UserId, keys: &SearchKeys) -> Result<()> {
        let id = id.as_bytes();
        for word in &keys.words {
            self.connection.prepare_cached(sql::DROP_WORD)?.execute(params![word, id])?;
        }
        for (kind, key) in further(keys) {
            self.connection.prepare_cached(sql::DROP_KEY)?.execute(params![kind, key, id])?;
        }
        Ok(())
    }
}

/// The further keys, each with the number of its kind.
fn further(keys: &SearchKeys) -> impl Iterator<Item = (i64, &String)> {
    let emails = keys.emails.iter().map(|key| (EMAIL, key));
    emails.chain(keys.phone_numbers.iter().map(|key| (PHONE_NUMBER, key)))
}
