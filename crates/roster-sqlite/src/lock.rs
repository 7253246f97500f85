//! The lock on a data directory: only one process serves it.
//!
//! The lock belongs to the open file, so the system releases it however the process ends. Taking
//! the lock also removes the permissions of other users from the store's files. SQLite gives the
//! write-ahead log and its index the mode of the database file, whatever the umask is.

use std::{
    fs::{self, File, OpenOptions, Permissions, TryLockError},
    io::ErrorKind,
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use crate::{connection::DATABASE, open_error::OpenError};

/// The name of the lock file in the data directory.
const LOCK: &str = "roster.lock";

/// The permission bits of everyone but the owner.
const OTHERS: u32 = 0o077;

/// The lock, held until this is dropped.
pub(crate) struct DirectoryLock(#[expect(dead_code, reason = "held, never read")] File);

impl DirectoryLock {
    /// Takes the lock. Fails if another process, or another store of this process, holds it.
    pub(crate) fn take(directory: &Path) -> Result<Self, OpenError> {
        let path = directory.join(LOCK);
        let io = |source| OpenError::Io { path: path.clone(), source };
        let opened = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = opened.map_err(io)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => OpenError::Locked(path.clone()),
            TryLockError::Error(source) => io(source),
        })?;
        remove_permissions_of_others(directory)?;
        Ok(Self(file))
    }
}

/// Removes the permissions of other users from the store's files.
fn remove_permissions_of_others(directory: &Path) -> Result<(), OpenError> {
    let database = ["", "-wal", "-shm", "-journal"].map(|end| format!("{DATABASE}{end}"));
    for name in database.iter().map(String::as_str).chain([LOCK]) {
        let path = directory.join(name);
        let closed = fs::metadata(&path).and_then(|file| {
            let mode = file.permissions().mode();
            if mode & OTHERS == 0 {
                return Ok(());
            }
            fs::set_permissions(&path, Permissions::from_mode(mode & !OTHERS))
        });
        match closed {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                return Err(OpenError::Io { path, source });
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}
