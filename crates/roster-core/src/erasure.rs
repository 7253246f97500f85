//! Erasing the history of a purged user.
//!
//! A purge removes the user and hides its history at once. A short history is erased in the
//! transaction of the purge. A longer one is erased afterwards, a bounded step at a time; until
//! that is done the store keeps the id of the user as pending, and no read shows what is left.

/// Most events, and most idempotency records, that one transaction erases.
pub const STEP_MAX: i64 = 1000;

/// The state of an erasure after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Erasure {
    /// More is to be erased.
    Pending,
    /// Something else has to end before the next step, such as the step of another process.
    Waiting,
    /// Nothing is left.
    Done,
}
