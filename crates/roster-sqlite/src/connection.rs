//! Opening connections: every setting of SQLite stands here.
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

/// Nobody waits for another's lock, but one: the writer, for readers of a log that is to begin
/// anew. Reads are short.
const BUSY_WAIT: Duration = Duration::from_millis(5);

/// The connection that writes, at the newest schema.
pub(crate) fn open_writer(settings: &Settings) -> Result<Connection, OpenError> {
    let mut connection =
        Connection::open_with_flags(path(settings), flags(OpenFlags::SQLITE_OPEN_READ_WRITE))?;
    schema::recognize(&connection)?;
    configure(&connection, settings, settings.writer_cache_kib)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // A commit is on disk when it returns.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    // What is deleted is overwritten, whole pages that become free too: see `scrub`.
    connection.pragma_update(None, "secure_delete", "ON")?;
    if let Some(pages_max) = settings.pages_max {
        connection.pragma_update(None, "max_page_count", pages_max)?;
    }
    schema::migrate(&mut connection)?;
    // After a crash or a failed sync the log may have commits that are not on disk. They have to
    // be there before anything is answered by them. Another process that reads may keep some of
    // the log from being copied, but not from being synced.
    connection.query_row(EMPTY, [], |_| Ok(()))?;
    Ok(connection)
}

/// The connection that copies the write-ahead log into the database.
pub(crate) fn open_checkpointer(settings: &Settings) -> Result<Connection, OpenError> {
    let connection =
        Connection::open_with_flags(path(settings), flags(OpenFlags::SQLITE_OPEN_READ_WRITE))?;
    configure(&connection, settings, settings.reader_cache_kib)?;
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
    let connection =
        Connection::open_with_flags(path(settings), flags(OpenFlags::SQLITE_OPEN_READ_ONLY))?;
    configure(&connection, settings, settings.reader_cache_kib)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// Where the database file lies.
pub(crate) fn path(settings: &Settings) -> PathBuf {
    settings.directory.join(DATABASE)
}

fn flags(access: OpenFlags) -> OpenFlags {
    let create = if access == OpenFlags::SQLITE_OPEN_READ_WRITE {
        OpenFlags::SQLITE_OPEN_CREATE
    } else {
        OpenFlags::empty()
    };
    access | create | OpenFlags::SQLITE_OPEN_NO_MUTEX
}

fn configure(connection: &Connection, settings: &Settings, cache_kib: u32) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_WAIT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    // Without this, a statement is planned anew whenever a parameter is bound.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false)?;
    connection.pragma_update(None, "cache_size", -i64::from(cache_kib))?;
    connection.pragma_update(None, "mmap_size", settings.mapped_bytes_max)?;
    connection.pragma_update(None, "temp_store", "MEMORY")
}
