//! What the store allows: a bare loop over the service's own tables, without HTTP and rules.
//!
//! It works on a copy of the file that the service seeded, so schema and indexes are the real ones.
//! All that is written is made beforehand; what is timed is SQLite alone, committing durably
//! (`synchronous=FULL`) in groups as large as a busy service forms them.

use std::{
    mem,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use hdrhistogram::Histogram;
use rusqlite::{Connection, Transaction};
use uuid::Uuid;

use super::{
    people::{self, Random},
    statements::{self, Change},
};

/// The log is copied into the database at so many pages, as the service does it.
const CHECKPOINT_PAGES: i64 = 10_000;
/// The page cache of the service's writer, as `cache_size` takes it: KiB, negated.
const CACHE_SIZE: i64 = -48 * 1024;

/// What happens to a user.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    /// A new one.
    Insert,
    /// A new one among many.
    Bulk,
    /// A change, also of indexed members.
    Update,
    /// It leaves for the deleted users.
    Delete,
}

/// Every act, in the order of a round: deletes take what inserts made.
pub(super) const ACTS: [Act; 4] = [Act::Insert, Act::Bulk, Act::Update, Act::Delete];

impl Act {
    /// Changes in one commit.
    pub(super) const fn group(self) -> usize {
        match self {
            Self::Bulk => 512,
            Self::Insert | Self::Update | Self::Delete => 128,
        }
    }
}

/// What one kind of change came to.
#[derive(Clone, Copy)]
pub(super) struct Grouped {
    /// Changes in a second.
    pub(super) rate: f64,
    /// Half of the groups took at most this long to write and commit, in microseconds.
    pub(super) commit_p50_us: f64,
    /// 99 of 100 groups took at most this long to write and commit, in microseconds.
    pub(super) commit_p99_us: f64,
}

/// What one round came to.
#[derive(Clone, Copy)]
pub(super) struct Round {
    /// New users.
    pub(super) insert: Grouped,
    /// New users, many in a commit.
    pub(super) bulk: Grouped,
    /// Changed users.
    pub(super) update: Grouped,
    /// Users that left.
    pub(super) delete: Grouped,
}

impl Round {
    /// The part of one act.
    pub(super) fn of(&self, act: Act) -> Grouped {
        match act {
            Act::Insert => self.insert,
            Act::Bulk => self.bulk,
            Act::Update => self.update,
            Act::Delete => self.delete,
        }
    }
}

/// The file, and what is known of its users.
pub(super) struct Engine {
    connection: Connection,
    /// A stored record and the number of its user; the other records are made after it.
    sample: (String, u64),
    /// Ids with the words of their family names.
    seeded: Vec<(Uuid, String)>,
    inserted: Vec<(Uuid, u64)>,
    next: u64,
    position: i64,
    now_ms: i64,
    random: Random,
}

impl Engine {
    /// Opens a copy of a file that holds the users 0 to `users`.
    pub(super) fn open(path: &Path, users: u64) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.set_prepared_statement_cache_capacity(16);
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        connection.pragma_update(None, "cache_size", CACHE_SIZE)?;
        connection.pragma_update(None, "secure_delete", "ON")?;
        let (username, number) = (people::username(0), 0);
        let (record, id): (String, [u8; 16]) = connection
            .query_row("SELECT record, id FROM users WHERE username_key = ?1", [username], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .context("the first user is not stored")?;
        let words: Vec<String> = connection
            .prepare("SELECT word FROM words WHERE id = ?1 ORDER BY word")?
            .query_map([id], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        ensure!(words == people::words(number), "the service finds the first user by {words:?}");
        let position = connection.query_row("SELECT position FROM log_head", [], |r| r.get(0))?;
        let now_ms = connection.query_row("SELECT max(updated_at) FROM users", [], |r| r.get(0))?;
        let ids = |row: &rusqlite::Row<'_>| {
            Ok((row.get::<_, [u8; 16]>(0).map(Uuid::from_bytes)?, row.get(1)?))
        };
        let seeded = connection
            .prepare("SELECT id, family_name_key FROM users ORDER BY number")?
            .query_map([], ids)?
            .collect::<Result<_, _>>()?;
        let (inserted, random) = (Vec::new(), Random::new(7));
        let sample = (record, number);
        Ok(Self { connection, sample, seeded, inserted, next: users, position, now_ms, random })
    }

    /// Inserts, updates and deletes, each for about as long as `measure`.
    pub(super) fn round(&mut self, measure: Duration) -> Result<Round> {
        Ok(Round {
            insert: self.act(Act::Insert, measure)?,
            bulk: self.act(Act::Bulk, measure)?,
            update: self.act(Act::Update, measure)?,
            delete: self.act(Act::Delete, measure)?,
        })
    }

    fn act(&mut self, act: Act, measure: Duration) -> Result<Grouped> {
        let mut groups = Histogram::<u64>::new_with_bounds(1, 60_000_000_000, 3)?;
        let (mut spent, mut changes) = (Duration::ZERO, 0);
        while spent < measure {
            let group: Vec<Change> = (0..act.group()).map_while(|_| self.prepare(act)).collect();
            if group.len() < act.group() {
                break;
            }
            let began = Instant::now();
            self.write(act, &group)?;
            let taken = began.elapsed();
            spent += taken;
            changes += u32::try_from(group.len())?;
            groups.saturating_record(u64::try_from(taken.as_nanos())?);
        }
        let quantile = |at| Duration::from_nanos(groups.value_at_quantile(at)).as_secs_f64() * 1e6;
        Ok(Grouped {
            rate: f64::from(changes) / spent.as_secs_f64(),
            commit_p50_us: quantile(0.5),
            commit_p99_us: quantile(0.99),
        })
    }

    /// The next change, or `None` if there is nobody left to delete.
    fn prepare(&mut self, act: Act) -> Option<Change> {
        self.now_ms += 1;
        self.next += 1;
        let number = self.next;
        let (id, added, dropped) = match act {
            Act::Insert | Act::Bulk => {
                let id = statements::id_at(self.now_ms, number);
                self.inserted.push((id, number));
                (id, people::words(number), Vec::new())
            }
            Act::Update => {
                let index = self.random.index(self.seeded.len())?;
                let (id, family) = self.seeded.get_mut(index)?;
                let now = people::family_name(number, number).to_lowercase();
                (*id, vec![now.clone()], vec![mem::replace(family, now)])
            }
            Act::Delete => {
                let index = self.random.index(self.inserted.len())?;
                let (id, number) = self.inserted.swap_remove(index);
                (id, Vec::new(), people::words(number))
            }
        };
        Some(Change { id, number, record: self.record(number), added, dropped })
    }

    /// The sample with the keys of another user.
    fn record(&self, number: u64) -> String {
        let (record, sample) = &self.sample;
        let record = record.replace(&people::username(*sample), &people::username(number));
        record.replace(&people::email(*sample), &people::email(number))
    }

    fn write(&mut self, act: Act, group: &[Change]) -> Result<()> {
        let transaction = self.connection.transaction()?;
        let write: fn(&Transaction<'_>, &Change, i64) -> Result<()> = match act {
            Act::Insert | Act::Bulk => statements::insert,
            Act::Update => statements::update,
            Act::Delete => statements::delete,
        };
        for change in group {
            write(&transaction, change, self.now_ms)?;
            statements::index(&transaction, change)?;
            self.position += 1;
            statements::append(&transaction, act, change, self.position, self.now_ms)?;
        }
        transaction
            .prepare_cached("UPDATE log_head SET position = ?1, active = active + 1")?
            .execute([self.position])?;
        Ok(transaction.commit()?)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use rusqlite::Connection;

    use super::{ACTS, Engine};
    use crate::bench::people;

    /// The SQL of the service's schema, oldest first.
    fn migrations() -> Vec<String> {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../roster-sqlite/src/migrations");
        let mut paths: Vec<_> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|end| end == "sql"));
        paths.sort();
        paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
    }

    #[test]
    fn a_round_writes_to_the_real_tables_and_leaves_the_users_it_found() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("roster.db");
        let connection = Connection::open(&path).unwrap();
        for sql in migrations() {
            connection.execute_batch(&sql).unwrap();
        }
        connection.execute_batch("INSERT INTO log_head VALUES (1, x'00', 0, 0, 0, 0)").unwrap();
        let username = people::username(0);
        connection
            .execute(
                "INSERT INTO users VALUES (1, zeroblob(16), 1, 0, 5, ?1, '', NULL, NULL, 'x', '', \
                 '{}')",
                [username],
            )
            .unwrap();
        for word in people::words(0) {
            connection.execute("INSERT INTO words VALUES (?1, zeroblob(16))", [word]).unwrap();
        }
        let mut engine = Engine::open(&path, 1).unwrap();
        let round = engine.round(Duration::from_millis(20)).unwrap();
        assert!(ACTS.iter().all(|act| round.of(*act).rate > 0.0));
        let count = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        let left = count("SELECT count(*) FROM deleted_users");
        let created = count("SELECT count(*) FROM events WHERE kind = 'user.created'");
        assert_eq!(count("SELECT count(*) FROM users"), 1 + created - left);
        assert_eq!(count("SELECT count(*) FROM events"), count("SELECT position FROM log_head"));
        let found = count("SELECT count(DISTINCT id) FROM words");
        assert_eq!(found, count("SELECT count(*) FROM users"));
    }
}
