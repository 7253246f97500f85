//! Why a store was not backed up, restored, checked, exported or filled, as a message for the
//! operator.
//!
//! Each cause appears once, as `source`. No text contains data of a user.

use std::{
    io,
    path::{Path, PathBuf},
};

use thiserror::Error;

use roster_core::StoreError;

use crate::{
    failure::{self, ReadError},
    open_error::OpenError,
};

/// Why a backup, a restore, a check, an export or the load of a new store failed. No store was
/// changed.
#[derive(Debug, Error)]
pub enum BackupError {
    /// The directory contains no store.
    #[error("there is no Roster database in {0}")]
    NoStore(PathBuf),
    /// The directory already contains a store.
    #[error(
        "{0} holds a database already: name another directory, or stop its service and move it \
         away first"
    )]
    HasStore(PathBuf),
    /// The file of the backup already exists.
    #[error("{0} is there already: a backup overwrites nothing")]
    Exists(PathBuf),
    /// The file of the backup has the name of a file of a store.
    #[error("{0} has the name of a file that a data directory uses: give the backup another name")]
    Reserved(PathBuf),
    /// The file is not a backup, or its end is missing.
    #[error("{0} is not a backup made by `roster backup`, or its end is missing")]
    NotABackup(PathBuf),
    /// The file is a damaged backup.
    #[error("the backup {file} is damaged: {what}")]
    Damaged {
        /// Which file.
        file: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A newer version of this program wrote the backup.
    #[error("the backup {file} was written by the newer version {program}: restore it with that")]
    Newer {
        /// Which file.
        file: PathBuf,
        /// The version that wrote it.
        program: String,
    },
    /// The store is damaged, so no backup was made. The text describes the damage without user
    /// data.
    #[error("the database is damaged, so no backup was made of it: {0}; see `roster check`")]
    Faulty(String),
    /// The store is damaged. The text describes the damage without user data.
    #[error("the database is damaged: {0}; see `roster check`")]
    Unsound(String),
    /// A new store cannot be completed.
    #[error("the new database cannot be completed, so there is none")]
    Unfinished(#[source] StoreError),
    /// Another process serves the data directory that is to be exported.
    #[error("another process holds {}: stop the service that runs on it first", .0.display())]
    Served(PathBuf),
    /// The database has an older schema than this program, which exports only its current schema.
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
        /// The schema that this program reads.
        known: i64,
    },
    /// The directory or its database cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A file could not be used.
    #[error("{path} cannot be used")]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Any other error of SQLite.
    #[error("{}", sqlite_text(.0))]
    Sqlite(#[from] rusqlite::Error),
}

impl From<ReadError> for BackupError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Sqlite(error) => Self::Sqlite(error),
            ReadError::Store(StoreError::Corrupt { place }) => {
                Self::Unsound(format!("a value in {place} has the wrong type"))
            }
            ReadError::Store(error) => Self::Unsound(error.to_string()),
        }
    }
}

impl BackupError {
    /// Converts an I/O error of a file.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::Io { path, source }
    }
}

fn sqlite_text(error: &rusqlite::Error) -> &'static str {
    if failure::is_full(error) {
        "the disk is full"
    } else if failure::is_corrupt(error) {
        "the database file is damaged"
    } else {
        "the database cannot be read"
    }
}
