//! The result of a command before its transaction is written.

use roster_core::{Effect, Outcome, Stored};

/// The result of a command whose log position may not be known yet.
#[derive(Clone, Debug)]
pub struct Executed {
    pub(crate) effect: Effect,
    pub(crate) stored: Stored,
    pub(crate) position: LogPosition,
    pub(crate) replayed: bool,
}

impl Executed {
    /// The outcome, given the log position before the events of the batch.
    pub fn outcome(self, before: i64) -> Outcome {
        let Self { effect, stored, position, replayed } = self;
        let position = match position {
            LogPosition::Committed(position) => position,
            LogPosition::InBatch(nth) => before + nth,
        };
        Outcome { effect, stored, position, replayed }
    }
}

/// A position of the change log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogPosition {
    /// A committed position.
    Committed(i64),
    /// The number of events of this batch up to the result. The positions of the batch's events are
    /// known when it is written.
    InBatch(i64),
}
