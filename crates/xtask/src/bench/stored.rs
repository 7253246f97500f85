//! The file that the engine's loop writes to, and the users in it that others are made after.
//!
//! The file is one that the service seeded: what it wrote for a user is held against what the loop
//! is going to write, so that the two do not drift apart unseen.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use rusqlite::{Connection, config::DbConfig};

use super::{engine::Act, people, statements::EventTexts};

/// The log is copied into the database at so many pages, as the service does it.
const CHECKPOINT_PAGES: i64 = 10_000;
/// The page cache of the service's writer, as `cache_size` takes it: KiB, negated.
const CACHE_SIZE: i64 = -48 * 1024;
/// Most bytes of the file that are mapped: more than any has.
const MAPPED_BYTES_MAX: i64 = 1 << 40;
/// Statements that are kept prepared: more than there are.
const STATEMENTS_MAX: usize = 64;

/// Opens a file as the service's writer does, but for the log, which this connection copies itself.
pub(super) fn open(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false)?;
    connection.pragma_update(None, "cache_size", CACHE_SIZE)?;
    connection.pragma_update(None, "mmap_size", MAPPED_BYTES_MAX)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.pragma_update(None, "secure_delete", "ON")?;
    Ok(connection)
}

/// The first user without a further address, and the first with one.
pub(super) fn sample_numbers() -> [u64; 2] {
    let first = |has: bool| (0..1000).find(|n| people::further_email(*n).is_some() == has);
    [first(false).unwrap_or_default(), first(true).unwrap_or_default()]
}

/// A user as it is stored.
pub(super) struct Sample {
    /// Its number.
    pub(super) number: u64,
    /// Its record.
    pub(super) record: String,
    /// The event that it began with.
    pub(super) created: EventTexts,
}

/// The stored users that others are made after.
pub(super) struct Samples {
    /// One with a single address.
    pub(super) plain: Sample,
    /// One with two.
    pub(super) with_further_email: Sample,
}

impl Samples {
    /// Reads them, and holds what the service stored for them against what the loop would store.
    pub(super) fn read(connection: &Connection) -> Result<Self> {
        let [plain, with_further_email] = sample_numbers();
        let plain = Sample::read(connection, plain)?;
        let with_further_email = Sample::read(connection, with_further_email)?;
        let row: (Option<String>, Option<String>, i64) = connection.query_row(
            "SELECT max(phone_number_key), max(external_id), count(*) FILTER (WHERE status <> 0) \
             FROM users",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        ensure!(row == (None, None, 0), "the loop does not write {row:?}");
        Ok(Self { plain, with_further_email })
    }

    /// What the log tells of an act.
    pub(super) fn event(&self, act: Act, number: u64) -> EventTexts {
        let created = self.like(number).created.clone();
        match act {
            Act::Insert | Act::Marked | Act::Bulk => created,
            Act::Update => EventTexts { changed: "family_name".to_owned(), ..created },
            Act::Delete => EventTexts { changed: String::new(), ..created },
        }
    }

    /// The record of a user with that number, but for what is not indexed.
    pub(super) fn record(&self, number: u64) -> String {
        let further = people::further_email(number);
        let Sample { number: sample, record, .. } = self.like(number);
        let record = record.replace(&people::username(*sample), &people::username(number));
        let record = record.replace(&people::email(*sample), &people::email(number));
        match (people::further_email(*sample), further) {
            (Some(sample), Some(further)) => record.replace(&sample, &further),
            _ => record,
        }
    }

    fn like(&self, number: u64) -> &Sample {
        match people::further_email(number) {
            Some(_) => &self.with_further_email,
            None => &self.plain,
        }
    }
}

impl Sample {
    fn read(connection: &Connection, number: u64) -> Result<Self> {
        let (record, id): (String, [u8; 16]) = connection
            .query_row(
                "SELECT record, id FROM users WHERE username_key = ?1",
                [people::username(number)],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .with_context(|| format!("user {number} is not stored"))?;
        let found = |sql| -> Result<Vec<String>> {
            let mut statement = connection.prepare(sql)?;
            let texts = statement.query_map([id], |row| row.get(0))?;
            Ok(texts.collect::<Result<_, _>>()?)
        };
        let words = found("SELECT word FROM words WHERE id = ?1 ORDER BY word")?;
        ensure!(words == people::words(number), "the service finds user {number} by {words:?}");
        let keys = found("SELECT key FROM further_keys WHERE id = ?1 ORDER BY kind, key")?;
        let expected: Vec<_> = people::further_email(number).into_iter().collect();
        ensure!(keys == expected, "the further keys of user {number} are {keys:?}");
        let created = connection.query_row(
            "SELECT actor, request_id, changed FROM events WHERE subject_id = ?1 ORDER BY position",
            [id],
            |row| {
                let (actor, request_id) = (row.get(0)?, row.get(1)?);
                Ok(EventTexts { actor, request_id, changed: row.get(2)? })
            },
        )?;
        Ok(Self { number, record, created })
    }
}
