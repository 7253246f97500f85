//! The source of time, ids and random bytes.
//!
//! Time and randomness are passed in, so decisions are repeatable and tests control the time. The
//! real clock is in the binary.

use std::time::Duration;

use crate::{id::UserId, timestamp::Timestamp};

/// A source of time, of new ids and of randomness.
pub trait Clock: Send + Sync + 'static {
    /// The current time. It may go back when the machine's clock is set.
    fn now(&self) -> Timestamp;

    /// The time since a fixed point, which setting the machine's clock does not change.
    fn uptime(&self) -> Duration;

    /// A new UUIDv7, larger than all earlier ones of this clock, regardless of the machine's clock.
    fn new_id(&self) -> UserId;

    /// Fills the slice with unpredictable random bytes; `false` if there are none.
    fn fill(&self, bytes: &mut [u8]) -> bool;
}
