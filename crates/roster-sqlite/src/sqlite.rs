//! The store: opening, reading, writing, closing.

use std::{
    fs::File,
    ops::Deref,
    sync::{Arc, Mutex},
    thread::{Builder, JoinHandle},
};

use roster_core::{LogId, StoreError, Stored, TenantId, UserId, store::Secret};
use roster_engine::{Queue, Values, first, user_schema};
use rusqlite::Connection;
use tokio::{runtime::Builder as RuntimeBuilder, sync::mpsc};

use crate::{
    cache::ByteCache,
    connection,
    establish::{Established, establish},
    failure::ReadError,
    load::postponed,
    lock::StoreLock,
    mutex::lock,
    open_error::OpenError,
    quick_check::QuickCheck,
    reads::{
        readers::Readers,
        rows::{Rows, run},
        scan::Scans,
    },
    settings::{Purpose, Settings},
    wal::{
        checkpoint::{EMPTY, WalLimits, checkpoint},
        checkpointer::Checkpointer,
        thread,
    },
    writer::{Shared, TASKS_MAX, Writer},
};

/// A tenant of a store in a data directory. All tenants share the store, which is closed when the
/// last of them is dropped.
#[derive(Clone)]
pub struct Sqlite {
    store: Arc<OpenStore>,
    pub(crate) tenant: TenantId,
}

/// An open store.
pub struct OpenStore {
    pub(crate) shared: Arc<Shared>,
    pub(crate) readers: Arc<Readers>,
    pub(crate) scans: Scans,
    pub(crate) secret: Secret,
    pub(crate) log_id: LogId,
    threads: Mutex<Option<Threads>>,
    _lock: StoreLock,
}

impl Deref for Sqlite {
    type Target = OpenStore;

    fn deref(&self) -> &OpenStore {
        &self.store
    }
}

struct Threads {
    writer: JoinHandle<Connection>,
    checkpointer: JoinHandle<()>,
    quick_check: Option<QuickCheck>,
}

pub(crate) const GET: &str = "SELECT version, record FROM users WHERE tenant = ?1 AND id = ?2";

impl Sqlite {
    /// Opens the store of a data directory, or creates one there. Returns its default tenant.
    pub fn open(mut settings: Settings) -> Result<Self, OpenError> {
        // A symbolic link may lead to another directory later, while this one is served.
        if let Ok(directory) = settings.directory.canonicalize() {
            settings.directory = directory;
        }
        let lock = StoreLock::take(&settings.directory, true)?;
        let unclean = connection::is_unclean(&settings);
        let mut connection = connection::open_writer(&settings)?;
        let Established { log_id, secret, position, rules, schema, purged } =
            establish(&mut connection, &settings)?;
        if settings.purpose == Purpose::Fill {
            postponed::begin(&connection, rules)?;
        }
        let queue = Queue::new(settings.write_queue_max, settings.write_wait_max);
        let cache = ByteCache::new(settings.cache_entries);
        let (tasks, waiting_tasks) = mpsc::channel(TASKS_MAX);
        let shared = Arc::new(Shared::new(queue, tasks, cache, rules, schema, position));
        if let Some(position) = purged {
            shared.checkpoints.purged(position);
        }
        let readers = Arc::new(Readers::new(settings, Arc::clone(&shared.health)));
        let settings = readers.settings();
        let scans = Scans::start(settings, &shared)
            .map_err(|source| OpenError::Io { path: connection::path(settings), source })?;
        let tasks = (Arc::clone(&shared), waiting_tasks);
        let writer = Writer::new(connection, tasks, settings);
        let threads = Threads::start(writer, (&shared, &readers), lock.database(), unclean)?;
        let threads = Mutex::new(Some(threads));
        let store = OpenStore { shared, readers, scans, secret, log_id, threads, _lock: lock };
        Ok(Self { store: Arc::new(store), tenant: TenantId::DEFAULT })
    }

    /// The tenant with this id of the same store.
    pub fn of(&self, tenant: TenantId) -> Result<Self, StoreError> {
        if self.shared.schema(tenant).is_none() {
            let read = |connection: &_| run(user_schema(Rows(connection, tenant)));
            self.shared.keep_schema(tenant, self.readers.read(read)?);
        }
        Ok(Self { store: Arc::clone(&self.store), tenant })
    }

    pub(crate) fn read(&self, id: UserId) -> Result<Option<Stored>, StoreError> {
        let tenant = self.tenant;
        if let Some(stored) = self.shared.cache.get(tenant, id) {
            return Ok(Some(stored));
        }
        let seen = self.shared.cache.seen();
        let key = [tenant.into(), id.into()];
        let row =
            self.readers.read(|connection| run(first(Rows(connection, tenant), GET, &key)))?;
        let stored = |row: Values| -> Result<_, StoreError> {
            let record = row.bytes(1, "users.record")?.clone();
            Ok(Stored { id, version: row.number(0, "users.version")?, record })
        };
        let stored = row.map(stored).transpose()?;
        if let Some(stored) = &stored {
            self.shared.cache.keep(tenant, stored, seen);
        }
        Ok(stored)
    }
}

impl OpenStore {
    /// Executes the waiting commands, and closes the database. Later writes are rejected.
    pub fn close(&self) {
        let Some(threads) = lock(&self.threads).take() else { return };
        self.shared.queue.close();
        let writer = threads.writer.join();
        self.shared.checkpoints.close();
        drop(threads.checkpointer.join());
        if let Some(quick_check) = threads.quick_check {
            quick_check.end();
        }
        self.readers.close();
        self.scans.close();
        if let Ok(connection) = writer {
            checkpoint(&connection, EMPTY, &self.shared.health);
        }
    }

    /// The writer runs this work in a separate transaction.
    pub(crate) async fn write<T: Send + 'static, E: Into<ReadError> + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.shared.task(move |writer| writer.write(work)).await
    }
}

impl Threads {
    fn start(
        writer: Writer,
        (shared, readers): (&Arc<Shared>, &Arc<Readers>),
        database: Arc<File>,
        unclean: bool,
    ) -> Result<Self, OpenError> {
        let settings = readers.settings();
        let path = connection::path(settings);
        let refused = |source| OpenError::Io { path: path.clone(), source };
        let checkpointer = Checkpointer {
            connection: connection::open_checkpointer(settings)?,
            database,
            shared: Arc::clone(shared),
            readers: Arc::clone(readers),
            limits: WalLimits::of(settings),
        };
        let named = |name: &str| Builder::new().name(name.to_owned());
        let checkpointer = named("roster-checkpoint").spawn(move || thread::run(&checkpointer));
        let checkpointer = checkpointer.map_err(refused)?;
        let runtime = RuntimeBuilder::new_current_thread().build().map_err(refused)?;
        let run_writer = move || runtime.block_on(writer.run());
        let writer = match named("roster-writer").spawn(run_writer) {
            Ok(writer) => writer,
            Err(source) => {
                shared.checkpoints.close();
                drop(checkpointer.join());
                return Err(refused(source));
            }
        };
        let quick_check =
            if unclean { QuickCheck::begin(settings, Arc::clone(shared)) } else { None };
        Ok(Self { writer, checkpointer, quick_check })
    }
}

impl Drop for OpenStore {
    fn drop(&mut self) {
        self.close();
    }
}
