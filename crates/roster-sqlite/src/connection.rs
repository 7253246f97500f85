//! Opening connections, with every setting of SQLite.
//!
//! One connection writes, one copies the log into the database, a few read. None checkpoints by
//! itself, neither at a commit nor when it closes: that is the checkpointer's work, and must not
//! happen at all once a sync has failed.

use std::{path::PathBuf, time::Duration};

use rusqlite::{Connection, OpenFlags, config::DbConfig};

use crate::{checkpoint::EMPTY, open_error::OpenError, schema, settings::Settings};

/// The name of the database file in the data directory.
pub(crate) const DATABASE: &str = "roster.db";

/// Statements that a connection keeps prepared.
const STATEMENTS_MAX: usize = 256;

/// Only the writer waits for a lock: for short reads of a write-ahead log that is to be reset.
const BUSY_WAIT: Duration = Duration::from_millis(5);

/// A thread uses its connection alone.
pub(crate) const READ_ONLY: OpenFlags =
    OpenFlags::SQLITE_OPEN_READ_ONLY.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);
pub(crate) const READ_WRITE: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE
    .union(OpenFlags::SQLITE_OPEN_CREATE)
    .union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// The connection that writes, at the newest schema.
pub(crate) fn open_writer(settings: &Settings) -> Result<Connection, OpenError> {
    let mut connection = Connection::open_with_flags(path(settings), READ_WRITE)?;
    schema::recognize(&connection)?;
    configure(&connection, BUSY_WAIT, settings.writer_cache_kib, settings.mapped_bytes_max)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // A commit is on disk when it returns.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    // What is deleted is overwritten, whole pages that become free too: see `scrub`.
    connection.pragma_update(None, "secure_delete", "ON")?;
    if let Some(pages_max) = settings.pages_max {
        connection.pragma_update(None, "max_page_count", pages_max)?;
    }
    schema::migrate(&mut connection, schema::MIGRATIONS)?;
    // After a crash or a failed sync the log may have commits that are not on disk. They have to
    // be there before anything is answered by them. Another process that reads may keep some of
    // the log from being copied, but not from being synced.
    connection.query_row(EMPTY, [], |_| Ok(()))?;
    Ok(connection)
}

/// The connection that copies the write-ahead log into the database.
pub(crate) fn open_checkpointer(settings: &Settings) -> Result<Connection, OpenError> {
    let connection = Connection::open_with_flags(path(settings), READ_WRITE)?;
    configure(&connection, BUSY_WAIT, settings.reader_cache_kib, settings.mapped_bytes_max)?;
    // What is copied is on disk before the log begins anew.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    Ok(connection)
}

/// Whether the last process to write here ended without closing the store.
pub(crate) fn is_unclean(settings: &Settings) -> bool {
    wal(settings).metadata().is_ok_and(|log| log.len() > 0)
}

/// Where the write-ahead log lies.
pub(crate) fn wal(settings: &Settings) -> PathBuf {
    settings.directory.join(format!("{DATABASE}-wal"))
}

/// A connection that reads.
pub(crate) fn open_reader(settings: &Settings) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path(settings), READ_ONLY)?;
    configure(&connection, BUSY_WAIT, settings.reader_cache_kib, settings.mapped_bytes_max)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// Where the database file lies.
pub(crate) fn path(settings: &Settings) -> PathBuf {
    settings.directory.join(DATABASE)
}

/// Sets what all connections have in common.
pub(crate) fn configure(
    connection: &Connection,
    busy_wait: Duration,
    cache_kib: u32,
    mapped_bytes_max: i64,
) -> rusqlite::Result<()> {
    connection.busy_timeout(busy_wait)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    // Without this, a statement is planned anew whenever a parameter is bound.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false)?;
    connection.pragma_update(None, "cache_size", -i64::from(cache_kib))?;
    connection.pragma_update(None, "mmap_size", mapped_bytes_max)?;
    connection.pragma_update(None, "temp_store", "MEMORY")
}
