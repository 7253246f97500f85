//! How much of something each key may have at a time. As many keys are kept as have something.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

type Counts<K> = Mutex<HashMap<K, usize>>;

/// The limit and the counts of all keys.
#[derive(Debug)]
pub struct ConcurrencyLimit<K: Eq + Hash> {
    most: usize,
    counts: Arc<Counts<K>>,
}

/// One of what a key may have, given back when this is dropped.
#[derive(Debug)]
pub struct ConcurrencyPermit<K: Eq + Hash> {
    key: K,
    counts: Arc<Counts<K>>,
}

impl<K: Eq + Hash + Copy> ConcurrencyLimit<K> {
    /// This many for each key.
    pub fn new(most: usize) -> Self {
        Self { most, counts: Arc::default() }
    }

    /// One more for a key; `None` when it has all of its own.
    pub fn take(&self, key: K) -> Option<ConcurrencyPermit<K>> {
        let mut counts = lock(&self.counts);
        let count = counts.entry(key).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(ConcurrencyPermit { key, counts: Arc::clone(&self.counts) })
    }

    /// How many keys have something now.
    pub fn keys(&self) -> usize {
        lock(&self.counts).len()
    }
}

impl<K: Eq + Hash> Drop for ConcurrencyPermit<K> {
    fn drop(&mut self) {
        let mut counts = lock(&self.counts);
        if let Some(count) = counts.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.key);
            }
        }
    }
}

fn lock<K>(counts: &Counts<K>) -> MutexGuard<'_, HashMap<K, usize>> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}
