//! The threads that read what may take long: pages that look at many rows, and long pages.
//!
//! They are few and of lower priority than the threads that answer requests, so that whoever asks
//! for what no index answers waits for it alone. What waits is bounded; what nobody waits for any
//! more is not begun.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::{self, Builder, JoinHandle},
};

use roster_core::StoreError;
use rusqlite::{Connection, InterruptHandle};
use tokio::sync::oneshot;

use crate::{connection, failure::store_error, settings::Settings, shared::Shared};

/// Most readings that wait.
const WAITING_MAX: usize = 64;

/// How much lower the priority of these threads is, as nice counts it.
const NICENESS: i32 = 10;

/// A reading, which answers by itself.
type Reading = Box<dyn FnOnce(Result<&Connection, StoreError>) + Send>;

/// The pool.
pub(crate) struct Scans {
    queue: Arc<Queue>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    came: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Reading>,
    closed: bool,
}

impl Scans {
    /// Starts the threads: one for each two cores.
    pub(crate) fn start(settings: &Settings, shared: &Arc<Shared>) -> std::io::Result<Self> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let queue = Arc::new(Queue::default());
        let pool = Self { queue: Arc::clone(&queue), threads: Mutex::default() };
        for _ in 0..(cores / 2).max(1) {
            let (queue, settings) = (Arc::clone(&queue), settings.clone());
            let shared = Arc::clone(shared);
            let thread = Builder::new()
                .name("roster-scan".to_owned())
                .spawn(move || queue.run(&settings, &shared))?;
            pool.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        }
        Ok(pool)
    }

    /// Reads on one of the threads.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let reading = move |connection: Result<&Connection, StoreError>| {
            if !reply.is_closed() {
                drop(reply.send(connection.and_then(read)));
            }
        };
        self.queue.push(Box::new(reading))?;
        match answer.await {
            Ok(result) => result,
            Err(_) => Err(StoreError::Unavailable("the store is closing".into())),
        }
    }

    /// Ends the threads; what waits is dropped.
    pub(crate) fn close(&self) {
        {
            let mut state = self.queue.state.lock().unwrap_or_else(PoisonError::into_inner);
            *state = State { closed: true, ..State::default() };
        }
        self.queue.came.notify_all();
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            drop(thread.join());
        }
    }
}

impl Queue {
    fn push(&self, reading: Reading) -> Result<(), StoreError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.closed {
            return Err(StoreError::Unavailable("the store is closed".into()));
        }
        if state.waiting.len() >= WAITING_MAX {
            return Err(StoreError::Unavailable("too many long readings wait".into()));
        }
        state.waiting.push_back(reading);
        drop(state);
        self.came.notify_one();
        Ok(())
    }

    fn next(&self) -> Option<Reading> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let quiet = |state: &mut State| state.waiting.is_empty() && !state.closed;
        let mut state = self.came.wait_while(state, quiet).unwrap_or_else(PoisonError::into_inner);
        state.waiting.pop_front()
    }

    fn run(&self, settings: &Settings, shared: &Shared) {
        lower_priority();
        let mut opened: Option<(Connection, Arc<InterruptHandle>)> = None;
        while let Some(reading) = self.next() {
            if opened.is_none() {
                match connection::open_reader(settings) {
                    Ok(connection) => {
                        let interrupt = Arc::new(connection.get_interrupt_handle());
                        opened = Some((connection, interrupt));
                    }
                    Err(error) => {
                        reading(Err(store_error(error)));
                        continue;
                    }
                }
            }
            if let Some((connection, interrupt)) = &opened {
                let _running = shared.long_reads.begin(interrupt);
                reading(Ok(connection));
            }
        }
    }
}

/// Lets others go first. Where that is refused, all threads are equal.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    {
        // On Linux the priority is a thread's own.
        let thread = rustix::thread::gettid();
        let _equal = rustix::process::setpriority_process(Some(thread), NICENESS);
    }
}
