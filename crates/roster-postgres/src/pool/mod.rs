//! Pools of open connections.
//!
//! The requests of many callers follow each other on the few connections of a [`SharedPool`],
//! without a wait in between. A connection of an [`ExclusivePool`] serves one caller at a time, for
//! a transaction or a long statement. A connection that fails is dropped, and the next caller opens
//! another one.

mod exclusive;
mod shared;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use roster_core::StoreError;
use tokio::time::{sleep, timeout_at};

use crate::{
    connect::{Connection, Connector},
    failure::{QueryError, QueryResult},
    failure::{Remedy, remedy, store_error, too_slow},
};
pub(crate) use exclusive::ExclusivePool;
pub(crate) use shared::SharedPool;

/// The pause after all hosts refused a connection.
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);

/// How long a query may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// All attempts together.
    total: Duration,
    /// One attempt.
    attempt: Duration,
}

/// The timeouts of a short query.
pub(crate) const SHORT: Timeouts =
    Timeouts { total: Duration::from_secs(4), attempt: Duration::from_millis(1500) };

/// The timeouts of a query of many rows.
pub(crate) const LONG: Timeouts =
    Timeouts { total: Duration::from_secs(30), attempt: Duration::from_secs(30) };

impl Timeouts {
    /// Runs a query on a connection that `connect` returns. After some errors it runs again, on
    /// another connection. Returns the connection too.
    async fn run<T, P, C, Q>(
        self,
        connect: impl Fn() -> C,
        query: impl Fn(Arc<Connection>) -> Q,
    ) -> Result<(T, Arc<Connection>, P), StoreError>
    where
        C: Future<Output = Result<(Arc<Connection>, P), StoreError>>,
        Q: Future<Output = QueryResult<T>>,
    {
        let deadline = Instant::now() + self.total;
        loop {
            let (connection, permit) = match timeout_at(deadline.into(), connect()).await {
                Ok(Ok(connected)) => connected,
                // Another server may become the primary.
                Ok(Err(_)) if Instant::now() < deadline => continue,
                Ok(Err(error)) => return Err(error),
                Err(_) => return Err(too_slow()),
            };
            let end = deadline.min(Instant::now() + self.attempt);
            let result = timeout_at(end.into(), query(Arc::clone(&connection))).await;
            let (remedy, error) = match result {
                Ok(Ok(result)) => return Ok((result, connection, permit)),
                Ok(Err(QueryError::Database(error))) => (remedy(&error.0), store_error(error.0)),
                Ok(Err(error)) => return Err(error.into()),
                Err(_) => (Remedy::Reconnect, too_slow()),
            };
            if remedy == Remedy::Reconnect {
                connection.give_up();
            }
            if remedy == Remedy::Nothing || Instant::now() >= deadline {
                return Err(error);
            }
        }
    }
}

/// Opens a connection. A failure is returned after a pause.
async fn open(connector: &Connector) -> Result<Arc<Connection>, StoreError> {
    match connector.connect().await {
        Ok(connection) => Ok(Arc::new(connection)),
        Err(error) => {
            sleep(RECONNECT_PAUSE).await;
            Err(StoreError::Unavailable(Box::new(error)))
        }
    }
}
