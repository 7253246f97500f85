//! A concurrency limit per key. Only keys that hold permits are stored.

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

/// A permit of a key. Dropping it frees the permit.
#[derive(Debug)]
pub struct ConcurrencyPermit<K: Eq + Hash> {
    key: K,
    counts: Arc<Counts<K>>,
}

impl<K: Eq + Hash + Copy> ConcurrencyLimit<K> {
    /// Allows `most` permits at a time for each key.
    pub fn new(most: usize) -> Self {
        Self { most, counts: Arc::default() }
    }

    /// Takes a permit for a key. Returns `None` if the key has reached the limit.
    pub fn take(&self, key: K) -> Option<ConcurrencyPermit<K>> {
        let mut counts = lock(&self.counts);
        let count = counts.entry(key).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(ConcurrencyPermit { key, counts: Arc::clone(&self.counts) })
    }

    /// The number of permits that a key holds now.
    pub fn held(&self, key: K) -> usize {
        lock(&self.counts).get(&key).copied().unwrap_or_default()
    }

    /// The number of keys that hold permits now.
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
