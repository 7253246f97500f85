//! The rows that a page without an index examines, and when it ends because of them.

use roster_core::work::Work;

/// The maximum number of rows that are examined for a total.
pub(crate) const COUNT_EXAMINED_MAX: usize = 100_000;

/// The number of rows that are read at a time and tested.
pub(crate) const PORTION: usize = 256;

/// The examined rows of a page. `K` is the position after a row.
pub(crate) struct Examined<K> {
    most: usize,
    /// The comparisons that are left.
    pub(crate) work: Work,
    /// The number of examined rows, and the last one.
    pub(crate) count: usize,
    pub(crate) last: Option<K>,
}

impl<K> Examined<K> {
    pub(crate) const fn new(most: usize, comparisons_max: u64) -> Self {
        Self { most, work: Work::new(comparisons_max), count: 0, last: None }
    }

    /// Whether the page may examine another row: always one, so that every page goes on.
    pub(crate) fn may_go_on(&self) -> bool {
        self.count == 0 || (self.count < self.most && self.work.left() > 0)
    }

    /// Counts a row that is examined now.
    pub(crate) fn note(&mut self, key: K) {
        self.count += 1;
        self.last = Some(key);
    }
}
