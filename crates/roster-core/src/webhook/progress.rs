//! How far the events of a webhook are sent, and when the next attempt is due.

use crate::{timestamp::Timestamp, write::position::Position};

/// The longest pause before an attempt that no receiver has asked for.
const PAUSE_MAX_MS: i64 = 5 * 60 * 1000;

/// The pause after the first failure.
const PAUSE_MS: i64 = 1000;

/// The longest pause that a receiver may ask for with `Retry-After`.
const RETRY_AFTER_MAX_MS: i64 = 60 * 60 * 1000;

/// A webhook whose requests have failed for this time while the service ran is parked.
const PARK_AFTER_MS: i64 = 5 * 24 * 60 * 60 * 1000;

/// How far the events of a webhook are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The position up to which all its events were received.
    pub position: Position,
    /// The last event of the request that failed, which is sent again with the same events; 0 if
    /// there is none.
    pub failed_to: i64,
    /// How often that request failed.
    pub attempts: i64,
    /// When it first failed.
    pub failing_since: Option<Timestamp>,
    /// For how long it has failed while the service ran, in milliseconds.
    pub failing_ms: i64,
    /// When it is sent again.
    pub next_attempt_at: Option<Timestamp>,
}

/// A request that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The last event of the request.
    pub last: i64,
    /// When it failed.
    pub at: Timestamp,
    /// The pause that the receiver asked for, in milliseconds.
    pub retry_after_ms: Option<i64>,
    /// A random number below 1,000, so that many webhooks do not send at once.
    pub random: i64,
}

impl Progress {
    /// A webhook that has received everything up to a position.
    pub const fn at(position: Position) -> Self {
        Self {
            position,
            failed_to: 0,
            attempts: 0,
            failing_since: None,
            failing_ms: 0,
            next_attempt_at: None,
        }
    }

    /// The progress after a request failed.
    pub fn failed(self, attempt: Attempt) -> Self {
        let Attempt { last, at, retry_after_ms, random } = attempt;
        let doublings = u32::try_from(self.attempts.clamp(0, 20)).unwrap_or_default();
        let most = PAUSE_MS.saturating_mul(2_i64.saturating_pow(doublings)).min(PAUSE_MAX_MS);
        let own = most / 2 + most / 2 * random.clamp(0, 999) / 1000;
        let asked = retry_after_ms.map_or(0, |asked| asked.clamp(0, RETRY_AFTER_MAX_MS));
        let pause = own.max(asked);
        Self {
            position: self.position,
            failed_to: last,
            attempts: self.attempts.saturating_add(1),
            failing_since: self.failing_since.or(Some(at)),
            failing_ms: self.failing_ms.saturating_add(pause),
            next_attempt_at: Some(Timestamp::from_millis(at.as_millis().saturating_add(pause))),
        }
    }

    /// The time until the next attempt, in milliseconds. If more than the longest pause is left,
    /// the pause is over: the clock was wrong when it began.
    pub fn pause_ms(&self, now: Timestamp) -> u64 {
        let left = |due: Timestamp| due.as_millis().saturating_sub(now.as_millis());
        let left = self.next_attempt_at.map_or(0, left);
        if left > RETRY_AFTER_MAX_MS { 0 } else { left.max(0).unsigned_abs() }
    }

    /// Whether its receiver has failed for so long that nothing more is sent.
    pub const fn is_hopeless(&self) -> bool {
        self.failing_ms >= PARK_AFTER_MS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::position::LogId;

    fn failed(progress: Progress, retry_after_ms: Option<i64>, random: i64) -> Progress {
        let at = Timestamp::from_millis(1_000_000);
        progress.failed(Attempt { last: 7, at, retry_after_ms, random })
    }

    fn pause(progress: Progress) -> i64 {
        progress.next_attempt_at.map_or(0, |next| next.as_millis() - 1_000_000)
    }

    #[test]
    fn pauses_double_up_to_five_minutes() {
        let mut progress = Progress::at(Position { log: LogId([0; 8]), number: 5 });
        let mut pauses = Vec::new();
        for _ in 0..12 {
            progress = failed(progress, None, 999);
            pauses.push(pause(progress) / 100);
        }
        assert_eq!(pauses[..4], [9, 19, 39, 79]);
        assert_eq!(pauses[11], 2998);
        assert_eq!((progress.attempts, progress.failed_to, progress.position.number), (12, 7, 5));
        assert_eq!(pause(failed(progress, None, 0)), PAUSE_MAX_MS / 2);
    }

    #[test]
    fn a_receiver_may_ask_for_a_longer_pause() {
        let progress = Progress::at(Position { log: LogId([0; 8]), number: 5 });
        assert_eq!(pause(failed(progress, Some(30_000), 0)), 30_000);
        assert_eq!(pause(failed(progress, Some(i64::MAX), 0)), RETRY_AFTER_MAX_MS);
        assert_eq!(pause(failed(progress, Some(-5), 0)), 500);
    }

    #[test]
    fn no_pause_is_longer_than_an_hour_and_a_longer_one_is_over() {
        let progress = Progress::at(Position { log: LogId([0; 8]), number: 5 });
        let progress = failed(progress, Some(30_000), 0);
        let pause = |now| progress.pause_ms(Timestamp::from_millis(now));
        assert_eq!([pause(1_010_000), pause(1_030_000), pause(9_000_000)], [20_000, 0, 0]);
        assert_eq!(pause(1_030_000 - RETRY_AFTER_MAX_MS), RETRY_AFTER_MAX_MS.unsigned_abs());
        assert_eq!(pause(1_029_999 - RETRY_AFTER_MAX_MS), 0);
    }

    #[test]
    fn after_five_days_of_failures_there_is_no_hope() {
        let mut progress = Progress::at(Position { log: LogId([0; 8]), number: 5 });
        let mut attempts = 0;
        while !progress.is_hopeless() {
            progress = failed(progress, None, 500);
            attempts += 1;
        }
        assert!((1400..3000).contains(&attempts), "{attempts}");
    }
}
