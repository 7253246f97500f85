//! The settings of the sweep: the mark that a purge sets, and the progress of a pass.

use roster_engine::setting;
use rusqlite::{Connection, Result};

use crate::{
    failure::ReadResult,
    reads::rows::{Rows, run},
};

/// The setting of the last purge after which the files were not swept yet.
pub(crate) const NAME: &str = "purged";

pub(crate) const MARK: &str = "INSERT INTO settings (tenant, name, value) VALUES (0, ?1, ?2) \
     ON CONFLICT (tenant, name) DO UPDATE SET value = ?2";

/// The number in a setting of the sweep.
pub(crate) fn number(connection: &Connection, name: &str) -> ReadResult<Option<i64>> {
    let row = run(setting(Rows::of_store(connection), name))?;
    Ok(row.map(|row| row.number(0, name)).transpose()?)
}

/// Remembers, in the transaction of a purge, that the files are to be swept.
pub(crate) fn set(connection: &Connection, position: i64) -> Result<()> {
    connection.prepare_cached(MARK)?.execute((NAME, position))?;
    Ok(())
}
