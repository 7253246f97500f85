//! Opening connections, with every setting of SQLite.
//!
//! One connection writes, one copies the log into the database, a few read. No connection
//! checkpoints automatically, neither at a commit nor when it closes: only the checkpointer does,
//! and after a failed sync there must be no checkpoint.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, config::DbConfig};
use rustix::fs::{Access, access};

use crate::{
    lock::is_there,
    lost::refuse_lost,
    migrations,
    open_error::OpenError,
    settings::{DATABASE, PAGE_BYTES, Purpose, Settings},
    wal::{checkpoint::EMPTY, damage::refuse_damage},
};

/// The maximum number of prepared statements that a connection keeps.
const STATEMENTS_MAX: usize = 256;

/// Only the writer waits for a lock: for short reads, before it resets the write-ahead log.
const BUSY_WAIT: Duration = Duration::from_millis(5);

/// Without SQLite's own mutexes: only one thread uses a connection.
pub(crate) const READ_ONLY: OpenFlags =
    OpenFlags::SQLITE_OPEN_READ_ONLY.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);
pub(crate) const READ_WRITE: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE
    .union(OpenFlags::SQLITE_OPEN_CREATE)
    .union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// Whether a directory has a store. Fails if this process may not read it, or if its database was
/// lost.
pub fn has_store(directory: &Path) -> Result<bool, OpenError> {
    refuse_lost(directory)?;
    let path = directory.join(DATABASE);
    let is_readable = is_there(&path).and_then(|is_there| {
        if is_there {
            access(&path, Access::READ_OK)?;
        }
        Ok(is_there)
    });
    is_readable.map_err(|source| OpenError::Io { path, source })
}

/// Opens the database file of a directory. A symbolic link with its name is refused.
pub(crate) fn open(directory: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    // SQLite refuses every symbolic link of a path, also one that leads to the directory.
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    Connection::open_with_flags(directory.join(DATABASE), flags | OpenFlags::SQLITE_OPEN_NOFOLLOW)
}

/// Opens the connection that writes, and migrates the schema.
pub(crate) fn open_writer(settings: &Settings) -> Result<Connection, OpenError> {
    // Before SQLite reads the log, because the commits after the damage are then overwritten.
    refuse_damage(&settings.directory)?;
    let mut connection = open(&settings.directory, READ_WRITE)?;
    migrations::recognize(&connection)?;
    configure(&connection, BUSY_WAIT, settings.writer_cache_kib)?;
    configure_writes(&connection)?;
    match settings.purpose {
        Purpose::Serve => connection.pragma_update(None, "journal_mode", "WAL")?,
        Purpose::Fill => {
            connection.pragma_update(None, "journal_mode", "MEMORY")?;
            connection.pragma_update(None, "synchronous", "OFF")?;
            // The rows to sort may need more memory than there is.
            connection.pragma_update(None, "temp_store", "FILE")?;
        }
    }
    // A commit that begins the log again truncates a file that grew beyond the maximum.
    let log_bytes_max = i64::from(settings.wal_pages_max) * i64::from(PAGE_BYTES);
    connection.pragma_update(None, "journal_size_limit", log_bytes_max)?;
    connection.pragma_update(None, "max_page_count", settings.pages_max)?;
    migrations::migrate(&mut connection, migrations::MIGRATIONS)?;
    // After a crash or a failed sync, the log may have commits that are not on disk. They must be
    // synced before any request reads them. A read snapshot of another process may prevent copying
    // some of the log, but not syncing it.
    connection.query_row(EMPTY, [], |_| Ok(()))?;
    Ok(connection)
}

/// Opens a connection that writes to the database of a running service, which may be another
/// process. `None` if the schema is not that of this release.
pub(crate) fn open_served(
    settings: &Settings,
    busy_wait: Duration,
) -> Result<Option<Connection>, OpenError> {
    let without_create = READ_WRITE.difference(OpenFlags::SQLITE_OPEN_CREATE);
    let connection = open(&settings.directory, without_create)?;
    if !migrations::is_current(&connection)? {
        return Ok(None);
    }
    configure(&connection, busy_wait, settings.reader_cache_kib)?;
    configure_writes(&connection)?;
    Ok(Some(connection))
}

/// The connection that copies the write-ahead log into the database.
pub(crate) fn open_checkpointer(settings: &Settings) -> Result<Connection, OpenError> {
    let connection = open(&settings.directory, READ_WRITE)?;
    configure(&connection, BUSY_WAIT, settings.reader_cache_kib)?;
    configure_writes(&connection)?;
    Ok(connection)
}

/// Whether the last process to write here ended without closing the store.
pub(crate) fn is_unclean(settings: &Settings) -> bool {
    wal_bytes(settings) > 0
}

/// The size of the write-ahead log's file in bytes; 0 before the first commit.
pub(crate) fn wal_bytes(settings: &Settings) -> u64 {
    let wal = settings.directory.join(format!("{DATABASE}-wal"));
    wal.metadata().map_or(0, |file| file.len())
}

pub(crate) fn open_reader(settings: &Settings) -> rusqlite::Result<Connection> {
    let connection = open(&settings.directory, READ_ONLY)?;
    configure(&connection, BUSY_WAIT, settings.reader_cache_kib)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

pub(crate) fn path(settings: &Settings) -> PathBuf {
    settings.directory.join(DATABASE)
}

/// Sets the common settings of the connections that write or copy the log.
fn configure_writes(connection: &Connection) -> rusqlite::Result<()> {
    // A commit is synced to disk before it returns, and copied pages before the log restarts.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    // Deleted data is overwritten, including pages that become free: see `sweep`.
    connection.pragma_update(None, "secure_delete", "ON")
}

/// Sets the common settings of all connections.
pub(crate) fn configure(
    connection: &Connection,
    busy_wait: Duration,
    cache_kib: u32,
) -> rusqlite::Result<()> {
    connection.busy_timeout(busy_wait)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    // Without this, SQLite prepares a statement again whenever a parameter is bound.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false)?;
    connection.pragma_update(None, "cache_size", -i64::from(cache_kib))?;
    connection.pragma_update(None, "temp_store", "MEMORY")
}
