//! A few connections that many callers share.
//!
//! Requests of different callers follow each other on a connection without waiting for answers, so
//! that a few connections serve thousands of short queries. A long query would delay the others,
//! and a transaction would include them: neither may run here.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use roster_core::StoreError;
use tokio::sync::Mutex;

use super::{SHORT, open};
use crate::failure::QueryResult;
use crate::{
    connect::{Connection, Connector},
    failure::too_slow,
};

/// The connections.
pub(crate) struct SharedPool {
    connector: Connector,
    /// The lock lasts while a connection is opened: one caller opens it, the others wait for it.
    slots: Vec<Mutex<Option<Arc<Connection>>>>,
    /// The number of the next slot.
    next: AtomicUsize,
}

impl SharedPool {
    pub(crate) fn new(connector: Connector, connections: usize) -> Self {
        let slots = (0..connections.max(1)).map(|_| Mutex::default()).collect();
        Self { connector, slots, next: AtomicUsize::new(0) }
    }

    /// Runs a short query.
    pub(crate) async fn run<T, Q: Future<Output = QueryResult<T>>>(
        &self,
        query: impl Fn(Arc<Connection>) -> Q,
    ) -> Result<T, StoreError> {
        let (result, ..) = SHORT.run(|| self.connection(), query).await?;
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
