//! The thread that copies the write-ahead log into the database, beside the writer.
//!
//! It copies whenever the log has grown, while commits go on. Under a steady stream of them it
//! never catches up for good, and only a log that is wholly copied begins anew: so once little is
//! left, the writer is asked to copy that rest between two transactions. After a purge it sweeps
//! the file.
//!
//! A snapshot keeps the log from being reset. Once the log is long, long readings are paused, those
//! that run are interrupted if they do not end soon, and short readings are held back for the
//! moment of the reset. What is left then is a snapshot of another process, such as a backup: the
//! log grows until that ends.

use std::{
    fs::File,
    sync::Arc,
    time::{Duration, Instant},
};

use rusqlite::Connection;

use crate::{
    checkpoint::{COPY, EMPTY, LOOK, Progress, WalLimits, checkpoint},
    readers::Readers,
    sweep::{self, Pace},
    writer::{Maintenance, Shared, Writer},
};

/// How often the log's size is looked at while there are commits.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// The log is emptied after so long without a commit.
const IDLE_AFTER: Duration = Duration::from_secs(5);

/// The writer is asked to copy at most so many pages; it is not to be held up for long.
const REST_PAGES_MAX: i64 = 1000;

/// Rounds after which the writer is asked whatever is left: it outruns the copying.
const ROUNDS_MAX: usize = 8;

/// Long readings that still run so long into a pause are interrupted.
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// After a reset that a snapshot of another process prevented, the next one is tried so much later.
const BLOCKED_RETRY: Duration = Duration::from_secs(5);

/// The thread that copies.
pub(crate) struct Checkpointer {
    pub(crate) connection: Connection,
    pub(crate) database: Arc<File>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) readers: Arc<Readers>,
    pub(crate) limits: WalLimits,
}

impl Checkpointer {
    /// Copies until it is closed. Gives the open file back: when any handle of a file is closed,
    /// the system drops the locks that SQLite holds on it, so this one has to be the last.
    pub(crate) fn run(self) -> Arc<File> {
        let checkpoints = &self.shared.checkpoints;
        let (mut seen, mut emptied, mut given_up) = (0, true, None);
        let mut pace = Pace::default();
        loop {
            let due = |given_up| checkpoints.last_purged().filter(|due| Some(*due) != given_up);
            if let Some(position) = due(given_up).filter(|_| pace.wait().is_zero()) {
                if let Some(took) = sweep::sweep(&self, position) {
                    pace.passed(took);
                } else {
                    // The next start, or the next purge, tries again.
                    given_up = Some(position);
                }
            }
            let mut patience = if emptied { Duration::MAX } else { IDLE_AFTER };
            if due(given_up).is_some() {
                patience = patience.min(pace.wait());
            }
            if !checkpoints.watch(patience, seen) {
                return self.database;
            }
            let commits = checkpoints.commits();
            if commits == seen {
                emptied = self.empty();
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
        let pages = i64::from(self.readers.settings().checkpoint_pages);
        if progress.rest() < pages && progress.pages < self.limits.pause {
            return;
        }
        if self.shared.checkpoints.was_blocked(BLOCKED_RETRY) {
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
        let restart: Maintenance = Arc::new(Writer::restart_log);
        if progress.pages >= self.limits.pause {
            self.reset(&restart);
        } else {
            self.ask(restart);
        }
    }

    /// Has the writer do what needs a log without readers. False where a snapshot of another
    /// process is in the way, or where the store closes.
    pub(crate) fn reset(&self, wanted: &Maintenance) -> bool {
        let is_reset = self.try_reset(wanted) || {
            let _pause = self.shared.long_reads.pause();
            self.end_long_reads()
                && (self.try_reset(wanted) || {
                    let _short_reads = self.readers.pause();
                    self.try_reset(wanted)
                })
        };
        self.shared.checkpoints.set_blocked(!is_reset);
        is_reset
    }

    fn try_reset(&self, wanted: &Maintenance) -> bool {
        self.checkpoint(COPY);
        self.sync() && self.ask(Arc::clone(wanted))
    }

    /// Waits for the long readings that run, and interrupts them where they take too long. False
    /// once the store closes.
    fn end_long_reads(&self) -> bool {
        let began = Instant::now();
        while !self.shared.long_reads.wait_until_idle(LOOK_EVERY) {
            if !self.rest(Duration::ZERO) {
                return false;
            }
            let log = self.checkpoint(LOOK);
            let is_long = log.is_some_and(|log| log.pages >= self.limits.interrupt);
            if is_long || began.elapsed() >= PAUSE_MAX {
                self.shared.long_reads.interrupt();
            }
        }
        true
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

    /// Empties the log while no write runs; false where it has to be tried again.
    fn empty(&self) -> bool {
        let Some(log) = self.checkpoint(LOOK) else { return true };
        if log.pages < self.limits.pause {
            // It is short enough to leave it to readings that run.
            return self.try_reset(&empty_log());
        }
        self.reset(&empty_log())
    }

    /// Asks the writer, and waits until it did it or could not; false then.
    pub(crate) fn ask(&self, wanted: Maintenance) -> bool {
        self.shared.checkpoints.ask(wanted, || self.shared.queue.wake())
    }

    /// Has the writer write in a transaction of its own; false where that failed.
    pub(crate) fn write(
        &self,
        work: impl Fn(&Connection) -> rusqlite::Result<()> + Send + Sync + 'static,
    ) -> bool {
        self.ask(Arc::new(move |writer: &Writer| {
            let is_written = writer.write(&work).is_ok();
            writer.shared.checkpoints.committed();
            is_written
        }))
    }

    /// Waits that long; false once the store closes or writes stopped.
    pub(crate) fn rest(&self, long: Duration) -> bool {
        self.shared.checkpoints.rest(long) && !self.shared.health.is_stopped()
    }

    /// Runs a checkpoint; `None` when something is in its way.
    pub(crate) fn checkpoint(&self, mode: &str) -> Option<Progress> {
        checkpoint(&self.connection, mode, &self.shared.health)
    }
}

/// Has the writer copy what is left and empty the log.
pub(crate) fn empty_log() -> Maintenance {
    Arc::new(|writer| writer.checkpoint(EMPTY).is_some())
}
