//! Erases the history of purged users and everything in purged tenants, a bounded step at a time.

use std::time::Duration;

use roster_core::{Directory, Erasure, Purged, StoreError};
use roster_http::{Duty, HousekeepingMetrics};
use tokio::time::{Instant, sleep};

use super::failures::Failures;

/// Interval of the search for pending erasures.
const INTERVAL: Duration = Duration::from_secs(1);

/// The pause after a step, as a multiple of the time that it took: requests share the disk with it.
const PAUSES: u32 = 10;

/// The erasure task of a process.
pub struct Erasures {
    directory: Directory,
    metrics: HousekeepingMetrics,
    failures: Failures,
}

impl Erasures {
    /// Creates the task for a directory.
    pub fn new(directory: Directory, metrics: HousekeepingMetrics) -> Self {
        let failures = Failures::new(metrics.clone());
        Self { directory, metrics, failures }
    }

    /// Runs rounds forever. May be dropped at any time.
    pub(super) async fn run(mut self) {
        loop {
            self.round().await;
            sleep(INTERVAL).await;
        }
    }

    /// Erases everything that is pending. An erasure that fails does not delay the others.
    pub async fn round(&mut self) {
        let pending = match self.directory.pending_erasures().await {
            Ok(pending) => pending,
            Err(error) => return self.failures.failed(Duty::Erasures, None, &error),
        };
        let mut left = pending.len();
        self.metrics.set_pending_erasures(left);
        for purged in pending {
            match self.erase(purged).await {
                Ok(Erasure::Done) => left = left.saturating_sub(1),
                Ok(Erasure::Pending | Erasure::Waiting) => {}
                Err(error) => self.failures.failed(Duty::Erasures, purged.user, &error),
            }
            self.metrics.set_pending_erasures(left);
        }
    }

    async fn erase(&self, purged: Purged) -> Result<Erasure, StoreError> {
        loop {
            let began = Instant::now();
            let erasure = self.directory.erase(purged).await?;
            if erasure != Erasure::Pending {
                return Ok(erasure);
            }
            sleep(began.elapsed() * PAUSES).await;
        }
    }
}
