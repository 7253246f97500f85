//! Failures of housekeeping: each is counted, and the same one is logged once.

use std::collections::BTreeSet;

use roster_core::{StoreError, UserId};
use roster_http::{Duty, HousekeepingMetrics};

/// Most failures that are remembered as logged.
const LOGGED_MAX: usize = 1000;

/// The failures of one task.
#[derive(Debug)]
pub(super) struct Failures {
    metrics: HousekeepingMetrics,
    logged: BTreeSet<(Duty, Option<UserId>)>,
}

impl Failures {
    pub(super) const fn new(metrics: HousekeepingMetrics) -> Self {
        Self { metrics, logged: BTreeSet::new() }
    }

    /// Counts a failure, of one user or of a whole duty.
    pub(super) fn failed(&mut self, duty: Duty, user: Option<UserId>, error: &StoreError) {
        self.metrics.failed(duty);
        if self.logged.len() >= LOGGED_MAX {
            self.logged.clear();
        }
        if !self.logged.insert((duty, user)) {
            return;
        }
        let error = error.with_causes();
        let user_id = user.map(|id| id.to_string());
        tracing::warn!(?duty, user_id, error, "housekeeping failed; it goes on and tries again");
    }

    /// A duty succeeded: its next failure is logged.
    pub(super) fn succeeded(&mut self, duty: Duty) {
        self.logged.remove(&(duty, None));
    }
}
