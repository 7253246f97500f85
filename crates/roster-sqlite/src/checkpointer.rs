//! The thread that copies the write-ahead log into the database, beside the writer.
//!
//! It copies whenever the log has grown, while commits go on. Under a steady stream of them it
//! never catches up for good, and only a log that is wholly copied begins anew: so once little is
//! left, the writer is asked to copy that rest between two transactions. After a purge it sweeps
//! the file.

use std::{fs::File, sync::Arc, time::Duration};

use rusqlite::Connection;

use crate::{
    checkpoint::{COPY, LOOK, Progress, Wanted, checkpoint},
    scrub,
    shared::Shared,
};

/// How often the log's size is looked at while there are commits.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// The log is emptied after so long without a commit.
const IDLE_AFTER: Duration = Duration::from_secs(5);

/// The writer is asked to copy at most so many pages; it is not to be held up for long.
const REST_PAGES_MAX: i64 = 1000;

/// Rounds after which the writer is asked whatever is left: it outruns the copying.
const ROUNDS_MAX: usize = 8;

/// The thread that copies.
pub(crate) struct Checkpointer {
    connection: Connection,
    database: Arc<File>,
    shared: Arc<Shared>,
    pages: i64,
}

impl Checkpointer {
    /// Copies once the log holds so many pages.
    pub(crate) fn new(
        connection: Connection,
        database: File,
        shared: Arc<Shared>,
        pages: u32,
    ) -> Self {
        Self { connection, database: Arc::new(database), shared, pages: i64::from(pages) }
    }

    /// Copies until it is closed. Gives the open file back: when any handle of a file is closed,
    /// the system drops the locks that SQLite holds on it, so this one has to be the last.
    pub(crate) fn run(self) -> Arc<File> {
        let checkpoints = &self.shared.checkpoints;
        let (mut seen, mut emptied, mut given_up) = (0, true, None);
        loop {
            let purged = checkpoints.last_purged().filter(|purged| Some(*purged) != given_up);
            if let Some(position) = purged {
                if scrub::sweep(&self, &self.database, position).is_some() {
                    checkpoints.swept(position);
                } else {
                    // The next start, or the next purge, tries again.
                    given_up = Some(position);
                }
            }
            let patience = if emptied { Duration::MAX } else { IDLE_AFTER };
            if !checkpoints.watch(patience, seen) {
                return self.database;
            }
            let commits = checkpoints.commits();
            if commits == seen {
                emptied = true;
                self.empty();
                continue;
            }
            (seen, emptied) = (commits, false);
            self.copy();
            if !checkpoints.rest(LOOK_EVERY) {
                return self.database;
            }
        }
    }

    /// Copies what has grown; asks the writer for the rest.
    pub(crate) fn copy(&self) {
        let Some(mut progress) = self.checkpoint(LOOK) else { return };
        if progress.rest() < self.pages {
            return;
        }
        for _ in 0..ROUNDS_MAX {
            if self.checkpoint(COPY).is_none() || !self.sync() {
                return;
            }
            match self.checkpoint(LOOK) {
                Some(now) => progress = now,
                None => return,
            }
            if progress.rest() <= REST_PAGES_MAX {
                break;
            }
        }
        self.ask(Wanted::Rest);
    }

    /// Brings what was copied to the disk. SQLite does so only when it has copied the whole log,
    /// which would fall to the writer.
    pub(crate) fn sync(&self) -> bool {
        let synced = self.database.sync_data().is_ok();
        if !synced {
            self.shared.health.stop();
        }
        synced
    }

    /// Empties the log while nobody writes.
    fn empty(&self) {
        if self.checkpoint(COPY).is_some_and(|progress| progress.rest() == 0) {
            self.ask(Wanted::Empty);
        }
    }

    /// Asks the writer, and waits until it did it or could not; false then.
    pub(crate) fn ask(&self, wanted: Wanted) -> bool {
        self.shared.checkpoints.ask(wanted, || self.shared.queue.wake())
    }

    /// Waits that long; false once the store closes or writes stopped.
    pub(crate) fn rest(&self, long: Duration) -> bool {
        self.shared.checkpoints.rest(long) && !self.shared.health.is_stopped()
    }

    /// Runs a checkpoint; `None` when something stands in its way.
    pub(crate) fn checkpoint(&self, mode: &str) -> Option<Progress> {
        if self.shared.health.is_stopped() {
            return None;
        }
        checkpoint(&self.connection, mode, &self.shared.health)
    }
}
