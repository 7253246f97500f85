//! Lookups of single users: those that wait at the same time share a statement.
//!
//! While the statements of all tasks run, further lookups wait in a channel. A task then takes many
//! of them for its next statement, so that a lookup costs less when there are more. A lookup is in
//! the channel before its statement is sent, so that no result is older than the lookup.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex as BlockingMutex, PoisonError},
};

use roster_core::{StoreError, Stored, TenantId, UserId};
use roster_engine::Values;
use tokio::sync::{Mutex, mpsc, oneshot};
use uuid::Uuid;

use crate::{
    columns::uuid, connection::Connection, failure::QueryResult, pool::SharedPool,
    reads::rows::values,
};

/// The maximum number of users of one statement.
const USERS_MAX: usize = 128;

/// The maximum number of waiting lookups. Further ones are rejected at once.
const WAITING_MAX: usize = 20_000;

/// The users of some ids, each of a tenant. The order of a lookup admits one index only.
pub(crate) const GET: &str = "SELECT found.*, named.tenant \
     FROM unnest($1::integer[], $2::uuid[]) AS named (tenant, id) CROSS JOIN LATERAL \
     (SELECT id, version, record FROM users WHERE tenant = named.tenant \
     AND id BETWEEN named.id AND named.id ORDER BY id LIMIT 1) AS found";

/// A user's tenant and id.
type Key = (TenantId, UserId);

type Found = Result<Option<Stored>, StoreError>;

struct Lookup {
    key: Key,
    reply: oneshot::Sender<Found>,
}

pub(crate) struct UserLookups {
    /// `None` after the store is closed.
    sender: BlockingMutex<Option<mpsc::Sender<Lookup>>>,
    receiver: Mutex<mpsc::Receiver<Lookup>>,
}

impl UserLookups {
    pub(crate) fn new() -> Self {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        Self { sender: BlockingMutex::new(Some(sender)), receiver: Mutex::new(receiver) }
    }

    pub(crate) async fn get(&self, tenant: TenantId, id: UserId) -> Found {
        let (reply, result) = oneshot::channel();
        let is_sent = {
            let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
            let lookup = Lookup { key: (tenant, id), reply };
            sender.as_ref().is_some_and(|sender| sender.try_send(lookup).is_ok())
        };
        if !is_sent {
            return Err(StoreError::Unavailable("too many questions wait".into()));
        }
        let closing = |_| Err(StoreError::Unavailable("the store is closing".into()));
        result.await.unwrap_or_else(closing)
    }

    /// Serves lookups until the channel is closed. Several tasks run this.
    pub(crate) async fn serve(self: Arc<Self>, pool: Arc<SharedPool>) {
        while let Some(lookups) = self.next().await {
            let mut keys: Vec<Key> = lookups.iter().map(|lookup| lookup.key).collect();
            keys.sort_unstable();
            keys.dedup();
            match pool.run(|c| users(c, &keys)).await {
                Ok(rows) => reply(lookups, &rows),
                Err(error) => refuse(lookups, &error),
            }
        }
    }

    /// Closes the channel. Lookups that still wait fail.
    pub(crate) fn close(&self) {
        *self.sender.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The lookups of the next statement; `None` after the channel is closed.
    async fn next(&self) -> Option<Vec<Lookup>> {
        let mut receiver = self.receiver.lock().await;
        let mut lookups = Vec::new();
        receiver.recv_many(&mut lookups, USERS_MAX).await;
        if !receiver.is_closed() {
            return Some(lookups);
        }
        while receiver.try_recv().is_ok() {}
        None
    }
}

async fn users(connection: Arc<Connection>, keys: &[Key]) -> QueryResult<Vec<Values>> {
    let tenants: Vec<i32> = keys.iter().map(|(tenant, _)| tenant.number()).collect();
    let ids: Vec<Uuid> = keys.iter().map(|(_, id)| uuid(*id)).collect();
    let statement = connection.prepare(GET).await?;
    let rows = connection.client().query(&statement, &[&tenants, &ids]).await?;
    Ok(rows.iter().map(values).collect::<Result<_, _>>()?)
}

/// Sends each lookup its user. A lookup that was canceled has no receiver.
fn reply(lookups: Vec<Lookup>, rows: &[Values]) {
    let key = |row: &Values| Some((row.tenant(3, "users").ok()?, row.id(0, "users.id").ok()?));
    let found: HashMap<Key, &Values> =
        rows.iter().filter_map(|row| Some((key(row)?, row))).collect();
    for Lookup { key, reply } in lookups {
        drop(reply.send(found.get(&key).map(|row| row.stored("users")).transpose()));
    }
}

fn refuse(lookups: Vec<Lookup>, error: &StoreError) {
    for Lookup { reply, .. } in lookups {
        drop(reply.send(Err(error.again())));
    }
}
