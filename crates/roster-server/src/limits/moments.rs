//! A bounded table of times. Of each key it stores only a hash.
//!
//! A time in the past means the same as no entry, so its entry may be removed at any time. This
//! bounds the memory. Keys that find no room share one entry. Callers who choose keys cannot cause
//! collisions, because the hash has a secret seed.

use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::{BuildHasher as _, Hash},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The number of shards. Each has its own lock.
const SHARDS: usize = 64;

/// The minimum time between two searches of a full shard for expired entries, in nanoseconds.
const SWEEP_PAUSE_NS: u64 = 100_000_000;

/// The table. Times are nanoseconds of the caller's clock.
#[derive(Debug)]
pub(super) struct Moments {
    hasher: RandomState,
    shards: Vec<Mutex<Shard>>,
    shared: Mutex<Shard>,
    each_max: usize,
}

#[derive(Debug, Default)]
struct Shard {
    moments: HashMap<u64, u64>,
    swept_at: u64,
    overflow: u64,
}

/// What to do if the table is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// Change the entry that all such keys share.
    Share,
    /// Store nothing.
    Leave,
}

impl Moments {
    /// A table with about this maximum number of entries.
    pub(super) fn new(most: usize) -> Self {
        Self {
            hasher: RandomState::new(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            shared: Mutex::default(),
            each_max: most.div_ceil(SHARDS),
        }
    }

    /// The time of a key, or 0.
    pub(super) fn get(&self, key: impl Hash) -> u64 {
        let (hash, shard) = self.shard(key);
        shard.moments.get(&hash).copied().unwrap_or(0)
    }

    /// Changes the time of a key, which is 0 if the table has none.
    pub(super) fn change<T>(
        &self,
        key: impl Hash,
        now: u64,
        full: Full,
        change: impl FnOnce(&mut u64) -> T,
    ) -> T {
        let (hash, mut shard) = self.shard(key);
        if let Some(moment) = shard.moments.get_mut(&hash) {
            return change(moment);
        }
        if shard.has_room(self.each_max, now) {
            return change(shard.moments.entry(hash).or_insert(0));
        }
        drop(shard);
        match full {
            Full::Share => change(&mut lock(&self.shared).overflow),
            Full::Leave => change(&mut 0),
        }
    }

    fn shard(&self, key: impl Hash) -> (u64, MutexGuard<'_, Shard>) {
        let hash = self.hasher.hash_one(key);
        let index = usize::try_from(hash >> 58).unwrap_or(0);
        (hash, lock(self.shards.get(index).unwrap_or(&self.shared)))
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).moments.len()).sum()
    }
}

impl Shard {
    /// Whether there is room for one more entry. Removes expired entries first if necessary.
    fn has_room(&mut self, most: usize, now: u64) -> bool {
        if self.moments.len() < most {
            return true;
        }
        if now.saturating_sub(self.swept_at) >= SWEEP_PAUSE_NS || self.swept_at == 0 {
            self.swept_at = now.max(1);
            self.moments.retain(|_, moment| *moment > now);
        }
        self.moments.len() < most
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_shares_one_entry() {
        let table = Moments::new(640);
        for key in 0..10_000_u32 {
            table.change(key, 5, Full::Share, |moment| *moment = 1_000_000_000);
        }
        assert_eq!(table.len(), 640);
        let mut seen = 0;
        table.change("late", 5, Full::Share, |moment| seen = *moment);
        assert_eq!(seen, 1_000_000_000, "the shared moment");
        table.change("late", 5, Full::Leave, |moment| *moment = 7);
        assert_eq!(table.get("late"), 0);
    }

    #[test]
    fn expired_entries_make_room() {
        let table = Moments::new(640);
        for key in 0..10_000_u32 {
            table.change(key, 5, Full::Leave, |moment| *moment = 1_000);
        }
        table.change("new", 1_000_000_000, Full::Leave, |moment| *moment = 2_000_000_000);
        assert_eq!(table.get("new"), 2_000_000_000);
        assert!(table.len() < 640);
    }
}
