//! Why a backup was not made, not restored, or a store not checked: a sentence for whoever typed
//! the command.
//!
//! Causes are told by `source`, once. No text holds anything of a user.

use std::{
    error::Error,
    fmt, io,
    path::{Path, PathBuf},
};

use crate::{failure, open_error::OpenError};

/// Why a backup, a restore or a check came to nothing. The store is as it was before.
#[derive(Debug)]
pub enum BackupError {
    /// The directory holds no store.
    NoStore {
        /// Which directory.
        directory: PathBuf,
    },
    /// The directory holds a store already.
    HasStore {
        /// Which directory.
        directory: PathBuf,
    },
    /// There is a file where the backup was to go.
    Exists {
        /// Which file.
        file: PathBuf,
    },
    /// The file is not a backup, or its end is missing.
    NotABackup {
        /// Which file.
        file: PathBuf,
    },
    /// The file is a backup, but not as it was written.
    Damaged {
        /// Which file.
        file: PathBuf,
        /// How that shows.
        what: String,
    },
    /// A newer version of this program wrote the backup.
    Newer {
        /// Which file.
        file: PathBuf,
        /// The version that wrote it.
        program: String,
    },
    /// The store itself is damaged.
    Faulty {
        /// How that shows: no value of a person.
        what: String,
    },
    /// The directory or its database cannot be opened.
    Open(OpenError),
    /// A file could not be used.
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Anything else that SQLite refused.
    Sqlite(rusqlite::Error),
}

impl BackupError {
    /// What the system said about a file.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::Io { path, source }
    }
}

impl fmt::Display for BackupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoStore { directory } => {
                write!(f, "there is no Roster database in {}", directory.display())
            }
            Self::HasStore { directory } => write!(
                f,
                "{} holds a database already: restore into another directory, or move the old \
                 one away first",
                directory.display()
            ),
            Self::Exists { file } => {
                write!(f, "{} is there already: a backup overwrites nothing", file.display())
            }
            Self::NotABackup { file } => write!(
                f,
                "{} is not a backup made by `roster backup`, or its end is missing",
                file.display()
            ),
            Self::Damaged { file, what } => {
                write!(f, "the backup {} is damaged: {what}", file.display())
            }
            Self::Newer { file, program } => write!(
                f,
                "the backup {} was written by the newer version {program}: restore it with that",
                file.display()
            ),
            Self::Faulty { what } => write!(
                f,
                "the database is damaged, so no backup was made of it: {what}; see `roster check`"
            ),
            Self::Open(error) => error.fmt(f),
            Self::Io { path, .. } => write!(f, "{} cannot be used", path.display()),
            Self::Sqlite(error) if failure::is_full(error) => f.write_str("the disk is full"),
            Self::Sqlite(error) if failure::is_corrupt(error) => {
                f.write_str("the database file is damaged")
            }
            Self::Sqlite(_) => f.write_str("the database cannot be read"),
        }
    }
}

impl Error for BackupError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // Its own text stands for it: what is behind it follows.
            Self::Open(error) => error.source(),
            Self::Io { source, .. } => Some(source),
            Self::Sqlite(source) => Some(source),
            Self::NoStore { .. }
            | Self::HasStore { .. }
            | Self::Exists { .. }
            | Self::NotABackup { .. }
            | Self::Damaged { .. }
            | Self::Newer { .. }
            | Self::Faulty { .. } => None,
        }
    }
}

impl From<rusqlite::Error> for BackupError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<OpenError> for BackupError {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
    }
}
