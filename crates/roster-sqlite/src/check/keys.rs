//! Words and further keys: what is looked up beside the record must be made from it, all of it
//! and nothing else.
//!
//! Each expected row is looked for; then the rows are counted. Only where there are more than
//! were expected, every row is held against its user, to name those that are too many.

use roster_core::{User, UserId, keys, words::words_of};
use rusqlite::{Connection, OptionalExtension, params};

use super::{findings::Line, people::place};

const HAS_WORD: &str = "SELECT 1 FROM words WHERE word = ?1 AND id = ?2";
const HAS_KEY: &str = "SELECT 1 FROM further_keys WHERE kind = ?1 AND key = ?2 AND id = ?3";
const RECORD: &str = "SELECT record FROM users WHERE id = ?1";
const WORDS: &str = "SELECT id, word FROM words";
const KEYS: &str = "SELECT id, key, kind FROM further_keys";

const EMAIL: i64 = 0;
const PHONE_NUMBER: i64 = 1;

/// The tables that hold something of each live user beside its record.
pub(super) struct BesideRecord<'c> {
    connection: &'c Connection,
    words: Line,
    keys: Line,
}

impl<'c> BesideRecord<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        let (words, keys) = (Line::new("words"), Line::new("further keys"));
        Self { connection, words, keys }
    }

    /// Looks for all that a user must have.
    pub(super) fn hold(&mut self, user: &User) -> rusqlite::Result<()> {
        let id = user.id.as_bytes();
        let mut has_word = self.connection.prepare_cached(HAS_WORD)?;
        for word in words_of(user) {
            self.words.count += 1;
            let there = has_word.exists(params![word, id])?;
            self.words.hold(there, &place("words", id), "one is missing");
        }
        let mut has_key = self.connection.prepare_cached(HAS_KEY)?;
        for (kind, key) in further_keys(user) {
            self.keys.count += 1;
            let there = has_key.exists(params![kind, key, id])?;
            self.keys.hold(there, &place("further_keys", id), "one is missing");
        }
        Ok(())
    }

    /// Counts what there is; names what is too much.
    pub(super) fn end(mut self) -> [Line; 2] {
        let read = self.surplus_words();
        self.words.end(read);
        let read = self.surplus_keys();
        self.keys.end(read);
        [self.words, self.keys]
    }

    fn surplus_words(&mut self) -> rusqlite::Result<()> {
        if !self.has_surplus("SELECT count(*) FROM words", &self.words)? {
            return Ok(());
        }
        let mut statement = self.connection.prepare(WORDS)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (id, word): (Vec<u8>, String) = (row.get(0)?, row.get(1)?);
            match self.user(&id)? {
                None => self.words.fault(&place("words", &id), "there is no such user"),
                Some(user) => {
                    let own = words_of(&user).contains(&word);
                    self.words.hold(own, &place("words", &id), "one is not the record's");
                }
            }
        }
        Ok(())
    }

    fn surplus_keys(&mut self) -> rusqlite::Result<()> {
        if !self.has_surplus("SELECT count(*) FROM further_keys", &self.keys)? {
            return Ok(());
        }
        let mut statement = self.connection.prepare(KEYS)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (id, key, kind): (Vec<u8>, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            match self.user(&id)? {
                None => self.keys.fault(&place("further_keys", &id), "there is no such user"),
                Some(user) => {
                    let own = further_keys(&user).contains(&(kind, key));
                    self.keys.hold(own, &place("further_keys", &id), "one is not the record's");
                }
            }
        }
        Ok(())
    }

    /// Whether there are other rows than those that were expected and found.
    fn has_surplus(&self, count: &str, line: &Line) -> rusqlite::Result<bool> {
        let count: i64 = self.connection.query_row(count, [], |row| row.get(0))?;
        Ok(count.unsigned_abs() != line.count - line.faults)
    }

    fn user(&self, id: &[u8]) -> rusqlite::Result<Option<User>> {
        let mut statement = self.connection.prepare_cached(RECORD)?;
        let record: Option<String> = statement.query_row([id], |row| row.get(0)).optional()?;
        let user = record.and_then(|record| User::from_record(record.as_bytes()).ok());
        Ok(user.filter(|user| UserId::from_slice(id) == Some(user.id)))
    }
}

/// The further keys of a user, each with its kind.
fn further_keys(user: &User) -> Vec<(i64, String)> {
    let emails = keys::further_emails(user).into_iter().map(|key| (EMAIL, key));
    let numbers = keys::further_phone_numbers(user).into_iter().map(|key| (PHONE_NUMBER, key));
    emails.chain(numbers).collect()
}
