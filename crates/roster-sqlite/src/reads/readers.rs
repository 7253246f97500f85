//! The connections for reads: a few, each with a lock, opened when first used.
//!
//! A thread uses the same connection again if possible. With as many connections as threads, no
//! thread waits. A read never waits for the writer.

use std::{
    cell::Cell,
    sync::{
        Arc, Mutex, MutexGuard, TryLockError,
        atomic::{AtomicUsize, Ordering},
    },
};

use roster_core::StoreError;
use rusqlite::Connection;

use crate::{connection, failure::ReadResult, health::Health, mutex::lock, settings::Settings};

/// The pool of reading connections.
pub(crate) struct Readers {
    settings: Settings,
    health: Arc<Health>,
    slots: Vec<Mutex<Option<Connection>>>,
}

impl Readers {
    pub(crate) fn new(settings: Settings, health: Arc<Health>) -> Self {
        let slots = (0..settings.readers.max(1)).map(|_| Mutex::new(None)).collect();
        Self { settings, health, slots }
    }

    pub(crate) const fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> ReadResult<T>,
    ) -> Result<T, StoreError> {
        let open = || self.health.note_read(Ok(connection::open_reader(&self.settings)?));
        let read = |connection: &_| Ok(self.health.note_read(read(connection))?);
        let Some(mut slot) = self.take() else {
            // There is always a slot. If not, a new connection is opened.
            return read(&open()?);
        };
        let connection = match &mut *slot {
            Some(connection) => connection,
            empty => empty.insert(open()?),
        };
        read(connection)
    }

    /// Waits for the running reads. No other read begins until the guards are dropped.
    pub(crate) fn pause(&self) -> Vec<MutexGuard<'_, Option<Connection>>> {
        self.slots.iter().map(lock).collect()
    }

    pub(crate) fn close(&self) {
        for slot in &self.slots {
            *lock(slot) = None;
        }
    }

    /// Takes the slot of this thread if it is free, otherwise any free slot. If none is free, waits
    /// for the slot of this thread.
    fn take(&self) -> Option<MutexGuard<'_, Option<Connection>>> {
        let own = THREAD.with(Cell::get) % self.slots.len();
        let slots = self.slots.iter().cycle().skip(own).take(self.slots.len());
        for slot in slots {
            match slot.try_lock() {
                Ok(guard) => return Some(guard),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => {}
            }
        }
        self.slots.get(own).map(lock)
    }
}

static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Threads are numbered in the order of their first read.
    static THREAD: Cell<usize> = Cell::new(THREADS.fetch_add(1, Ordering::Relaxed));
}
