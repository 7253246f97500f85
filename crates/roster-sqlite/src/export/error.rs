//! Why a store was not read: a sentence for whoever typed the command.
//!
//! Causes are told by `source`, once. No text holds anything of a user.

use std::{error::Error, fmt, path::PathBuf};

use crate::{backup::BackupError, failure};

/// Why a store could not be read as a whole. Nothing in it was changed.
#[derive(Debug)]
pub enum ExportError {
    /// There is no store, or it cannot be opened.
    Store(BackupError),
    /// Another process serves the data directory.
    Served {
        /// Which directory.
        directory: PathBuf,
    },
    /// The database was not brought up to this program's schema yet.
    OlderSchema {
        /// Which directory.
        directory: PathBuf,
        /// The schema of the file.
        found: i64,
        /// The schema that is read.
        known: i64,
    },
    /// The store itself is damaged.
    Damaged {
        /// How that shows: no value of a person.
        what: String,
    },
    /// A key to go on from is none of the table's.
    ForeignKey,
    /// Anything else that SQLite refused.
    Sqlite(rusqlite::Error),
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Served { directory } => write!(
                f,
                "another process holds {}: stop the service that runs on it first",
                directory.display()
            ),
            Self::OlderSchema { directory, found, known } => {
                let directory = directory.display();
                write!(
                    f,
                    "roster.db in {directory} has schema {found}, this program reads schema \
                     {known}: start `roster serve --data {directory}` once, which brings it up \
                     to date, and stop it again"
                )
            }
            Self::Damaged { what } => {
                write!(f, "the database is damaged: {what}; see `roster check`")
            }
            Self::ForeignKey => f.write_str("the key to go on from is none of this table"),
            Self::Sqlite(error) if failure::is_corrupt(error) => {
                f.write_str("the database file is damaged")
            }
            Self::Sqlite(_) => f.write_str("the database cannot be read"),
        }
    }
}

impl Error for ExportError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // Its own text stands for it: what is behind it follows.
            Self::Store(error) => error.source(),
            Self::Sqlite(source) => Some(source),
            Self::Served { .. }
            | Self::OlderSchema { .. }
            | Self::Damaged { .. }
            | Self::ForeignKey => None,
        }
    }
}

impl From<BackupError> for ExportError {
    fn from(error: BackupError) -> Self {
        Self::Store(error)
    }
}

impl From<rusqlite::Error> for ExportError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}
