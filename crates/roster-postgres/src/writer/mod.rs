//! The writers: tasks that carry out what queued, many commands in one transaction.
//!
//! Each has a connection of its own. What it needs to know of the database is fetched in a few
//! statements, the commands are judged in memory, and what they come to is written at once. A
//! transaction that others were in the way of is carried out again, within a deadline. A commit
//! whose answer did not come is never repeated and never cancelled: whoever asked learns that it
//! is unknown what became of it, and a repeated request with its idempotency key finds out.

mod attempt;
mod columns;
mod facts;
pub(crate) mod fetch;
mod flush;
pub(crate) mod forget;
pub(crate) mod groups;
mod judge;
mod prepared;
mod preview;
mod queue;
mod recall;
mod run;
pub(crate) mod sql;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use roster_core::{Failure, StoreError};
use tokio::time::{sleep, timeout_at};

use crate::{
    connect::{Connection, Connector},
    failure::too_slow,
    in_force::RulesInForce,
    pool::Miss,
};
use attempt::{Fault, attempt};
use judge::Names;

pub(crate) use groups::PreviewGroup;
pub(crate) use prepared::Prepared;
pub(crate) use preview::{Preview, SNAPSHOT};
pub(crate) use queue::{Job, Queue, Results};
pub(crate) use recall::Recall;

/// How long a transaction may take, all its tries included, before those who wait for it are told
/// to come again.
const WRITE_TIMEOUT: Duration = Duration::from_secs(8);

/// How long one try may take.
const TRY_TIMEOUT: Duration = Duration::from_secs(3);

/// How long to wait before a transaction is carried out again; doubled with each try.
const PAUSE: Duration = Duration::from_millis(2);

/// How long to wait after all hosts refused.
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);

/// So many times others may be in the way of several commands before each is carried out alone.
const TRIES_TOGETHER: u32 = 4;

/// For so many transactions names are looked up after one was taken that was supposed to be free.
const CAREFUL: u32 = 16;

/// A writer.
pub(crate) struct Writer {
    connector: Connector,
    queue: Arc<Queue>,
    in_force: Arc<RulesInForce>,
    connection: Option<Connection>,
    /// For so many more transactions names are looked up, since lately one was taken.
    careful: u32,
}

impl Writer {
    pub(crate) fn new(
        connector: Connector,
        queue: Arc<Queue>,
        in_force: Arc<RulesInForce>,
    ) -> Self {
        Self { connector, queue, in_force, connection: None, careful: 0 }
    }

    /// Writes until the queue is closed and empty.
    pub(crate) async fn run(mut self) {
        while let Some(work) = self.queue.next().await {
            let commands: Vec<&Prepared> = work.iter().flat_map(queue::Work::commands).collect();
            let mut results = Results::with_capacity(commands.len());
            // A group command is a transaction of its own; what came before it goes before it.
            let together = |one: &&Prepared, other: &&Prepared| {
                one.group_command().is_none() && other.group_command().is_none()
            };
            for commands in commands.chunk_by(together) {
                results.extend(self.carry_out(commands).await);
            }
            self.queue.finish(work, results);
        }
    }

    /// A result for each command. Those that succeeded are durable.
    async fn carry_out(&mut self, commands: &[&Prepared]) -> Results {
        let end = Instant::now() + WRITE_TIMEOUT;
        match self.together(commands, end).await {
            Ok(results) => results,
            Err(Fault::Common(error)) => refuse_all(commands.len(), &error),
            Err(Fault::Lost(error)) => refuse_all(commands.len(), &StoreError::from(error)),
            Err(Fault::Again(error)) if commands.len() < 2 => {
                vec![Err(Failure::Store(error.into()))]
            }
            Err(Fault::EraEnded) => refuse_all(commands.len(), &Miss::EraEnded.into()),
            Err(Fault::Own(error)) if commands.len() < 2 => vec![Err(Failure::Store(error))],
            // One of them is at fault, or in the way of the others: each by itself.
            Err(Fault::Again(_) | Fault::Own(_)) => {
                let mut results = Results::with_capacity(commands.len());
                for command in commands {
                    results.extend(self.alone(command, end).await);
                }
                results
            }
        }
    }

    async fn alone(&mut self, command: &Prepared, end: Instant) -> Results {
        // Each gets some time of its own, however long the others took.
        let end = end.max(Instant::now() + TRY_TIMEOUT);
        let result = match self.together(&[command], end).await {
            Ok(results) => return results,
            Err(Fault::Common(error) | Fault::Own(error)) => error,
            Err(Fault::Again(error) | Fault::Lost(error)) => error.into(),
            Err(Fault::EraEnded) => Miss::EraEnded.into(),
        };
        vec![Err(Failure::Store(result))]
    }

    /// Carries commands out in one transaction, again and again while others are in its way.
    async fn together(&mut self, commands: &[&Prepared], end: Instant) -> Result<Results, Fault> {
        let (mut tries, mut pause) = (0, PAUSE);
        loop {
            let trusting = tries == 0 && self.careful == 0;
            let names = if trusting { Names::TakenToBeFree } else { Names::LookedUp };
            let fault = match self.attempt(commands, names, end).await {
                Ok(results) => {
                    self.careful = self.careful.saturating_sub(1);
                    return Ok(results);
                }
                Err(fault) => fault,
            };
            if trusting && matches!(fault, Fault::Again(_)) {
                (self.careful, tries) = (CAREFUL, tries + 1);
                continue;
            }
            let alone = commands.len() < 2;
            match fault {
                Fault::Again(_) if tries < TRIES_TOGETHER || alone => {
                    tries += 1;
                    // A key that conflicts again may be unique by a policy that is new.
                    if tries > 1 {
                        drop(self.refresh().await);
                    }
                }
                Fault::EraEnded => self.refresh().await?,
                // Nothing of it was committed.
                Fault::Lost(_) => {}
                Fault::Again(_) | Fault::Own(_) | Fault::Common(_) => return Err(fault),
            }
            if Instant::now() + pause >= end {
                return Err(fault);
            }
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    }

    async fn refresh(&self) -> Result<(), Fault> {
        self.in_force.refresh().await.map_err(Fault::Common)
    }

    async fn attempt(
        &mut self,
        commands: &[&Prepared],
        names: Names,
        end: Instant,
    ) -> Result<Results, Fault> {
        let connection = self.connection(end).await?;
        let end = end.min(Instant::now() + TRY_TIMEOUT);
        let sent = std::sync::atomic::AtomicBool::new(false);
        let in_force = self.in_force.known();
        let attempt = async {
            match commands {
                [command] if let Some(command) = command.group_command() => {
                    let attempt = groups::attempt(&connection, in_force, command, &sent);
                    attempt.await.map(|result| vec![result])
                }
                _ => attempt(&connection, in_force, commands, names, &sent).await,
            }
        };
        let outcome = match timeout_at(end.into(), attempt).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Fault::of_silence(&sent)),
        };
        // After a fault nobody knows what still runs on it, unless the database said so.
        let is_sound =
            matches!(outcome, Ok(_) | Err(Fault::Again(_) | Fault::EraEnded | Fault::Own(_)));
        if is_sound && connection.is_usable() {
            self.connection = Some(connection);
        }
        outcome
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
                Err(Fault::Lost(StoreError::Unavailable(Box::new(error)).into()))
            }
            Err(_) => Err(Fault::Lost(too_slow().into())),
        }
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
