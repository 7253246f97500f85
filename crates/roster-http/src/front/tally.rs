//! A number that many tasks count.

use std::sync::atomic::{AtomicU64, Ordering};

/// One number that many tasks count.
#[derive(Debug, Default)]
pub struct Tally(AtomicU64);

impl Tally {
    /// The number now.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Counts one more.
    pub(super) fn up(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one less.
    pub(super) fn down(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
