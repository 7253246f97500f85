//! Where time and ids come from.
//!
//! The wall clock and randomness are handed in, never reached for, so that every decision can be
//! repeated and tests own the time. The real clock stands in the binary.

use std::time::Duration;

use crate::{id::UserId, timestamp::Timestamp};

/// A source of time, of new ids and of randomness.
pub trait Clock: Send + Sync + 'static {
    /// The present moment. May step back when the machine's clock is set.
    fn now(&self) -> Timestamp;

    /// The time since some fixed moment, which setting the machine's clock does not change.
    fn uptime(&self) -> Duration;

    /// A new UUIDv7, larger than all that this clock made before, whatever the machine's clock
    /// does.
    fn new_id(&self) -> UserId;

    /// Fills with random bytes that nobody can foresee; tells whether there were any.
    fn fill(&self, bytes: &mut [u8]) -> bool;
}
