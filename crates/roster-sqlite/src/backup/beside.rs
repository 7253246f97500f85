//! Read-only connections that are separate from the service: to a store that another process may
//! serve, or to the database in a backup.
//!
//! They do not lock the directory and change nothing in it. A reader of the write-ahead log does
//! not delay writers, but the log grows while the reader's snapshot exists.

use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};

use super::error::BackupError;
use crate::{
    connection::{self, READ_ONLY, configure, has_store},
    migrations,
};

/// The maximum time to wait for a process that has just started and still recovers the log.
const BUSY_WAIT: Duration = Duration::from_secs(10);

/// Page cache, in KiB.
const CACHE_KIB: u32 = 16 * 1024;

/// Reads the store of a data directory. A file without a table, which a first start that was
/// interrupted leaves, is none.
pub(crate) fn open_store(directory: &Path) -> Result<Connection, BackupError> {
    let missing = || BackupError::NoStore(directory.to_owned());
    if !has_store(directory)? {
        return Err(missing());
    }
    let connection = recognized(connection::open(directory, READ_ONLY)?)?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables == 0 { Err(missing()) } else { Ok(connection) }
}

/// Opens a database that does not change. Bytes after it in its file are ignored.
pub(crate) fn open_still(file: &Path) -> Result<Connection, BackupError> {
    let path = std::path::absolute(file).map_err(BackupError::io(file))?;
    let flags = READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    recognized(Connection::open_with_flags(immutable(&path), flags)?)
}

/// How many migrations the file has had.
pub(crate) fn schema_of(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn recognized(connection: Connection) -> Result<Connection, BackupError> {
    configure(&connection, BUSY_WAIT, CACHE_KIB)?;
    migrations::recognize(&connection)?;
    Ok(connection)
}

/// The URI of a file that does not change while it is read.
fn immutable(path: &Path) -> PathBuf {
    let mut uri = b"file:".to_vec();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'%' => uri.extend_from_slice(b"%25"),
            b'?' => uri.extend_from_slice(b"%3f"),
            b'#' => uri.extend_from_slice(b"%23"),
            other => uri.push(*other),
        }
    }
    uri.extend_from_slice(b"?immutable=1");
    PathBuf::from(OsString::from_vec(uri))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_letters_of_uris_stays_that_path() {
        let uri = immutable(Path::new("/a b/50%?#c"));
        assert_eq!(uri, Path::new("file:/a b/50%25%3f%23c?immutable=1"));
    }
}
