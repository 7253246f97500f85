//! What the store allows: a bare loop over the service's own tables, without HTTP and rules.
//!
//! It works on a copy of the file that the service seeded, so schema and indexes are the real ones,
//! and writes the rows that the service writes for the same requests, and no others. All that is
//! written is made beforehand; what is timed is SQLite alone, committing durably
//! (`synchronous=FULL`) in groups as large as a busy service forms them, on one thread that copies
//! the write-ahead log as well.

use std::{
    mem,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Result;
use hdrhistogram::Histogram;
use rusqlite::Connection;
use uuid::Uuid;

use super::{
    people::{self, Random},
    statements::{self, Change},
    stored::{self, Samples},
};

/// What happens to a user.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    /// A new one.
    Insert,
    /// A new one, whose request is remembered.
    Marked,
    /// A new one among many.
    Bulk,
    /// A change, also of indexed members.
    Update,
    /// It leaves for the deleted users.
    Delete,
}

/// Every act, in the order of a round: deletes take what inserts made.
pub(super) const ACTS: [Act; 5] = [Act::Insert, Act::Marked, Act::Bulk, Act::Update, Act::Delete];

impl Act {
    /// Changes in one commit.
    pub(super) const fn group(self) -> usize {
        match self {
            Self::Bulk => 512,
            Self::Insert | Self::Marked | Self::Update | Self::Delete => 128,
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
    /// New users, whose requests are remembered.
    pub(super) marked: Grouped,
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
            Act::Marked => self.marked,
            Act::Bulk => self.bulk,
            Act::Update => self.update,
            Act::Delete => self.delete,
        }
    }
}

/// The file, and what is known of its users.
pub(super) struct Engine {
    connection: Connection,
    samples: Samples,
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
        let connection = stored::open(path)?;
        let samples = Samples::read(&connection)?;
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
        Ok(Self { connection, samples, seeded, inserted, next: users, position, now_ms, random })
    }

    /// Every act for about as long as `measure`. Whoever came is gone afterwards.
    pub(super) fn round(&mut self, measure: Duration) -> Result<Round> {
        let round = Round {
            insert: self.act(Act::Insert, measure)?,
            marked: self.act(Act::Marked, measure)?,
            bulk: self.act(Act::Bulk, measure)?,
            update: self.act(Act::Update, measure)?,
            delete: self.act(Act::Delete, measure)?,
        };
        self.act(Act::Delete, Duration::MAX)?;
        Ok(round)
    }

    fn act(&mut self, act: Act, measure: Duration) -> Result<Grouped> {
        let mut groups = Histogram::<u64>::new_with_bounds(1, 60_000_000_000, 3)?;
        let (mut spent, mut changes) = (Duration::ZERO, 0);
        while spent < measure {
            let group: Vec<Change> = (0..act.group()).map_while(|_| self.prepare(act)).collect();
            if group.is_empty() {
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
        let next = self.next;
        let (id, number, added, dropped) = match act {
            Act::Insert | Act::Marked | Act::Bulk => {
                let id = statements::id_at(self.now_ms, next);
                self.inserted.push((id, next));
                (id, next, people::words(next), Vec::new())
            }
            Act::Update => {
                let index = self.random.index(self.seeded.len())?;
                let (id, family) = self.seeded.get_mut(index)?;
                let now = people::family_name(next, next).to_lowercase();
                (*id, next, vec![now.clone()], vec![mem::replace(family, now)])
            }
            Act::Delete => {
                let index = self.random.index(self.inserted.len())?;
                let (id, number) = self.inserted.swap_remove(index);
                (id, number, Vec::new(), people::words(number))
            }
        };
        let (record, event) = (self.samples.record(number), self.samples.event(act, number));
        Some(Change { id, number, record, event, added, dropped, now_ms: self.now_ms })
    }

    fn write(&mut self, act: Act, group: &[Change]) -> Result<()> {
        let transaction = self.connection.transaction()?;
        for change in group {
            self.position += 1;
            statements::write(&transaction, act, change, self.position)?;
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

    use super::{ACTS, Act, Engine};
    use crate::bench::{
        people,
        statements::{self, Change, EventTexts},
        stored,
    };

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
        let samples = stored::sample_numbers();
        for number in samples {
            store(&connection, number);
        }
        let mut engine = Engine::open(&path, 100).unwrap();
        let round = engine.round(Duration::from_millis(20)).unwrap();
        assert!(ACTS.iter().all(|act| round.of(*act).rate > 0.0));
        let count = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        let left = count("SELECT count(*) FROM deleted_users");
        let created = count("SELECT count(*) FROM events WHERE kind = 'user.created'");
        assert_eq!((count("SELECT count(*) FROM users"), created), (2, 2 + left));
        assert_eq!(count("SELECT count(*) FROM events"), count("SELECT position FROM log_head"));
        assert_eq!(count("SELECT count(DISTINCT id) FROM words"), 2);
        assert_eq!(count("SELECT count(*) FROM further_keys"), 1);
        assert!(count("SELECT count(*) FROM idempotency_keys") > 0);
    }

    /// Stores a user as the service does.
    fn store(connection: &Connection, number: u64) {
        let change = Change {
            id: statements::id_at(1, number),
            number,
            record: people::body(number, 0),
            event: EventTexts::default(),
            added: people::words(number),
            dropped: Vec::new(),
            now_ms: 1,
        };
        let position: i64 = connection
            .query_row(
                "UPDATE log_head SET position = position + 1 RETURNING position",
                [],
                |row| row.get(0),
            )
            .unwrap();
        let transaction = connection.unchecked_transaction().unwrap();
        statements::write(&transaction, Act::Insert, &change, position).unwrap();
        transaction.commit().unwrap();
    }
}
