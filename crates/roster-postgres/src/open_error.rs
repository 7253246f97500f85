//! Why a store cannot be opened.

use std::{error::Error, fmt};

use crate::{connect::ConnectError, failure::Told};

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
    /// E-mail addresses are to be unique, and some belong to several users.
    SharedEmails {
        /// How many addresses.
        count: u64,
    },
    /// External ids are to be unique, and some belong to several users.
    SharedExternalIds {
        /// How many ids.
        count: u64,
    },
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
            Self::SharedEmails { count } => write!(
                f,
                "e-mail addresses are to be unique, but {count} belong to more than one user"
            ),
            Self::SharedExternalIds { count } => {
                write!(f, "external ids are to be unique, but {count} belong to more than one user")
            }
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
            | Self::SharedEmails { .. }
            | Self::SharedExternalIds { .. }
            | Self::Damaged { .. } => None,
        }
    }
}

impl From<ConnectError> for OpenError {
    fn from(error: ConnectError) -> Self {
        Self::Connect(error)
    }
}

impl From<tokio_postgres::Error> for OpenError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(Box::new(Told(error)))
    }
}
