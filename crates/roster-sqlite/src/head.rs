//! The head of the log, and other data of the same snapshot.

use roster_core::Head;
use roster_engine::corrupt;
use rusqlite::{Connection, Row};

use crate::failure::ReadResult;

pub(crate) const HEAD: &str =
    "SELECT position, active, suspended, deleted FROM log_head WHERE number = 1";

/// The head of a row of `log_head`, from that column on.
pub(crate) fn head_of(row: &Row<'_>, first: usize) -> rusqlite::Result<Head> {
    Ok(Head {
        position: row.get(first)?,
        active: row.get(first + 1)?,
        suspended: row.get(first + 2)?,
        deleted: row.get(first + 3)?,
    })
}

/// Reads the head, and lets `read` read more of the same snapshot: SQLite's implicit transaction
/// lasts while any statement of the connection is open, and this one stays open.
pub(crate) fn in_snapshot<T>(
    connection: &Connection,
    read: impl FnOnce(Head) -> ReadResult<T>,
) -> ReadResult<T> {
    let mut statement = connection.prepare_cached(HEAD)?;
    let mut snapshot = statement.query([])?;
    let row = snapshot.next()?.ok_or_else(|| corrupt("log_head"))?;
    read(head_of(row, 0)?)
}
