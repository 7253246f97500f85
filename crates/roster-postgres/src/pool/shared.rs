//! A few connections that many askers share.
//!
//! Requests of different askers follow each other on the wire without waiting for answers, so a
//! handful of connections serve thousands of short questions. Nothing that takes long and no
//! transaction may run here: those behind would wait, or be inside of it.

use std::{
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use roster_core::StoreError;
use tokio::{
    sync::Mutex,
    time::{sleep, timeout_at},
};

use super::{Question, RECONNECT_PAUSE, Tries, unreachable};
use crate::{
    connect::{Connection, Connector},
    failure::too_slow,
};

/// The connections.
pub(crate) struct Shared {
    connector: Connector,
    slots: Vec<Slot>,
    turn: AtomicUsize,
}

#[derive(Default)]
struct Slot {
    connection: RwLock<Option<Arc<Connection>>>,
    /// Held while a new one is made: one asker makes it, the others wait for it.
    connecting: Mutex<()>,
}

impl Shared {
    pub(crate) fn new(connector: Connector, connections: usize) -> Self {
        let slots = (0..connections.max(1)).map(|_| Slot::default()).collect();
        Self { connector, slots, turn: AtomicUsize::new(0) }
    }

    /// Asks a short question.
    pub(crate) async fn ask<Q: Question>(&self, question: &Q) -> Result<Q::Answer, StoreError> {
        let tries = Tries::of_short();
        loop {
            let connection = self.get(tries.end()).await?;
            if let Some(answer) = tries.ask(&connection, question).await? {
                return Ok(answer);
            }
        }
    }

    /// A connection, made anew where it has to be.
    async fn get(&self, end: Instant) -> Result<Arc<Connection>, StoreError> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.slots.len();
        let Some(slot) = self.slots.get(turn) else { return Err(too_slow()) };
        if let Some(connection) = slot.usable() {
            return Ok(connection);
        }
        loop {
            let made = timeout_at(end.into(), slot.connect(&self.connector)).await;
            match made.unwrap_or_else(|_| Err(too_slow())) {
                // A primary that is being replaced is waited for.
                Err(_) if Instant::now() < end => {}
                outcome => return outcome,
            }
        }
    }
}

impl Slot {
    fn usable(&self) -> Option<Arc<Connection>> {
        let kept = self.connection.read().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().filter(|connection| connection.is_usable()).cloned()
    }

    async fn connect(&self, connector: &Connector) -> Result<Arc<Connection>, StoreError> {
        let _one_at_a_time = self.connecting.lock().await;
        if let Some(connection) = self.usable() {
            return Ok(connection);
        }
        // What is there is of no use: whoever still waits on it learns that now.
        *self.connection.write().unwrap_or_else(PoisonError::into_inner) = None;
        match connector.connect().await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                let mut kept = self.connection.write().unwrap_or_else(PoisonError::into_inner);
                *kept = Some(Arc::clone(&connection));
                Ok(connection)
            }
            Err(error) => {
                sleep(RECONNECT_PAUSE).await;
                Err(unreachable(error))
            }
        }
    }
}
