//! The meaning of a database error: whether to retry, and which error the caller gets.
//!
//! Only the SQLSTATE is used. The message depends on the server's language.

use std::{error::Error as _, fmt};

use roster_core::StoreError;
use roster_engine::corrupt;
use tokio_postgres::{Error, error::SqlState};

/// What to do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// Repeat the transaction: another one changed the same data.
    Again,
    /// Repeat the transaction: another one held a lock for too long.
    Wait,
    /// Close the connection: the server accepts no more statements, or the connection is broken.
    Reconnect,
    /// Nothing: the statement itself failed.
    Nothing,
}

pub(crate) fn remedy(error: &Error) -> Remedy {
    let Some(state) = error.code() else {
        // The server sent no error: the connection is broken or its data cannot be parsed.
        return Remedy::Reconnect;
    };
    if AGAIN.contains(state) {
        return Remedy::Again;
    }
    if *state == SqlState::LOCK_NOT_AVAILABLE {
        return Remedy::Wait;
    }
    let class = state.code().get(..2).unwrap_or_default();
    let is_ended = RECONNECT.contains(state) || state.code() == TRANSACTION_TIMEOUT;
    if is_ended || class == "08" { Remedy::Reconnect } else { Remedy::Nothing }
}

/// Errors after which a transaction is repeated. A unique violation is caused by a concurrent
/// write: when repeated, the rules decide which record holds the key.
const AGAIN: &[SqlState] = &[
    SqlState::T_R_SERIALIZATION_FAILURE,
    SqlState::T_R_DEADLOCK_DETECTED,
    SqlState::UNIQUE_VIOLATION,
    // Other transactions use the whole table of locks.
    SqlState::OUT_OF_MEMORY,
];

/// The server is a standby, is stopping or starting, has ended this session, or does not know
/// whether it committed.
const RECONNECT: &[SqlState] = &[
    SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN,
    SqlState::READ_ONLY_SQL_TRANSACTION,
    SqlState::ADMIN_SHUTDOWN,
    SqlState::CRASH_SHUTDOWN,
    SqlState::CANNOT_CONNECT_NOW,
    SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    SqlState::IDLE_SESSION_TIMEOUT,
    SqlState::DATABASE_DROPPED,
    SqlState::TOO_MANY_CONNECTIONS,
    SqlState::QUERY_CANCELED,
];

/// The server ended the session, because a transaction lasted too long (PostgreSQL 17).
const TRANSACTION_TIMEOUT: &str = "25P04";

/// Whether the server has ended a session that sent nothing for too long, in a transaction.
pub(crate) fn was_idle(error: &Error) -> bool {
    error.code() == Some(&SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT)
}

/// The error that the caller gets.
pub(crate) fn store_error(error: Error) -> StoreError {
    match error.code() {
        Some(state) if *state == SqlState::DISK_FULL => {
            StoreError::Full(Box::new(WithoutDetail(error)))
        }
        Some(state) if *state == SqlState::DATA_CORRUPTED => corrupt("a table of the database"),
        Some(state) if *state == SqlState::INDEX_CORRUPTED => corrupt("an index of the database"),
        _ if remedy(&error) == Remedy::Nothing => {
            StoreError::Internal(Box::new(WithoutDetail(error)))
        }
        _ => StoreError::Unavailable(Box::new(WithoutDetail(error))),
    }
}

/// The error if the database did not respond in time.
pub(crate) fn too_slow() -> StoreError {
    StoreError::Unavailable("the database did not respond in time".into())
}

/// The error if another server has taken over meanwhile.
pub(crate) fn superseded() -> StoreError {
    StoreError::Superseded("another server took over".into())
}

/// An error for the log: message and SQLSTATE, without the server's detail, which may quote
/// personal data.
#[derive(Debug)]
pub(crate) struct WithoutDetail(pub(crate) Error);

impl fmt::Display for WithoutDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_db_error() {
            Some(error) => write!(f, "{} (SQLSTATE {})", error.message(), error.code().code()),
            None => match self.0.source() {
                Some(source) => write!(f, "{}: {source}", self.0),
                None => write!(f, "{}", self.0),
            },
        }
    }
}

impl std::error::Error for WithoutDetail {}

impl From<Error> for WithoutDetail {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

/// Why a query has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QueryError {
    /// The database reports an error, or the connection is lost.
    #[error(transparent)]
    Database(WithoutDetail),
    /// The rows cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another transaction has a lock that must not be waited for.
    #[error("another transaction writes the same users")]
    Locked,
    /// The query belongs to an era that has ended.
    #[error("the policy of the store changed meanwhile: send the request again")]
    EraEnded,
}

pub(crate) type QueryResult<T> = Result<T, QueryError>;

impl From<tokio_postgres::Error> for QueryError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(WithoutDetail(error))
    }
}

impl From<QueryError> for StoreError {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Database(error) => store_error(error.0),
            QueryError::Store(error) => error,
            QueryError::Locked | QueryError::EraEnded => {
                Self::Unavailable(error.to_string().into())
            }
        }
    }
}
