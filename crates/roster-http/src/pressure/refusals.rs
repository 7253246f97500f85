//! What was refused, counted by reason, and told in the log now and then.
//!
//! A flood must not become a flood of lines: a reason is told at once when it first occurs, then
//! every ten seconds at most, with how often it did. Never who was refused: that may be a person.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use crate::problem::ProblemCode;

/// How soon a reason is told again.
const TOLD_EVERY_S: u64 = 10;

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Its caller made too many.
    RateLimited,
    /// There is more to do than can be done.
    Overloaded,
    /// Too many attempts with bad credentials came from its address.
    FailedAuthentication,
    /// Its credential lets nobody in, or it has none.
    Unauthenticated,
    /// Its caller may not do this.
    InsufficientScope,
    /// It comes from a web page that is not ours.
    ForeignOrigin,
    /// It came through a proxy, while the service is open.
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

    /// The reason behind a problem that is about who calls; what callers cost is counted where it
    /// is judged.
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
    rate_limited: Told,
    overloaded: Told,
    failed_authentication: Told,
    unauthenticated: Told,
    insufficient_scope: Told,
    foreign_origin: Told,
    forwarded_request: Told,
    misdirected_request: Told,
}

#[derive(Debug, Default)]
struct Told {
    count: AtomicU64,
    /// The count at that time.
    before: AtomicU64,
    /// When to tell again, in seconds.
    again_s: AtomicU64,
}

impl Default for Refusals {
    fn default() -> Self {
        Self {
            since: Instant::now(),
            rate_limited: Told::default(),
            overloaded: Told::default(),
            failed_authentication: Told::default(),
            unauthenticated: Told::default(),
            insufficient_scope: Told::default(),
            foreign_origin: Told::default(),
            forwarded_request: Told::default(),
            misdirected_request: Told::default(),
        }
    }
}

impl Refusals {
    fn of(&self, reason: Reason) -> &Told {
        match reason {
            Reason::RateLimited => &self.rate_limited,
            Reason::Overloaded => &self.overloaded,
            Reason::FailedAuthentication => &self.failed_authentication,
            Reason::Unauthenticated => &self.unauthenticated,
            Reason::InsufficientScope => &self.insufficient_scope,
            Reason::ForeignOrigin => &self.foreign_origin,
            Reason::ForwardedRequest => &self.forwarded_request,
            Reason::MisdirectedRequest => &self.misdirected_request,
        }
    }

    /// How often a reason occurred.
    pub(crate) fn get(&self, reason: Reason) -> u64 {
        self.of(reason).count.load(Ordering::Relaxed)
    }

    /// Counts one more.
    pub(crate) fn count(&self, reason: Reason) {
        let now_s = self.since.elapsed().as_secs();
        let told = self.of(reason);
        if let Some(refused) = told.count(now_s) {
            tracing::warn!(reason = reason.word(), refused, "requests are refused");
        }
    }
}

impl Told {
    /// Counts one more; gives how many to tell of, when it is time.
    fn count(&self, now_s: u64) -> Option<u64> {
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let again = self.again_s.load(Ordering::Relaxed);
        if now_s < again {
            return None;
        }
        let (next, order) = (now_s + TOLD_EVERY_S, Ordering::Relaxed);
        self.again_s.compare_exchange(again, next, order, order).ok()?;
        Some(count.saturating_sub(self.before.swap(count, order)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_told_at_once_and_then_now_and_then() {
        let told = Told::default();
        assert_eq!(told.count(0), Some(1));
        assert_eq!((0..1_000).filter_map(|_| told.count(9)).count(), 0);
        assert_eq!(told.count(10), Some(1_001));
        assert_eq!(told.count(10), None);
    }
}
