//! The byte cache: the records of users that were read recently, ready to be sent.
//!
//! It has no record older than the last acknowledged write. Before acknowledging, the writer counts
//! the commit and replaces the cached records that it changed. A reader inserts a record only if no
//! commit was counted since before its read. Both use one lock, so a reader cannot insert an old
//! record afterwards. A write adds no user to the cache.

use std::sync::{PoisonError, RwLock};

use bytes::Bytes;
use quick_cache::{Weighter, sync::Cache};
use roster_core::{Stored, UserId};

/// The byte cache; may be off.
pub(crate) struct ByteCache {
    records: Option<Cache<UserId, (i64, Bytes), KibBegun>>,
    /// How many commits there were. Locked for writing while records are replaced.
    commits: RwLock<u64>,
}

/// The state of a user after a commit.
pub(crate) struct Touched {
    pub(crate) id: UserId,
    /// Version and record; `None` if the user left the collection.
    pub(crate) live: Option<(i64, Bytes)>,
}

impl ByteCache {
    /// Creates a cache for this number of records of up to 1 KiB; larger ones count as several. 0
    /// turns it off.
    pub(crate) fn new(entries: usize) -> Self {
        let weight = u64::try_from(entries).unwrap_or(u64::MAX);
        let records = (entries > 0).then(|| Cache::with_weighter(entries, weight, KibBegun));
        Self { records, commits: RwLock::new(0) }
    }

    pub(crate) fn get(&self, id: UserId) -> Option<Stored> {
        let (version, record) = self.records.as_ref()?.get(&id)?;
        Some(Stored { id, version, record })
    }

    /// How many commits there were, for [`Self::keep`] after the read; `None` during a commit.
    pub(crate) fn seen(&self) -> Option<u64> {
        self.commits.try_read().ok().map(|commits| *commits)
    }

    /// Inserts a record that was read, unless a commit was counted since, or is being counted now.
    pub(crate) fn keep(&self, stored: &Stored, seen: Option<u64>) {
        let (Some(records), Ok(commits)) = (&self.records, self.commits.try_read()) else { return };
        if seen == Some(*commits) {
            records.insert(stored.id, (stored.version, stored.record.clone()));
        }
    }

    /// Counts a commit, and replaces the cached records that it changed.
    pub(crate) fn commit(&self, touched: Vec<Touched>) {
        let Some(records) = &self.records else { return };
        let mut commits = self.commits.write().unwrap_or_else(PoisonError::into_inner);
        *commits += 1;
        for Touched { id, live } in touched {
            match live {
                // Fails if the record is not cached, which needs no action.
                Some(live) => drop(records.replace(id, live, true)),
                None => drop(records.remove(&id)),
            }
        }
    }
}

/// The weight of a record is its size in KiB, rounded up, so that the cache is also bounded in
/// bytes.
#[derive(Clone)]
struct KibBegun;

impl Weighter<UserId, (i64, Bytes)> for KibBegun {
    fn weight(&self, _: &UserId, (_, record): &(i64, Bytes)) -> u64 {
        u64::try_from(record.len() / 1024 + 1).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(version: i64) -> Stored {
        Stored { id: UserId::from_bytes([7; 16]), version, record: Bytes::from_static(b"{}") }
    }

    #[test]
    fn a_record_read_before_a_commit_is_not_kept() {
        let cache = ByteCache::new(10);
        let seen = cache.seen();
        cache.commit(Vec::new());
        cache.keep(&stored(1), seen);
        assert_eq!(cache.get(stored(1).id), None);
        cache.keep(&stored(1), cache.seen());
        assert_eq!(cache.get(stored(1).id), Some(stored(1)));
    }

    #[test]
    fn a_commit_takes_the_place_of_what_is_held_and_of_nothing_else() {
        let cache = ByteCache::new(10);
        let Stored { id, record, .. } = stored(1);
        let touched = |live| vec![Touched { id, live }];
        cache.commit(touched(Some((1, record.clone()))));
        assert_eq!(cache.get(id), None, "nobody read it");
        cache.keep(&stored(1), cache.seen());
        cache.commit(touched(Some((2, record))));
        assert_eq!(cache.get(id), Some(stored(2)));
        cache.commit(touched(None));
        assert_eq!(cache.get(id), None, "it left");
    }

    #[test]
    fn a_cache_of_no_entries_holds_nothing() {
        let cache = ByteCache::new(0);
        cache.keep(&stored(1), cache.seen());
        assert_eq!(cache.get(stored(1).id), None);
    }
}
