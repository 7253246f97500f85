//! The store itself: opening, asking, closing.

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread::{Builder, JoinHandle},
};

use bytes::Bytes;
use roster_core::{Command, Failure, LogId, Outcome, StoreError, Stored, UserId, store::Secret};
use rusqlite::Connection;

use crate::{
    cache::ByteCache,
    columns::text_of,
    connection,
    establish::{Established, establish},
    failure::store_error,
    lock::DirectoryLock,
    open_error::OpenError,
    readers::Readers,
    settings::Settings,
    shared::Shared,
    writer::{
        Writer,
        queue::{Job, Queue, Results},
    },
};

/// A store in a data directory.
pub struct Sqlite {
    shared: Arc<Shared>,
    readers: Readers,
    pub(crate) secret: Secret,
    pub(crate) log_id: LogId,
    writer: Mutex<Option<JoinHandle<Connection>>>,
    _lock: DirectoryLock,
}

const GET: &str = "SELECT version, record FROM users WHERE id = ?1";

impl Sqlite {
    /// Opens the store of a data directory, or makes one there. Looks at no user unless the
    /// policy on shared addresses or external ids became stricter.
    pub fn open(settings: Settings) -> Result<Self, OpenError> {
        let lock = DirectoryLock::take(&settings.directory)?;
        let mut connection = connection::open_writer(&settings)?;
        let Established { log_id, secret, head } = establish(&mut connection, settings.rules)?;
        let queue = Queue::new(settings.write_queue_max);
        let cache = ByteCache::new(settings.cache_entries);
        let shared = Arc::new(Shared::new(queue, cache, head));
        let writer = Writer::new(connection, settings.rules, Arc::clone(&shared), head);
        let thread = Builder::new().name("roster-writer".to_owned()).spawn(move || writer.run());
        let path = settings.directory.clone();
        let thread = thread.map_err(|source| OpenError::Io { path, source })?;
        Ok(Self {
            shared,
            readers: Readers::new(settings),
            secret,
            log_id,
            writer: Mutex::new(Some(thread)),
            _lock: lock,
        })
    }

    /// Carries out what still waits, and closes the database. Later writes are refused.
    pub fn close(&self) {
        self.shared.queue.close();
        let thread = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.readers.close();
        drop(thread.map(JoinHandle::join));
    }

    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) const fn readers(&self) -> &Readers {
        &self.readers
    }

    pub(crate) async fn carry_out(&self, commands: Vec<Command>) -> Results {
        let count = commands.len();
        if count == 0 {
            return Vec::new();
        }
        let (job, answer) = Job::new(commands);
        if let Err(error) = self.shared.queue.push(job) {
            let text = error.to_string();
            let refusals = (1..count).map(|_| StoreError::Unavailable(text.clone().into()));
            let refusals: Vec<StoreError> = refusals.collect();
            return std::iter::once(error)
                .chain(refusals)
                .map(|e| Err(Failure::Store(e)))
                .collect();
        }
        match answer.await {
            Ok(results) => results,
            // The writer is gone: whether it wrote is not known.
            Err(_) => (0..count).map(|_| unknown()).collect(),
        }
    }

    pub(crate) fn read(&self, id: UserId) -> Result<Option<Stored>, StoreError> {
        if let Some(stored) = self.shared.cache.get(id) {
            return Ok(Some(stored));
        }
        let seen = self.shared.cache.seen();
        let row = self.readers.read(|connection| {
            let mut statement = connection.prepare_cached(GET).map_err(store_error)?;
            let mut rows = statement.query([id.as_bytes()]).map_err(store_error)?;
            let Some(row) = rows.next().map_err(store_error)? else { return Ok(None) };
            let version = row.get(0).map_err(store_error)?;
            let record = text_of(row.get_ref(1).map_err(store_error)?, "users.record")?;
            Ok(Some((version, Bytes::copy_from_slice(record))))
        })?;
        let Some((version, record)) = row else { return Ok(None) };
        let stored = Stored { id, version, record };
        self.shared.cache.keep(&stored, seen);
        Ok(Some(stored))
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.close();
    }
}

fn unknown() -> Result<Outcome, Failure> {
    Err(Failure::Store(StoreError::Unavailable("the writer is gone".into())))
}
