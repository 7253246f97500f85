//! The system clock, and UUIDv7 ids that never decrease.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use roster_core::{Clock, Timestamp, UserId};
use uuid::{ContextV7, Timestamp as UuidTimestamp, Uuid};

/// The system clock.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
    ids: std::sync::Mutex<Ids>,
}

/// Orders ids within a millisecond, and while the clock is set back a little. If it was wrong by
/// more, ids have the right time again: it is the time when their users were created.
#[derive(Debug, Default)]
struct Ids {
    context: ContextV7,
    last: Duration,
}

/// Ids continue to grow while the clock is set back by less.
const SET_BACK_MAX: Duration = Duration::from_mins(1);

impl Ids {
    fn next(&mut self, now: Duration) -> UserId {
        if now + SET_BACK_MAX < self.last {
            *self = Self::default();
        }
        self.last = self.last.max(now);
        let moment = UuidTimestamp::from_unix(&self.context, now.as_secs(), now.subsec_nanos());
        UserId::from_bytes(Uuid::new_v7(moment).into_bytes())
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self { started: Instant::now(), ids: std::sync::Mutex::default() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = since_epoch();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    fn fill(&self, bytes: &mut [u8]) -> bool {
        getrandom::fill(bytes).is_ok()
    }

    fn new_id(&self) -> UserId {
        self.ids.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next(since_epoch())
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one clock that is handed to the rest")]
fn since_epoch() -> std::time::Duration {
    // A clock before 1970 is wrong; then the time is 1970.
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_grow_while_the_clock_is_set_back_a_little_and_follow_it_if_by_more() {
        let mut ids = Ids::default();
        let at = |seconds: u64| Duration::from_secs(1_000_000 + seconds);
        let [first, second, third] = [7200, 7150, 0].map(|seconds| ids.next(at(seconds)));
        assert!(first < second);
        assert_eq!(third.created_at().as_millis(), 1_000_000_000);
    }

    #[test]
    fn ids_grow_within_a_millisecond_too() {
        let clock = SystemClock::default();
        let ids: Vec<UserId> = (0..10_000).map(|_| clock.new_id()).collect();
        assert!(ids.is_sorted_by(|a, b| a < b));
        assert!(ids.iter().all(|id| (id.as_bytes()[6] >> 4) == 7));
    }
}
