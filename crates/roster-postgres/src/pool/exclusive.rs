//! Connections that serve one caller at a time, for transactions and long statements.

use std::sync::{Arc, Mutex, PoisonError};

use roster_core::StoreError;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::{Timeouts, open};
use crate::connect::{Connection, Connector};
use crate::failure::QueryResult;

/// The idle connections, and a permit for each connection that may exist.
pub(crate) struct ExclusivePool {
    connector: Connector,
    permits: Semaphore,
    idle: Mutex<Vec<Arc<Connection>>>,
}

impl ExclusivePool {
    pub(crate) fn new(connector: Connector, connections: usize) -> Self {
        Self { connector, permits: Semaphore::new(connections.max(1)), idle: Mutex::default() }
    }

    /// Runs a query. The connection returns to the pool only if the query succeeds: otherwise a
    /// statement or a transaction may still run on it.
    pub(crate) async fn run<T, Q: Future<Output = QueryResult<T>>>(
        &self,
        timeouts: Timeouts,
        query: impl Fn(Arc<Connection>) -> Q,
    ) -> Result<T, StoreError> {
        let (result, connection, _permit) = timeouts.run(|| self.connection(), query).await?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        Ok(result)
    }

    async fn connection(&self) -> Result<(Arc<Connection>, SemaphorePermit<'_>), StoreError> {
        let permit = self.permits.acquire().await;
        let permit = permit.map_err(|closed| StoreError::Unavailable(Box::new(closed)))?;
        match self.take_idle() {
            Some(connection) => Ok((connection, permit)),
            None => Ok((open(&self.connector).await?, permit)),
        }
    }

    fn take_idle(&self) -> Option<Arc<Connection>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        std::iter::from_fn(|| idle.pop()).find(|connection| connection.is_usable())
    }
}
