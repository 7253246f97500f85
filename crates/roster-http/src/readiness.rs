//! Whether requests would succeed: the store is checked at most once a second, and the outcomes of
//! the last requests count too.
//!
//! `/readyz` needs no credential. So only one check at a time uses the store, whose connections are
//! also needed to read keys, and its result is used for all requests of one second.
//!
//! A check of the store cannot find every fault. So the service is also not ready if reads, or
//! writes, have failed in the last seconds and none has succeeded. One success is enough, so that a
//! single damaged record does not take the service out of a balancer.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use roster_core::{Directory, StoreError};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout_at},
};

use crate::problem::{Problem, ProblemCode, SUPERSEDED};

/// How long a check waits before the store counts as not ready. This is longer than the store needs
/// to find another connection to the database, and shorter than the timeout of usual probes.
const READY_WAIT_MAX: Duration = Duration::from_millis(4_500);
/// How long a result is used.
const READY_KEEP: Duration = Duration::from_secs(1);

/// How long the outcome of a request counts.
pub(crate) const OUTCOME_KEEP: Duration = Duration::from_secs(3);

/// The last result of a check, and the outcomes of the last requests.
#[derive(Debug)]
pub(crate) struct Readiness {
    /// When the check ended, and whether the store was ready. Locked during a check.
    last: Arc<Mutex<Option<(Instant, bool)>>>,
    reads: Outcomes,
    writes: Outcomes,
    /// When a superseded server was last met, in milliseconds after `began`; 0 if never.
    superseded: Arc<AtomicU64>,
    began: Instant,
}

/// When a request last succeeded and last failed, in milliseconds after [`Readiness::began`]; 0 if
/// none did.
#[derive(Debug, Default)]
struct Outcomes {
    succeeded: AtomicU64,
    failed: AtomicU64,
}

impl Outcomes {
    /// Whether a request has failed in the last seconds, and none has succeeded.
    fn only_failed(&self, now: u64) -> bool {
        is_recent(&self.failed, now) && !is_recent(&self.succeeded, now)
    }
}

/// The milliseconds since a moment, at least 1.
fn millis_since(moment: Instant) -> u64 {
    u64::try_from(moment.elapsed().as_millis()).unwrap_or(u64::MAX).max(1)
}

/// Whether a time is within the last seconds.
fn is_recent(at: &AtomicU64, now: u64) -> bool {
    let keep = u64::try_from(OUTCOME_KEEP.as_millis()).unwrap_or(u64::MAX);
    let at = at.load(Ordering::Relaxed);
    at != 0 && now.saturating_sub(at) < keep
}

impl Readiness {
    pub(crate) fn new() -> Self {
        let (last, reads, writes, superseded) = Default::default();
        Self { last, reads, writes, superseded, began: Instant::now() }
    }

    fn now(&self) -> u64 {
        millis_since(self.began)
    }

    /// Records that a read or a write has succeeded.
    pub(crate) fn succeeded(&self, is_read: bool) {
        let outcomes = if is_read { &self.reads } else { &self.writes };
        outcomes.succeeded.store(self.now(), Ordering::Relaxed);
    }

    /// Records the error of a read or a write. Errors that a caller can cause do not count: that of
    /// a damaged record, and that of a short limit of time.
    pub(crate) fn failed(&self, is_read: bool, error: &StoreError) {
        if matches!(error, StoreError::Superseded(_)) {
            self.superseded.store(self.now(), Ordering::Relaxed);
        }
        match error {
            StoreError::Unavailable(_)
            | StoreError::Superseded(_)
            | StoreError::WritesStopped
            | StoreError::Full(_)
            | StoreError::Internal(_) => {
                let outcomes = if is_read { &self.reads } else { &self.writes };
                outcomes.failed.store(self.now(), Ordering::Relaxed);
            }
            StoreError::TimedOut | StoreError::Corrupt { .. } => {}
        }
    }

    /// The problem, with its reason if a superseded server was met in the last seconds.
    fn not_ready(&self) -> Problem {
        if is_recent(&self.superseded, self.now()) {
            return Problem::saying(ProblemCode::Unavailable, SUPERSEDED);
        }
        Problem::new(ProblemCode::Unavailable)
    }

    /// Fails unless the store is ready, or was ready at a check within the last second, and reads
    /// and writes succeed.
    pub(crate) async fn check(&self, directory: &Directory) -> Result<(), Problem> {
        let now = self.now();
        for (what, outcomes) in [("reads", &self.reads), ("writes", &self.writes)] {
            if outcomes.only_failed(now) {
                let cause = StoreError::Unavailable(format!("the last {what} failed").into());
                return Err(self.not_ready().because(cause));
            }
        }
        let end = Instant::now() + READY_WAIT_MAX;
        let not_ready = || self.not_ready();
        let last = timeout_at(end, Arc::clone(&self.last).lock_owned()).await;
        let mut last = last.map_err(|_| not_ready())?;
        if let Some((at, is_ready)) = *last
            && at.elapsed() < READY_KEEP
        {
            return if is_ready { Ok(()) } else { Err(not_ready()) };
        }
        let (directory, superseded) = (directory.clone(), Arc::clone(&self.superseded));
        let began = self.began;
        // A separate task, so that the check continues and no second one begins if the caller
        // disconnects.
        let asked = tokio::spawn(async move {
            let health = timeout_at(end, directory.health()).await;
            let health = health.unwrap_or(Err(StoreError::TimedOut));
            if matches!(health, Err(StoreError::Superseded(_))) {
                superseded.store(millis_since(began), Ordering::Relaxed);
            }
            *last = Some((Instant::now(), health.is_ok()));
            health
        });
        let health = asked.await.map_err(|_| Problem::new(ProblemCode::Internal))?;
        health.map_err(|cause| not_ready().because(cause))
    }
}
