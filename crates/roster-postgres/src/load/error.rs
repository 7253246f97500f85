//! Why a store was not loaded: a sentence for whoever typed the command.
//!
//! Causes are told by `source`, once. No text holds anything of a user.

use std::{error::Error, fmt};

use roster_core::Position;

use crate::{connect::ConnectError, failure::WithoutDetail, open_error::OpenError};

/// Why a load came to nothing, or to no end.
#[derive(Debug)]
pub enum LoadError {
    /// The database cannot be used, or its schema cannot be made.
    Open(OpenError),
    /// The database holds users, or a log that has begun.
    NotEmpty,
    /// The database holds this very store, as it is.
    AlreadyThere,
    /// The database holds a migration of another store that is not finished.
    OtherSource {
        /// Where the log of that store ended; `None` if its mark cannot be read.
        source: Option<Position>,
    },
    /// The database holds a migration of this store, which has changed since.
    SourceChanged,
    /// Somebody else writes to the same tables.
    NotAlone,
    /// The database ended a wait for its standby: what was committed may be lost with a server.
    StandbyInDoubt,
    /// A table that is not known here.
    UnknownTable {
        /// Its name.
        table: String,
    },
    /// Rows that are none of the table's.
    Malformed {
        /// The table's name.
        table: &'static str,
    },
    /// What was read back is not what `COPY` sends.
    Unreadable {
        /// The table's name.
        table: &'static str,
    },
    /// The database refused, or could not be reached any more.
    Database(Box<dyn Error + Send + Sync>),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(error) => error.fmt(f),
            Self::NotEmpty => f.write_str(
                "the database holds users or a change log already: migrate into an empty one, \
                 nothing is overwritten",
            ),
            Self::AlreadyThere => f.write_str(
                "the database holds this very store already, up to the same position: there is \
                 nothing to migrate",
            ),
            Self::OtherSource { source: Some(source) } => write!(
                f,
                "the database holds an unfinished migration of another store, whose log ends at \
                 {source}: go on with that one, or give this one an empty database"
            ),
            Self::OtherSource { source: None } => f.write_str(
                "the database holds an unfinished migration that cannot be gone on with: begin \
                 anew with an empty database",
            ),
            Self::SourceChanged => f.write_str(
                "the database holds an unfinished migration of this store, which has changed \
                 since: begin anew with an empty database",
            ),
            Self::NotAlone => f.write_str(
                "somebody else writes to this database: one migration at a time, and no service",
            ),
            Self::StandbyInDoubt => f.write_str(
                "the database was told not to wait for its standby: what was loaded last may be \
                 on one server only; once the standby is there, run the same command again",
            ),
            Self::UnknownTable { table } => write!(f, "there is no table {table} to load"),
            Self::Malformed { table } => write!(f, "{table} does not take these rows"),
            Self::Unreadable { table } => {
                write!(f, "what was loaded into {table} cannot be read back")
            }
            Self::Database(_) => f.write_str("the database failed"),
        }
    }
}

impl Error for LoadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // Its own text stands for it: what is behind it follows.
            Self::Open(error) => error.source(),
            Self::Database(source) => Some(&**source),
            Self::NotEmpty
            | Self::AlreadyThere
            | Self::OtherSource { .. }
            | Self::SourceChanged
            | Self::NotAlone
            | Self::StandbyInDoubt
            | Self::UnknownTable { .. }
            | Self::Malformed { .. }
            | Self::Unreadable { .. } => None,
        }
    }
}

impl From<OpenError> for LoadError {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
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
