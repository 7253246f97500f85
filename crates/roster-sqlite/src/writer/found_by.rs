//! By what a user is found beside its primary keys: its words, and the keys of its further
//! addresses and numbers.
//!
//! Live users alone have such rows, and exactly those that their record gives. How words and keys
//! are made is the core's matter.

use roster_core::{
    Attribute, User, UserId,
    keys::{further_emails, further_phone_numbers},
    words::{WORD_ATTRIBUTES, words_of},
};
use rusqlite::{CachedStatement, Connection, Result, params};

use super::sql;

/// By what a user is found; each list sorted, nothing twice.
#[derive(Default)]
pub(crate) struct FoundBy {
    words: Vec<String>,
    emails: Vec<String>,
    phone_numbers: Vec<String>,
}

impl FoundBy {
    pub(crate) fn of(user: &User) -> Self {
        Self {
            words: words_of(user),
            emails: further_emails(user),
            phone_numbers: further_phone_numbers(user),
        }
    }

    /// What the other one does not have.
    pub(super) fn without(&self, other: &Self) -> Self {
        Self {
            words: difference(&self.words, &other.words),
            emails: difference(&self.emails, &other.emails),
            phone_numbers: difference(&self.phone_numbers, &other.phone_numbers),
        }
    }

    /// The further keys, each with the number of its kind.
    fn keys(&self) -> impl Iterator<Item = (i64, &String)> {
        let emails = self.emails.iter().map(|key| (EMAIL, key));
        emails.chain(self.phone_numbers.iter().map(|key| (PHONE_NUMBER, key)))
    }
}

fn difference(texts: &[String], others: &[String]) -> Vec<String> {
    texts.iter().filter(|text| others.binary_search(text).is_err()).cloned().collect()
}

/// The number of an e-mail address's kind in `further_keys`.
pub(crate) const EMAIL: i64 = 0;
/// The number of a telephone number's kind in `further_keys`.
pub(crate) const PHONE_NUMBER: i64 = 1;

/// Whether a change of these members may change by what a user is found.
pub(super) fn touches(changed: &[Attribute]) -> bool {
    changed.iter().any(|attribute| {
        matches!(attribute, Attribute::Emails | Attribute::PhoneNumbers)
            || WORD_ATTRIBUTES.contains(attribute)
    })
}

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
        for (kind, key) in found_by.keys() {
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
        for (kind, key) in found_by.keys() {
            self.connection.prepare_cached(sql::DROP_KEY)?.execute(params![kind, key, id])?;
        }
        Ok(())
    }
}
