//! Single users, asked for by many at once.
//!
//! While one statement is under way, those who ask meanwhile are gathered, and the next statement
//! asks for all of them: as with commits, nobody waits for a window, and the busier it is the less
//! each costs. A question is sent only after it was asked, so its answer is never older than that.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use roster_core::{StoreError, Stored, UserId};
use tokio::sync::{Notify, oneshot};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    columns::{column, id_column, record_column, uuid},
    connect::Connection,
    pool::{Miss, Question, Shared},
};

/// Most users of one statement.
const USERS_MAX: usize = 128;

/// Most questions that wait; more are refused at once.
const WAITING_MAX: usize = 20_000;

pub(crate) const GET: &str = "SELECT id, version, record FROM users WHERE id = ANY($1)";

type Found = Result<Option<Stored>, StoreError>;

struct Asked {
    id: UserId,
    reply: oneshot::Sender<Found>,
}

/// Those who ask for single users.
#[derive(Default)]
pub(crate) struct Gathering {
    asked: Mutex<State>,
    came: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Asked>,
    closed: bool,
}

/// Asks for the live users of some ids.
struct LiveUsers(Vec<Uuid>);

impl Question for LiveUsers {
    type Answer = Vec<Row>;

    async fn ask(&self, connection: &Connection) -> Result<Vec<Row>, Miss> {
        let get = connection.prepare(GET).await?;
        Ok(connection.client().query(&get, &[&self.0]).await?)
    }
}

impl Gathering {
    /// The live user of an id.
    pub(crate) async fn user(&self, id: UserId) -> Found {
        let (reply, answer) = oneshot::channel();
        {
            let mut state = self.lock();
            if state.closed || state.waiting.len() >= WAITING_MAX {
                return Err(StoreError::Unavailable("too many questions wait".into()));
            }
            state.waiting.push_back(Asked { id, reply });
        }
        self.came.notify_one();
        let gone = |_| Err(StoreError::Unavailable("the store is closing".into()));
        answer.await.unwrap_or_else(gone)
    }

    /// Answers, until it is closed. Several do so side by side.
    pub(crate) async fn answer(self: Arc<Self>, shared: Arc<Shared>) {
        while let Some(asked) = self.next().await {
            let mut ids: Vec<Uuid> = asked.iter().map(|asked| uuid(asked.id)).collect();
            ids.sort_unstable();
            ids.dedup();
            match shared.ask(&LiveUsers(ids)).await {
                Ok(rows) => give(asked, &rows),
                Err(error) => refuse(asked, &error),
            }
        }
    }

    /// Takes no further question.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.waiting.clear();
        drop(state);
        self.came.notify_waiters();
        self.came.notify_one();
    }

    async fn next(&self) -> Option<Vec<Asked>> {
        loop {
            let came = self.came.notified();
            {
                let mut state = self.lock();
                if state.closed {
                    return None;
                }
                let count = state.waiting.len().min(USERS_MAX);
                if count > 0 {
                    let asked = state.waiting.drain(..count).collect();
                    if !state.waiting.is_empty() {
                        self.came.notify_one();
                    }
                    return Some(asked);
                }
            }
            came.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives each who asked its user. Who asks no more is passed over.
fn give(asked: Vec<Asked>, rows: &[Row]) {
    let mut found = HashMap::with_capacity(rows.len());
    for row in rows {
        if let Ok(id) = id_column(row, 0, "users.id") {
            found.insert(id, row);
        }
    }
    for Asked { id, reply } in asked {
        let stored = found.get(&id).map(|row| stored(id, row)).transpose();
        drop(reply.send(stored));
    }
}

fn stored(id: UserId, row: &Row) -> Result<Stored, StoreError> {
    let version = column(row, 1, "users.version")?;
    Ok(Stored { id, version, record: record_column(row, 2, "users.record")? })
}

fn refuse(asked: Vec<Asked>, error: &StoreError) {
    let text = error.with_causes();
    for Asked { reply, .. } in asked {
        drop(reply.send(Err(StoreError::Unavailable(text.clone().into()))));
    }
}
