//! Copies the write-ahead log into the database, in parallel with the writer.
//!
//! It copies whenever the log has grown, while commits continue. Under steady writes it never
//! finishes, and SQLite restarts only a completely copied log. So once few pages remain, the writer
//! is asked to copy the rest between two transactions.
//!
//! A read snapshot prevents a reset of the log. Once the log is long, new long reads wait, running
//! ones are interrupted if they do not end soon, and short reads wait during the reset. A snapshot
//! of another process, such as a backup, cannot be ended: the log grows until that process ends it.

use std::{
    fs::File,
    sync::Arc,
    time::{Duration, Instant},
};

use rusqlite::Connection;

use crate::{
    failure::ReadResult,
    reads::readers::Readers,
    wal::checkpoint::{COPY, EMPTY, LOOK, Progress, WalLimits, checkpoint},
    writer::{Maintenance, Shared, Writer},
};

/// How often the log's size is checked while there are commits.
pub(crate) const CHECK_INTERVAL: Duration = Duration::from_millis(25);

/// The maximum number of pages that the writer is asked to copy, so that it is not blocked for
/// long.
const REMAINING_PAGES_MAX: i64 = 1000;

/// After this number of rounds the writer is asked to copy whatever is left, because it writes
/// faster than this thread copies.
const ROUNDS_MAX: usize = 8;

/// Long reads that still run after this time are interrupted.
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// The wait after a reset that a snapshot of another process prevented.
const BLOCKED_RETRY: Duration = Duration::from_secs(5);

pub(crate) struct Checkpointer {
    pub(crate) connection: Connection,
    /// The file of the database, which the lock of the store keeps open.
    pub(crate) database: Arc<File>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) readers: Arc<Readers>,
    pub(crate) limits: WalLimits,
}

impl Checkpointer {
    /// Copies new pages, and asks the writer for the rest.
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
            if progress.rest() <= REMAINING_PAGES_MAX {
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

    /// Has the writer do work that needs a log without readers. Returns false if a snapshot of
    /// another process prevents it, or if the store closes.
    pub(crate) fn reset(&self, work: &Maintenance) -> bool {
        let is_reset = self.try_reset(work) || {
            let _pause = self.shared.long_reads.pause();
            self.end_long_reads()
                && (self.try_reset(work) || {
                    let _short_reads = self.readers.pause();
                    self.try_reset(work)
                })
        };
        self.shared.checkpoints.set_blocked(!is_reset);
        is_reset
    }

    fn try_reset(&self, work: &Maintenance) -> bool {
        self.checkpoint(COPY);
        self.sync() && self.ask(Arc::clone(work))
    }

    /// Waits for running long reads, and interrupts them if they take too long. Returns false once
    /// the store closes.
    fn end_long_reads(&self) -> bool {
        let began = Instant::now();
        while !self.shared.long_reads.wait_until_idle(CHECK_INTERVAL) {
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

    /// Syncs the copied pages to disk. SQLite does this only after it copied the whole log, which
    /// would block the writer.
    pub(crate) fn sync(&self) -> bool {
        let synced = self.database.sync_data().is_ok();
        if !synced {
            self.shared.health.stop();
        }
        synced
    }

    /// Empties the log while there are no writes. Returns false if it has to be tried again.
    pub(crate) fn empty(&self) -> bool {
        let Some(log) = self.checkpoint(LOOK) else { return true };
        if log.pages < self.limits.pause {
            // The log is short, so running reads need not be interrupted.
            return self.try_reset(&empty_log());
        }
        self.reset(&empty_log())
    }

    /// Asks the writer to do the work, and waits. Returns whether it succeeded.
    pub(crate) fn ask(&self, work: Maintenance) -> bool {
        self.shared.checkpoints.ask(work, || self.shared.queue.wake())
    }

    /// The writer runs this work in a separate transaction. Returns false if that failed.
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

    /// Waits for this time. Returns false once the store closes or writes have stopped.
    pub(crate) fn rest(&self, time: Duration) -> bool {
        self.shared.checkpoints.rest(time) && !self.shared.health.is_stopped()
    }

    /// Takes note of a failed read, which returns `None`.
    pub(crate) fn note_read<T>(&self, read: ReadResult<T>) -> Option<T> {
        self.shared.health.note_read(read).ok()
    }

    /// Runs a checkpoint. Returns `None` if it is blocked.
    pub(crate) fn checkpoint(&self, mode: &str) -> Option<Progress> {
        checkpoint(&self.connection, mode, &self.shared.health)
    }
}

/// Has the writer copy the rest and empty the log.
pub(crate) fn empty_log() -> Maintenance {
    Arc::new(|writer| writer.checkpoint(EMPTY).is_some())
}
