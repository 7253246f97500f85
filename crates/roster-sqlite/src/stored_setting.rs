//! The table of what a store keeps of itself.

use rusqlite::{Connection, OptionalExtension as _, types::FromSql};

const READ_SETTING: &str = "SELECT value FROM settings WHERE name = ?1";
pub(crate) const WRITE_SETTING: &str = "INSERT INTO settings (name, value) VALUES (?1, ?2) \
     ON CONFLICT (name) DO UPDATE SET value = ?2 WHERE value <> ?2";

/// A setting of the store.
pub(crate) fn setting<T: FromSql>(
    connection: &Connection,
    name: &str,
) -> rusqlite::Result<Option<T>> {
    connection.prepare_cached(READ_SETTING)?.query_row([name], |row| row.get(0)).optional()
}
