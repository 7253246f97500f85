//! One connection: the client, its prepared statements, and what became of the wire.
//!
//! Dropping it cuts the wire at once. It never asks the server to cancel anything: cancelling a
//! commit that waits for its standby makes a success of it.

use std::{
    collections::HashMap,
    future::poll_fn,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::AbortHandle,
};
use tokio_postgres::{
    AsyncMessage, Client, Error, Row, Statement,
    error::{DbError, Severity},
    types::ToSql,
};

use crate::pool::QueryResult;

/// A connection to a server that takes writes.
#[derive(Debug)]
pub(crate) struct Connection {
    client: Client,
    statements: Mutex<HashMap<String, Statement>>,
    state: Arc<State>,
    driver: AbortHandle,
}

/// What the driver of the wire tells.
#[derive(Debug, Default)]
struct State {
    /// No further request is to be made on it.
    given_up: AtomicBool,
    /// The server has warned of something.
    warned: AtomicBool,
}

impl Connection {
    /// Drives the wire on a task of its own.
    pub(super) fn drive<S, T>(client: Client, mut wire: tokio_postgres::Connection<S, T>) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let state = Arc::new(State::default());
        let told = Arc::clone(&state);
        let driver = tokio::spawn(async move {
            let mut yielded = false;
            let mut message = poll_fn(|context| {
                // Others who are about to ask do so first: then one packet holds all of it.
                yielded = !yielded;
                if yielded {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                wire.poll_message(context)
            });
            while let Some(Ok(message)) = (&mut message).await {
                if let AsyncMessage::Notice(notice) = message {
                    told.take_note(&notice);
                }
            }
            told.given_up.store(true, Ordering::Release);
        });
        let statements = Mutex::default();
        Self { client, statements, state, driver: driver.abort_handle() }
    }

    /// The client.
    pub(crate) const fn client(&self) -> &Client {
        &self.client
    }

    /// Returns a statement; prepares it on the first call.
    pub(crate) async fn prepare(&self, sql: &str) -> Result<Statement, Error> {
        let kept = self.statements.lock().unwrap_or_else(PoisonError::into_inner).get(sql).cloned();
        if let Some(statement) = kept {
            return Ok(statement);
        }
        let statement = self.client.prepare(sql).await?;
        let mut statements = self.statements.lock().unwrap_or_else(PoisonError::into_inner);
        statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Executes a statement; returns its rows.
    pub(crate) async fn query(
        &self,
        sql: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Error> {
        self.client.query(&self.prepare(sql).await?, parameters).await
    }

    /// Executes a statement that returns at most one row.
    pub(crate) async fn query_opt(
        &self,
        sql: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<Row>, Error> {
        self.client.query_opt(&self.prepare(sql).await?, parameters).await
    }

    /// Executes a statement that returns one row.
    pub(crate) async fn query_one(
        &self,
        sql: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, Error> {
        self.client.query_one(&self.prepare(sql).await?, parameters).await
    }

    /// Executes a statement; returns the number of rows that it changed.
    pub(crate) async fn execute(
        &self,
        sql: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, Error> {
        self.client.execute(&self.prepare(sql).await?, parameters).await
    }

    /// Runs a transaction: the statement `begin`, then `work`, then `COMMIT` if that succeeded.
    /// After a failure the transaction is open, and the connection is to be closed.
    pub(crate) async fn transaction<T>(
        &self,
        begin: &str,
        work: impl Future<Output = QueryResult<T>>,
    ) -> QueryResult<T> {
        self.client.batch_execute(begin).await?;
        let result = work.await?;
        self.client.batch_execute("COMMIT").await?;
        Ok(result)
    }

    /// Takes it out of use.
    pub(crate) fn give_up(&self) {
        self.state.given_up.store(true, Ordering::Release);
    }

    /// Whether requests may be made on it.
    pub(crate) fn is_usable(&self) -> bool {
        !self.state.given_up.load(Ordering::Acquire) && !self.client.is_closed()
    }

    /// Forgets what the server has warned of so far.
    pub(crate) fn forget_warnings(&self) {
        self.state.warned.store(false, Ordering::Release);
    }

    /// Whether the server has warned of something since. A wait for a standby that somebody ended
    /// makes a warning before the answer to the commit, which may be nowhere else then; what it
    /// warns of is not told by its SQLSTATE, and our statements are warned of for nothing else.
    pub(crate) fn was_warned(&self) -> bool {
        self.state.warned.load(Ordering::Acquire)
    }
}

impl State {
    /// A notice comes before the answer it is about.
    fn take_note(&self, notice: &DbError) {
        if notice.parsed_severity() == Some(Severity::Warning) {
            self.warned.store(true, Ordering::Release);
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
