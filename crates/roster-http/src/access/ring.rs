//! The keyring in memory, and how old it may be.
//!
//! A keyring is used for one second from the moment its read began, so a key that any process
//! revoked stops working within a second. While it is in use, it is read again in the background
//! before that. A request that finds an older keyring waits for a new read and fails if the read
//! fails. Only one read runs at a time, and all who waited for it fail with it: with reads of their
//! own, each would wait for those before it.

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use roster_core::{
    Directory, LogId, StoreError, Timestamp,
    access::{KeyId, KeyService, Keyring},
};
use tokio::sync::Mutex;

/// How long a keyring is used.
const MAX_AGE: Duration = Duration::from_secs(1);
/// The age at which it is read again in the background.
const REFRESH_AGE: Duration = Duration::from_millis(400);

/// The keys, with the time at which their last read began.
pub(super) struct Reading {
    pub(super) keyring: Keyring,
    /// The log before the last read. After a failover the last change of the keys may be lost, and
    /// another one may have its generation, so all keys are read again.
    log: LogId,
    began: Instant,
    /// When each key was last used, in milliseconds.
    uses: HashMap<KeyId, AtomicI64>,
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

    /// Takes what a read returned: the keys that changed, or all of them.
    fn update(&mut self, read: Option<Keyring>, began: Instant) {
        self.began = began;
        let Some(mut read) = read else { return };
        if read.generation < self.keyring.generation {
            self.keyring.keys.clear();
            self.uses.clear();
        }
        self.keyring.generation = read.generation;
        for id in read.keys.keys() {
            self.uses.entry(*id).or_default();
        }
        self.keyring.keys.append(&mut read.keys);
    }
}

/// The time of the last use is stored in whole minutes, so a busy key causes no more writes than an
/// idle one.
const MINUTE_MS: i64 = 60_000;

/// The last reading.
pub(super) struct Ring(Arc<Shared>);

struct Shared {
    directory: Directory,
    keys: KeyService,
    last: RwLock<Option<Reading>>,
    /// Set by the first read that returns a key, and never cleared: restoring a store without keys
    /// does not open the service.
    closed: AtomicBool,
    /// Locked during a read. When the last read that failed ended, and its error.
    reading: Mutex<Option<(Instant, StoreError)>>,
    /// Whether a background read is running.
    ahead: AtomicBool,
    reported: std::sync::Mutex<HashMap<KeyId, i64>>,
}

impl Ring {
    pub(super) fn new(directory: Directory) -> Self {
        Self(Arc::new(Shared {
            keys: directory.keys(),
            directory,
            last: RwLock::new(None),
            closed: AtomicBool::new(false),
            reading: Mutex::default(),
            ahead: AtomicBool::new(false),
            reported: std::sync::Mutex::default(),
        }))
    }

    /// Calls `on` with a keyring that is not too old.
    pub(super) async fn with_fresh<T>(
        &self,
        on: impl FnOnce(&Reading) -> T,
    ) -> Result<T, StoreError> {
        let now = Instant::now();
        let age = self.0.began().map(|began| now.saturating_duration_since(began));
        if age.is_none_or(|age| age >= MAX_AGE) {
            let is_current = |began: Instant| now.saturating_duration_since(began) < MAX_AGE;
            self.0.read_unless(is_current).await?;
        } else if age.is_some_and(|age| age >= REFRESH_AGE) {
            self.read_ahead();
        }
        let last = self.0.last.read().unwrap_or_else(PoisonError::into_inner);
        // A reading is never taken away.
        last.as_ref().map(on).ok_or_else(|| StoreError::Internal("no keys were read".into()))
    }

    /// Reads again. The result contains every change made before this call.
    pub(super) async fn read_again(&self) -> Result<(), StoreError> {
        let now = Instant::now();
        self.0.read_unless(|began| began > now).await
    }

    /// Whether no read so far returned a key.
    pub(super) fn is_open(&self) -> bool {
        !self.0.closed.load(Ordering::Acquire)
    }

    /// The times of last use that changed since the previous call.
    pub(super) fn take_uses(&self) -> Vec<(KeyId, Timestamp)> {
        let last = self.0.last.read().unwrap_or_else(PoisonError::into_inner);
        let Some(last) = last.as_ref() else { return Vec::new() };
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
            drop(shared.read_unless(|began| began > now).await);
            shared.ahead.store(false, Ordering::Release);
        });
    }
}

impl Shared {
    /// When the last read began.
    fn began(&self) -> Option<Instant> {
        self.last.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(|last| last.began)
    }

    /// Reads what changed, unless the last read is current. Only this function changes the reading.
    async fn read_unless(&self, is_current: impl Fn(Instant) -> bool) -> Result<(), StoreError> {
        let asked = Instant::now();
        let mut failed = self.reading.lock().await;
        if self.began().is_some_and(is_current) {
            return Ok(());
        }
        if let Some((ended, error)) = &*failed
            && *ended >= asked
        {
            return Err(error.again());
        }
        let (began, log) = (Instant::now(), self.directory.log_id());
        let known = {
            let last = self.last.read().unwrap_or_else(PoisonError::into_inner);
            let of_log = last.as_ref().filter(|last| last.log == log);
            of_log.map(|last| last.keyring.generation)
        };
        let read = match self.keys.changed_keys(known).await {
            Ok(read) => read,
            Err(error) => {
                *failed = Some((Instant::now(), error.again()));
                return Err(error);
            }
        };
        let mut last = self.last.write().unwrap_or_else(PoisonError::into_inner);
        let last = match &mut *last {
            Some(last) if last.log == log => last,
            other => {
                let (keyring, uses) = Default::default();
                other.insert(Reading { keyring, log, began, uses })
            }
        };
        last.update(read, began);
        if !last.keyring.is_open() {
            self.closed.store(true, Ordering::Release);
        }
        Ok(())
    }
}
