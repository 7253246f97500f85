//! Why a store was not loaded, as a message for the operator.
//!
//! Each cause appears once, as `source`. No text contains data of a user.

use std::error::Error;

use roster_core::Position;

use crate::{
    connect::ConnectError, failure::QueryError, failure::WithoutDetail, open_error::OpenError,
};

/// Why a load failed or did not finish.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The database cannot be used, or its schema cannot be created.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The database contains users, or a log with events.
    #[error(
        "the database holds users or a change log already: migrate into an empty one, nothing is \
         overwritten"
    )]
    NotEmpty,
    /// The database contains this store already, up to the same position.
    #[error(
        "the database holds this very store already, up to the same position: there is nothing to \
         migrate"
    )]
    AlreadyThere,
    /// The database contains an unfinished migration of another store. The value is the end of that
    /// store's log; `None` if the mark cannot be read.
    #[error("{}", other_source(.0.as_ref()))]
    OtherSource(Option<Position>),
    /// The database contains an unfinished migration of this store, which has changed since.
    #[error(
        "the database holds an unfinished migration of this store, which has changed since: start \
         again with an empty database"
    )]
    SourceChanged,
    /// Another process writes to the same tables.
    #[error("another process writes to this database: run one migration at a time, and no service")]
    NotAlone,
    /// The database ended a wait for its standby, so a commit may be on one server only.
    #[error(
        "the database was told not to wait for its standby: what was loaded last may be on one \
         server only; once the standby is there, run the same command again"
    )]
    StandbyInDoubt,
    /// Rows of a table that is not copied.
    #[error("{0} does not take these rows")]
    Malformed(&'static str),
    /// The database refused a statement, or the connection failed.
    #[error("the database failed")]
    Database(#[source] Box<dyn Error + Send + Sync>),
}

fn other_source(source_end: Option<&Position>) -> String {
    match source_end {
        Some(end) => format!(
            "the database holds an unfinished migration of another store, whose log ends at {end}: \
             go on with that one, or give this one an empty database"
        ),
        None => "the database holds an unfinished migration that cannot be continued: start \
                 again with an empty database"
            .to_owned(),
    }
}

impl From<ConnectError> for LoadError {
    fn from(error: ConnectError) -> Self {
        Self::Open(OpenError::Connect(error))
    }
}

impl From<tokio_postgres::Error> for LoadError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(Box::new(WithoutDetail(error)))
    }
}

impl From<QueryError> for LoadError {
    fn from(error: QueryError) -> Self {
        Self::Database(Box::new(error))
    }
}
