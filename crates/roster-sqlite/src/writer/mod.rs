//! The writer: the one thread that changes the database.
//!
//! It takes what queued while the last commit was synced, carries it out in one transaction, and
//! answers once that is on disk: no window to wait for, no commit per command. An unexpected error
//! rolls the transaction back and replays its commands one by one, so that only the faulty one
//! fails. After a failed sync it writes nothing any more: what the disk holds is not known.

pub(crate) mod queue;
pub(crate) mod sql;
mod step;
mod transaction;

use std::{sync::Arc, thread};

use roster_core::{Command, Failure, Head, Rules, StoreError};
use rusqlite::Connection;

use crate::{checkpoint::fulfil, failure, shared::Shared};
use queue::{Job, Results, Work};
use transaction::{Committed, Fault, Moment};

/// The writer's state: the only connection that writes.
pub(crate) struct Writer {
    connection: Connection,
    rules: Rules,
    shared: Arc<Shared>,
    head: Head,
}

impl Writer {
    pub(crate) fn new(
        connection: Connection,
        rules: Rules,
        shared: Arc<Shared>,
        head: Head,
    ) -> Self {
        Self { connection, rules, shared, head }
    }

    /// Writes until the queue is closed and empty; gives the connection back.
    pub(crate) fn run(mut self) -> Connection {
        let _stop = StopOnPanic(Arc::clone(&self.shared));
        while let Some(work) = self.shared.queue.next() {
            if !work.is_empty() {
                self.work(work);
                self.shared.checkpoints.committed();
            }
            if let Some(wanted) = self.shared.checkpoints.wanted() {
                fulfil(&self.connection, wanted, &self.shared.health);
                self.shared.checkpoints.done();
            }
        }
        self.connection
    }

    fn work(&mut self, work: Vec<Work>) {
        let commands: Vec<&Command> =
            work.iter().flat_map(|work| work.job.next(work.count)).collect();
        let mut results = self.carry_out(&commands).into_iter();
        let done: Vec<(Job, Results)> = work
            .into_iter()
            .map(|work| (work.job, results.by_ref().take(work.count).collect()))
            .collect();
        self.shared.queue.finish(done);
    }

    /// A result for each command. Those that succeeded are durable.
    fn carry_out(&mut self, commands: &[&Command]) -> Results {
        if self.shared.health.is_stopped() {
            return all(commands, || StoreError::WritesStopped);
        }
        match transaction::run(&self.connection, self.rules, self.head, commands) {
            Ok(Committed { results, head, touched }) => {
                if head != self.head {
                    self.head = head;
                    self.shared.committed(head, &touched);
                }
                results
            }
            Err(fault) => self.fail(commands, fault),
        }
    }

    fn fail(&mut self, commands: &[&Command], fault: Fault) -> Results {
        let Fault { error, moment } = fault;
        let lost = failure::is_failed_sync(&error)
            || (moment == Moment::Commit && failure::is_io(&error) && !failure::is_full(&error));
        if lost {
            self.shared.health.stop();
            let text = error.to_string();
            return all(commands, || StoreError::Unavailable(text.clone().into()));
        }
        if failure::is_full(&error) {
            self.shared.health.full();
            let text = error.to_string();
            return all(commands, || StoreError::Full(text.clone().into()));
        }
        if failure::is_busy(&error) {
            // Each command by itself would wait just as long.
            let text = error.to_string();
            return all(commands, || StoreError::Unavailable(text.clone().into()));
        }
        if failure::is_corrupt(&error) {
            self.shared.health.damaged("the database file");
        }
        if commands.len() > 1 {
            return commands.iter().flat_map(|command| self.carry_out(&[*command])).collect();
        }
        vec![Err(Failure::Store(failure::store_error(error)))]
    }
}

fn all(commands: &[&Command], error: impl Fn() -> StoreError) -> Results {
    commands.iter().map(|_| Err(Failure::Store(error()))).collect()
}

/// A writer that dies writes no more, and says so.
struct StopOnPanic(Arc<Shared>);

impl Drop for StopOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.health.stop();
            self.0.queue.abandon();
        }
    }
}
