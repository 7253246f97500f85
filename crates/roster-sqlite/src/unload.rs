//! Reading a whole store for another engine: every row of every table, once, in the order of keys.
//!
//! Offline and read-only: the directory's lock is held during the export, and everything is read in
//! one transaction, in chunks of bounded size. A chunk can be read from any key on, so that an
//! interrupted load can continue.

use std::path::Path;

use roster_core::{LogId, page::Flow};
use roster_engine::{Cell, Database as _, corrupt, first};
pub use roster_engine::{Table, TableDigest, Values};
use rusqlite::Connection;

use crate::{
    OpenError,
    backup::{BackupError, open_store, schema_of},
    check,
    failure::ReadResult,
    lock::StoreLock,
    migrations::MIGRATIONS,
    reads::rows::{Rows, run},
    wal::damage::refuse_damage,
};

/// A store that is not served and is read as a whole.
pub struct Export {
    connection: Connection,
    log_id: LogId,
    position: i64,
    counts: Vec<(&'static Table, u64)>,
    _lock: StoreLock,
}

impl Export {
    /// Opens the store of a data directory that is not served.
    pub fn open(directory: &Path) -> Result<Self, BackupError> {
        refuse_damage(directory)?;
        // Checked before the lock, which creates its file: only a store gets one.
        drop(open_store(directory)?);
        let lock = StoreLock::take(directory, false).map_err(|error| {
            if matches!(error, OpenError::Locked { .. }) {
                BackupError::Served(directory.to_owned())
            } else {
                BackupError::Open(error)
            }
        })?;
        let connection = open_store(directory)?;
        connection.execute_batch("BEGIN")?;
        let found = schema_of(&connection)?;
        let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
        if found < known {
            let directory = directory.to_owned();
            return Err(BackupError::OlderSchema { directory, found, known });
        }
        let (log_id, position) = check::head(&connection)?;
        let counts = counts(&connection)?;
        let export = Self { connection, log_id, position, counts, _lock: lock };
        export.hold_counters()?;
        Ok(export)
    }

    /// The identity of the change log.
    pub const fn log_id(&self) -> LogId {
        self.log_id
    }

    /// The last position.
    pub const fn position(&self) -> i64 {
        self.position
    }

    /// Every table, in the order of the export, with its number of rows.
    pub fn tables(&self) -> &[(&'static Table, u64)] {
        &self.counts
    }

    /// The rows after this key (`None`: from the first on), in the order of keys: as many as fit
    /// into this size, but at least one. No rows means that there are no more.
    pub fn chunk(
        &self,
        table: &Table,
        after: Option<&[Cell]>,
        bytes_max: usize,
    ) -> Result<Vec<Values>, BackupError> {
        let (mut rows, mut bytes) = (Vec::new(), 0);
        let keep = |row: Values| {
            if !is_sound(table, &row) {
                return Err(corrupt(table.name));
            }
            bytes += row.size();
            rows.push(row);
            Ok(if bytes < bytes_max { Flow::Next } else { Flow::Stop })
        };
        let sql = table.select::<Rows<'_>>(after.is_some());
        run(Rows::of_store(&self.connection).each(&sql, after.unwrap_or_default(), keep))?;
        Ok(rows)
    }

    /// Reads a whole table and hashes it.
    pub fn digest(&self, table: &Table) -> Result<TableDigest, BackupError> {
        Ok(run(roster_engine::digest(Rows::of_store(&self.connection), table))?)
    }

    /// Fails if the counters of the store do not match its rows, because the copy would be wrong
    /// too.
    fn hold_counters(&self) -> Result<(), BackupError> {
        let position = self.position;
        let last = "SELECT coalesce(max(position), ?1) FROM events";
        let last: i64 = self.connection.query_row(last, [position], |row| row.get(0))?;
        let (live, deleted) = check::totals(&self.connection)?;
        let kept = [("users", live), ("deleted_users", deleted)];
        let same = |(name, kept): (&str, i64)| {
            let counted = self.counts.iter().find(|(table, _)| table.name == name);
            counted.is_some_and(|(_, rows)| u64::try_from(kept).is_ok_and(|kept| kept == *rows))
        };
        if last == position && kept.into_iter().all(same) {
            return Ok(());
        }
        Err(BackupError::Unsound("its counters are not what it holds".to_owned()))
    }
}

/// Whether the columns that take values of any type have such as the store writes.
fn is_sound(table: &Table, row: &Values) -> bool {
    let is_text = |value: &Cell| matches!(value, Cell::Text(_) | Cell::Null);
    match table.name {
        // What follows the times are keys and the record.
        "users" => row.0.iter().skip(5).all(|value| is_text(value) || table.is_absent_key(value)),
        "settings" => row.0.iter().skip(1).all(|value| !matches!(value, Cell::Integer(_))),
        _ => true,
    }
}

fn counts(connection: &Connection) -> Result<Vec<(&'static Table, u64)>, BackupError> {
    let count = |table: &'static Table| {
        let row = run(first(Rows::of_store(connection), &table.count::<Rows<'_>>(), &[]))?;
        Ok((table, row.unwrap_or_default().number(0, table.name)?.unsigned_abs()))
    };
    let counts = Table::ALL.iter().map(count).collect::<ReadResult<_>>()?;
    Ok(counts)
}
