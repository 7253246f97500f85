//! Why a store was not read: a sentence for the operator who ran the command.
//!
//! `source` gives each cause once. No text contains data of a user.

use std::path::PathBuf;

use crate::{backup::BackupError, failure};

/// Why a store could not be read as a whole. Nothing in it was changed.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// There is no store, or it cannot be opened.
    #[error(transparent)]
    Store(#[from] BackupError),
    /// Another process serves the data directory.
    #[error(
        "another process holds {}: stop the service that runs on it first",
        directory.display()
    )]
    Served {
        /// Which directory.
        directory: PathBuf,
    },
    /// The database has an older schema than this program's.
    #[error(
        "roster.db in {0} has schema {found}, this program reads schema {known}: start `roster \
         serve --data {0}` once, which brings it up to date, and stop it again",
        directory.display()
    )]
    OlderSchema {
        /// Which directory.
        directory: PathBuf,
        /// The schema of the file.
        found: i64,
        /// The schema that is read.
        known: i64,
    },
    /// The store is damaged.
    #[error("the database is damaged: {what}; see `roster check`")]
    Damaged {
        /// What is wrong, without any value of a user.
        what: String,
    },
    /// A key to continue from belongs to another table.
    #[error("the key to go on from is none of this table")]
    ForeignKey,
    /// SQLite failed otherwise.
    #[error(
        "the database {}",
        if failure::is_corrupt(.0) { "file is damaged" } else { "cannot be read" }
    )]
    Sqlite(#[from] rusqlite::Error),
}
