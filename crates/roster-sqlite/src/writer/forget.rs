//! Deleting what is too old: idempotency records, and the events at the start of the log.
//!
//! A step deletes a bounded number of rows, so that writes wait for a short time only. The caller
//! repeats it until nothing is left. Events are deleted from the start of the log on, so that the
//! log has no gap.

use roster_core::Outlived;
use rusqlite::{Connection, Result};

/// Most rows of each table that one step deletes.
const ROWS_MAX: i64 = 1000;

pub(crate) const DROP_KEYS: &str = "DELETE FROM idempotency_keys WHERE key IN \
     (SELECT key FROM idempotency_keys WHERE at < ?1 ORDER BY at LIMIT ?2)";

/// The oldest events.
pub(crate) const OLDEST_EVENTS: &str = "SELECT position, at FROM events ORDER BY position LIMIT ?1";

pub(crate) const DROP_EVENTS: &str = "DELETE FROM events WHERE position <= ?1";

/// Deletes one step. Returns the number of rows.
pub(crate) fn step(connection: &Connection, before: Outlived) -> Result<u64> {
    let mut keys = connection.prepare_cached(DROP_KEYS)?;
    let keys = keys.execute([before.keys_before.as_millis(), ROWS_MAX])?;
    let events = match last_outlived(connection, before.events_before.as_millis())? {
        Some(position) => connection.prepare_cached(DROP_EVENTS)?.execute([position])?,
        None => 0,
    };
    Ok(u64::try_from(keys + events).unwrap_or(u64::MAX))
}

/// The position of the last event before the first one that is young enough, within one step.
fn last_outlived(connection: &Connection, before: i64) -> Result<Option<i64>> {
    let mut statement = connection.prepare_cached(OLDEST_EVENTS)?;
    let mut rows = statement.query([ROWS_MAX])?;
    let mut last = None;
    while let Some(row) = rows.next()? {
        let at: i64 = row.get(1)?;
        if at >= before {
            break;
        }
        last = Some(row.get(0)?);
    }
    Ok(last)
}
