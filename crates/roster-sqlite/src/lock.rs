//! The lock on a data directory: one process serves it.
//!
//! The lock belongs to the open file, so the system releases it however the process ends.

use std::{
    fs::{File, OpenOptions, TryLockError},
    path::Path,
};

use crate::open_error::OpenError;

/// The name of the lock file in the data directory.
const LOCK: &str = "roster.lock";

/// A data directory that is ours as long as this lives.
pub(crate) struct DirectoryLock(#[expect(dead_code, reason = "held, never read")] File);

impl DirectoryLock {
    /// Takes the lock; refused when another process, or another store of this one, holds it.
    pub(crate) fn take(directory: &Path) -> Result<Self, OpenError> {
        let path = directory.join(LOCK);
        let opened = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = match opened {
            Ok(file) => file,
            Err(source) => return Err(OpenError::Io { path, source }),
        };
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(OpenError::Locked { path }),
            Err(TryLockError::Error(source)) => Err(OpenError::Io { path, source }),
        }
    }
}
