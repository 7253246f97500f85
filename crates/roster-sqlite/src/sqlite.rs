//! The store itself: opening, asking, closing.

use std::{
    fs::File,
    sync::{Arc, Mutex, PoisonError},
    thread::{Builder, JoinHandle},
};

use bytes::Bytes;
use roster_core::{
    Among, Command, Failure, GroupCommand, Idempotency, LogId, Outcome, Rules, StoreError, Stored,
    Timestamp, UserId, store::Secret,
};
use rusqlite::Connection;
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::oneshot,
    task::block_in_place,
};

use crate::{
    cache::ByteCache,
    checkpoint::{WalLimits, Wanted, fulfil},
    checkpointer::Checkpointer,
    columns::text_of,
    connection,
    establish::{Established, establish},
    failure::store_error,
    lock::DirectoryLock,
    open_error::OpenError,
    quick_check::QuickCheck,
    readers::Readers,
    scan::Scans,
    settings::Settings,
    shared::Shared,
    writer::{
        Prepared, Writer,
        preview::{preview, preview_group, recalled},
        queue::{CarriedOut, Job, Queue, Results},
    },
};

/// So many commands are decided upon at once; more of them take longer than other tasks should
/// have to wait.
const PREPARED_AT_ONCE_MAX: usize = 16;

/// A store in a data directory.
pub struct Sqlite {
    shared: Arc<Shared>,
    readers: Arc<Readers>,
    scans: Scans,
    pub(crate) secret: Secret,
    pub(crate) log_id: LogId,
    rules: Rules,
    threads: Mutex<Option<Threads>>,
    _lock: DirectoryLock,
}

struct Threads {
    writer: JoinHandle<Connection>,
    checkpointer: JoinHandle<Arc<File>>,
    quick_check: Option<QuickCheck>,
}

pub(crate) const GET: &str = "SELECT version, record FROM users WHERE id = ?1";

impl Sqlite {
    /// Opens the store of a data directory, or makes one there.
    pub fn open(settings: Settings) -> Result<Self, OpenError> {
        let lock = DirectoryLock::take(&settings.directory)?;
        let unclean = connection::is_unclean(&settings);
        let mut connection = connection::open_writer(&settings)?;
        let Established { log_id, secret, head, rules, purged } =
            establish(&mut connection, &settings)?;
        let queue = Queue::new(settings.write_queue_max, settings.write_wait_max);
        let cache = ByteCache::new(settings.cache_entries);
        let shared = Arc::new(Shared::new(queue, cache, head));
        if let Some(position) = purged {
            shared.checkpoints.purged(position);
        }
        let readers = Arc::new(Readers::new(settings));
        let settings = readers.settings();
        let scans = Scans::start(settings, &shared)
            .map_err(|source| OpenError::Io { path: connection::path(settings), source })?;
        let wait = WalLimits::of(settings).wait;
        let writer = Writer::new(connection, rules, Arc::clone(&shared), head, wait);
        let threads = Threads::start(writer, (&shared, &readers), unclean)?;
        Ok(Self {
            shared,
            readers,
            scans,
            secret,
            log_id,
            rules,
            threads: Mutex::new(Some(threads)),
            _lock: lock,
        })
    }

    /// Carries out what still waits, and closes the database. Later writes are refused.
    pub fn close(&self) {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(threads) = threads else { return };
        self.shared.queue.close();
        let writer = threads.writer.join();
        self.shared.checkpoints.close();
        let database = threads.checkpointer.join();
        if let Some(quick_check) = threads.quick_check {
            quick_check.end();
        }
        self.readers.close();
        self.scans.close();
        if let Ok(connection) = writer {
            fulfil(&connection, &Wanted::Empty, &self.shared.health);
        }
        // After all connections: see `Checkpointer::run`.
        drop(database);
    }

    pub(crate) const fn rules_in_force(&self) -> Rules {
        self.rules
    }

    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) const fn scans(&self) -> &Scans {
        &self.scans
    }

    pub(crate) fn readers(&self) -> &Readers {
        &self.readers
    }

    /// Puts commands before the writer; gives where their results will come.
    pub(crate) fn push(
        &self,
        commands: Vec<Command>,
    ) -> Result<oneshot::Receiver<CarriedOut>, StoreError> {
        let many = commands.len() > PREPARED_AT_ONCE_MAX;
        let prepare = || commands.into_iter().map(|command| self.prepare(command)).collect();
        self.push_prepared(if many { aside(prepare) } else { prepare() })
    }

    fn push_prepared(
        &self,
        commands: Vec<Prepared>,
    ) -> Result<oneshot::Receiver<CarriedOut>, StoreError> {
        let (job, answer) = Job::new(commands);
        self.shared.queue.push(job)?;
        Ok(answer)
    }

    pub(crate) async fn carry_out(&self, commands: Vec<Command>) -> Results {
        let count = commands.len();
        if count == 0 {
            return Vec::new();
        }
        results(self.push(commands), count).await
    }

    /// Carries a group command out.
    pub(crate) async fn carry_out_group(&self, command: GroupCommand) -> Result<Outcome, Failure> {
        let pushed = self.push_prepared(vec![Prepared::group(command)]);
        let lost = || Err(Failure::Store(StoreError::Internal("the writer gave nothing".into())));
        results(pushed, 1).await.pop().unwrap_or_else(lost)
    }

    /// Decides upon a command ahead of its turn, where that is worth the while.
    fn prepare(&self, command: Command) -> Prepared {
        match command.among() {
            Among::Nobody => Prepared::upon(self.rules, command, None),
            // To read the user for this alone would take longer than it saves.
            Among::Live => match self.shared.cache.get(command.user_id()) {
                stored @ Some(_) => Prepared::upon(self.rules, command, stored),
                None => Prepared::plain(command),
            },
            Among::Deleted => Prepared::plain(command),
        }
    }

    pub(crate) const fn rules(&self) -> Rules {
        self.rules
    }

    /// What a group command would come to.
    pub(crate) fn judge_group(&self, command: &GroupCommand) -> Result<Outcome, Failure> {
        self.readers.read(|connection| Ok(preview_group(connection, self.rules, command)))?
    }

    /// What a request came to when it came before.
    pub(crate) fn remembered(
        &self,
        mark: &Idempotency,
        at: Timestamp,
    ) -> Result<Option<Outcome>, Failure> {
        self.readers.read(|connection| Ok(recalled(connection, mark, at)))?
    }

    /// What a command would come to.
    pub(crate) fn judge(&self, command: &Command) -> Result<Outcome, Failure> {
        // Two kinds of failure: that of the command, inside that of the connection.
        self.readers.read(|connection| Ok(preview(connection, self.rules, command)))?
    }

    /// Has the writer do what is no command.
    pub(crate) async fn chore<T, E>(
        &self,
        work: impl FnOnce(&Writer) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let answer = self.shared.queue.push_chore(work)?;
        let closing = |_| StoreError::Unavailable("the store is closing".into());
        answer.await.map_err(closing)?
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

/// The results of so many commands that were put before the writer.
async fn results(
    pushed: Result<oneshot::Receiver<CarriedOut>, StoreError>,
    count: usize,
) -> Results {
    let error = match pushed {
        Ok(answer) => match answer.await {
            Ok(CarriedOut { results, commands }) => {
                drop(commands);
                return results;
            }
            // Whether it wrote is not known.
            Err(_) => "the writer is gone".to_owned(),
        },
        Err(error) => error.to_string(),
    };
    let refused = |_| Err(Failure::Store(StoreError::Unavailable(error.clone().into())));
    (0..count).map(refused).collect()
}

/// Does what takes a while without keeping the other tasks of this thread waiting, where the
/// runtime has other threads that can go on with them.
fn aside<T>(work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    if flavor.is_ok_and(|flavor| flavor == RuntimeFlavor::MultiThread) {
        block_in_place(work)
    } else {
        work()
    }
}

impl Threads {
    fn start(
        writer: Writer,
        (shared, readers): (&Arc<Shared>, &Arc<Readers>),
        unclean: bool,
    ) -> Result<Self, OpenError> {
        let settings = readers.settings();
        let copier = connection::open_checkpointer(settings)?;
        let path = connection::path(settings);
        let refused = |source| OpenError::Io { path: path.clone(), source };
        let database = File::options().read(true).write(true).open(&path).map_err(refused)?;
        let (with, reading) = (Arc::clone(shared), Arc::clone(readers));
        let checkpointer = Checkpointer::new(copier, database, with, reading, settings);
        let thread = |name: &str| Builder::new().name(name.to_owned());
        let checkpointer = thread("roster-checkpoint").spawn(move || checkpointer.run());
        let checkpointer = checkpointer.map_err(refused)?;
        let writer = match thread("roster-writer").spawn(move || writer.run()) {
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

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.close();
    }
}
