//! A clock that only the test changes, also back.
//!
//! Its ids are predictable too: the time, then a number that counts up. They increase whatever the
//! time does, as [`Clock`] promises.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use roster_core::{Clock, Timestamp, UserId};

/// A clock that changes only by these methods. Starts at 2026-01-01T00:00:00Z.
#[derive(Debug)]
pub struct TestClock {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    now: i64,
    uptime: Duration,
    /// The time of the latest id. Later ids never have an earlier one.
    id_moment: i64,
    ids: u64,
}

impl TestClock {
    /// A clock at its start.
    pub const fn new() -> Self {
        let now = 1_767_225_600_000;
        Self { state: Mutex::new(State { now, uptime: Duration::ZERO, id_moment: now, ids: 0 }) }
    }

    /// Advances the wall clock and the uptime.
    pub fn elapse(&self, time: Duration) {
        self.with(|state| state.uptime += time);
        self.step(i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
    }

    /// Sets the wall clock by milliseconds; a negative number moves it back.
    pub fn step(&self, millis: i64) {
        self.with(|state| state.now = state.now.saturating_add(millis));
    }

    /// Sets the wall clock.
    pub fn set(&self, moment: Timestamp) {
        self.with(|state| state.now = moment.as_millis());
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Default for TestClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TestClock {
    /// Bytes that count up, which are unique like random ones.
    fn fill(&self, bytes: &mut [u8]) -> bool {
        let mut number = self.with(|state| {
            state.ids += 1;
            state.ids.wrapping_mul(0x9E37_79B9_7F4A_7C15)
        });
        for byte in bytes {
            number = number.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            *byte = number.to_be_bytes()[0];
        }
        true
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.with(|state| state.now))
    }

    fn uptime(&self) -> Duration {
        self.with(|state| state.uptime)
    }

    fn new_id(&self) -> UserId {
        let (moment, number) = self.with(|state| {
            state.id_moment = state.id_moment.max(state.now);
            state.ids += 1;
            (state.id_moment, state.ids)
        });
        // RFC 9562 section 5.7: the moment in 48 bits, the version, the variant; the random bits
        // count.
        let moment = u128::from(u64::try_from(moment).unwrap_or_default());
        let bits = (moment << 80) | (0x7 << 76) | (0b10 << 62) | u128::from(number);
        UserId::from_bytes(bits.to_be_bytes())
    }
}
