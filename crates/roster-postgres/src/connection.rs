//! One connection: the client, its prepared statements, and its state.
//!
//! Dropping it closes the socket at once. It never requests that the server cancel a statement: a
//! commit that waits for its standby succeeds if its wait is canceled.

use std::{
    collections::HashMap,
    future::poll_fn,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::Poll,
    time::{Duration, Instant},
};

use roster_core::StoreError;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::AbortHandle,
};
use tokio_postgres::{AsyncMessage, Client, Error, Statement, error::Severity};

use crate::failure::QueryResult;

/// Why a commit is in doubt after a [warning](Connection::was_warned).
pub(crate) const WARNED: &str =
    "the database warned at the commit: the fate of the write is not known";

pub(crate) const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Begins a transaction that appends events and is no batch of commands. Such transactions run one
/// after the other: each first locks the head of the log, as the last step of a batch does.
pub(crate) const BEGIN_AT_HEAD: &str = "BEGIN; SELECT FROM log_head WHERE number = 1 FOR UPDATE";

/// A connection to a server that takes writes.
#[derive(Debug)]
pub(crate) struct Connection {
    client: Client,
    statements: Mutex<Statements>,
    state: Arc<State>,
    driver: AbortHandle,
    /// The generation of the connection, and the current one.
    generation: Generation,
    /// The number of the table with the head of the log. A load of a dump replaces the table.
    log_table: i64,
}

/// Connections of the same generation are to a server with the same log. Once one of them has
/// another log, those of earlier generations are no longer used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Generation {
    current: Arc<AtomicU64>,
    number: u64,
}

impl Generation {
    /// The current one.
    pub(crate) fn now(&self) -> Self {
        let current = Arc::clone(&self.current);
        Self { number: current.load(Ordering::Acquire), current }
    }

    /// Begins the next one.
    pub(crate) fn end(&self) {
        self.current.fetch_add(1, Ordering::AcqRel);
    }

    fn is_current(&self) -> bool {
        self.current.load(Ordering::Acquire) == self.number
    }
}

/// How long a session uses the plan of a statement. A plan that was made while a table was nearly
/// empty may read the whole table, and the server makes another one only after it has analyzed the
/// table.
pub(crate) const PLANS_KEEP: Duration = Duration::from_secs(10);

/// The prepared statements of a connection. A new one has a new plan.
#[derive(Debug)]
struct Statements {
    by_text: HashMap<String, Statement>,
    since: Instant,
}

/// The state that the task of the connection reports.
#[derive(Debug, Default)]
struct State {
    /// No further request may be made on the connection.
    given_up: AtomicBool,
    /// The server has warned of something.
    warned: AtomicBool,
    /// The commit of a write was sent, and its response was not received.
    is_in_doubt: AtomicBool,
}

impl Connection {
    /// Drives a connection in a task.
    pub(crate) fn drive<S, T>(client: Client, mut wire: tokio_postgres::Connection<S, T>) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        let driver = tokio::spawn(async move {
            let mut yielded = false;
            let mut message = poll_fn(|context| {
                // Other ready tasks send their requests first, so that one packet contains all of
                // them.
                yielded = !yielded;
                if yielded {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                wire.poll_message(context)
            });
            while let Some(Ok(message)) = (&mut message).await {
                // A notice arrives before the response that it is about.
                if let AsyncMessage::Notice(notice) = message
                    && notice.parsed_severity() == Some(Severity::Warning)
                {
                    shared.warned.store(true, Ordering::Release);
                }
            }
            shared.given_up.store(true, Ordering::Release);
        });
        let statements = Mutex::new(Statements { by_text: HashMap::new(), since: Instant::now() });
        let (driver, generation) = (driver.abort_handle(), Generation::default());
        Self { client, statements, state, driver, generation, log_table: 0 }
    }

    pub(crate) const fn client(&self) -> &Client {
        &self.client
    }

    /// Returns a statement; prepares it on the first call, and again when its plan is old.
    pub(crate) async fn prepare(&self, sql: &str) -> Result<Statement, Error> {
        if let Some(statement) = self.prepared(sql) {
            return Ok(statement);
        }
        let statement = self.client.prepare(sql).await?;
        let mut statements = self.statements.lock().unwrap_or_else(PoisonError::into_inner);
        statements.by_text.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    fn prepared(&self, sql: &str) -> Option<Statement> {
        let mut statements = self.statements.lock().unwrap_or_else(PoisonError::into_inner);
        if statements.since.elapsed() > PLANS_KEEP {
            *statements = Statements { by_text: HashMap::new(), since: Instant::now() };
        }
        statements.by_text.get(sql).cloned()
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
        self.forget_warnings();
        self.state.is_in_doubt.store(begin != SNAPSHOT, Ordering::Release);
        self.client.batch_execute("COMMIT").await?;
        if self.was_warned() {
            return Err(StoreError::Unavailable(WARNED.into()).into());
        }
        self.state.is_in_doubt.store(false, Ordering::Release);
        Ok(result)
    }

    /// Whether the last transaction may have been committed, though there was no response.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.state.is_in_doubt.load(Ordering::Acquire)
    }

    /// Makes it a connection of a generation, to a log with this table.
    pub(crate) fn belong_to(&mut self, generation: Generation, log_table: i64) {
        (self.generation, self.log_table) = (generation, log_table);
    }

    /// The number of the table with the head of the log when the connection began.
    pub(crate) const fn log_table(&self) -> i64 {
        self.log_table
    }

    /// Whether no connection has another log. What this one committed may be lost otherwise.
    pub(crate) fn is_current(&self) -> bool {
        self.generation.is_current()
    }

    /// Marks the connection as unusable.
    pub(crate) fn give_up(&self) {
        self.state.given_up.store(true, Ordering::Release);
    }

    /// Whether requests may be made on the connection.
    pub(crate) fn is_usable(&self) -> bool {
        self.is_current()
            && !self.state.given_up.load(Ordering::Acquire)
            && !self.client.is_closed()
    }

    /// Resets [`Connection::was_warned`].
    pub(crate) fn forget_warnings(&self) {
        self.state.warned.store(false, Ordering::Release);
    }

    /// Whether the server has sent a warning since the last reset. If an operator ends the wait for
    /// a standby, the server sends a warning before the response to the commit, which may be on one
    /// server only. The SQLSTATE does not identify this warning, but our statements cause no other
    /// one.
    pub(crate) fn was_warned(&self) -> bool {
        self.state.warned.load(Ordering::Acquire)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
