//! Failures of housekeeping: each is counted, and a repeated one is logged once.

use std::collections::BTreeSet;

use roster_core::{StoreError, UserId};
use roster_http::{Duty, HousekeepingMetrics};

/// Maximum number of logged failures to remember.
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

    /// Counts a failure of one user or of a whole task.
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
        tracing::warn!(?duty, user_id, error, "housekeeping failed; it will try again");
    }

    /// A task succeeded: its next failure is logged.
    pub(super) fn succeeded(&mut self, duty: Duty) {
        self.logged.remove(&(duty, None));
    }
}
