//! How many bytes of large answers wait for their callers to take them.
//!
//! Whoever asks for much and reads slowly makes us keep it: connections alone do not bound that.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;

use crate::front::Body;

/// Smaller answers are not counted: connections bound them well enough.
const COUNTED_FROM_BYTES: usize = 64 * 1024;

/// The count.
#[derive(Debug)]
pub(super) struct Unread {
    bytes: Arc<AtomicUsize>,
    most: usize,
}

/// Bytes that are counted as long as they live.
struct Held {
    bytes: Bytes,
    count: Arc<AtomicUsize>,
}

impl Unread {
    /// None yet, and so many at most.
    pub(super) fn new(most: usize) -> Self {
        Self { bytes: Arc::default(), most }
    }

    /// Whether no more should be added.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) >= self.most
    }

    /// Counts a body until its last byte has been taken.
    pub(super) fn hold(&self, body: &mut Body) {
        if body.len() < COUNTED_FROM_BYTES {
            return;
        }
        body.change(|bytes| {
            self.bytes.fetch_add(bytes.len(), Ordering::Relaxed);
            Bytes::from_owner(Held { bytes, count: Arc::clone(&self.bytes) })
        });
    }
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.count.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_answers_are_counted_until_they_are_gone() {
        let unread = Unread::new(100_000);
        let mut small = Body::full(vec![0; 1_000]);
        unread.hold(&mut small);
        let mut large = Body::full(vec![0; 80_000]);
        unread.hold(&mut large);
        assert_eq!(large.len(), 80_000);
        assert_eq!(unread.bytes.load(Ordering::Relaxed), 80_000);
        assert!(!unread.is_full());
        let mut second = Body::full(vec![0; 80_000]);
        unread.hold(&mut second);
        assert!(unread.is_full());
        drop(large);
        assert!(!unread.is_full());
        drop(second);
        assert_eq!(unread.bytes.load(Ordering::Relaxed), 0);
    }
}
