//! Copying the write-ahead log into the database, beside the writer.
//!
//! A thread of its own copies whenever the log has grown, while commits go on. Under a steady
//! stream of them it never catches up for good, and only a log that is wholly copied begins anew:
//! so once little is left, the writer is asked to copy that rest between two transactions. After
//! a failed sync nothing is copied any more: the log is what the next start recovers from.

use std::{
    fs::File,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rusqlite::Connection;

use crate::{failure, health::Health, shared::Shared};

/// How often the log's size is looked at while there are commits.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// The log is emptied after so long without a commit.
const IDLE_AFTER: Duration = Duration::from_secs(5);

/// The writer is asked to copy at most so many pages; it is not to be held up for long.
const REST_PAGES_MAX: i64 = 1000;

/// Rounds after which the writer is asked whatever is left: it outruns the copying.
const ROUNDS_MAX: usize = 8;

/// What the writer and the checkpointer tell each other.
#[derive(Default)]
pub(crate) struct Checkpoints {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    commits: u64,
    /// The checkpointer waits for the next commit.
    watched: bool,
    wanted: Option<Wanted>,
    closed: bool,
}

/// What the writer is asked to do between two transactions: no other thread may, without getting
/// in its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Copy what is left, and let the log begin anew.
    Rest,
    /// Copy what is left, and empty the log.
    Empty,
}

impl Checkpoints {
    /// The writer committed. Wakes the checkpointer only where it waits for that: to wake a thread
    /// at each commit would cost the caller, who waits for a core too.
    pub(crate) fn committed(&self) {
        let mut state = self.lock();
        state.commits += 1;
        if std::mem::take(&mut state.watched) {
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Waits for a commit beyond those seen, at most that long; false once closed.
    fn watch(&self, patience: Duration, seen: u64) -> bool {
        let mut state = self.lock();
        state.watched = state.commits == seen;
        drop(state);
        self.wait_while(patience, |state| state.commits == seen)
    }

    /// What the writer is asked to do.
    pub(crate) fn wanted(&self) -> Option<Wanted> {
        self.lock().wanted
    }

    /// The writer did it, or could not.
    pub(crate) fn done(&self) {
        self.lock().wanted = None;
        self.changed.notify_all();
    }

    /// Ends the checkpointer.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Waits as long as the state is so, at most that long; false once closed.
    fn wait_while(&self, patience: Duration, so: impl Fn(&State) -> bool) -> bool {
        let (state, _) = self
            .changed
            .wait_timeout_while(self.lock(), patience, |state| !state.closed && so(state))
            .unwrap_or_else(PoisonError::into_inner);
        !state.closed
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How far a checkpoint came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Pages in the log.
    pages: i64,
    /// How many of them are in the database by now.
    copied: i64,
}

impl Progress {
    const fn rest(self) -> i64 {
        self.pages - self.copied
    }
}

/// Runs a checkpoint; `None` when another one, or a reader, stands in its way.
pub(crate) fn checkpoint(connection: &Connection, mode: &str, health: &Health) -> Option<Progress> {
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
            if failure::is_corrupt(&error) {
                health.damaged("the write-ahead log or the database file");
            } else if failure::is_io(&error) && !failure::is_full(&error) {
                health.stop();
            }
            None
        }
    }
}

/// Tells how far the log is copied, and copies nothing.
pub(crate) const LOOK: &str = "PRAGMA wal_checkpoint(NOOP)";
/// Copies what no reader stands in the way of.
pub(crate) const COPY: &str = "PRAGMA wal_checkpoint(PASSIVE)";
const COPY_REST: &str = "PRAGMA wal_checkpoint(RESTART)";
const EMPTY: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

/// Does what is wanted, on the writer's connection.
pub(crate) fn fulfil(connection: &Connection, wanted: Wanted, health: &Health) {
    if !health.is_stopped() {
        let mode = match wanted {
            Wanted::Rest => COPY_REST,
            Wanted::Empty => EMPTY,
        };
        // Where a reader stands in its way, the log goes on growing until it is wanted again.
        checkpoint(connection, mode, health);
    }
}

/// The thread that copies.
pub(crate) struct Checkpointer {
    connection: Connection,
    database: File,
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
        Self { connection, database, shared, pages: i64::from(pages) }
    }

    /// Copies until it is closed. Gives the open file back: when any handle of a file is closed,
    /// the system drops the locks that SQLite holds on it, so this one has to be the last.
    pub(crate) fn run(self) -> File {
        let checkpoints = &self.shared.checkpoints;
        let mut seen = 0;
        let mut emptied = true;
        loop {
            let patience = if emptied { Duration::MAX } else { IDLE_AFTER };
            if !checkpoints.watch(patience, seen) {
                return self.database;
            }
            let commits = checkpoints.lock().commits;
            if commits == seen {
                emptied = true;
                self.empty();
                continue;
            }
            (seen, emptied) = (commits, false);
            self.copy();
            if !checkpoints.wait_while(LOOK_EVERY, |_| true) {
                return self.database;
            }
        }
    }

    /// Copies what has grown; asks the writer for the rest.
    fn copy(&self) {
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
    fn sync(&self) -> bool {
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

    /// Asks the writer and waits until it did it.
    fn ask(&self, wanted: Wanted) {
        let checkpoints = &self.shared.checkpoints;
        checkpoints.lock().wanted = Some(wanted);
        self.shared.queue.wake();
        checkpoints.wait_while(Duration::MAX, |state| state.wanted.is_some());
    }

    fn checkpoint(&self, mode: &str) -> Option<Progress> {
        if self.shared.health.is_stopped() {
            return None;
        }
        checkpoint(&self.connection, mode, &self.shared.health)
    }
}
