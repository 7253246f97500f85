//! Whether the store is ready, checked at most once a second.
//!
//! Anybody may ask whether the service is ready. One question at a time reaches the store, whose
//! connections also read keys, and its answer serves everybody for a second.

use std::{sync::Arc, time::Duration};

use roster_core::{Directory, StoreError};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout_at},
};

use crate::problem::{Problem, ProblemCode};

/// How long the store is waited for before it counts as not ready: longer than it takes to find
/// another way to a database, and shorter than those who ask would wait.
const READY_WAIT_MAX: Duration = Duration::from_millis(4_500);
/// How long an answer of the store serves.
const READY_KEEP: Duration = Duration::from_secs(1);

/// The last answer of the store.
#[derive(Debug, Default)]
pub(crate) struct Readiness {
    /// When it was given, and whether the store was ready. Locked during a check.
    last: Arc<Mutex<Option<(Instant, bool)>>>,
}

impl Readiness {
    /// Refuses unless the store is ready, or was within the last second.
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
        // A caller who goes away frees no place for another question.
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
