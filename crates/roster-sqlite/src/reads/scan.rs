//! The threads for reads that may take long: pages that examine many rows, and long pages.
//!
//! There are few of them, with a lower priority than the threads that handle requests, so a query
//! without an index delays no other request. The number of waiting reads is bounded. A read whose
//! caller is gone is not begun, or ends: SQLite asks every few steps of a statement whether it is.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, Builder, JoinHandle},
    time::{Duration, Instant},
};

use roster_core::StoreError;
use rusqlite::{Connection, InterruptHandle};
use tokio::sync::oneshot;

use crate::{
    connection,
    failure::{ReadResult, store_error},
    health::Health,
    mutex::lock,
    settings::Settings,
    writer::Shared,
};

/// The maximum number of waiting reads.
const WAITING_MAX: usize = 64;

/// The nice value of these threads.
const NICENESS: i32 = 10;

/// The number of steps of a statement after which SQLite asks whether the caller is gone. A row
/// takes more.
const STEPS: i32 = 16;

/// How long a statement runs before the thread lets others run. A scheduler may let a thread finish
/// its slice of time before one of higher priority that wakes up meanwhile.
const RUN: Duration = Duration::from_micros(750);

/// A read. It sends its result to the caller.
type ScanRead = Box<dyn FnOnce(Result<&mut Connection, StoreError>) + Send>;

/// The caller of a read. When it is dropped, the read ends.
struct Caller(Arc<AtomicBool>);

impl Drop for Caller {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub(crate) struct Scans {
    /// `None` once the pool is closed.
    queue: Mutex<Option<SyncSender<ScanRead>>>,
    waiting: Arc<Mutex<Receiver<ScanRead>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    health: Arc<Health>,
}

impl Scans {
    /// Starts the threads: one for every two cores.
    pub(crate) fn start(settings: &Settings, shared: &Arc<Shared>) -> std::io::Result<Self> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let (queue, waiting) = sync_channel(WAITING_MAX);
        let (queue, waiting) = (Mutex::new(Some(queue)), Arc::new(Mutex::new(waiting)));
        let health = Arc::clone(&shared.health);
        let pool = Self { queue, waiting, threads: Mutex::default(), health };
        for _ in 0..(cores / 2).max(1) {
            let (waiting, settings) = (Arc::clone(&pool.waiting), settings.clone());
            let shared = Arc::clone(shared);
            let thread = Builder::new()
                .name("roster-scan".to_owned())
                .spawn(move || run(&waiting, &settings, &shared))?;
            lock(&pool.threads).push(thread);
        }
        Ok(pool)
    }

    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> ReadResult<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let gone = Arc::new(AtomicBool::new(false));
        let _caller = Caller(Arc::clone(&gone));
        let health = Arc::clone(&self.health);
        let read = move |connection: Result<&mut Connection, StoreError>| {
            if !reply.is_closed() {
                let read = |connection| Ok(health.note_read(read_until(gone, connection, read))?);
                drop(reply.send(connection.and_then(read)));
            }
        };
        self.push(Box::new(read))?;
        let closing = |_| StoreError::Unavailable("the store is closing".into());
        answer.await.map_err(closing)?
    }

    fn push(&self, read: ScanRead) -> Result<(), StoreError> {
        let queue = lock(&self.queue);
        let closed = || StoreError::Unavailable("the store is closed".into());
        let full = |_| StoreError::Unavailable("too many long reads wait".into());
        queue.as_ref().ok_or_else(closed)?.try_send(read).map_err(full)
    }

    /// Ends the threads. Waiting reads are dropped.
    pub(crate) fn close(&self) {
        *lock(&self.queue) = None;
        let waiting = lock(&self.waiting);
        while waiting.try_recv().is_ok() {}
        drop(waiting);
        for thread in lock(&self.threads).drain(..) {
            drop(thread.join());
        }
    }
}

/// Runs a read. Its statements fail once the caller is gone.
fn read_until<T>(
    gone: Arc<AtomicBool>,
    connection: &mut Connection,
    read: impl FnOnce(&Connection) -> ReadResult<T>,
) -> ReadResult<T> {
    let mut since = Instant::now();
    let ask = move || {
        if since.elapsed() >= RUN {
            thread::yield_now();
            since = Instant::now();
        }
        gone.load(Ordering::Relaxed)
    };
    connection.progress_handler(STEPS, Some(ask))?;
    let result = read(connection);
    connection.progress_handler(0, None::<fn() -> bool>)?;
    result
}

fn run(waiting: &Mutex<Receiver<ScanRead>>, settings: &Settings, shared: &Shared) {
    lower_priority();
    let next = || lock(waiting).recv();
    let mut opened: Option<(Connection, Arc<InterruptHandle>)> = None;
    while let Ok(read) = next() {
        let (connection, interrupt) = match &mut opened {
            Some(opened) => opened,
            empty => match connection::open_reader(settings) {
                Ok(connection) => {
                    let interrupt = Arc::new(connection.get_interrupt_handle());
                    empty.insert((connection, interrupt))
                }
                Err(error) => {
                    shared.health.note(&error);
                    read(Err(store_error(error)));
                    continue;
                }
            },
        };
        let _running = shared.long_reads.begin(interrupt);
        read(Ok(connection));
    }
}

/// Lowers the priority of this thread. If the system refuses, it keeps the normal priority.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    {
        // On Linux each thread has its own priority.
        let thread = rustix::thread::gettid();
        let _equal = rustix::process::setpriority_process(Some(thread), NICENESS);
    }
}
