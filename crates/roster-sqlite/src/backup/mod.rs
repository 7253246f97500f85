//! Backup and restore.
//!
//! A backup is one snapshot, taken while the service continues to write. SQLite copies its tables
//! row by row, so it contains no deleted data. The copy is checked before the digest is added, and
//! every byte is verified before a restore. Neither overwrites a file: the result is complete or
//! does not exist.

mod beside;
mod error;
mod manifest;
mod sealed;

use std::{
    ffi::OsStr,
    fs::{self, File},
    path::Path,
};

use roster_core::{LogId, Position, Timestamp};
use roster_engine::{fork, pause_webhooks};
use rusqlite::{Connection, OpenFlags};
use tempfile::NamedTempFile;

pub(crate) use beside::{open_store, schema_of};
pub use error::BackupError;
use manifest::FORMAT;
pub use manifest::Manifest;
pub use sealed::Sealed;

use crate::{
    check,
    establish::random,
    lock::DirectoryLock,
    reads::rows::{Rows, run},
    settings::{DATABASE, LOADING, LOCK},
    wal::damage::refuse_damage,
};

/// The time and the program of a backup.
#[derive(Clone, Copy, Debug)]
pub struct Making<'a> {
    /// The time.
    pub at: Timestamp,
    /// The version of the program.
    pub program: &'a str,
}

/// A finished backup.
#[derive(Clone, Debug)]
pub struct Made {
    /// Its manifest.
    pub manifest: Manifest,
    /// Its size.
    pub bytes: u64,
}

/// Creates a backup of the store in a data directory, served or not, as a new file. The file is
/// synced when this returns.
pub fn backup(directory: &Path, file: &Path, making: Making<'_>) -> Result<Made, BackupError> {
    if file.file_name().is_some_and(is_reserved) {
        return Err(BackupError::Reserved(file.to_owned()));
    }
    let exists = || BackupError::Exists(file.to_owned());
    if fs::symlink_metadata(file).is_ok() {
        return Err(exists());
    }
    refuse_damage(directory)?;
    let source = beside::open_store(directory)?;
    let place = folder(file)?;
    let mut partial = partial(&place, file.file_name().unwrap_or_default())?;
    copy(&source, partial.path())?;
    drop(source);
    let manifest = hold(partial.path(), making)?;
    let sealed = sealed::seal(partial.as_file_mut(), &manifest);
    let bytes = sealed.map_err(BackupError::io(partial.path()))?;
    keep(partial, file, exists)?;
    sync_folder(&place)?;
    Ok(Made { manifest, bytes })
}

/// Whether a name is that of a file of a store. A backup with such a name would be taken for the
/// store of its directory, or be lost when that store is opened.
fn is_reserved(name: &OsStr) -> bool {
    let of_database = |end: &&str| name == OsStr::new(&format!("{DATABASE}{end}"));
    name == LOCK || name == LOADING || ["", "-wal", "-shm", "-journal"].iter().any(of_database)
}

/// Copies one snapshot into an empty file.
fn copy(source: &Connection, to: &Path) -> Result<(), BackupError> {
    // The finished file is synced once.
    source.pragma_update(None, "synchronous", "OFF")?;
    let to = to.to_str().ok_or_else(|| {
        let source = std::io::Error::other("the path is not UTF-8");
        BackupError::Io { path: to.to_owned(), source }
    })?;
    let copied = source.execute("VACUUM INTO ?1", [to]);
    if copied.is_err() {
        // SQLite leaves the journal of a copy that it could not finish.
        drop(fs::remove_file(format!("{to}-journal")));
    }
    copied?;
    Ok(())
}

/// Checks a new copy: a copy that cannot be restored is an error.
fn hold(copy: &Path, making: Making<'_>) -> Result<Manifest, BackupError> {
    let connection = beside::open_still(copy)?;
    let faults = check::whole(&connection)?;
    if let Some(what) = faults.into_iter().next() {
        return Err(BackupError::Faulty(what));
    }
    let (log_id, position) = check::head(&connection)?;
    let (users, deleted_users) = check::totals(&connection)?;
    Ok(Manifest {
        format: FORMAT,
        schema: schema_of(&connection)?,
        log_id,
        position,
        users,
        deleted_users,
        created_at: making.at,
        program: making.program.to_owned(),
    })
}

impl Sealed {
    /// Restores the store to an existing directory that has none. Returns the first position of its
    /// log, which continues that of the backup: later positions of the old log are not valid in it.
    /// The store is synced when this returns.
    pub fn restore(&mut self, directory: &Path, at: Timestamp) -> Result<Position, BackupError> {
        self.hold()?;
        refuse_store(directory)?;
        let _lock = DirectoryLock::take(directory)?;
        refuse_store(directory)?;
        let mut partial = partial(directory, OsStr::new(DATABASE))?;
        self.copy_database(partial.as_file_mut(), directory)?;
        let forked = fork_log(partial.path(), at)?;
        partial.as_file().sync_all().map_err(BackupError::io(partial.path()))?;
        let has = || BackupError::HasStore(directory.to_owned());
        keep(partial, &directory.join(DATABASE), has)?;
        sync_folder(directory)?;
        Ok(forked)
    }

    /// Checks the database in the backup, also against the manifest.
    fn hold(&self) -> Result<(), BackupError> {
        let damaged = |what: &str| BackupError::Damaged {
            file: self.path().to_owned(),
            what: what.to_owned(),
        };
        let connection = self.database()?;
        if let Some(what) = check::whole(&connection)?.first() {
            return Err(damaged(what));
        }
        let told = self.manifest();
        let (log_id, position) = check::head(&connection)?;
        let same = log_id == told.log_id
            && position == told.position
            && check::totals(&connection)? == (told.users, told.deleted_users)
            && schema_of(&connection)? == told.schema;
        if same {
            Ok(())
        } else {
            Err(damaged("its contents differ from its description of itself"))
        }
    }
}

/// Fails if the directory has any file of a store.
pub(crate) fn refuse_store(directory: &Path) -> Result<(), BackupError> {
    let is_there =
        |end: &str| fs::symlink_metadata(directory.join(format!("{DATABASE}{end}"))).is_ok();
    if ["", "-wal", "-shm", "-journal"].into_iter().any(is_there) {
        return Err(BackupError::HasStore(directory.to_owned()));
    }
    Ok(())
}

/// Gives the log of a copied database a new identity.
fn fork_log(database: &Path, at: Timestamp) -> Result<Position, BackupError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(database, flags)?;
    // An incomplete file is removed, so no rollback is needed.
    connection.pragma_update(None, "journal_mode", "MEMORY")?;
    let forked = run(fork(Rows::of_store(&connection), LogId(random()?), at))?;
    run(pause_webhooks(Rows::of_store(&connection), at))?;
    // With another journal, the service could not start while another process reads the store.
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(forked)
}

/// An empty file that only its owner can access, removed on drop unless it is kept.
fn partial(folder: &Path, name: &OsStr) -> Result<NamedTempFile, BackupError> {
    let mut prefix = OsStr::new(".").to_owned();
    prefix.push(name);
    prefix.push(".");
    let made = tempfile::Builder::new().prefix(&prefix).suffix(".partial").tempfile_in(folder);
    made.map_err(BackupError::io(folder))
}

/// Renames a finished file to its final name, unless that name exists.
fn keep(
    partial: NamedTempFile,
    file: &Path,
    taken: impl FnOnce() -> BackupError,
) -> Result<(), BackupError> {
    match partial.persist_noclobber(file) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Err(taken()),
        Err(error) => Err(BackupError::io(file)(error.error)),
    }
}

/// The directory of a new file.
fn folder(file: &Path) -> Result<std::path::PathBuf, BackupError> {
    let path = std::path::absolute(file).map_err(BackupError::io(file))?;
    let folder = path.parent().filter(|_| path.file_name().is_some());
    folder.map(Path::to_owned).ok_or_else(|| {
        let source = std::io::Error::other("it names no file");
        BackupError::Io { path: file.to_owned(), source }
    })
}

/// Syncs a directory after a change of names.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), BackupError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(BackupError::io(folder))
}
