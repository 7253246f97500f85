//! The health of the store, from the last commit and the background checks.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use roster_core::StoreError;

use crate::{
    failure::{self, ReadError},
    mutex::lock,
};

/// How long a commit that failed for lack of space affects the health. Without this limit, a load
/// balancer that sends no writes to an unhealthy store would keep it unhealthy. The free disk space
/// is checked separately.
const FULL_LASTS: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(crate) struct Health {
    state: Mutex<State>,
    failed_reads: AtomicU64,
}

#[derive(Default)]
struct State {
    stopped: bool,
    full: Option<Instant>,
    damaged: Option<String>,
}

impl Health {
    pub(crate) fn committed(&self) {
        lock(&self.state).full = None;
    }

    /// There was no room for a commit.
    pub(crate) fn full(&self) {
        lock(&self.state).full = Some(Instant::now());
    }

    /// Writes have stopped until a restart.
    pub(crate) fn stop(&self) {
        lock(&self.state).stopped = true;
    }

    /// A check found damage.
    pub(crate) fn damaged(&self, place: &str) {
        self.failed_reads.fetch_add(1, Ordering::Relaxed);
        lock(&self.state).damaged = Some(place.to_owned());
    }

    /// Counts an error of SQLite, if a read failed because of the disk or of damaged bytes. It
    /// concerns the requests that need these bytes, and not the whole store.
    pub(crate) fn note(&self, error: &rusqlite::Error) {
        if failure::is_read(error) {
            self.failed_reads.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a failed read. Returns its result.
    pub(crate) fn note_read<T>(&self, read: Result<T, ReadError>) -> Result<T, ReadError> {
        if let Err(ReadError::Sqlite(error)) = &read {
            self.note(error);
        }
        read
    }

    /// How many reads failed because of the disk or of damaged bytes.
    pub(crate) fn failed_reads(&self) -> u64 {
        self.failed_reads.load(Ordering::Relaxed)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        lock(&self.state).stopped
    }

    /// The state, as an error if something is wrong.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let state = lock(&self.state);
        if state.stopped {
            Err(StoreError::WritesStopped)
        } else if let Some(place) = &state.damaged {
            Err(StoreError::Corrupt { place: place.clone() })
        } else if state.full.is_some_and(|when| when.elapsed() < FULL_LASTS) {
            Err(StoreError::Full("the last commit found no room".into()))
        } else {
            Ok(())
        }
    }
}
