//! Whether the store is ready, checked at most once a second.
//!
//! `/readyz` needs no credential. So only one check at a time uses the store, whose connections are
//! also needed to read keys, and its result is used for all requests of one second.

use std::{sync::Arc, time::Duration};

use roster_core::{Directory, StoreError};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout_at},
};

use crate::problem::{Problem, ProblemCode};

/// How long a check waits before the store counts as not ready. This is longer than the store needs
/// to find another connection to the database, and shorter than the timeout of usual probes.
const READY_WAIT_MAX: Duration = Duration::from_millis(4_500);
/// How long a result is used.
const READY_KEEP: Duration = Duration::from_secs(1);

/// The last result of a check.
#[derive(Debug, Default)]
pub(crate) struct Readiness {
    /// When the check ended, and whether the store was ready. Locked during a check.
    last: Arc<Mutex<Option<(Instant, bool)>>>,
}

impl Readiness {
    /// Fails unless the store is ready, or was ready at a check within the last second.
    pub(crate) async fn check(&self, directory: &Directory) -> Result<(), Problem> {
        let end = Instant::now() + READY_WAIT_MAX;
        let not_ready = || Problem::new(ProblemCode::Unavailable);
        let last = timeout_at(end, Arc::clone(&self.last).lock_owned()).await;
        let mut last = last.map_err(|_| not_ready())?;
        if let Some((at, is_ready)) = *last
            && at.elapsed() < READY_KEEP
        {
            return if is_ready { Ok(()) } else { Err(not_ready()) };
        }
        let directory = directory.clone();
        // A separate task, so that the check continues and no second one begins if the caller
        // disconnects.
        let asked = tokio::spawn(async move {
            let health = timeout_at(end, directory.health()).await;
            let health = health.unwrap_or(Err(StoreError::TimedOut));
            *last = Some((Instant::now(), health.is_ok()));
            health
        });
        let health = asked.await.map_err(|_| Problem::new(ProblemCode::Internal))?;
        health.map_err(|cause| not_ready().because(cause))
    }
}
