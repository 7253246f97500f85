//! Refuses a directory whose database was lost.
//!
//! If a database is empty, SQLite takes it for a new one and deletes a write-ahead log beside it,
//! which may have acknowledged commits. So this check comes before SQLite opens the file, even for
//! reading.

use std::{fs, io::ErrorKind, path::Path};

use crate::{
    open_error::OpenError,
    settings::{DATABASE, LOCK},
};

/// Fails if `roster.db` is empty or missing although there was a database, or if it is an empty
/// file that Roster did not create. Passes what an interrupted first start leaves.
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
    match bytes(DATABASE)? {
        None | Some(0) if was_opened => Err(OpenError::Lost(directory.to_owned())),
        Some(0) if bytes(LOCK)?.is_none() => Err(OpenError::Empty(directory.join(DATABASE))),
        None | Some(_) => Ok(()),
    }
}
