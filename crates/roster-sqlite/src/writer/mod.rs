//! The writer: the one thread that changes the database.
//!
//! It takes what was queued while the last commit was synced, executes it in one transaction, and
//! answers once that is on disk. An unexpected error rolls the transaction back, and each request
//! is executed by itself, so that only the faulty one fails. After a failed sync the writer stops:
//! it is not known what the disk holds.

mod apply;
mod checkpoints;
mod facts;
mod indexes;
mod shared;
pub(crate) mod sql;
mod transaction;

use std::{cell::RefCell, sync::Arc, thread, time::Duration};

use roster_core::{Erasure, Failure, Purged, StoreError};
use roster_engine::{IndexRows, Request, Results, Work};
use rusqlite::Connection;
use tokio::sync::mpsc::Receiver;

use crate::{
    failure::{self, ReadError},
    purge::erasure,
    settings::Settings,
    wal::checkpoint::{EMPTY, LOOK, Progress, RESTART, WalLimits, checkpoint},
};
use apply::Applied;
pub(crate) use checkpoints::Maintenance;
pub(crate) use indexes::INDEX_SQL;
pub(crate) use shared::Shared;
use transaction::Fault;
pub(crate) use transaction::preview_request;

/// The maximum wait of a transaction for a reset of the write-ahead log. A reset takes milliseconds
/// once reads are paused, and the pause has a separate limit.
const RESET_WAIT_MAX: Duration = Duration::from_secs(10);

/// The maximum number of waiting tasks.
pub(crate) const TASKS_MAX: usize = 64;

/// Work other than commands, such as changes of keys and housekeeping. It sends its own result, and
/// returns whether it may have changed anything. The writer executes one task after each
/// transaction.
pub(crate) type Task = Box<dyn FnOnce(&Writer) -> bool + Send>;

/// The writer's state: the only connection that writes.
pub(crate) struct Writer {
    pub(crate) connection: Connection,
    /// At this number of pages in the write-ahead log, the next transaction waits for a reset.
    wal_pages_wait: i64,
    pub(crate) shared: Arc<Shared>,
    tasks: Receiver<Task>,
    /// Rows of an index that is built.
    index_rows: RefCell<IndexRows>,
}

impl Writer {
    pub(crate) fn new(
        connection: Connection,
        (shared, tasks): (Arc<Shared>, Receiver<Task>),
        settings: &Settings,
    ) -> Self {
        Self {
            connection,
            wal_pages_wait: WalLimits::of(settings).wait,
            shared,
            tasks,
            index_rows: RefCell::new(IndexRows::in_memory(settings.index_rows_bytes_max)),
        }
    }

    /// Writes until the queue is closed and empty. Returns the connection.
    pub(crate) async fn run(mut self) -> Connection {
        let _stop = StopOnPanic(Arc::clone(&self.shared));
        while let Some(work) = self.shared.queue.next().await {
            if !work.is_empty() {
                let requests: Vec<&Request> = work.iter().flat_map(Work::requests).collect();
                let results = self.execute_requests(&requests);
                self.shared.queue.finish(work, results);
                self.shared.checkpoints.committed();
            }
            if let Ok(task) = self.tasks.try_recv() {
                if task(&self) {
                    self.shared.checkpoints.committed();
                    self.look_for_events();
                }
                if !self.tasks.is_empty() {
                    self.shared.queue.wake();
                }
            }
            if let Some(wanted) = self.shared.checkpoints.take_wanted() {
                self.shared.checkpoints.done(wanted(&self));
            }
            self.wait_for_reset();
        }
        self.connection
    }

    /// Wakes those that wait for the log to grow, after a task that may have appended an event.
    fn look_for_events(&self) {
        // If it cannot be read, the next commit wakes them.
        if let Ok(position) = transaction::position(&self.connection) {
            self.shared.log_reaches(position);
        }
    }

    /// Waits while the write-ahead log is too long for another transaction.
    fn wait_for_reset(&self) {
        let checkpoints = &self.shared.checkpoints;
        while self.checkpoint(LOOK).is_some_and(|log| log.pages >= self.wal_pages_wait)
            && let Some(wanted) = checkpoints.wait_for_wanted(RESET_WAIT_MAX)
        {
            checkpoints.done(wanted(self));
        }
    }

    /// Copies the rest of the write-ahead log, so that the next commit begins at its start. SQLite
    /// reports the old length until then, so a log for which transactions wait is emptied.
    pub(crate) fn restart_log(&self) -> bool {
        let log = self.checkpoint(LOOK);
        let is_long = log.is_some_and(|log| log.pages >= self.wal_pages_wait);
        self.checkpoint(if is_long { EMPTY } else { RESTART }).is_some()
    }

    /// Runs a checkpoint. Returns `None` if it is blocked.
    pub(crate) fn checkpoint(&self, mode: &str) -> Option<Progress> {
        checkpoint(&self.connection, mode, &self.shared.health)
    }

    /// A result for each request, or for the first of them where these change large groups. Those
    /// that succeeded are durable.
    fn execute_requests(&mut self, requests: &[&Request]) -> Results {
        if self.shared.health.is_stopped() {
            let stopped = |_| Err(Failure::Store(StoreError::WritesStopped));
            return requests.iter().map(stopped).collect();
        }
        match transaction::execute(&self.connection, &self.shared, requests) {
            Ok((results, Applied { position, touched, purged, rules, schemas, .. })) => {
                self.shared.set_rules(rules);
                if position != self.shared.position() {
                    self.shared.committed(position, touched, schemas);
                }
                if let Some(position) = purged {
                    self.shared.checkpoints.purged(position);
                }
                results
            }
            Err(fault) => self.fail(requests, fault),
        }
    }

    fn fail(&mut self, requests: &[&Request], fault: Fault) -> Results {
        self.take_note(&fault);
        if fault.common().is_some() {
            // Errors cannot be cloned, so each request gets a new one.
            let refused = |_| fault.common().map(|error| Err(Failure::Store(error)));
            return requests.iter().filter_map(refused).collect();
        }
        if requests.len() > 1 {
            return requests.iter().flat_map(|one| self.execute_requests(&[*one])).collect();
        }
        vec![Err(Failure::Store(fault.into_error()))]
    }

    fn take_note(&self, fault: &Fault) {
        let health = &self.shared.health;
        if fault.is_lost() {
            health.stop();
        } else if fault.is(failure::is_full) {
            health.full();
        } else if let ReadError::Sqlite(error) = &fault.error {
            health.note(error);
        }
    }

    /// Erases a step of something that is purged.
    pub(crate) fn erase(&self, purged: Purged) -> Result<Erasure, StoreError> {
        // The last step stores this position for the sweep. It must differ from the positions of
        // other sweeps: otherwise the end of one sweep would count for both.
        let position = self.shared.position();
        let checkpoints = &self.shared.checkpoints;
        let is_free = checkpoints.last_purged().is_none_or(|purged| purged < position);
        let sweep = is_free.then_some(position);
        let (erasure, sweep) = self.write(|connection| erasure::step(connection, purged, sweep))?;
        if let Some(position) = sweep {
            checkpoints.purged(position);
        }
        if erasure == Erasure::Done && purged.user.is_none() {
            self.shared.forget(purged.tenant);
        }
        Ok(erasure)
    }

    pub(crate) fn write<T, E: Into<ReadError>>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, StoreError> {
        if self.shared.health.is_stopped() {
            return Err(StoreError::WritesStopped);
        }
        transaction::run(&self.connection, || work(&self.connection)).map_err(|fault| {
            self.take_note(&fault);
            fault.into_error()
        })
    }
}

/// Reports a writer that panicked.
struct StopOnPanic(Arc<Shared>);

impl Drop for StopOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.health.stop();
            self.0.queue.abandon();
        }
    }
}
