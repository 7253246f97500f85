//! Why a data directory could not be opened: a sentence for the person who starts the service.

use std::{io, path::PathBuf};

use roster_core::{PolicyMismatch, SharedKeys, StoreError};
use thiserror::Error;

use crate::failure::{self, ReadError};

/// Why a data directory could not be opened. Nothing in it was changed.
#[derive(Debug, Error)]
pub enum OpenError {
    /// Another process serves the data directory with this lock file.
    #[error("another process holds {0}: one data directory is served by one process")]
    Locked(PathBuf),
    /// A file could not be used.
    #[error("{path} cannot be used")]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The database of the directory is empty or missing, but not its write-ahead log.
    #[error(
        "roster.db in {} is empty or missing, but roster.db-wal or roster.db-shm shows that there \
         was a database: restore the last backup into another directory; to begin without users, \
         move these three files away",
        .0.display()
    )]
    Lost(PathBuf),
    /// The write-ahead log is damaged, and commits follow the damage.
    #[error(
        "{} is damaged at byte {at}, and later commits in it cannot be read: restore the last \
         backup into another directory. Without one, in a copy of this directory, `truncate \
         --size={keep} roster.db-wal` gives up the commits after the damage; then run `roster \
         check`",
        path.display()
    )]
    DamagedLog {
        /// The log.
        path: PathBuf,
        /// Where the damage begins.
        at: u64,
        /// The length up to the last commit before it.
        keep: u64,
    },
    /// The database is an empty file without the lock file that every process creates first.
    #[error(
        "{} is an empty file that Roster did not make: restore the last backup into another \
         directory; to begin without users, move this file away",
        .0.display()
    )]
    Empty(PathBuf),
    /// The database of the directory is a backup.
    #[error("{} is a backup: `roster restore` creates a data directory from it", .0.display())]
    Backup(PathBuf),
    /// `roster.db` is not a database of this program.
    #[error("roster.db is not a Roster database")]
    Foreign,
    /// `roster.db` was written by a newer version of this program.
    #[error(
        "roster.db has schema {found}, this program knows schemas up to {known}: start the newer \
         version that wrote it"
    )]
    NewerSchema {
        /// The schema of the file.
        found: usize,
        /// The newest schema that this program knows.
        known: usize,
    },
    /// Users share keys that are to be unique.
    #[error("{0}")]
    Shared(SharedKeys),
    /// The configuration states another policy than the store has.
    #[error(transparent)]
    PolicyMismatch(#[from] PolicyMismatch),
    /// There is no store in the directory, or only keys.
    #[error(
        "the directory holds no store, or only keys: start the service on it once, or name another \
         one"
    )]
    NoStore,
    /// A setting of the store cannot be read.
    #[error("the store's own {0} cannot be read")]
    Damaged(String),
    /// No randomness for the secret of the store.
    #[error("the system gave no random bytes")]
    Random(#[source] getrandom::Error),
    /// Any other error of SQLite.
    #[error("{}", sqlite_text(.0))]
    Sqlite(#[from] rusqlite::Error),
}

impl From<ReadError> for OpenError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Sqlite(error) => Self::Sqlite(error),
            ReadError::Store(StoreError::Corrupt { place }) => Self::Damaged(place),
            ReadError::Store(error) => Self::Damaged(error.to_string()),
        }
    }
}

fn sqlite_text(error: &rusqlite::Error) -> &'static str {
    if failure::is_full(error) {
        "roster.db cannot be opened: the disk is full, and a start needs a little room"
    } else {
        "roster.db cannot be opened"
    }
}
