//! Connections that one asker has for itself, for what takes several statements.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use roster_core::StoreError;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{sleep, timeout_at},
};

use super::{Question, RECONNECT_PAUSE, Tries, unreachable};
use crate::{
    connect::{Connection, Connector},
    failure::too_slow,
};

/// The connections, and how many of them there may be.
pub(crate) struct Own {
    connector: Connector,
    permits: Semaphore,
    idle: Mutex<Vec<Arc<Connection>>>,
}

/// A connection for the time of a transaction. Dropped before it was given back, it is closed:
/// nobody knows what still runs on it.
struct Lease<'p> {
    pool: &'p Own,
    connection: Arc<Connection>,
    _permit: SemaphorePermit<'p>,
}

impl Own {
    pub(crate) fn new(connector: Connector, connections: usize) -> Self {
        Self { connector, permits: Semaphore::new(connections.max(1)), idle: Mutex::default() }
    }

    /// Asks on a connection that nobody else uses meanwhile.
    pub(crate) async fn ask<Q: Question>(
        &self,
        tries: Tries,
        question: &Q,
    ) -> Result<Q::Answer, StoreError> {
        loop {
            let lease = self.get(tries.end()).await?;
            if let Some(answer) = tries.ask(&lease.connection, question).await? {
                lease.give_back();
                return Ok(answer);
            }
        }
    }

    /// A connection of one's own, as soon as there is one.
    async fn get(&self, end: Instant) -> Result<Lease<'_>, StoreError> {
        loop {
            let lease = timeout_at(end.into(), self.lease()).await;
            match lease.unwrap_or_else(|_| Err(too_slow())) {
                // A primary that is being replaced is waited for.
                Err(_) if Instant::now() < end => sleep(RECONNECT_PAUSE).await,
                outcome => return outcome,
            }
        }
    }

    async fn lease(&self) -> Result<Lease<'_>, StoreError> {
        let permit = self.permits.acquire().await;
        let permit = permit.map_err(|closed| StoreError::Unavailable(Box::new(closed)))?;
        let connection = match self.kept() {
            Some(connection) => connection,
            None => Arc::new(self.connector.connect().await.map_err(unreachable)?),
        };
        Ok(Lease { pool: self, connection, _permit: permit })
    }

    fn kept(&self) -> Option<Arc<Connection>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(connection) = idle.pop() {
            if connection.is_usable() {
                return Some(connection);
            }
        }
        None
    }
}

impl Lease<'_> {
    /// Gives the connection back, outside of any transaction.
    fn give_back(self) {
        let mut idle = self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(Arc::clone(&self.connection));
    }
}
