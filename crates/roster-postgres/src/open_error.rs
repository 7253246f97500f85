//! Why a store cannot be opened.

use std::error::Error;

use roster_core::{PolicyMismatch, SharedKeys, StoreError};
use tokio_postgres::error::SqlState;

use crate::{connect::ConnectError, failure::QueryError, failure::WithoutDetail};

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No host accepts writes.
    #[error("no connection to a database that takes writes")]
    Connect(#[from] ConnectError),
    /// A statement failed.
    #[error("the database refuses")]
    Database(#[source] Box<dyn Error + Send + Sync>),
    /// The role of the connection lacks a privilege.
    #[error(
        "the role lacks a privilege: run `roster prepare --service-role ROLE`, `roster policy set` \
         and `roster migrate` as the owner of the schema"
    )]
    Forbidden(#[source] Box<dyn Error + Send + Sync>),
    /// The role may not use the schema of the store.
    #[error(
        "the role may not use the schema of the store: as its owner, run \
         `roster prepare --service-role ROLE`"
    )]
    Hidden,
    /// The role that is to serve owns the tables.
    #[error("the role {0:?} owns the tables: name another one with --service-role")]
    IsOwner(String),
    /// An older release made the schema.
    #[error(
        "an older release made the schema of this database (step {found}, this release has \
         {known}): run `roster prepare`"
    )]
    Older {
        /// The last step of its schema.
        found: usize,
        /// The last step of this release.
        known: usize,
    },
    /// The search path names schemas, but none of them exists.
    #[error("no schema of the search path exists: {0}")]
    NoSchema(String),
    /// The encoding of the database is not UTF-8.
    #[error("the database keeps texts as {0}; make one with ENCODING 'UTF8'")]
    Encoding(String),
    /// A newer release made the schema.
    #[error(
        "a newer release made the schema of this database (step {found}, this release knows \
         {known}): use that release"
    )]
    Newer {
        /// The last step of its schema.
        found: usize,
        /// The last step that this release knows.
        known: usize,
    },
    /// A release that is no predecessor of this one made the schema.
    #[error("the tables of this database are not those of any release up to this one")]
    Unknown,
    /// The schema contains tables that are not Roster's.
    #[error("the schema {0:?} holds tables that are not Roster's: name an empty one")]
    Foreign(String),
    /// A migration into this database is not finished.
    #[error("a migration into this database is not finished: run `roster migrate` again")]
    Unfinished,
    /// Users share keys that are to be unique.
    #[error("{0}")]
    Shared(SharedKeys),
    /// The configuration states another policy than the store has.
    #[error(transparent)]
    PolicyMismatch(#[from] PolicyMismatch),
    /// The database contains no store.
    #[error("the database holds no store: start the service on it once, or name another one")]
    NoStore,
    /// Other sessions lock the table of users for too long.
    #[error(
        "other sessions keep the table of users locked: end their transactions, and run the \
         command again"
    )]
    Busy,
    /// A pooler is between this process and the database.
    #[error(
        "a pooler shares sessions of the database between its clients, such as pgbouncer in \
         transaction mode: Roster needs sessions of its own, so connect to PostgreSQL directly"
    )]
    Pooled,
    /// A setting of the store cannot be read.
    #[error("the store's own {0} cannot be read")]
    Damaged(String),
    /// The system returns no random bytes.
    #[error("the system gives no random bytes")]
    Random(#[from] getrandom::Error),
}

impl From<QueryError> for OpenError {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Database(error) => error.0.into(),
            QueryError::Store(StoreError::Corrupt { place }) => Self::Damaged(place),
            QueryError::Store(_) | QueryError::Locked | QueryError::EraEnded => {
                Self::Database(error.into())
            }
        }
    }
}

impl From<tokio_postgres::Error> for OpenError {
    fn from(error: tokio_postgres::Error) -> Self {
        if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
            return Self::Forbidden(Box::new(WithoutDetail(error)));
        }
        Self::Database(Box::new(WithoutDetail(error)))
    }
}
