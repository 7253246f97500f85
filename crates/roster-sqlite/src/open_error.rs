//! Why a data directory could not be opened: a sentence for whoever starts the service.

use std::{error::Error, fmt, io, path::PathBuf};

use roster_core::{PolicyMismatch, SharedKeys};

use crate::failure;

/// Why a data directory could not be opened. Nothing in it was changed.
#[derive(Debug)]
pub enum OpenError {
    /// Another process serves this data directory.
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// A file could not be used.
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// `roster.db` is not a database of this program.
    Foreign,
    /// `roster.db` was written by a newer version of this program.
    NewerSchema {
        /// The schema of the file.
        found: usize,
        /// The newest schema that this program knows.
        known: usize,
    },
    /// Users share keys that are to be unique.
    Shared(SharedKeys),
    /// The configuration states another policy than the store has.
    PolicyMismatch(PolicyMismatch),
    /// There is no store in the directory.
    NoStore,
    /// What the store keeps of itself cannot be read.
    Damaged {
        /// What.
        what: String,
    },
    /// No randomness for the secret of the store.
    Random(getrandom::Error),
    /// Anything else that SQLite refused.
    Sqlite(rusqlite::Error),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locked { path } => write!(
                f,
                "another process holds {}: one data directory is served by one process",
                path.display()
            ),
            Self::Io { path, .. } => write!(f, "{} cannot be used", path.display()),
            Self::Foreign => f.write_str("roster.db is not a Roster database"),
            Self::NewerSchema { found, known } => write!(
                f,
                "roster.db has schema {found}, this program knows schemas up to {known}: start \
                 the newer version that wrote it"
            ),
            Self::Shared(shared) => shared.fmt(f),
            Self::PolicyMismatch(mismatch) => mismatch.fmt(f),
            Self::NoStore => f.write_str(
                "the directory holds no store: start the service on it once, or name another one",
            ),
            Self::Damaged { what } => write!(f, "the store's own {what} cannot be read"),
            Self::Random(_) => f.write_str("the system gave no random bytes"),
            Self::Sqlite(error) if failure::is_full(error) => f.write_str(
                "roster.db cannot be opened: the disk is full, and a start needs a little room",
            ),
            Self::Sqlite(_) => f.write_str("roster.db cannot be opened"),
        }
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Random(source) => Some(source),
            Self::Sqlite(source) => Some(source),
            Self::Locked { .. }
            | Self::Foreign
            | Self::NewerSchema { .. }
            | Self::Shared(_)
            | Self::PolicyMismatch(_)
            | Self::NoStore
            | Self::Damaged { .. } => None,
        }
    }
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<PolicyMismatch> for OpenError {
    fn from(mismatch: PolicyMismatch) -> Self {
        Self::PolicyMismatch(mismatch)
    }
}
