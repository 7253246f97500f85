//! The system clock, and UUIDv7 ids that never decrease.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use roster_core::{Clock, Timestamp, UserId};
use uuid::{ContextV7, Timestamp as UuidTimestamp, Uuid};

/// The system clock.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
    // Orders ids within a millisecond, and while the clock is set back.
    context: std::sync::Mutex<ContextV7>,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self { started: Instant::now(), context: std::sync::Mutex::default() }
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
        let since = since_epoch();
        let context = self.context.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let moment = UuidTimestamp::from_unix(&*context, since.as_secs(), since.subsec_nanos());
        UserId::from_bytes(Uuid::new_v7(moment).into_bytes())
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
    fn ids_grow_within_a_millisecond_too() {
        let clock = SystemClock::default();
        let ids: Vec<UserId> = (0..10_000).map(|_| clock.new_id()).collect();
        assert!(ids.is_sorted_by(|a, b| a < b));
        assert!(ids.iter().all(|id| (id.as_bytes()[6] >> 4) == 7));
    }
}
