//! Counts of refused requests, by reason, for the metrics and the log.
//!
//! The log gets a line when a reason first occurs, then one every ten seconds at most, with the
//! number of refusals since the last line. It never names the caller, who may be a person.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
};

use crate::problem::ProblemCode;

/// The least time between two log lines of one reason.
const LOG_EVERY_S: u64 = 10;

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Its caller made too many requests.
    RateLimited,
    /// Its class of work is full.
    Overloaded,
    /// Too many attempts to authenticate from its address failed.
    FailedAuthentication,
    /// It has no valid credential.
    Unauthenticated,
    /// Its caller lacks the scope.
    InsufficientScope,
    /// It comes from a web page of another origin.
    ForeignOrigin,
    /// It came through a proxy while the service needs no key.
    ForwardedRequest,
    /// It is meant for another host.
    MisdirectedRequest,
}

impl Reason {
    /// Every reason.
    pub(crate) const ALL: [Self; 8] = [
        Self::RateLimited,
        Self::Overloaded,
        Self::FailedAuthentication,
        Self::Unauthenticated,
        Self::InsufficientScope,
        Self::ForeignOrigin,
        Self::ForwardedRequest,
        Self::MisdirectedRequest,
    ];

    /// The word in the metrics and the log.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::RateLimited => "rate-limited",
            Self::Overloaded => "overloaded",
            Self::FailedAuthentication => "failed-authentication",
            Self::Unauthenticated => "unauthenticated",
            Self::InsufficientScope => "insufficient-scope",
            Self::ForeignOrigin => "foreign-origin",
            Self::ForwardedRequest => "forwarded-request",
            Self::MisdirectedRequest => "misdirected-request",
        }
    }

    /// The reason of a problem that concerns who calls. Refusals for what a caller costs are
    /// counted where they are made.
    pub(crate) fn of(code: ProblemCode) -> Option<Self> {
        let codes = [
            (ProblemCode::Unauthenticated, Self::Unauthenticated),
            (ProblemCode::InsufficientScope, Self::InsufficientScope),
            (ProblemCode::ForeignOrigin, Self::ForeignOrigin),
            (ProblemCode::ForwardedRequest, Self::ForwardedRequest),
            (ProblemCode::MisdirectedRequest, Self::MisdirectedRequest),
        ];
        codes.into_iter().find(|(known, _)| *known == code).map(|(_, reason)| reason)
    }
}

/// The counts of all reasons.
#[derive(Debug)]
pub(crate) struct Refusals {
    since: Instant,
    pub(crate) counters: Family<OfReason, Counter>,
    logs: [LogLimit; Reason::ALL.len()],
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
        for reason in Reason::ALL {
            drop(counters.get_or_create(&OfReason { reason: reason.word() }));
        }
        Self { since: Instant::now(), counters, logs: Default::default() }
    }
}

impl Refusals {
    /// Counts one more.
    pub(crate) fn count(&self, reason: Reason) {
        let label = OfReason { reason: reason.word() };
        let count = self.counters.get_or_create(&label).inc() + 1;
        let now_s = self.since.elapsed().as_secs();
        let log = Reason::ALL.iter().zip(&self.logs).find(|(known, _)| **known == reason);
        if let Some(refused) = log.and_then(|(_, log)| log.due(count, now_s)) {
            tracing::warn!(reason = reason.word(), refused, "requests are refused");
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
