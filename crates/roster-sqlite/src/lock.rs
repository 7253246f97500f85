//! The lock on a data directory: one process serves it.
//!
//! The lock belongs to the open file, so the system releases it however the process ends. Whoever
//! takes it closes the files of the store to other users of the machine: SQLite gives the
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

/// Permission bits of anyone but the owner.
const OTHERS: u32 = 0o077;

/// A data directory that is ours as long as this lives.
pub(crate) struct DirectoryLock(#[expect(dead_code, reason = "held, never read")] File);

impl DirectoryLock {
    /// Takes the lock; refused when another process, or another store of this one, holds it.
    pub(crate) fn take(directory: &Path) -> Result<Self, OpenError> {
        let path = directory.join(LOCK);
        let io = |source| OpenError::Io { path: path.clone(), source };
        let opened = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = opened.map_err(io)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => OpenError::Locked(path.clone()),
            TryLockError::Error(source) => io(source),
        })?;
        close_to_others(directory)?;
        Ok(Self(file))
    }
}

/// Takes the permissions of others from the files of the store.
fn close_to_others(directory: &Path) -> Result<(), OpenError> {
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
