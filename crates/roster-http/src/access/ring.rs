//! The keyring in memory, and how old it may be.
//!
//! It says yes for a second from the moment its reading began, so that a key which was revoked
//! through any process lets nobody in a second later. It is read again in the background before
//! that, while it is used; where it is older, the request waits for a new reading, and fails with
//! it. One reading at a time, however many wait.

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use roster_core::{
    StoreError, Timestamp,
    access::{KeyDesk, KeyId, Keyring},
};
use tokio::sync::Mutex;

/// How long a reading holds.
const HOLDS: Duration = Duration::from_secs(1);
/// From when on it is read again in the background.
const AGED: Duration = Duration::from_millis(400);

/// The keys, as they were when the reading began.
#[derive(Clone)]
pub(super) struct Reading {
    pub(super) keyring: Arc<Keyring>,
    began: Instant,
    /// When each key was used last, in milliseconds; shared with the readings before and after.
    uses: Arc<HashMap<KeyId, Arc<AtomicI64>>>,
}

impl Reading {
    /// Notes that a key was used.
    pub(super) fn note_use(&self, id: KeyId, at: Timestamp) {
        if let Some(last) = self.uses.get(&id)
            && last.load(Ordering::Relaxed) / MINUTE_MS < at.as_millis() / MINUTE_MS
        {
            last.store(at.as_millis(), Ordering::Relaxed);
        }
    }
}

/// Uses are told to the minute: a busy key costs no more than a quiet one.
const MINUTE_MS: i64 = 60_000;

/// The last reading.
pub(super) struct Ring(Arc<Shared>);

struct Shared {
    keys: KeyDesk,
    last: RwLock<Option<Arc<Reading>>>,
    /// Set by the first reading that holds a key, and never cleared: a store that goes back to
    /// before its first key does not open the service.
    closed: AtomicBool,
    /// Held by whoever reads.
    reading: Mutex<()>,
    /// Whether somebody reads in the background.
    ahead: AtomicBool,
    told: std::sync::Mutex<HashMap<KeyId, i64>>,
}

impl Ring {
    pub(super) fn new(keys: KeyDesk) -> Self {
        Self(Arc::new(Shared {
            keys,
            last: RwLock::new(None),
            closed: AtomicBool::new(false),
            reading: Mutex::new(()),
            ahead: AtomicBool::new(false),
            told: std::sync::Mutex::default(),
        }))
    }

    /// A reading that holds.
    pub(super) async fn fresh(&self) -> Result<Arc<Reading>, StoreError> {
        let asked = Instant::now();
        if let Some(last) = self.0.last() {
            let age = asked.saturating_duration_since(last.began);
            if age < AGED {
                return Ok(last);
            }
            if age < HOLDS {
                self.read_ahead();
                return Ok(last);
            }
        }
        self.0.read_unless(|last| asked.saturating_duration_since(last.began) < HOLDS).await
    }

    /// Reads again, whatever is known: what changed before now is in it.
    pub(super) async fn read_again(&self) -> Result<(), StoreError> {
        let asked = Instant::now();
        self.0.read_unless(|last| last.began > asked).await.map(|_| ())
    }

    /// Whether no reading so far held a key.
    pub(super) fn is_open(&self) -> bool {
        !self.0.closed.load(Ordering::Acquire)
    }

    /// When keys were used since this was asked last.
    pub(super) fn take_uses(&self) -> Vec<(KeyId, Timestamp)> {
        let Some(last) = self.0.last() else { return Vec::new() };
        let mut told = self.0.told.lock().unwrap_or_else(PoisonError::into_inner);
        let uses = last.uses.iter().map(|(id, at)| (*id, at.load(Ordering::Relaxed)));
        let news: Vec<_> =
            uses.filter(|(id, at)| *at > told.get(id).copied().unwrap_or_default()).collect();
        told.extend(news.iter().copied());
        told.retain(|id, _| last.uses.contains_key(id));
        news.into_iter().map(|(id, at)| (id, Timestamp::from_millis(at))).collect()
    }

    fn read_ahead(&self) {
        if self.0.ahead.swap(true, Ordering::AcqRel) {
            return;
        }
        let shared = Arc::clone(&self.0);
        tokio::spawn(async move {
            // A failure shows to whoever asks once the last reading no longer holds.
            let asked = Instant::now();
            drop(shared.read_unless(|last| last.began > asked).await);
            shared.ahead.store(false, Ordering::Release);
        });
    }
}

impl Shared {
    fn last(&self) -> Option<Arc<Reading>> {
        self.last.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn read_unless(
        &self,
        serves: impl Fn(&Reading) -> bool,
    ) -> Result<Arc<Reading>, StoreError> {
        let _turn = self.reading.lock().await;
        let last = self.last();
        if let Some(last) = last.as_ref().filter(|last| serves(last)) {
            return Ok(Arc::clone(last));
        }
        let began = Instant::now();
        let known = last.as_ref().map(|last| last.keyring.generation);
        let changed = self.keys.keyring(known).await?;
        let reading = match (changed, last) {
            (None, None) => Reading::of(Keyring::default(), began, None),
            (None, Some(last)) => Reading { began, ..Reading::clone(&last) },
            (Some(keyring), last) => Reading::of(keyring, began, last.as_deref()),
        };
        let reading = Arc::new(reading);
        if !reading.keyring.is_open() {
            self.closed.store(true, Ordering::Release);
        }
        *self.last.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&reading));
        Ok(reading)
    }
}

impl Reading {
    fn of(keyring: Keyring, began: Instant, last: Option<&Self>) -> Self {
        let kept = |id: &KeyId| last.and_then(|last| last.uses.get(id)).cloned();
        let uses = keyring.keys.keys().map(|id| (*id, kept(id).unwrap_or_default())).collect();
        Self { keyring: Arc::new(keyring), began, uses: Arc::new(uses) }
    }
}
