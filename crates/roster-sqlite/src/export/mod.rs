//! Reading a whole store for another engine: every row of every table, once, in the order of keys.
//!
//! Offline and read-only: the directory's lock is held during the export, and everything is read in
//! one transaction, in chunks of bounded size. A chunk can be read from any key on, so that an
//! interrupted load can continue. Rows have the form of [`Table`].

mod chunk;
mod error;

use std::path::Path;

use roster_core::{Head, LogId};
use rusqlite::Connection;
use sha2::{Digest as _, Sha256};

pub use chunk::Chunk;
#[cfg(test)]
pub(crate) use chunk::select_sql;
pub use error::ExportError;
pub use roster_engine::{Table, TableDigest};

use crate::{
    OpenError,
    backup::{BackupError, open_store, schema_of},
    check,
    lock::DirectoryLock,
    schema::MIGRATIONS,
};

/// Bytes of rows that are hashed at a time.
const DIGEST_CHUNK_BYTES: usize = 1 << 20;

/// A store that is not served and is read as a whole.
pub struct Export {
    connection: Connection,
    log_id: LogId,
    head: Head,
    counts: Vec<(&'static Table, u64)>,
    _lock: DirectoryLock,
}

impl Export {
    /// Opens the store of a data directory that is not served.
    pub fn open(directory: &Path) -> Result<Self, ExportError> {
        // Checked before the lock, which creates its file: only a store gets one.
        drop(open_store(directory)?);
        let lock = DirectoryLock::take(directory).map_err(|error| {
            if matches!(error, OpenError::Locked { .. }) {
                ExportError::Served { directory: directory.to_owned() }
            } else {
                ExportError::Store(BackupError::Open(error))
            }
        })?;
        let connection = open_store(directory)?;
        connection.execute_batch("BEGIN")?;
        let found = schema_of(&connection)?;
        let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
        if found < known {
            let directory = directory.to_owned();
            return Err(ExportError::OlderSchema { directory, found, known });
        }
        let (log_id, head) = check::head(&connection)?;
        let counts = counts(&connection)?;
        let export = Self { connection, log_id, head, counts, _lock: lock };
        export.hold_counters()?;
        Ok(export)
    }

    /// The identity of the change log.
    pub const fn log_id(&self) -> LogId {
        self.log_id
    }

    /// The last position and the stored counters.
    pub const fn head(&self) -> Head {
        self.head
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
        after: Option<&[u8]>,
        bytes_max: usize,
    ) -> Result<Chunk, ExportError> {
        chunk::read(&self.connection, table, after, bytes_max)
    }

    /// Reads a whole table and hashes it.
    pub fn digest(&self, table: &Table) -> Result<TableDigest, ExportError> {
        let (mut hash, mut rows, mut after) = (Sha256::new(), 0, None);
        loop {
            let chunk = self.chunk(table, after.as_deref(), DIGEST_CHUNK_BYTES)?;
            let Some(last) = chunk.last_key else {
                return Ok(TableDigest { rows, sha256: hash.finalize().into() });
            };
            hash.update(&chunk.tuples);
            rows += chunk.rows;
            after = Some(last);
        }
    }

    /// Fails if the counters of the store do not match its rows, because the copy would be wrong
    /// too.
    fn hold_counters(&self) -> Result<(), ExportError> {
        let Head { position, deleted, .. } = self.head;
        let last = "SELECT coalesce(max(position), ?1) FROM events";
        let last: i64 = self.connection.query_row(last, [position], |row| row.get(0))?;
        let kept = [("users", self.head.live()), ("deleted_users", deleted)];
        let same = |(name, kept): (&str, i64)| {
            let counted = self.counts.iter().find(|(table, _)| table.name == name);
            counted.is_some_and(|(_, rows)| u64::try_from(kept).is_ok_and(|kept| kept == *rows))
        };
        if last == position && kept.into_iter().all(same) {
            return Ok(());
        }
        let what = "its counters are not what it holds".to_owned();
        Err(ExportError::Damaged { what })
    }
}

fn counts(connection: &Connection) -> Result<Vec<(&'static Table, u64)>, ExportError> {
    let count = |table: &'static Table| {
        let rows: i64 = connection.query_row(&chunk::count_sql(table), [], |row| row.get(0))?;
        Ok((table, rows.unsigned_abs()))
    };
    Table::ALL.iter().map(count).collect()
}
