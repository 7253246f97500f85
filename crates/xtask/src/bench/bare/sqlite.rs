//! A loop over the tables of a store in SQLite.
//!
//! The service creates, replaces and deletes some users. The rows of each user are read before and
//! after each change, the differences are recorded, and the users are deleted again. A change of
//! the loop is such a difference with its event. Changes are committed durably (`synchronous=FULL`)
//! in groups as large as those of a busy service, on one thread that also copies the write-ahead
//! log.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use fake::rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};
use rusqlite::{Connection, Row, config::DbConfig, params_from_iter, types::Value};
use uuid::Uuid;

use super::{Bare, Times, fresh_users};
use crate::bench::{
    cases::{Sample, Work},
    people::User,
    service::Service,
};

/// The number of pages at which the log is copied into the database, as in the service.
const CHECKPOINT_PAGES: i64 = 10_000;
/// The page cache of the service's writer, as `cache_size` takes it: KiB, negated.
const CACHE_SIZE: i64 = -16 * 1024;
/// The number of changes in one commit, except for imports, whose lines arrive faster.
const GROUP: usize = 128;
const IMPORT_GROUP: usize = 512;

/// The tables with rows of a user: name, column with the user's id, columns of the key.
const TABLES: [(&str, &str, &[&str]); 5] = [
    ("users", "id", &["tenant", "id"]),
    ("words", "id", &["tenant", "word", "id"]),
    ("further_keys", "id", &["tenant", "kind", "key", "id"]),
    ("deleted_users", "id", &["tenant", "id"]),
    (IDEMPOTENCY, "user_id", &["tenant", "key"]),
];
const IDEMPOTENCY: &str = "idempotency_keys";

/// The rows of a user in each table, and its last event.
#[derive(Default)]
struct Image {
    tables: [Vec<Vec<Value>>; TABLES.len()],
    event: Vec<Value>,
}

/// One statement with its values.
type Statement = (Arc<str>, Vec<Value>);

/// The statements that lead from one image to another, and the event, which begins with its
/// position.
#[derive(Clone)]
struct Change {
    statements: Vec<Statement>,
    event: Vec<Value>,
}

/// A user that the loop creates and deletes.
struct Fresh {
    /// With an idempotency key.
    create: Change,
    delete: Change,
    undo_create: Change,
    undo_delete: Change,
}

/// The database file and the changes.
pub(in super::super) struct Sqlite {
    connection: Connection,
    columns: [Vec<String>; TABLES.len()],
    fresh: Vec<Fresh>,
    /// Changes of stored users, and the reverse changes.
    changed: Vec<[Change; 2]>,
    is_changed: bool,
    position: i64,
}

impl Sqlite {
    /// Makes the service execute the changes in a directory of the loop, and reads them.
    pub(in super::super) fn open(
        data: &Path,
        start: &dyn Fn(Vec<User>) -> Result<Service>,
        users: &[User],
        measure: Duration,
    ) -> Result<Self> {
        let count = fresh_users(measure);
        let mut stored = users.to_vec();
        stored.shuffle(&mut StdRng::seed_from_u64(1));
        stored.truncate(count);
        let connection = open(&data.join("roster.db"))?;
        let mut columns = <[Vec<String>; TABLES.len()]>::default();
        for ((table, ..), columns) in TABLES.iter().zip(&mut columns) {
            let statement = connection.prepare(&format!("SELECT * FROM {table}"))?;
            *columns = statement.column_names().map(str::to_owned).collect();
        }
        let (fresh, changed) = (Vec::new(), Vec::new());
        let mut this = Self { connection, columns, fresh, changed, is_changed: false, position: 0 };

        let before = this.images(&stored)?;
        let mut service = start(users.to_vec())?;
        service.replace_each(&stored)?;
        service.create_fresh(u64::try_from(count)?, true)?;
        let created = service.fresh.clone();
        service.server.stop()?;
        let after = this.images(&stored)?;
        let present = this.images(&created)?;
        let mut service = start(users.to_vec())?;
        service.fresh.clone_from(&created);
        service.settle()?;
        service.server.stop()?;
        let deleted = this.images(&created)?;

        let position = "SELECT position FROM log_head";
        this.position = this.connection.query_row(position, [], |row| row.get(0))?;
        let none = Image::default();
        for (before, after) in before.iter().zip(&after) {
            this.changed.push([this.change(before, after), this.change(after, before)]);
        }
        this.is_changed = true;
        for (present, deleted) in present.iter().zip(&deleted) {
            this.fresh.push(Fresh {
                create: this.change(&none, present),
                delete: this.change(present, deleted),
                undo_create: this.change(present, &none),
                undo_delete: this.change(deleted, &none),
            });
        }
        this.undo(count, count)?;
        Ok(this)
    }

    fn images(&self, users: &[User]) -> Result<Vec<Image>> {
        users.iter().map(|user| self.image(Uuid::parse_str(&user.id)?)).collect()
    }

    fn image(&self, id: Uuid) -> Result<Image> {
        let rows = |sql: &str| -> Result<Vec<Vec<Value>>> {
            let mut statement = self.connection.prepare_cached(sql)?;
            let count = statement.column_count();
            let row = |row: &Row<'_>| (0..count).map(|column| row.get(column)).collect();
            Ok(statement.query_map([id.as_bytes()], row)?.collect::<Result<_, _>>()?)
        };
        let mut image = Image::default();
        for ((table, id, _), to) in TABLES.iter().zip(&mut image.tables) {
            *to = rows(&format!("SELECT * FROM {table} WHERE tenant = 0 AND {id} = ?1"))?;
        }
        let events = "SELECT * FROM events WHERE tenant = 0 AND subject_id = ?1 \
            ORDER BY position DESC LIMIT 1";
        image.event = rows(events)?.pop().context("a user without an event")?;
        Ok(image)
    }

    /// The statements that lead from one image to the other.
    fn change(&self, before: &Image, after: &Image) -> Change {
        let mut statements = Vec::new();
        let tables = TABLES.iter().zip(&self.columns).zip(before.tables.iter().zip(&after.tables));
        for (((table, _, key), columns), (before, after)) in tables {
            let key_of = |row: &[Value]| -> Vec<Value> {
                let cells = columns.iter().zip(row);
                cells
                    .filter(|(name, _)| key.contains(&name.as_str()))
                    .map(|(_, v)| v.clone())
                    .collect()
            };
            let names = columns.iter().filter(|name| key.contains(&name.as_str()));
            let tests: Vec<_> = names.map(|name| format!("{name} = ?")).collect();
            let tests = tests.join(" AND ");
            let same = |row: &[Value], rows: &[Vec<Value>]| {
                rows.iter().find(|other| key_of(other) == key_of(row)).cloned()
            };
            for row in before.iter().filter(|row| same(row, after).is_none()) {
                statements.push((format!("DELETE FROM {table} WHERE {tests}").into(), key_of(row)));
            }
            for row in after {
                let Some(former) = same(row, before) else {
                    let marks = vec!["?"; columns.len()].join(", ");
                    statements.push((
                        format!("INSERT INTO {table} VALUES ({marks})").into(),
                        row.clone(),
                    ));
                    continue;
                };
                let cells = columns.iter().zip(row.iter().zip(&former));
                let changed: Vec<_> = cells.filter(|(_, (now, then))| now != then).collect();
                if !changed.is_empty() {
                    let sets: Vec<_> =
                        changed.iter().map(|(name, _)| format!("{name} = ?")).collect();
                    let sql = format!("UPDATE {table} SET {} WHERE {tests}", sets.join(", "));
                    let values = changed.into_iter().map(|(_, (now, _))| now.clone());
                    statements.push((sql.into(), values.chain(key_of(row)).collect()));
                }
            }
        }
        let event = if after.event.is_empty() { &before.event } else { &after.event };
        Change { statements, event: event.clone() }
    }

    /// Commits changes in groups until the time is over.
    fn play(
        &mut self,
        changes: &[Change],
        group: usize,
        measure: Duration,
    ) -> Result<(Sample, usize)> {
        let (mut times, mut spent, mut done) = (Times::new()?, Duration::ZERO, 0);
        for group in changes.chunks(group) {
            if spent >= measure {
                break;
            }
            let began = Instant::now();
            let transaction = self.connection.transaction()?;
            for Change { statements, event } in group {
                for (sql, values) in statements {
                    transaction.prepare_cached(sql)?.execute(params_from_iter(values))?;
                }
                self.position += 1;
                let position = Value::Integer(self.position);
                let values = std::iter::once(&position).chain(event.iter().skip(1));
                let marks = vec!["?"; event.len()].join(", ");
                let sql = format!("INSERT INTO events VALUES ({marks})");
                transaction.prepare_cached(&sql)?.execute(params_from_iter(values))?;
            }
            transaction
                .prepare_cached("UPDATE tenants SET active = active + 1 WHERE id = 0")?
                .execute([])?;
            transaction
                .prepare_cached("UPDATE log_head SET position = ?1")?
                .execute([self.position])?;
            transaction.commit()?;
            let taken = began.elapsed();
            spent += taken;
            times.add(taken);
            done += group.len();
        }
        Ok((times.sample(done, spent)?, done))
    }

    /// Removes the first `end` users and their events. The first `deleted` of them are already
    /// deleted, the others are stored. Not timed.
    fn undo(&mut self, deleted: usize, end: usize) -> Result<()> {
        let transaction = self.connection.transaction()?;
        for (number, fresh) in self.fresh.iter().take(end).enumerate() {
            let undo = if number < deleted { &fresh.undo_delete } else { &fresh.undo_create };
            for (sql, values) in &undo.statements {
                transaction.prepare_cached(sql)?.execute(params_from_iter(values))?;
            }
            transaction
                .prepare_cached("DELETE FROM events WHERE tenant = 0 AND subject_id = ?1")?
                .execute(params_from_iter(undo.event.get(SUBJECT)))?;
        }
        Ok(transaction.commit()?)
    }
}

/// The column of an event that names its subject.
const SUBJECT: usize = 6;

impl Bare for Sqlite {
    fn run(&mut self, work: Work, _: usize, measure: Duration, seed: u64) -> Result<Sample> {
        if work == Work::Put {
            let way = usize::from(self.is_changed);
            let changes = self.changed.iter().filter_map(|ways| ways.get(way).cloned());
            let changes: Vec<_> = changes.collect();
            let (sample, done) = self.play(&changes, GROUP, measure)?;
            // The remaining changes are executed in the same direction, so that the next round can
            // reverse them.
            self.play(changes.get(done..).unwrap_or_default(), GROUP, Duration::MAX)?;
            self.is_changed = !self.is_changed;
            return Ok(sample);
        }
        let mut creates: Vec<_> = self.fresh.iter().map(|fresh| fresh.create.clone()).collect();
        if work != Work::KeyedPost {
            for create in &mut creates {
                create.statements.retain(|(sql, _)| !sql.contains(IDEMPOTENCY));
            }
        }
        if work == Work::Delete {
            self.play(&creates, IMPORT_GROUP, Duration::MAX)?;
            // In random order, because users that were created one after another are stored next to
            // each other.
            self.fresh.shuffle(&mut StdRng::seed_from_u64(seed));
            let deletes: Vec<_> = self.fresh.iter().map(|fresh| fresh.delete.clone()).collect();
            let (sample, done) = self.play(&deletes, GROUP, measure)?;
            self.undo(done, self.fresh.len())?;
            return Ok(sample);
        }
        let group = if work == Work::Import { IMPORT_GROUP } else { GROUP };
        let (sample, done) = self.play(&creates, group, measure)?;
        self.undo(0, done)?;
        Ok(sample)
    }
}

/// Opens a file like the service's writer, except that this connection copies the log itself.
fn open(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false)?;
    connection.pragma_update(None, "cache_size", CACHE_SIZE)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.pragma_update(None, "secure_delete", "ON")?;
    Ok(connection)
}
