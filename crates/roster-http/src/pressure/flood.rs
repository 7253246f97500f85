//! Whether refusals come thick and fast, and the moment of rest that a thread takes then.
//!
//! A thread that is woken for each single request spends more on waking than on refusing, and
//! takes it from those who do the work. One that rests for a moment finds several at once.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

/// Refusals that follow each other this closely are a flood.
const CLOSE: Duration = Duration::from_millis(3);
/// How long a thread rests: it adds as much to what a health check takes.
const REST: Duration = Duration::from_millis(1);

/// The last refusal.
#[derive(Debug)]
pub struct Flood {
    since: Instant,
    /// In nanoseconds; 0 before the first.
    last_ns: AtomicU64,
}

impl Default for Flood {
    fn default() -> Self {
        Self { since: Instant::now(), last_ns: AtomicU64::new(0) }
    }
}

impl Flood {
    /// Rests for a moment if there is a flood. For threads that have nothing else to do and are
    /// about to wait for requests.
    pub fn rest(&self) {
        if self.is_on() {
            thread::sleep(REST);
        }
    }

    /// Another request was refused.
    pub(super) fn refused(&self, now: Instant) {
        self.last_ns.store(self.nanoseconds(now), Ordering::Relaxed);
    }

    fn is_on(&self) -> bool {
        let last = self.last_ns.load(Ordering::Relaxed);
        if last == 0 {
            return false;
        }
        let ago = self.nanoseconds(Instant::now()).saturating_sub(last);
        Duration::from_nanos(ago) < CLOSE
    }

    fn nanoseconds(&self, at: Instant) -> u64 {
        let passed = at.saturating_duration_since(self.since).as_nanos();
        u64::try_from(passed).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_over_when_nobody_is_refused_any_more() {
        let flood = Flood::default();
        assert!(!flood.is_on());
        flood.refused(Instant::now());
        thread::sleep(Duration::from_millis(5));
        assert!(!flood.is_on());
        // As if it were to come: it cannot have passed meanwhile.
        flood.refused(Instant::now() + Duration::from_mins(1));
        assert!(flood.is_on());
    }
}
