//! The writers: tasks that execute what is queued, many commands in one transaction.
//!
//! Each writer has a connection. A batch is executed in memory on facts that are fetched in a few
//! statements, and its writes are applied at once. A transaction that failed is repeated until a
//! deadline, but only if its commit was not sent. Once the commit may have reached the database the
//! batch is in doubt: its callers get 503 and may repeat their requests with the same idempotency
//! key.

mod apply;
pub(crate) mod columns;
mod facts;
mod fetch;
pub(crate) mod forget;
mod group_columns;
mod preview;
pub(crate) mod sql;
mod transaction;

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

use roster_core::{Failure, StoreError};
use roster_engine::{Queue, Request, Results, Work, batches};
use tokio::time::{sleep, timeout_at};

use crate::{
    connect::{Connection, Connector},
    failure::too_slow,
    in_force::RulesInForce,
    pool::QueryError,
};
use transaction::{Fault, execute};

pub(crate) use preview::{SNAPSHOT, dry_run};

/// How long a batch may take, all tries included.
const WRITE_TIMEOUT: Duration = Duration::from_secs(8);

/// How long one try may take.
const TRY_TIMEOUT: Duration = Duration::from_secs(3);

/// The pause before the second try; it doubles with each try.
const PAUSE: Duration = Duration::from_millis(2);

/// The pause after all hosts refused a connection.
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);

/// After so many conflicts each command of a batch is executed by itself.
const CONFLICTS_MAX: u32 = 4;

/// A writer.
pub(crate) struct Writer {
    connector: Connector,
    queue: Arc<Queue>,
    in_force: Arc<RulesInForce>,
    connection: Option<Connection>,
}

impl Writer {
    pub(crate) const fn new(
        connector: Connector,
        queue: Arc<Queue>,
        in_force: Arc<RulesInForce>,
    ) -> Self {
        Self { connector, queue, in_force, connection: None }
    }

    /// Writes until the queue is closed and empty.
    pub(crate) async fn run(mut self) {
        while let Some(work) = self.queue.next().await {
            let requests: Vec<&Request> = work.iter().flat_map(Work::requests).collect();
            let mut results = Results::with_capacity(requests.len());
            for batch in batches(&requests) {
                let mut rest = batch;
                // A transaction may execute only the first of them.
                while !rest.is_empty() {
                    let done = self.execute_batch(rest).await;
                    rest = rest.get(done.len().max(1)..).unwrap_or_default();
                    results.extend(done);
                }
            }
            self.queue.finish(work, results);
        }
    }

    /// The results of the first requests of a batch. Those that succeeded are durable.
    async fn execute_batch(&mut self, batch: &[&Request]) -> Results {
        let end = Instant::now() + WRITE_TIMEOUT;
        match self.execute_repeatedly(batch, end).await {
            Ok(results) => results,
            // One of them is at fault, or conflicts with other transactions.
            Err(Fault::Conflict(_) | Fault::Command(_)) if batch.len() > 1 => {
                let mut results = Results::with_capacity(batch.len());
                for request in batch {
                    // Each has some time of its own, however long the others took.
                    let end = end.max(Instant::now() + TRY_TIMEOUT);
                    let result = self.execute_repeatedly(&[request], end).await;
                    results
                        .extend(result.unwrap_or_else(|fault| refuse_all(1, &store_error(fault))));
                }
                results
            }
            Err(Fault::Command(error)) => vec![Err(Failure::Store(error))],
            Err(fault) => refuse_all(batch.len(), &store_error(fault)),
        }
    }

    /// Executes a batch in one transaction, and again while its commit was not sent.
    async fn execute_repeatedly(
        &mut self,
        batch: &[&Request],
        end: Instant,
    ) -> Result<Results, Fault> {
        let (mut conflicts, mut pause) = (0, PAUSE);
        loop {
            let fault = match self.execute_once(batch, end).await {
                Ok(results) => return Ok(results),
                Err(fault) => fault,
            };
            match fault {
                Fault::Conflict(_) if conflicts < CONFLICTS_MAX || batch.len() == 1 => {
                    conflicts += 1;
                    // A key that conflicts again may be unique by a new policy.
                    if conflicts > 1 {
                        drop(self.refresh_rules().await);
                    }
                }
                Fault::EraEnded => self.refresh_rules().await?,
                Fault::Disconnected(_) | Fault::Busy(_) => {}
                Fault::Conflict(_) | Fault::Command(_) | Fault::Batch(_) => return Err(fault),
            }
            if Instant::now() + pause >= end {
                return Err(fault);
            }
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    }

    async fn refresh_rules(&self) -> Result<(), Fault> {
        self.in_force.refresh().await.map_err(Fault::Batch)
    }

    async fn execute_once(&mut self, batch: &[&Request], end: Instant) -> Result<Results, Fault> {
        let connection = self.connection(end).await?;
        let end = end.min(Instant::now() + TRY_TIMEOUT);
        let commit_was_sent = AtomicBool::new(false);
        let executing = execute(&connection, self.in_force.known(), batch, &commit_was_sent);
        let result = match timeout_at(end.into(), executing).await {
            Ok(result) => result,
            Err(_) => Err(Fault::of_silence(&commit_was_sent)),
        };
        // After any other fault a statement may still run on the connection.
        let is_idle = matches!(
            result,
            Ok(_) | Err(Fault::Conflict(_) | Fault::Busy(_) | Fault::EraEnded | Fault::Command(_))
        );
        if is_idle && connection.is_usable() {
            self.connection = Some(connection);
        }
        result
    }

    async fn connection(&mut self, end: Instant) -> Result<Connection, Fault> {
        if let Some(connection) = self.connection.take()
            && connection.is_usable()
        {
            return Ok(connection);
        }
        match timeout_at(end.into(), self.connector.connect()).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) => {
                sleep(RECONNECT_PAUSE).await;
                Err(Fault::Disconnected(StoreError::Unavailable(Box::new(error))))
            }
            Err(_) => Err(Fault::Disconnected(too_slow())),
        }
    }
}

/// What a caller learns of a fault.
fn store_error(fault: Fault) -> StoreError {
    match fault {
        Fault::EraEnded => QueryError::EraEnded.into(),
        Fault::Conflict(error)
        | Fault::Busy(error)
        | Fault::Disconnected(error)
        | Fault::Command(error)
        | Fault::Batch(error) => error,
    }
}

fn refuse_all(count: usize, error: &StoreError) -> Results {
    let text = error.with_causes();
    let refused = |_| match error {
        StoreError::Full(_) => Err(Failure::Store(StoreError::Full(text.clone().into()))),
        StoreError::Unavailable(_)
        | StoreError::WritesStopped
        | StoreError::TimedOut
        | StoreError::Corrupt { .. }
        | StoreError::Internal(_) => {
            Err(Failure::Store(StoreError::Unavailable(text.clone().into())))
        }
    };
    (0..count).map(refused).collect()
}
