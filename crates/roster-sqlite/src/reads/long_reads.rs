//! The running long reads, and the pause in which none begins.
//!
//! A read holds a snapshot. SQLite can neither copy commits newer than the oldest snapshot nor
//! reset the write-ahead log while any snapshot reads from it. The checkpointer therefore pauses
//! long reads when a reset is due. Short reads end within milliseconds and are not counted here.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rusqlite::InterruptHandle;

use crate::mutex::lock;

#[derive(Default)]
pub(crate) struct LongReads {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The connection of each running read.
    running: Vec<Arc<InterruptHandle>>,
    paused: bool,
}

impl LongReads {
    /// Waits until there is no pause, then counts a read until the guard is dropped.
    pub(crate) fn begin<'r>(&'r self, connection: &'r Arc<InterruptHandle>) -> Running<'r> {
        let state = self.lock();
        let state = self.changed.wait_while(state, |state| state.paused);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.running.push(Arc::clone(connection));
        Running { reads: self, connection }
    }

    /// Starts a pause, in which no read begins, until the guard is dropped.
    pub(crate) fn pause(&self) -> Pause<'_> {
        self.lock().paused = true;
        Pause(self)
    }

    /// Waits until no read runs. Returns false if one still runs after this time.
    pub(crate) fn wait_until_idle(&self, patience: Duration) -> bool {
        let runs = |state: &mut State| !state.running.is_empty();
        let waited = self.changed.wait_timeout_while(self.lock(), patience, runs);
        waited.unwrap_or_else(PoisonError::into_inner).0.running.is_empty()
    }

    /// Interrupts the running reads. Each ends with an error.
    pub(crate) fn interrupt(&self) {
        for connection in &self.lock().running {
            connection.interrupt();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

pub(crate) struct Running<'r> {
    reads: &'r LongReads,
    connection: &'r Arc<InterruptHandle>,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.reads.lock().running.retain(|running| !Arc::ptr_eq(running, self.connection));
        self.reads.changed.notify_all();
    }
}

pub(crate) struct Pause<'r>(&'r LongReads);

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        self.0.lock().paused = false;
        self.0.changed.notify_all();
    }
}
