//! The work of one request, counted in comparisons.
//!
//! Limits of bytes and records do not bound the time of a request whose steps are a product of two
//! lengths that the caller chooses: tests of a filter times values of a record, or operations of a
//! PATCH times values of a list. Such code counts its comparisons here and stops at the limit.

use std::{
    error::Error,
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

/// A comparison of a text counts once more for each part of this many bytes.
pub(crate) const BYTES_PER_COMPARISON: usize = 64;

/// Work at low priority pauses each time it has made this many comparisons.
pub(crate) const COMPARISONS_PER_PAUSE: usize = 3_000;

/// Counts comparisons up to a limit.
#[derive(Debug)]
pub struct Work {
    left: AtomicU64,
    pauses: bool,
}

/// The work of the request reached its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMuchWork;

impl fmt::Display for TooMuchWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request needs too many comparisons")
    }
}

impl Error for TooMuchWork {}

impl Work {
    /// Work of at most this many comparisons.
    pub const fn new(limit: u64) -> Self {
        Self { left: AtomicU64::new(limit), pauses: false }
    }

    /// Work of at most this many comparisons, on a thread of low priority. The thread lets others
    /// run in between, because a scheduler may let a thread finish its slice of time before one of
    /// higher priority that wakes up meanwhile.
    pub const fn at_low_priority(limit: u64) -> Self {
        Self { left: AtomicU64::new(limit), pauses: true }
    }

    /// Whether the work pauses.
    pub(crate) const fn pauses(&self) -> bool {
        self.pauses
    }

    /// Counts comparisons. Call it before they are made.
    pub fn spend(&self, comparisons: usize) -> Result<(), TooMuchWork> {
        let spent = u64::try_from(comparisons).unwrap_or(u64::MAX);
        let take = |left: u64| left.checked_sub(spent);
        let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        if taken.is_err() {
            self.left.store(0, Ordering::Relaxed);
        }
        taken.map(drop).map_err(|_| TooMuchWork)
    }

    /// Counts the comparison of a text of this many bytes.
    pub fn spend_text(&self, bytes: usize) -> Result<(), TooMuchWork> {
        self.spend(1 + bytes / BYTES_PER_COMPARISON)
    }

    /// Counts comparisons that are made in any case.
    pub fn count(&self, comparisons: usize) {
        // At the limit, nothing is left. The caller checks this before its next piece of work.
        let _ended = self.spend(comparisons);
    }

    /// The number of comparisons that may still be made. 0 after the limit was reached.
    pub fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_at_its_limit_and_stays_ended() {
        let work = Work::new(3);
        assert_eq!(work.spend(2), Ok(()));
        assert_eq!(work.spend(2), Err(TooMuchWork));
        assert_eq!(work.spend(1), Err(TooMuchWork), "the rest is not usable after the refusal");
    }

    #[test]
    fn long_texts_count_more() {
        let work = Work::new(100);
        assert_eq!(work.spend_text(10), Ok(()));
        assert_eq!(work.spend_text(640), Ok(()));
        assert_eq!(work.left(), 100 - 1 - 11);
    }
}
