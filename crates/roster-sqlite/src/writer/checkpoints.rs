//! The messages between the writer and the checkpointer.
//!
//! Only the writer can finish a checkpoint without delaying itself, between two of its
//! transactions.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::Writer;
use crate::mutex::lock;

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
    /// The result of the requested work, once the writer tried it.
    done: Option<bool>,
    /// The last purge after which the files were not swept yet.
    purged: Option<i64>,
    /// The time since which a snapshot of another process is known to prevent a reset of the log.
    blocked: Option<Instant>,
    closed: bool,
}

/// Work of the writer between two transactions. Returns false if it failed. On another thread it
/// would conflict with the writer.
pub(crate) type Maintenance = Arc<dyn Fn(&Writer) -> bool + Send + Sync>;

impl Checkpoints {
    /// Records a commit. Wakes the checkpointer only if it waits for one, because waking a thread
    /// at each commit would take processor time from the caller.
    pub(crate) fn committed(&self) {
        let mut state = self.lock();
        state.commits += 1;
        if std::mem::take(&mut state.watched) {
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Waits for a new commit, at most this long. Returns false once closed.
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

    /// Records that a user was purged at that position, so that the files are swept.
    pub(crate) fn purged(&self, position: i64) {
        self.lock().purged = Some(position);
    }

    /// The last purge after which the files were not swept yet.
    pub(crate) fn last_purged(&self) -> Option<i64> {
        self.lock().purged
    }

    /// Records that the sweep for the purges up to that position is over.
    pub(crate) fn swept(&self, position: i64) {
        let mut state = self.lock();
        state.purged = state.purged.filter(|purged| *purged > position);
    }

    /// Asks the writer to do the work, and waits. Returns whether it succeeded.
    pub(crate) fn ask(&self, wanted: Maintenance, wake: impl FnOnce()) -> bool {
        let mut state = self.lock();
        (state.wanted, state.done) = (Some(wanted), None);
        drop(state);
        wake();
        self.changed.notify_all();
        self.wait_while(Duration::MAX, |state| state.done.is_none());
        self.lock().done == Some(true)
    }

    pub(crate) fn take_wanted(&self) -> Option<Maintenance> {
        self.lock().wanted.take()
    }

    /// Waits for requested work, at most this long. Returns `None` at once while a snapshot of
    /// another process prevents a reset of the log.
    pub(crate) fn wait_for_wanted(&self, patience: Duration) -> Option<Maintenance> {
        let waits = |state: &State| state.wanted.is_none() && state.blocked.is_none();
        self.wait_while(patience, waits);
        self.take_wanted()
    }

    /// Records whether a snapshot of another process prevented a reset of the log.
    pub(crate) fn set_blocked(&self, is_blocked: bool) {
        self.lock().blocked = is_blocked.then(Instant::now);
        self.changed.notify_all();
    }

    /// Whether a snapshot of another process prevented a reset less than this long ago.
    pub(crate) fn was_blocked(&self, within: Duration) -> bool {
        self.lock().blocked.is_some_and(|since| since.elapsed() < within)
    }

    /// Records the result of the work.
    pub(crate) fn done(&self, done: bool) {
        self.lock().done = Some(done);
        self.changed.notify_all();
    }

    /// Waits for this time. Returns false once closed.
    pub(crate) fn rest(&self, long: Duration) -> bool {
        self.wait_while(long, |_| true)
    }

    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Waits while the condition holds, at most this long. Returns false once closed.
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
