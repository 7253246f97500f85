//! What the sweep after a purge reads of settings and pages.

pub(crate) mod page;

use rusqlite::{Connection, Result};

use crate::stored_setting::setting;

/// The setting of the last purge after which the files were not swept yet.
pub(crate) const NAME: &str = "purged";

pub(crate) const MARK: &str = "INSERT INTO settings (name, value) VALUES (?1, ?2) \
     ON CONFLICT (name) DO UPDATE SET value = ?2";

/// The position of the last purge after which the files were not swept yet.
pub(crate) fn marked(connection: &Connection) -> Result<Option<i64>> {
    setting(connection, NAME)
}

/// Remembers, in the transaction of a purge, that the files are to be swept.
pub(crate) fn mark(connection: &Connection, position: i64) -> Result<()> {
    connection.prepare_cached(MARK)?.execute((NAME, position))?;
    Ok(())
}
