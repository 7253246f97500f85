//! Refuses a directory whose database was lost, or is a backup.
//!
//! If a database is empty, SQLite takes it for a new one and deletes a write-ahead log beside it,
//! which may have acknowledged commits. So this check comes before SQLite opens the file, even for
//! reading.

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Read as _, Seek as _, SeekFrom},
    path::Path,
};

use crate::{
    open_error::OpenError,
    settings::{DATABASE, LOCK},
};

/// Marks the file of a backup, before its digest.
pub(crate) const BACKUP_MARK: [u8; 8] = *b"rstrbkup";
/// The bytes of the digest at the end of a backup.
pub(crate) const DIGEST_BYTES: u64 = 32;

/// The pages of a database are multiples of this size.
const PAGE_BYTES: u64 = 4096;

/// Fails if `roster.db` is a backup, because a service that changed it would continue the log of
/// the original. Fails if `roster.db` is empty or missing although there was a database, or if it
/// is an empty file that Roster did not create. Passes what an interrupted first start leaves.
///
/// A first start creates `roster.lock`, then an empty `roster.db`. SQLite syncs its first page,
/// through `roster.db-journal`, and creates the write-ahead log and its index only afterwards.
/// Another process may be starting meanwhile, so the files are examined in the opposite order.
pub(crate) fn refuse_lost(directory: &Path) -> Result<(), OpenError> {
    let bytes = |name: &str| {
        let path = directory.join(name);
        match fs::symlink_metadata(&path) {
            Ok(found) => Ok(Some(found.len())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(OpenError::Io { path, source }),
        }
    };
    let has_log = bytes(&format!("{DATABASE}-wal"))?.is_some();
    let was_opened = has_log || bytes(&format!("{DATABASE}-shm"))?.is_some();
    let path = directory.join(DATABASE);
    match bytes(DATABASE)? {
        None | Some(0) if was_opened => Err(OpenError::Lost(directory.to_owned())),
        Some(0) if bytes(LOCK)?.is_none() => Err(OpenError::Empty(path)),
        None => Ok(()),
        Some(bytes) => match is_backup(&path, bytes) {
            Ok(true) => Err(OpenError::Backup(path)),
            Ok(false) => Ok(()),
            Err(source) => Err(OpenError::Io { path, source }),
        },
    }
}

/// Whether a file of this length is a backup. What callers store cannot look like one, because a
/// database consists of whole pages.
fn is_backup(path: &Path, bytes: u64) -> io::Result<bool> {
    let mut mark = [0; BACKUP_MARK.len()];
    let Some(start) = bytes.checked_sub(DIGEST_BYTES + 8) else { return Ok(false) };
    if bytes.is_multiple_of(PAGE_BYTES) {
        return Ok(false);
    }
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(&mut mark)?;
    Ok(mark == BACKUP_MARK)
}
