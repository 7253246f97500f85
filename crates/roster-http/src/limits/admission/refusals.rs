//! Counts of refused requests, by reason, for the metrics and the log.
//!
//! The log gets a line when a reason first occurs, then one every ten seconds at most, with the
//! number of refusals since the last line. It never names the caller, who may be a person.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
};

use crate::problem::ProblemCode;

/// The minimum time between two log lines of one reason, in seconds.
const LOG_EVERY_S: u64 = 10;

/// The reason of a request from an address that failed to authenticate too often. Every other
/// reason is the code of the problem that the caller gets.
pub(super) const FAILED_AUTHENTICATION: &str = "failed-authentication";

/// The reason of a write of a caller that added too much to the change log. Its problem has the
/// code of a rate limit.
pub(super) const LOG_GROWTH: &str = "log-growth";

/// The problems about the identity of the caller. Refusals by a limit are counted by the code that
/// enforces the limit.
const ABOUT_THE_CALLER: [ProblemCode; 5] = [
    ProblemCode::Unauthenticated,
    ProblemCode::InsufficientScope,
    ProblemCode::ForeignOrigin,
    ProblemCode::ForwardedRequest,
    ProblemCode::MisdirectedRequest,
];

/// The counts of all reasons.
#[derive(Debug)]
pub(crate) struct Refusals {
    since: Instant,
    pub(crate) counters: Family<OfReason, Counter>,
    logs: BTreeMap<&'static str, LogLimit>,
}

/// The label of a reason.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(crate) struct OfReason {
    reason: &'static str,
}

/// When a reason is logged.
#[derive(Debug, Default)]
struct LogLimit {
    /// The count at the last log line.
    logged: AtomicU64,
    /// When the next log line is due, in seconds since the start.
    next_log_s: AtomicU64,
}

impl Default for Refusals {
    fn default() -> Self {
        let counters = Family::default();
        let of_costs = [ProblemCode::RateLimited, ProblemCode::Overloaded];
        let codes = of_costs.into_iter().chain(ABOUT_THE_CALLER).map(ProblemCode::as_str);
        let mut logs = BTreeMap::new();
        for reason in codes.chain([FAILED_AUTHENTICATION, LOG_GROWTH]) {
            drop(counters.get_or_create(&OfReason { reason }));
            logs.insert(reason, LogLimit::default());
        }
        Self { since: Instant::now(), counters, logs }
    }
}

impl Refusals {
    /// Counts one refusal.
    pub(crate) fn count(&self, reason: &'static str) {
        let count = self.counters.get_or_create(&OfReason { reason }).inc() + 1;
        let now_s = self.since.elapsed().as_secs();
        if let Some(refused) = self.logs.get(reason).and_then(|log| log.due(count, now_s)) {
            tracing::warn!(reason, refused, "requests are refused");
        }
    }

    /// Counts the problem if it is about the identity of the caller.
    pub(crate) fn count_if_about_caller(&self, code: ProblemCode) {
        if ABOUT_THE_CALLER.contains(&code) {
            self.count(code.as_str());
        }
    }
}

impl LogLimit {
    /// The number to log after this many refusals, when a log line is due.
    fn due(&self, count: u64, now_s: u64) -> Option<u64> {
        let due_s = self.next_log_s.load(Ordering::Relaxed);
        if now_s < due_s {
            return None;
        }
        let (next, order) = (now_s + LOG_EVERY_S, Ordering::Relaxed);
        self.next_log_s.compare_exchange(due_s, next, order, order).ok()?;
        Some(count.saturating_sub(self.logged.swap(count, order)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_logged_at_once_and_then_every_ten_seconds() {
        let log = LogLimit::default();
        assert_eq!(log.due(1, 0), Some(1));
        assert_eq!((2..=1_001).filter_map(|count| log.due(count, 9)).count(), 0);
        assert_eq!(log.due(1_002, 10), Some(1_001));
        assert_eq!(log.due(1_003, 10), None);
    }
}
