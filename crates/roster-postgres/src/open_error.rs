//! Why a store cannot be opened.

use std::error::Error;

use roster_core::{PolicyMismatch, SharedKeys};

use crate::{connect::ConnectError, failure::WithoutDetail};

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No host takes writes.
    #[error("no connection to a database that takes writes")]
    Connect(#[from] ConnectError),
    /// A statement failed.
    #[error("the database refuses")]
    Database(#[source] Box<dyn Error + Send + Sync>),
    /// The database keeps texts in another encoding than UTF-8.
    #[error("the database keeps texts as {found}; make one with ENCODING 'UTF8'")]
    Encoding {
        /// Which one.
        found: String,
    },
    /// A newer release made the schema.
    #[error(
        "a newer release made the schema of this database (step {found}, this release knows \
         {known}): use that release"
    )]
    Newer {
        /// The last step of its schema.
        found: i64,
        /// The last step that this release knows.
        known: i64,
    },
    /// A migration into this database is not finished.
    #[error("a migration into this database is not finished: run `roster migrate` again")]
    Unfinished,
    /// Users share keys that are to be unique.
    #[error("{0}")]
    Shared(SharedKeys),
    /// The configuration states another policy than the store has.
    #[error("{0}")]
    PolicyMismatch(PolicyMismatch),
    /// There is no store in the database.
    #[error("the database holds no store: start the service on it once, or name another one")]
    NoStore,
    /// Other sessions keep the table of users locked.
    #[error(
        "other sessions keep the table of users locked: end their transactions, and run the \
         command again"
    )]
    Busy,
    /// What the store keeps of itself cannot be read.
    #[error("the store's own {what} cannot be read")]
    Damaged {
        /// What.
        what: String,
    },
    /// The system gives no random bytes.
    #[error("the system gives no random bytes")]
    Random(#[from] getrandom::Error),
}

impl From<tokio_postgres::Error> for OpenError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(Box::new(WithoutDetail(error)))
    }
}
