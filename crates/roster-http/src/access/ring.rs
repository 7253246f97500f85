//! The keyring in memory, and how old it may be.
//!
//! A keyring is used for one second from the moment its read began, so a key that any process
//! revoked stops working within a second. While it is in use, it is read again in the background
//! before that. A request that finds an older keyring waits for a new read and fails if the read
//! fails. Only one read runs at a time.

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
    access::{KeyId, KeyService, Keyring},
};
use tokio::sync::Mutex;

/// How long a keyring is used.
const MAX_AGE: Duration = Duration::from_secs(1);
/// The age at which it is read again in the background.
const REFRESH_AGE: Duration = Duration::from_millis(400);

/// The keys, with the time at which their read began.
#[derive(Clone)]
pub(super) struct Reading {
    pub(super) keyring: Arc<Keyring>,
    began: Instant,
    /// When each key was last used, in milliseconds. Earlier and later readings share the values.
    uses: Arc<HashMap<KeyId, Arc<AtomicI64>>>,
}

impl Reading {
    /// Records that a key was used.
    pub(super) fn note_use(&self, id: KeyId, at: Timestamp) {
        if let Some(last) = self.uses.get(&id)
            && last.load(Ordering::Relaxed) / MINUTE_MS < at.as_millis() / MINUTE_MS
        {
            last.store(at.as_millis(), Ordering::Relaxed);
        }
    }
}

/// The time of the last use is stored in whole minutes, so a busy key causes no more writes than an
/// idle one.
const MINUTE_MS: i64 = 60_000;

/// The last reading.
pub(super) struct Ring(Arc<Shared>);

struct Shared {
    keys: KeyService,
    last: RwLock<Option<Arc<Reading>>>,
    /// Set by the first read that returns a key, and never cleared: restoring a store without keys
    /// does not open the service.
    closed: AtomicBool,
    /// Locked during a read.
    reading: Mutex<()>,
    /// Whether a background read is running.
    ahead: AtomicBool,
    reported: std::sync::Mutex<HashMap<KeyId, i64>>,
}

impl Ring {
    pub(super) fn new(keys: KeyService) -> Self {
        Self(Arc::new(Shared {
            keys,
            last: RwLock::new(None),
            closed: AtomicBool::new(false),
            reading: Mutex::new(()),
            ahead: AtomicBool::new(false),
            reported: std::sync::Mutex::default(),
        }))
    }

    /// A keyring that is not too old.
    pub(super) async fn fresh(&self) -> Result<Arc<Reading>, StoreError> {
        let now = Instant::now();
        if let Some(last) = self.0.last() {
            let age = now.saturating_duration_since(last.began);
            if age < REFRESH_AGE {
                return Ok(last);
            }
            if age < MAX_AGE {
                self.read_ahead();
                return Ok(last);
            }
        }
        self.0.read_unless(|last| now.saturating_duration_since(last.began) < MAX_AGE).await
    }

    /// Reads again. The result contains every change made before this call.
    pub(super) async fn read_again(&self) -> Result<(), StoreError> {
        let now = Instant::now();
        self.0.read_unless(|last| last.began > now).await.map(|_| ())
    }

    /// Whether no read so far returned a key.
    pub(super) fn is_open(&self) -> bool {
        !self.0.closed.load(Ordering::Acquire)
    }

    /// The times of last use that changed since the previous call.
    pub(super) fn take_uses(&self) -> Vec<(KeyId, Timestamp)> {
        let Some(last) = self.0.last() else { return Vec::new() };
        let mut reported = self.0.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let uses = last.uses.iter().map(|(id, at)| (*id, at.load(Ordering::Relaxed)));
        let changed: Vec<_> =
            uses.filter(|(id, at)| *at > reported.get(id).copied().unwrap_or_default()).collect();
        reported.extend(changed.iter().copied());
        reported.retain(|id, _| last.uses.contains_key(id));
        changed.into_iter().map(|(id, at)| (id, Timestamp::from_millis(at))).collect()
    }

    fn read_ahead(&self) {
        if self.0.ahead.swap(true, Ordering::AcqRel) {
            return;
        }
        let shared = Arc::clone(&self.0);
        tokio::spawn(async move {
            // A failure is returned to the requests that come after the current keyring is too old.
            let now = Instant::now();
            drop(shared.read_unless(|last| last.began > now).await);
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
        is_current: impl Fn(&Reading) -> bool,
    ) -> Result<Arc<Reading>, StoreError> {
        let _guard = self.reading.lock().await;
        let last = self.last();
        if let Some(last) = last.as_ref().filter(|last| is_current(last)) {
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
