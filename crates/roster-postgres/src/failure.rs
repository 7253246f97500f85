//! What an error of the database means: to whoever tries again, and to the caller.
//!
//! The SQLSTATE alone decides, never the message, which depends on the server's language.

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
    /// Give the connection up: this server takes no more, or the wire is cut.
    Reconnect,
    /// Nothing: the statement itself failed.
    Nothing,
}

/// The remedy for an error.
pub(crate) fn remedy(error: &Error) -> Remedy {
    let Some(state) = error.code() else {
        // No answer of the server: the wire, or one that cannot be read any further.
        return Remedy::Reconnect;
    };
    if AGAIN.contains(state) {
        return Remedy::Again;
    }
    if *state == SqlState::LOCK_NOT_AVAILABLE {
        return Remedy::Wait;
    }
    let class = state.code().get(..2).unwrap_or_default();
    if RECONNECT.contains(state) || class == "08" { Remedy::Reconnect } else { Remedy::Nothing }
}

/// A unique key that came in between is no fault either: done again, the rules tell whose it is.
const AGAIN: &[SqlState] = &[
    SqlState::T_R_SERIALIZATION_FAILURE,
    SqlState::T_R_DEADLOCK_DETECTED,
    SqlState::UNIQUE_VIOLATION,
];

/// The server stands by, stops, starts, has ended this session, or cannot say what it did.
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

/// What a caller learns of an error.
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

/// The database did not answer in time.
pub(crate) fn too_slow() -> StoreError {
    StoreError::Unavailable("the database did not answer in time".into())
}

/// An error for the log: message and SQLSTATE, and none of what it was about. The server's detail
/// quotes keys of people.
#[derive(Debug)]
pub(crate) struct WithoutDetail(pub(crate) Error);

impl fmt::Display for WithoutDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_db_error() {
            Some(told) => write!(f, "{} (SQLSTATE {})", told.message(), told.code().code()),
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
