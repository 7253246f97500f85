//! The writers: tasks that execute queued commands, many in one transaction.
//!
//! Each writer has a connection. A batch is executed in memory on facts that are fetched in a few
//! statements, and its writes are applied at once. A transaction that failed is repeated until a
//! deadline, but only if its commit was not sent. Once the commit may have reached the database the
//! batch is in doubt: its callers get 503 and may repeat their requests with the same idempotency
//! key.

mod apply;
mod facts;
mod fetch;
pub(crate) mod parameters;
pub(crate) mod sql;
mod steps;
mod transaction;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use roster_core::{Failure, StoreError, TenantId, store::StoreFaults};
use roster_engine::{Queue, Request, Results, Work, batches};
use tokio::time::{sleep, timeout_at};

use crate::{connect::Connector, connection::Connection, in_force::RulesInForce};
use facts::Fetched;
pub(crate) use transaction::dry_run;
use transaction::{Fault, FaultKind, execute};

/// The timeout of a batch, all attempts together.
const WRITE_TIMEOUT: Duration = Duration::from_secs(8);

const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);

/// The pause before the second attempt. It doubles with each attempt.
const PAUSE: Duration = Duration::from_millis(2);

/// The pause after all hosts refused a connection.
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);

/// The number of conflicts after which each command of a batch has its own transaction.
const CONFLICTS_MAX: u32 = 4;

/// The number of commands in a row that waited too long for a lock, each in its own transaction,
/// after which the others of their batch are refused: the lock is not that of a single user.
const LOCK_TIMEOUTS_MAX: u32 = 2;

pub(crate) struct Writer {
    connector: Connector,
    queue: Arc<Queue>,
    in_force: Arc<RulesInForce>,
    counters: Arc<Counters>,
    connection: Option<Connection>,
}

/// How often transactions of writes failed.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    conflicts: AtomicU64,
    lock_timeouts: AtomicU64,
    commits_in_doubt: AtomicU64,
}

impl Counters {
    fn count(&self, kind: FaultKind) {
        let counter = match kind {
            FaultKind::Conflict => &self.conflicts,
            FaultKind::LockTimeout => &self.lock_timeouts,
            FaultKind::InDoubt => &self.commits_in_doubt,
            FaultKind::Disconnected
            | FaultKind::EraEnded
            | FaultKind::Command
            | FaultKind::Batch => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> StoreFaults {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        StoreFaults {
            conflicts: read(&self.conflicts),
            lock_timeouts: read(&self.lock_timeouts),
            commits_in_doubt: read(&self.commits_in_doubt),
            superseded_servers: 0,
        }
    }
}

impl Writer {
    pub(crate) const fn new(
        connector: Connector,
        queue: Arc<Queue>,
        in_force: Arc<RulesInForce>,
        counters: Arc<Counters>,
    ) -> Self {
        Self { connector, queue, in_force, counters, connection: None }
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
            // One of them is faulty, or conflicts with other transactions.
            Err(Fault {
                kind: FaultKind::Conflict | FaultKind::LockTimeout | FaultKind::Command,
                ..
            }) if batch.len() > 1 => self.execute_singly(batch, end).await,
            Err(fault) => refuse(batch.len(), fault),
        }
    }

    /// Executes each command of a batch in its own transaction.
    async fn execute_singly(&mut self, batch: &[&Request], end: Instant) -> Results {
        let mut results = Results::with_capacity(batch.len());
        let mut lock_timeouts = 0;
        for request in batch {
            // Each command has its own timeout.
            let end = end.max(Instant::now() + ATTEMPT_TIMEOUT);
            match self.execute_repeatedly(&[request], end).await {
                Ok(result) => {
                    lock_timeouts = 0;
                    results.extend(result);
                }
                Err(fault) if fault.kind == FaultKind::LockTimeout => {
                    lock_timeouts += 1;
                    if lock_timeouts >= LOCK_TIMEOUTS_MAX {
                        results.extend(refuse(batch.len() - results.len(), fault));
                        return results;
                    }
                    results.extend(refuse(1, fault));
                }
                Err(fault) => results.extend(refuse(1, fault)),
            }
        }
        results
    }

    /// Executes a batch in one transaction. Repeats it after a failure if its commit was not sent.
    async fn execute_repeatedly(
        &mut self,
        batch: &[&Request],
        end: Instant,
    ) -> Result<Results, Fault> {
        let (mut conflicts, mut pause) = (0, PAUSE);
        let mut facts = Fetched::of(tenant_of(batch));
        loop {
            let result = self.attempt(batch, &mut facts, end).await;
            let Err(fault) = result else { return result };
            self.counters.count(fault.kind);
            match fault.kind {
                FaultKind::Conflict if conflicts < CONFLICTS_MAX || batch.len() == 1 => {
                    conflicts += 1;
                    // A key that conflicts again may be unique by a new policy.
                    if conflicts > 1 {
                        drop(self.refresh_rules().await);
                    }
                }
                FaultKind::EraEnded => self.refresh_rules().await?,
                FaultKind::Disconnected => {}
                FaultKind::LockTimeout if batch.len() == 1 => {}
                FaultKind::Conflict
                | FaultKind::LockTimeout
                | FaultKind::Command
                | FaultKind::Batch
                | FaultKind::InDoubt => return Err(fault),
            }
            if Instant::now() + pause >= end {
                return Err(fault);
            }
            sleep(jittered(pause)).await;
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    }

    async fn refresh_rules(&self) -> Result<(), Fault> {
        self.in_force.refresh().await.map_err(|error| Fault::new(FaultKind::Batch, error))
    }

    async fn attempt(
        &mut self,
        batch: &[&Request],
        facts: &mut Fetched,
        end: Instant,
    ) -> Result<Results, Fault> {
        let connection = self.connection(end).await?;
        let end = end.min(Instant::now() + ATTEMPT_TIMEOUT);
        let commit_may_arrive = AtomicBool::new(false);
        let executing = execute(&connection, &self.in_force, batch, facts, &commit_may_arrive);
        let silence = |_| Err(Fault::of_silence(&commit_may_arrive));
        let result = timeout_at(end.into(), executing).await.unwrap_or_else(silence);
        // After any other fault a statement may still run on the connection.
        let is_idle = !result.as_ref().is_err_and(|fault| {
            matches!(fault.kind, FaultKind::Disconnected | FaultKind::Batch | FaultKind::InDoubt)
        });
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
        let error = match timeout_at(end.into(), self.connector.connect_for_writes()).await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(error)) => {
                sleep(RECONNECT_PAUSE).await;
                error.into()
            }
            Err(_) => self.connector.too_slow(),
        };
        Err(Fault::new(FaultKind::Disconnected, error))
    }
}

/// The tenant of the requests of a batch.
fn tenant_of(batch: &[&Request]) -> TenantId {
    batch.first().map_or(TenantId::DEFAULT, |request| request.tenant())
}

/// A pause of random length, half as long as this one or longer, so that two transactions do not
/// conflict again at the same time.
fn jittered(pause: Duration) -> Duration {
    let random = getrandom::u32().unwrap_or_default();
    pause / 2 + pause.mul_f64(f64::from(random) / f64::from(u32::MAX))
}

/// A result for each command of a batch that failed.
fn refuse(count: usize, Fault { kind, error }: Fault) -> Results {
    if kind == FaultKind::Command && count == 1 {
        return vec![Err(Failure::Store(error))];
    }
    let refused = |_| {
        let text = error.with_causes().into();
        Err(Failure::Store(match error {
            StoreError::Full(_) => StoreError::Full(text),
            StoreError::Superseded(_) => StoreError::Superseded(text),
            StoreError::Unavailable(_)
            | StoreError::WritesStopped
            | StoreError::TimedOut
            | StoreError::Corrupt { .. }
            | StoreError::Internal(_) => StoreError::Unavailable(text),
        }))
    };
    (0..count).map(refused).collect()
}
