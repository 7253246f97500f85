//! Pools of open connections.
//!
//! The requests of many callers follow each other on the few connections of a [`SharedPool`],
//! without a wait in between. A connection of an [`ExclusivePool`] serves one caller at a time, for
//! a transaction or a long statement. A connection that fails is dropped, and the next caller opens
//! another one.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use roster_core::StoreError;
use tokio::{
    sync::{Mutex as AsyncMutex, Semaphore, SemaphorePermit},
    time::{sleep, timeout_at},
};

use crate::{
    connect::Connector,
    connection::Connection,
    failure::{QueryError, QueryResult},
    failure::{Remedy, remedy, store_error, superseded, too_slow},
};

/// The pause after all hosts refused a connection.
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);

/// How long a query may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// All attempts together.
    total: Duration,
    attempt: Duration,
}

pub(crate) const SHORT: Timeouts =
    Timeouts { total: Duration::from_secs(4), attempt: Duration::from_millis(1500) };

/// The timeouts of a check of the store: longer than that of a lock.
pub(crate) const PROBE: Timeouts =
    Timeouts { total: Duration::from_secs(2), attempt: Duration::from_millis(1500) };

/// The timeouts of a query of many rows.
pub(crate) const LONG: Timeouts =
    Timeouts { total: Duration::from_secs(30), attempt: Duration::from_secs(30) };

impl Timeouts {
    /// Runs a query on a connection that `connect` returns. After some errors it runs again, on
    /// another connection, unless it may have committed a change. Returns the connection too.
    async fn run<T, P, C, Q>(
        self,
        connector: &Connector,
        connect: impl Fn() -> C,
        query: impl Fn(Arc<Connection>) -> Q,
    ) -> Result<(T, Arc<Connection>, P), StoreError>
    where
        C: Future<Output = Result<(Arc<Connection>, P), StoreError>>,
        Q: Future<Output = QueryResult<T>>,
    {
        let deadline = Instant::now() + self.total;
        // Says more than that the time is over.
        let mut last = None;
        loop {
            let (connection, permit) = match timeout_at(deadline.into(), connect()).await {
                Ok(Ok(connected)) => connected,
                // Another server may become the primary.
                Ok(Err(error)) if Instant::now() < deadline => {
                    last = Some(error);
                    continue;
                }
                Ok(Err(error)) => return Err(error),
                Err(_) => {
                    return Err(match (connector.too_slow(), last) {
                        (StoreError::Unavailable(_), Some(last @ StoreError::Unavailable(_))) => {
                            last
                        }
                        (other, _) => other,
                    });
                }
            };
            let end = deadline.min(Instant::now() + self.attempt);
            let result = timeout_at(end.into(), query(Arc::clone(&connection))).await;
            let (remedy, error) = match result {
                Ok(Ok(result)) if connection.is_current() => {
                    return Ok((result, connection, permit));
                }
                // What it has changed may be lost.
                Ok(Ok(_)) => return Err(superseded()),
                Ok(Err(QueryError::Database(error))) => (remedy(&error.0), store_error(error.0)),
                Ok(Err(error)) => return Err(error.into()),
                Err(_) => (Remedy::Reconnect, too_slow()),
            };
            if remedy == Remedy::Reconnect {
                connection.give_up();
            }
            // Executed again, a change that was made would have another result.
            let may_be_made = remedy == Remedy::Reconnect && connection.is_in_doubt();
            if remedy == Remedy::Nothing || may_be_made || Instant::now() >= deadline {
                return Err(error);
            }
            last = Some(error);
        }
    }
}

/// A few connections that many callers share.
///
/// A connection sends the requests of different callers without waiting for the responses in
/// between, so a few connections serve thousands of short queries. A long query would delay the
/// others, and a transaction would include them: neither may run here.
pub(crate) struct SharedPool {
    connector: Connector,
    /// The lock lasts while a connection is opened: one caller opens it, the others wait for it.
    slots: Vec<AsyncMutex<Option<Arc<Connection>>>>,
    next: AtomicUsize,
}

impl SharedPool {
    pub(crate) fn new(connector: Connector, connections: usize) -> Self {
        let slots = (0..connections.max(1)).map(|_| AsyncMutex::default()).collect();
        Self { connector, slots, next: AtomicUsize::new(0) }
    }

    /// The connector of the store.
    pub(crate) const fn connector(&self) -> &Connector {
        &self.connector
    }

    pub(crate) async fn run<T, Q: Future<Output = QueryResult<T>>>(
        &self,
        query: impl Fn(Arc<Connection>) -> Q,
    ) -> Result<T, StoreError> {
        let (result, ..) = SHORT.run(&self.connector, || self.connection(), query).await?;
        Ok(result)
    }

    async fn connection(&self) -> Result<(Arc<Connection>, ()), StoreError> {
        let next = self.next.fetch_add(1, Ordering::Relaxed) % self.slots.len();
        let Some(slot) = self.slots.get(next) else { return Err(too_slow()) };
        let mut slot = slot.lock().await;
        if let Some(connection) = slot.take().filter(|connection| connection.is_usable()) {
            return Ok((Arc::clone(slot.insert(connection)), ()));
        }
        Ok((Arc::clone(slot.insert(open(&self.connector).await?)), ()))
    }
}

/// Connections that serve one caller at a time, for transactions and long statements.
pub(crate) struct ExclusivePool {
    connector: Connector,
    /// One for each connection that may exist.
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
        let (result, connection, _permit) =
            timeouts.run(&self.connector, || self.connection(), query).await?;
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

/// Opens a connection. A failure is returned after a pause.
async fn open(connector: &Connector) -> Result<Arc<Connection>, StoreError> {
    match connector.connect().await {
        Ok(connection) => Ok(Arc::new(connection)),
        Err(error) => {
            sleep(RECONNECT_PAUSE).await;
            Err(error.into())
        }
    }
}
