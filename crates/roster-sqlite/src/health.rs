//! The health of the store, from the last commit and the background checks.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use roster_core::StoreError;

use crate::mutex::lock;

/// How long a commit that failed for lack of space affects the health. Without this limit, a load
/// balancer that sends no writes to an unhealthy store would keep it unhealthy. The free disk space
/// is checked separately.
const FULL_LASTS: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(crate) struct Health(Mutex<State>);

#[derive(Default)]
struct State {
    stopped: bool,
    full: Option<Instant>,
    damaged: Option<String>,
}

impl Health {
    pub(crate) fn committed(&self) {
        lock(&self.0).full = None;
    }

    /// There was no room for a commit.
    pub(crate) fn full(&self) {
        lock(&self.0).full = Some(Instant::now());
    }

    /// Writes have stopped until a restart.
    pub(crate) fn stop(&self) {
        lock(&self.0).stopped = true;
    }

    pub(crate) fn damaged(&self, place: &str) {
        lock(&self.0).damaged = Some(place.to_owned());
    }

    pub(crate) fn is_stopped(&self) -> bool {
        lock(&self.0).stopped
    }

    /// The state, as an error if something is wrong.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let state = lock(&self.0);
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
