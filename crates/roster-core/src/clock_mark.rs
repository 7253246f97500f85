//! The clock mark: the stored time that, with the wall clock, deletion by age uses.
//!
//! A wall clock that jumps forward makes everything look old at once, and deletions cannot be
//! undone. The mark advances by the measured uptime of the processes that serve the store, and
//! follows the wall clock over small differences only. Retention uses the lower of the two. After a
//! larger forward jump the wall clock becomes a pending mark, which replaces the mark once the
//! services have been up for [`CONFIRM_MS`] without the wall clock returning.
//!
//! Several processes may serve a store. Each counts only its own uptime since it saw the current
//! revision, and each change makes a new revision, so that no period is counted twice.

use crate::timestamp::Timestamp;

/// The largest forward difference of the wall clock that the mark follows at once.
pub const JUMP_MS: i64 = 24 * 60 * 60 * 1000;

/// The uptime after which a larger forward jump is accepted.
pub const CONFIRM_MS: i64 = 7 * JUMP_MS;

/// The stored mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockMark {
    /// Counts the changes of the stored mark.
    pub revision: i64,
    /// The mark.
    pub at: Timestamp,
    /// The wall clock after a forward jump, until it is accepted.
    pub pending: Option<PendingMark>,
}

/// The mark that a forward jump of the wall clock would make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingMark {
    /// The wall clock at the jump, and the uptime since.
    pub at: Timestamp,
    /// The uptime since the jump, in milliseconds.
    pub waited_ms: i64,
}

/// What a process measures when it reads the mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// The wall clock.
    pub wall: Timestamp,
    /// The revision that the process read last; `None` at its first read.
    pub seen: Option<i64>,
    /// The uptime of the process since then, in milliseconds.
    pub uptime_ms: i64,
}

impl ClockMark {
    /// The first mark of a store: the time of its newest event, or the wall clock if there are no
    /// events.
    pub fn first(newest_event: Option<Timestamp>, wall: Timestamp) -> Self {
        let first = Self { revision: 1, at: newest_event.unwrap_or(wall), pending: None };
        first.follow(wall)
    }

    /// The mark after this reading. It is stored if its revision differs.
    #[must_use]
    pub fn advance(self, reading: ClockReading) -> Self {
        let uptime_ms = match reading.seen {
            None => 0,
            Some(seen) if seen == self.revision => reading.uptime_ms.max(0),
            // Another process has counted this time.
            Some(_) => return self,
        };
        let pending = self.pending.map(|pending| PendingMark {
            at: after(pending.at, uptime_ms),
            waited_ms: pending.waited_ms.saturating_add(uptime_ms),
        });
        let at = after(self.at, uptime_ms);
        Self { revision: self.revision + 1, at, pending }.follow(reading.wall)
    }

    /// The time that deletion by age uses.
    pub fn retention_now(&self, wall: Timestamp) -> Timestamp {
        self.at.min(wall)
    }

    fn follow(self, wall: Timestamp) -> Self {
        if wall <= after(self.at, JUMP_MS) {
            return Self { at: self.at.max(wall), pending: None, ..self };
        }
        // A wall clock that went back part of the way counts as another jump.
        let pending = self.pending.filter(|pending| wall >= after(pending.at, -JUMP_MS));
        match pending {
            Some(pending) if pending.waited_ms >= CONFIRM_MS => {
                Self { at: pending.at, pending: None, ..self }.follow(wall)
            }
            Some(pending) => Self { pending: Some(pending), ..self },
            None => Self { pending: Some(PendingMark { at: wall, waited_ms: 0 }), ..self },
        }
    }
}

fn after(at: Timestamp, millis: i64) -> Timestamp {
    Timestamp::from_millis(at.as_millis().saturating_add(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000;
    const DAY: i64 = JUMP_MS;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn new(wall: i64) -> ClockMark {
        ClockMark::first(None, at(wall))
    }

    /// One process that reads the mark again after this uptime.
    fn look(mark: ClockMark, uptime_ms: i64, wall: i64) -> ClockMark {
        mark.advance(ClockReading { wall: at(wall), seen: Some(mark.revision), uptime_ms })
    }

    #[test]
    fn a_wall_clock_that_agrees_with_uptime_is_followed() {
        let mut mark = new(0);
        for minute in 1..=10 {
            mark = look(mark, MINUTE, minute * MINUTE + 7);
            assert_eq!((mark.at, mark.pending), (at(minute * MINUTE + 7), None));
        }
    }

    #[test]
    fn a_backward_jump_lowers_the_retention_time_and_not_the_mark() {
        let mark = look(new(DAY), MINUTE, DAY - 60 * MINUTE);
        assert_eq!(mark.at, at(DAY + MINUTE));
        assert_eq!(mark.retention_now(at(DAY - 60 * MINUTE)), at(DAY - 60 * MINUTE));
    }

    #[test]
    fn a_forward_jump_waits_for_seven_days_of_uptime() {
        let jump = 401 * DAY;
        let mut mark = new(0);
        for minute in 1..=7 * 24 * 60 {
            mark = look(mark, MINUTE, jump + minute * MINUTE);
            assert_eq!(mark.at, at(minute * MINUTE), "the mark advances by uptime");
            assert_eq!(mark.retention_now(at(jump + minute * MINUTE)), mark.at);
        }
        let wall = jump + 7 * DAY + MINUTE;
        mark = look(mark, MINUTE, wall);
        assert_eq!((mark.at, mark.pending), (at(wall), None));
    }

    #[test]
    fn a_wall_clock_that_returns_ends_the_wait() {
        let mark = look(new(0), MINUTE, 1000 * DAY);
        assert!(mark.pending.is_some());
        let mark = look(mark, MINUTE, 2 * MINUTE);
        assert_eq!((mark.at, mark.pending), (at(2 * MINUTE), None));
    }

    #[test]
    fn a_wall_clock_that_returns_part_of_the_way_begins_another_wait() {
        let mark = look(new(0), 0, 1000 * DAY);
        let mark = look(mark, 6 * DAY, 1006 * DAY);
        let mark = look(mark, 2 * DAY, 400 * DAY);
        assert_eq!(mark.at, at(8 * DAY));
        assert_eq!(mark.pending, Some(PendingMark { at: at(400 * DAY), waited_ms: 0 }));
    }

    #[test]
    fn a_second_jump_does_not_use_the_wait_of_the_first() {
        let mark = look(new(0), 0, 10 * DAY);
        let mark = look(mark, 6 * DAY, 16 * DAY);
        let mark = look(mark, DAY, 1100 * DAY);
        assert_eq!(mark.at, at(17 * DAY), "the first jump is accepted");
        assert_eq!(mark.pending, Some(PendingMark { at: at(1100 * DAY), waited_ms: 0 }));
    }

    #[test]
    fn two_processes_never_count_the_same_time() {
        // Far ahead, so that the mark advances by uptime alone.
        let wall = at(1000 * DAY);
        let mut mark = new(0).advance(ClockReading { wall, seen: None, uptime_ms: 0 });
        // For each process: the revision and the time of its last read.
        let mut looks = [(None, 0), (None, 0)];
        for minute in 0..1000_i64 {
            let which = usize::from(minute % 3 == 0 || minute % 7 == 1);
            let (seen, looked) = looks[which];
            let uptime_ms = (minute - looked) * MINUTE;
            mark = mark.advance(ClockReading { wall, seen, uptime_ms });
            looks[which] = (Some(mark.revision), minute);
            assert!(mark.at <= at(minute * MINUTE), "minute {minute}: {mark:?}");
        }
        assert!(mark.at > at(500 * MINUTE), "time is counted by one of them: {mark:?}");
    }

    #[test]
    fn a_new_mark_starts_at_the_newest_event() {
        assert_eq!(ClockMark::first(Some(at(DAY)), at(DAY + 5)).at, at(DAY + 5));
        let far = ClockMark::first(Some(at(DAY)), at(401 * DAY));
        assert_eq!((far.at, far.pending.map(|it| it.at)), (at(DAY), Some(at(401 * DAY))));
    }
}
