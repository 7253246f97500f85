//! The locks on a data directory: only one process serves it.
//!
//! A process that serves a store holds two locks. The one on `roster.lock` exists before there is a
//! database. The one on the database file prevents a second process even if someone removed
//! `roster.lock`. A lock belongs to the open file, so the system releases it however the process
//! ends. Taking the locks also removes the permissions of other users from the store's files.
//! SQLite gives the write-ahead log and its index the mode of the database file, whatever the umask
//! is.
//!
//! The locks are those of `flock`, which are independent of SQLite's own ones. But when a process
//! closes any handle of a file, the system releases SQLite's locks on that file. So the handle of
//! the database is closed after all connections.

use std::{
    fs::{self, File, OpenOptions, Permissions, TryLockError},
    io::{Error, ErrorKind},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
    sync::Arc,
};

use rustix::fs::OFlags;

use crate::{
    lost::refuse_lost,
    open_error::OpenError,
    settings::{DATABASE, LOCK},
};

/// The permission bits of everyone but the owner.
const OTHERS: u32 = 0o077;

/// The lock of a directory, held until this is dropped.
pub(crate) struct DirectoryLock(#[expect(dead_code, reason = "held, never read")] File);

impl DirectoryLock {
    /// Takes the lock. Fails if another process, or another store of this process, holds it.
    pub(crate) fn take(directory: &Path) -> Result<Self, OpenError> {
        let file = open_locked(&directory.join(LOCK), true)?;
        remove_permissions_of_others(directory)?;
        Ok(Self(file))
    }
}

/// The locks of a directory and of the store in it. Declared after all connections, so that it is
/// dropped after them.
pub(crate) struct StoreLock {
    database: Arc<File>,
    _directory: DirectoryLock,
}

impl StoreLock {
    /// Takes the locks, and creates an empty database if `creates` and there is none. Fails if
    /// another process, or another store of this process, holds one of them, or if there was a
    /// database that is lost.
    pub(crate) fn take(directory: &Path, creates: bool) -> Result<Self, OpenError> {
        // Before the lock file is created, which is part of what this examines.
        refuse_lost(directory)?;
        let lock = DirectoryLock::take(directory)?;
        let database = Arc::new(open_locked(&directory.join(DATABASE), creates)?);
        Ok(Self { database, _directory: lock })
    }

    /// The open file of the database.
    pub(crate) fn database(&self) -> Arc<File> {
        Arc::clone(&self.database)
    }
}

/// Opens a file and locks it.
fn open_locked(path: &Path, creates: bool) -> Result<File, OpenError> {
    let io = |source| OpenError::Io { path: path.to_owned(), source };
    is_there(path).map_err(io)?;
    let no_follow = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let opened = OpenOptions::new()
        .create(creates)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .custom_flags(no_follow)
        .open(path);
    let file = opened.map_err(io)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked(path.to_owned())),
        Err(TryLockError::Error(source)) => Err(io(source)),
    }
}

/// Whether there is a file with this path. Fails if it is no regular file: Roster follows no
/// symbolic link to a file of a store.
pub(crate) fn is_there(path: &Path) -> Result<bool, Error> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Ok(true),
        Ok(found) if found.is_symlink() => Err(Error::other("it is a symbolic link")),
        Ok(_) => Err(Error::other("it is not a regular file")),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the permissions of other users from the store's files.
fn remove_permissions_of_others(directory: &Path) -> Result<(), OpenError> {
    let database = ["", "-wal", "-shm", "-journal"].map(|end| format!("{DATABASE}{end}"));
    for name in database.iter().map(String::as_str).chain([LOCK]) {
        let path = directory.join(name);
        let close = || {
            if !is_there(&path)? {
                return Ok(());
            }
            let mode = fs::metadata(&path)?.permissions().mode();
            if mode & OTHERS == 0 {
                return Ok(());
            }
            fs::set_permissions(&path, Permissions::from_mode(mode & !OTHERS))
        };
        match close() {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                return Err(OpenError::Io { path, source });
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}
