//! What PostgreSQL allows a reader: the same point reads in a bare loop, without HTTP.
//!
//! As many pipelined connections as the service reads on, shared by as many askers as there are
//! callers, and a statement for each read.

use std::{num::NonZero, sync::Arc, thread::available_parallelism, time::Duration};

use anyhow::{Result, ensure};
use tokio::task::JoinSet;
use tokio_postgres::{Client, Statement};
use uuid::Uuid;

use super::counter::{Counter, Done};
use crate::bench::people::Random;

/// Connections that the service reads on: as many as it uses by default.
pub(super) fn connections() -> usize {
    available_parallelism().map_or(2, NonZero::get).clamp(2, 4)
}

/// A user by its id.
const ONE: &str = "SELECT version, record FROM users WHERE id = $1";
/// Fewest bytes of a record: a fast read of nothing would be no result.
const RECORD_BYTES_MIN: usize = 200;

/// The connections, and whom to read.
pub(super) struct Reads {
    connections: Vec<Arc<(Client, Statement)>>,
    ids: Arc<[Uuid]>,
}

impl Reads {
    /// Prepares the statement on each connection.
    pub(super) async fn open(clients: Vec<Client>, ids: Vec<Uuid>) -> Result<Self> {
        let mut connections = Vec::new();
        for client in clients {
            let statement = client.prepare(ONE).await?;
            connections.push(Arc::new((client, statement)));
        }
        Ok(Self { connections, ids: ids.into() })
    }

    /// So many askers read users at random.
    pub(super) async fn run(&self, askers: usize, seed: u64, measure: Duration) -> Result<Done> {
        let (mut tasks, counter) = (JoinSet::new(), Counter::start(measure)?);
        let connections = self.connections.iter().cycle().take(askers);
        for (connection, asker) in connections.zip(0_u64..) {
            let random = Random::new((seed << 8) + asker);
            tasks.spawn(ask(connection.clone(), self.ids.clone(), random, counter.clone()));
        }
        let counters = tasks.join_all().await.into_iter().collect::<Result<_>>()?;
        counter.sum(counters)
    }
}

async fn ask(
    connection: Arc<(Client, Statement)>,
    ids: Arc<[Uuid]>,
    mut random: Random,
    mut counter: Counter,
) -> Result<Counter> {
    let (client, statement) = &*connection;
    while let Some(asked) = counter.ask() {
        let Some(id) = random.pick(&ids) else { break };
        let row = client.query_one(statement, &[id]).await?;
        let record: &str = row.try_get(1)?;
        ensure!(record.len() > RECORD_BYTES_MIN, "a record of {} bytes", record.len());
        counter.answered(asked);
    }
    Ok(counter)
}
