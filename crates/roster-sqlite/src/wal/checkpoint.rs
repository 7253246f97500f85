//! Checkpoints: the statements, and the limits of the write-ahead log.
//!
//! A checkpoint copies the write-ahead log into the database. After a failed sync nothing is copied
//! until the store is opened again, which copies the whole log and syncs both files.
//!
//! [`WalLimits`] limits the size of the log. The log exceeds the limit only while another process
//! has a snapshot, which this process cannot end.

use rusqlite::Connection;

use crate::{failure, health::Health, settings::Settings};

/// The lengths of the log, in pages, at which something is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WalLimits {
    /// New long reads wait for a reset.
    pub(crate) pause: i64,
    /// Running long reads are interrupted.
    pub(crate) interrupt: i64,
    /// The next transaction waits for a reset.
    pub(crate) wait: i64,
}

impl WalLimits {
    pub(crate) fn of(settings: &Settings) -> Self {
        let max = i64::from(settings.wal_pages_max);
        Self { pause: max / 4, interrupt: max / 8 * 3, wait: max / 2 }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Pages in the log.
    pub(crate) pages: i64,
    /// How many of them are in the database.
    copied: i64,
}

impl Progress {
    /// How many are not.
    pub(crate) const fn rest(self) -> i64 {
        self.pages - self.copied
    }
}

/// Runs a checkpoint. Returns `None` if writes have stopped, if another checkpoint or a reader
/// blocks it, or if the log cannot be read. The log then grows until the next one.
pub(crate) fn checkpoint(connection: &Connection, mode: &str, health: &Health) -> Option<Progress> {
    if health.is_stopped() {
        return None;
    }
    let run = || {
        let mut statement = connection.prepare_cached(mode)?;
        statement.query_row([], |row| {
            let busy: bool = row.get(0)?;
            Ok((!busy).then_some(Progress { pages: row.get(1)?, copied: row.get(2)? }))
        })
    };
    match run() {
        Ok(progress) => progress,
        Err(error) => {
            if failure::is_read(&error) {
                health.note(&error);
            } else if failure::is_io(&error) && !failure::is_full(&error) {
                health.stop();
            }
            None
        }
    }
}

/// Returns the progress and copies nothing.
pub(crate) const LOOK: &str = "PRAGMA wal_checkpoint(NOOP)";
/// Copies the pages that no reader blocks.
pub(crate) const COPY: &str = "PRAGMA wal_checkpoint(PASSIVE)";
/// Copies all pages, and makes the next write start the log at its beginning.
pub(crate) const RESTART: &str = "PRAGMA wal_checkpoint(RESTART)";
/// Copies all pages, and empties the log.
pub(crate) const EMPTY: &str = "PRAGMA wal_checkpoint(TRUNCATE)";
