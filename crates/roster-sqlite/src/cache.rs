//! The byte cache: the records of users that were lately read, ready to be sent.
//!
//! It never holds a record older than the last answered write. The writer counts each commit, and
//! before it answers puts what the commit made in the place of what is held; a reader keeps what it
//! read only if no commit was counted since before its read. Both do so behind one gate, so that no
//! reader can slip an old record in afterwards. Users that nobody read are not held, however often
//! they are written.

use std::sync::{
    PoisonError, RwLock,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use quick_cache::{Weighter, sync::Cache};
use roster_core::{Stored, UserId};

/// The byte cache; may be off.
pub(crate) struct ByteCache {
    records: Option<Cache<UserId, (i64, Bytes), KibBegun>>,
    commits: AtomicU64,
    gate: RwLock<()>,
}

/// What a commit left of a user.
pub(crate) struct Touched {
    /// Who.
    pub(crate) id: UserId,
    /// Version and record; none for one who is no longer in the collection.
    pub(crate) live: Option<(i64, Bytes)>,
}

/// How many commits a reader had seen before it read.
#[derive(Clone, Copy)]
pub(crate) struct Seen(u64);

impl ByteCache {
    /// A cache for so many records of up to a KiB; larger ones count as several. 0: none.
    pub(crate) fn new(entries: usize) -> Self {
        let weight = u64::try_from(entries).unwrap_or(u64::MAX);
        let records = (entries > 0).then(|| Cache::with_weighter(entries, weight, KibBegun));
        Self { records, commits: AtomicU64::new(0), gate: RwLock::new(()) }
    }

    /// The record of that id, if it is held.
    pub(crate) fn get(&self, id: UserId) -> Option<Stored> {
        let (version, record) = self.records.as_ref()?.get(&id)?;
        Some(Stored { id, version, record })
    }

    /// To be asked before a read whose result is to be kept.
    pub(crate) fn seen(&self) -> Seen {
        Seen(self.commits.load(Ordering::Acquire))
    }

    /// Keeps a record that was read, unless there was a commit since.
    pub(crate) fn keep(&self, stored: &Stored, seen: Seen) {
        let Some(records) = &self.records else { return };
        // A commit is being counted just now: the record may be old already.
        let Ok(_gate) = self.gate.try_read() else { return };
        if self.commits.load(Ordering::Acquire) == seen.0 {
            records.insert(stored.id, (stored.version, stored.record.clone()));
        }
    }

    /// Counts a commit, and holds what it made of the users that were held.
    pub(crate) fn commit(&self, touched: Vec<Touched>) {
        let Some(records) = &self.records else { return };
        let _gate = self.gate.write().unwrap_or_else(PoisonError::into_inner);
        self.commits.fetch_add(1, Ordering::AcqRel);
        for Touched { id, live } in touched {
            match live {
                // Refused where it is not held: then there is nothing to do.
                Some(live) => drop(records.replace(id, live, true)),
                None => drop(records.remove(&id)),
            }
        }
    }
}

/// A record weighs one for each KiB begun, so that the cache is bounded in bytes as well.
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
