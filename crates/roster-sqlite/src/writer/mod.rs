//! The writer: the one thread that changes the database.
//!
//! It takes what queued while the last commit was synced, carries it out in one transaction, and
//! answers once that is on disk: no window to wait for, no commit per command. An unexpected error
//! rolls the transaction back and replays its commands one by one, so that only the faulty one
//! fails. After a failed sync it writes nothing any more: what the disk holds is not known.

pub(crate) mod erasure;
mod foresee;
pub(crate) mod forget;
pub(crate) mod found_by;
pub(crate) mod groups;
pub(crate) mod judge;
mod once;
pub(crate) mod preview;
pub(crate) mod queue;
mod rows;
pub(crate) mod sql;
mod step;
mod transaction;

use std::{sync::Arc, thread, time::Duration};

use roster_core::{
    ClockMark, ClockReading, Erasure, Failure, Head, Outlived, Rules, StoreError, Timestamp,
    UserId,
    access::{ApiKey, KeyChange, KeyFailure, KeyId},
};
use rusqlite::Connection;

use crate::{
    checkpoint::{LOOK, Wanted, checkpoint, fulfil},
    clock_mark, failure, keys, scrub,
    shared::Shared,
};
pub(crate) use foresee::Prepared;
use queue::{Job, Results, Turn, Work};
use step::End;
use transaction::Fault;
#[cfg(test)]
pub(crate) use transaction::MEMBERS_MAX;

/// How long a transaction waits at most for a reset of the write-ahead log. A reset takes
/// milliseconds once readings are paused, and the pause has a bound of its own.
const RESET_WAIT_MAX: Duration = Duration::from_secs(10);

/// The writer's state: the only connection that writes.
pub(crate) struct Writer {
    connection: Connection,
    rules: Rules,
    /// At so many pages in the write-ahead log the next transaction waits for a reset.
    wal_pages_wait: i64,
    shared: Arc<Shared>,
    head: Head,
}

impl Writer {
    pub(crate) fn new(
        connection: Connection,
        rules: Rules,
        shared: Arc<Shared>,
        head: Head,
        wal_pages_wait: i64,
    ) -> Self {
        Self { connection, rules, wal_pages_wait, shared, head }
    }

    /// Writes until the queue is closed and empty; gives the connection back.
    pub(crate) fn run(mut self) -> Connection {
        let _stop = StopOnPanic(Arc::clone(&self.shared));
        while let Some(Turn { work, chore }) = self.shared.queue.next() {
            if !work.is_empty() {
                self.work(work);
                self.shared.checkpoints.committed();
            }
            if let Some(chore) = chore {
                chore(&self);
                self.shared.checkpoints.committed();
            }
            if let Some(wanted) = self.shared.checkpoints.take_wanted() {
                self.fulfil(wanted);
            }
            self.wait_for_reset();
        }
        self.connection
    }

    fn fulfil(&self, wanted: Wanted) {
        let done = match wanted {
            Wanted::Unmark(position) => self.note(|connection| scrub::unmark(connection, position)),
            Wanted::Save(pass) => self.note(|connection| pass.save(connection)),
            wanted @ (Wanted::Rest | Wanted::Empty | Wanted::Clean { .. }) => {
                fulfil(&self.connection, &wanted, &self.shared.health)
            }
        };
        self.shared.checkpoints.done(done);
    }

    /// Waits while the write-ahead log is too long for another transaction.
    fn wait_for_reset(&self) {
        let Shared { health, checkpoints, .. } = &*self.shared;
        while !health.is_stopped()
            && checkpoint(&self.connection, LOOK, health)
                .is_some_and(|log| log.pages >= self.wal_pages_wait)
            && let Some(wanted) = checkpoints.wait_for_wanted(RESET_WAIT_MAX)
        {
            self.fulfil(wanted);
        }
    }

    fn work(&mut self, work: Vec<Work>) {
        let commands: Vec<&Prepared> =
            work.iter().flat_map(|work| work.job.next(work.count)).collect();
        let mut results = self.carry_out(&commands).into_iter();
        let done: Vec<(Job, Results)> = work
            .into_iter()
            .map(|work| (work.job, results.by_ref().take(work.count).collect()))
            .collect();
        self.shared.queue.finish(done);
    }

    /// A result for each command, or for the first of them where these are much work. Those that
    /// succeeded are durable.
    fn carry_out(&mut self, commands: &[&Prepared]) -> Results {
        if self.shared.health.is_stopped() {
            let stopped = |_| Err(Failure::Store(StoreError::WritesStopped));
            return commands.iter().map(stopped).collect();
        }
        match transaction::carry_out(&self.connection, self.rules, self.head, commands) {
            Ok((results, End { head, touched, purged })) => {
                if head != self.head {
                    self.head = head;
                    self.shared.committed(head, touched);
                }
                if let Some(position) = purged {
                    self.shared.checkpoints.purged(position);
                }
                results
            }
            Err(fault) => self.fail(commands, fault),
        }
    }

    fn fail(&mut self, commands: &[&Prepared], fault: Fault) -> Results {
        self.take_note(&fault);
        let common = commands.iter().filter_map(|_| fault.common());
        let common: Results = common.map(|error| Err(Failure::Store(error))).collect();
        if !common.is_empty() {
            return common;
        }
        if commands.len() > 1 {
            return commands.iter().flat_map(|command| self.carry_out(&[*command])).collect();
        }
        vec![Err(Failure::Store(fault.into_error()))]
    }

    fn take_note(&self, fault: &Fault) {
        let health = &self.shared.health;
        if fault.is_lost() {
            health.stop();
        } else if failure::is_full(&fault.error) {
            health.full();
        } else if failure::is_corrupt(&fault.error) {
            health.damaged("the database file");
        }
    }

    /// Drops a step of what has outlived its time.
    pub(crate) fn forget(&self, before: Outlived) -> Result<u64, StoreError> {
        self.write(|connection| forget::step(connection, before))
    }

    /// Erases a step of the history of a purged user.
    pub(crate) fn erase(&self, id: UserId) -> Result<Erasure, StoreError> {
        // The sweep after the last step has its own position: that of another one would end both.
        let position = self.head.position;
        let checkpoints = &self.shared.checkpoints;
        let is_free = checkpoints.last_purged().is_none_or(|purged| purged < position);
        let sweep = is_free.then_some(position);
        Ok(match self.write(|connection| erasure::step(connection, id, sweep))? {
            erasure::Step::Nothing => Erasure::Done,
            erasure::Step::Erased { rows: 0 } => Erasure::Waiting,
            erasure::Step::Erased { .. } => Erasure::Pending,
            erasure::Step::Ended => {
                checkpoints.purged(position);
                Erasure::Done
            }
        })
    }

    /// Advances the clock mark.
    pub(crate) fn advance_clock_mark(
        &self,
        reading: ClockReading,
    ) -> Result<ClockMark, StoreError> {
        self.write(|connection| clock_mark::advance(connection, reading))
    }

    /// Changes the keys.
    pub(crate) fn change_keys(&self, change: &KeyChange) -> Result<ApiKey, KeyFailure> {
        Ok(self.write(|connection| keys::change(connection, change))???)
    }

    /// Notes when keys were used.
    pub(crate) fn note_key_use(&self, uses: &[(KeyId, Timestamp)]) -> Result<(), StoreError> {
        self.write(|connection| keys::note_use(connection, uses))
    }

    /// Writes what a sweep notes about itself; false where that failed.
    fn note(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<()>) -> bool {
        let noted = self.write(work).is_ok();
        self.shared.checkpoints.committed();
        noted
    }

    /// Writes what is no command.
    fn write<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
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
