//! Why a store cannot be opened.

use std::{error::Error, fmt};

use roster_core::{PolicyMismatch, SharedKeys};

use crate::{connect::ConnectError, failure::WithoutDetail};

/// Why a store cannot be opened.
#[derive(Debug)]
pub enum OpenError {
    /// No host takes writes.
    Connect(ConnectError),
    /// A statement failed.
    Database(Box<dyn Error + Send + Sync>),
    /// The database keeps texts in another encoding than UTF-8.
    Encoding {
        /// Which one.
        found: String,
    },
    /// A newer release made the schema.
    Newer {
        /// The last step of its schema.
        found: i64,
        /// The last step that this release knows.
        known: i64,
    },
    /// A migration into this database is not finished.
    Unfinished,
    /// Users share keys that are to be unique.
    Shared(SharedKeys),
    /// The configuration states another policy than the store has.
    PolicyMismatch(PolicyMismatch),
    /// There is no store in the database.
    NoStore,
    /// Other sessions keep the table of users locked.
    Busy,
    /// What the store keeps of itself cannot be read.
    Damaged {
        /// What.
        what: String,
    },
    /// The system gives no random bytes.
    Random(getrandom::Error),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(_) => f.write_str("no connection to a database that takes writes"),
            Self::Database(_) => f.write_str("the database refuses"),
            Self::Encoding { found } => {
                write!(f, "the database keeps texts as {found}; make one with ENCODING 'UTF8'")
            }
            Self::Newer { found, known } => write!(
                f,
                "a newer release made the schema of this database (step {found}, this release \
                 knows {known}): use that release"
            ),
            Self::Unfinished => f.write_str(
                "a migration into this database is not finished: run `roster migrate` again",
            ),
            Self::Shared(shared) => shared.fmt(f),
            Self::PolicyMismatch(mismatch) => mismatch.fmt(f),
            Self::NoStore => f.write_str(
                "the database holds no store: start the service on it once, or name another one",
            ),
            Self::Busy => f.write_str(
                "other sessions keep the table of users locked: end their transactions, and run \
                 the command again",
            ),
            Self::Damaged { what } => write!(f, "the store's own {what} cannot be read"),
            Self::Random(_) => f.write_str("the system gives no random bytes"),
        }
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Connect(source) => Some(source),
            Self::Database(source) => Some(&**source),
            Self::Random(source) => Some(source),
            Self::Encoding { .. }
            | Self::Newer { .. }
            | Self::Unfinished
            | Self::Shared(_)
            | Self::PolicyMismatch(_)
            | Self::NoStore
            | Self::Busy
            | Self::Damaged { .. } => None,
        }
    }
}

impl From<PolicyMismatch> for OpenError {
    fn from(mismatch: PolicyMismatch) -> Self {
        Self::PolicyMismatch(mismatch)
    }
}

impl From<ConnectError> for OpenError {
    fn from(error: ConnectError) -> Self {
        Self::Connect(error)
    }
}

impl From<tokio_postgres::Error> for OpenError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(Box::new(WithoutDetail(error)))
    }
}
