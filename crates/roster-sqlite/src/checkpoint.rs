//! Checkpoints: the messages between the writer and the checkpointer, and the statements.
//!
//! A checkpoint copies the write-ahead log into the database. Only the writer can finish one
//! without delaying itself, between two of its transactions. After a failed sync nothing is copied
//! until the store is opened again, which copies the whole log and syncs both files.
//!
//! [`WalLimits`] bounds the log. It grows further only while another process has a snapshot, which
//! nothing here can end.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rusqlite::Connection;

use crate::{failure, health::Health, settings::Settings, shared::lock, writer::Writer};

/// How many pages of the log lead to what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WalLimits {
    /// New long readings wait for a reset.
    pub(crate) pause: i64,
    /// Long readings that run are interrupted.
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

/// The state that the writer and the checkpointer share.
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
    wanted: Option<Maintenance>,
    /// Whether the writer did what was wanted, once it tried.
    done: Option<bool>,
    /// The last purge after which the files were not swept yet.
    purged: Option<i64>,
    /// Since when a snapshot of another process keeps the log from being reset, as far as known.
    blocked: Option<Instant>,
    closed: bool,
}

/// Work of the writer between two transactions; false where it failed. Another thread that did it
/// would get in the writer's way.
pub(crate) type Maintenance = Arc<dyn Fn(&Writer) -> bool + Send + Sync>;

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
    pub(crate) fn watch(&self, patience: Duration, seen: u64) -> bool {
        let mut state = self.lock();
        state.watched = state.commits == seen;
        drop(state);
        self.wait_while(patience, |state| state.commits == seen)
    }

    /// How many commits there were.
    pub(crate) fn commits(&self) -> u64 {
        self.lock().commits
    }

    /// A user was purged at that position: the files are to be swept.
    pub(crate) fn purged(&self, position: i64) {
        self.lock().purged = Some(position);
    }

    /// The last purge after which the files were not swept yet.
    pub(crate) fn last_purged(&self) -> Option<i64> {
        self.lock().purged
    }

    /// The sweep after the purges up to that position is over.
    pub(crate) fn swept(&self, position: i64) {
        let mut state = self.lock();
        state.purged = state.purged.filter(|purged| *purged > position);
    }

    /// Asks the writer, and waits until it did it or could not; false then.
    pub(crate) fn ask(&self, wanted: Maintenance, wake: impl FnOnce()) -> bool {
        let mut state = self.lock();
        (state.wanted, state.done) = (Some(wanted), None);
        drop(state);
        wake();
        self.changed.notify_all();
        self.wait_while(Duration::MAX, |state| state.done.is_none());
        self.lock().done == Some(true)
    }

    /// What the writer is asked to do.
    pub(crate) fn take_wanted(&self) -> Option<Maintenance> {
        self.lock().wanted.take()
    }

    /// Waits for what the writer is asked to do, at most that long. `None` at once while a
    /// snapshot of another process keeps the log from being reset.
    pub(crate) fn wait_for_wanted(&self, patience: Duration) -> Option<Maintenance> {
        let waits = |state: &State| state.wanted.is_none() && state.blocked.is_none();
        self.wait_while(patience, waits);
        self.take_wanted()
    }

    /// Notes whether a snapshot of another process kept the log from being reset.
    pub(crate) fn set_blocked(&self, is_blocked: bool) {
        self.lock().blocked = is_blocked.then(Instant::now);
        self.changed.notify_all();
    }

    /// Whether that was so less than this long ago.
    pub(crate) fn was_blocked(&self, within: Duration) -> bool {
        self.lock().blocked.is_some_and(|since| since.elapsed() < within)
    }

    /// The writer did it, or could not.
    pub(crate) fn done(&self, done: bool) {
        self.lock().done = Some(done);
        self.changed.notify_all();
    }

    /// Waits that long; false once closed.
    pub(crate) fn rest(&self, long: Duration) -> bool {
        self.wait_while(long, |_| true)
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
        lock(&self.state)
    }
}

/// How far a checkpoint came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Pages in the log.
    pub(crate) pages: i64,
    /// How many of them are in the database by now.
    copied: i64,
}

impl Progress {
    /// How many are not.
    pub(crate) const fn rest(self) -> i64 {
        self.pages - self.copied
    }
}

/// Runs a checkpoint; `None` once writes stopped, or when another checkpoint or a reader is in its
/// way. The log then grows until the next one.
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
/// Copies all, and has the log begin at its start.
pub(crate) const RESTART: &str = "PRAGMA wal_checkpoint(RESTART)";
/// Copies all, and empties the log.
pub(crate) const EMPTY: &str = "PRAGMA wal_checkpoint(TRUNCATE)";
