//! The head of the log, and all that is read beside it, in one snapshot.

use roster_core::{Head, StoreError};
use rusqlite::Connection;

use crate::{columns::corrupt, failure::store_error};

pub(crate) const HEAD: &str =
    "SELECT position, active, suspended, deleted FROM log_head WHERE number = 1";

/// Reads the head, and lets `read` read more of the same snapshot: SQLite's implicit transaction
/// lasts as long as any statement of the connection does, and this one stays open.
pub(crate) fn in_snapshot<T>(
    connection: &Connection,
    read: impl FnOnce(Head) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let mut statement = connection.prepare_cached(HEAD).map_err(store_error)?;
    let mut snapshot = statement.query([]).map_err(store_error)?;
    let row = snapshot.next().map_err(store_error)?.ok_or_else(|| corrupt("log_head"))?;
    let number = |index: usize| row.get(index).map_err(store_error);
    read(Head {
        position: number(0)?,
        active: number(1)?,
        suspended: number(2)?,
        deleted: number(3)?,
    })
}
