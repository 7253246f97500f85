//! An allowance that refills evenly: the generic cell rate algorithm (GCRA).
//!
//! Only one time is stored per caller: when its allowance is full again. A time in the past means a
//! full allowance. There is no counter, and no window at whose end all callers could send requests
//! at once.

use std::{sync::LazyLock, time::Instant};

/// The clock of all allowances: nanoseconds since it was first read.
pub(super) fn now_ns() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// The size of an allowance, and how fast it refills.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quota {
    /// The time in which one unit refills, in nanoseconds.
    each_ns: u64,
    /// The number of units of a full allowance.
    burst: u32,
}

/// The rest of an allowance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    /// The number of units that may be used now.
    pub(super) count: u32,
    /// The time until there is one more unit, in nanoseconds; 0 with a full allowance.
    pub(super) next_ns: u64,
}

impl Quota {
    /// Allows `count` units per `window_ns`, and `burst` units at once. None of these is 0.
    pub(super) fn new(count: u32, window_ns: u64, burst: u32) -> Self {
        Self { each_ns: (window_ns / u64::from(count.max(1))).max(1), burst: burst.max(1) }
    }

    fn full_ns(self) -> u64 {
        self.each_ns.saturating_mul(self.burst.into())
    }

    /// Uses one unit. Fails if there is none.
    pub(super) fn take(self, until: &mut u64, now: u64) -> Result<Left, Left> {
        let left = self.left(*until, now);
        if left.count == 0 {
            return Err(left);
        }
        *until = (*until).max(now).saturating_add(self.each_ns);
        Ok(self.left(*until, now))
    }

    /// Uses one unit even if there is none. The allowance never falls below empty.
    pub(super) fn force(self, until: &mut u64, now: u64) {
        let used = (*until).max(now).saturating_add(self.each_ns);
        *until = used.min(now.saturating_add(self.full_ns()));
    }

    /// The rest of an allowance that is full at the time `until`.
    pub(super) fn left(self, until: u64, now: u64) -> Left {
        let used_ns = until.saturating_sub(now);
        let used = used_ns.div_ceil(self.each_ns);
        let count = self.burst.saturating_sub(u32::try_from(used).unwrap_or(u32::MAX));
        // A unit that has partly refilled is complete after the remaining time.
        let rest = used_ns % self.each_ns;
        let next_ns = if used_ns > 0 && rest == 0 { self.each_ns } else { rest };
        Left { count, next_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_burst_passes_and_then_one_at_a_time() {
        let quota = Quota::new(2, SECOND, 3);
        let (mut until, now) = (0, 100 * SECOND);
        for count in [2, 1, 0] {
            assert_eq!(quota.take(&mut until, now).map(|left| left.count), Ok(count));
        }
        let refused = quota.take(&mut until, now).unwrap_err();
        assert_eq!(refused, Left { count: 0, next_ns: SECOND / 2 });
        assert!(quota.take(&mut until, now + SECOND / 2 - 1).is_err());
        assert!(quota.take(&mut until, now + SECOND / 2).is_ok());
        assert!(quota.take(&mut until, now + SECOND / 2).is_err());
    }

    #[test]
    fn a_rest_fills_it_up_and_never_more() {
        let quota = Quota::new(10, SECOND, 5);
        let mut until = 0;
        while quota.take(&mut until, SECOND).is_ok() {}
        assert_eq!(quota.left(until, 60 * SECOND), Left { count: 5, next_ns: 0 });
        let taken = (0..100).filter(|_| quota.take(&mut until, 60 * SECOND).is_ok()).count();
        assert_eq!(taken, 5);
    }

    #[test]
    fn in_any_time_no_more_pass_than_the_burst_and_the_rate_allow() {
        let quota = Quota::new(7, SECOND, 20);
        let mut until = 0;
        let steps = 10_000_u64;
        let passed = (0..steps).filter(|n| quota.take(&mut until, n * SECOND / 1_000).is_ok());
        // The burst, and 10 s at 7 per second.
        assert_eq!(passed.count(), 20 + 69);
    }

    #[test]
    fn what_is_forced_is_never_more_than_all() {
        let quota = Quota::new(1, SECOND, 4);
        let mut until = 0;
        for _ in 0..1_000 {
            quota.force(&mut until, 5 * SECOND);
        }
        assert_eq!(quota.left(until, 5 * SECOND).count, 0);
        assert_eq!(quota.left(until, 6 * SECOND).count, 1);
    }
}
