//! Forgetting what has outlived its time: keys of requests, and the start of the log.
//!
//! A step is bounded, so that no write waits for long behind it; whoever asks goes on until there
//! is nothing left. The log is only ever cut at its start, so that it stays without a gap.

use roster_core::Outlived;
use rusqlite::{Connection, Result};

/// Most rows of each table that are dropped in one step.
const ROWS_MAX: i64 = 1000;

pub(crate) const DROP_KEYS: &str = "DELETE FROM idempotency_keys WHERE key IN \
     (SELECT key FROM idempotency_keys WHERE at < ?1 ORDER BY at LIMIT ?2)";

/// The last of the oldest events before the first one that is young enough, among so many.
pub(crate) const OLDEST_EVENTS: &str = "SELECT position, at FROM events ORDER BY position LIMIT ?1";

pub(crate) const DROP_EVENTS: &str = "DELETE FROM events WHERE position <= ?1";

/// Drops a step of what has outlived its time; tells how many rows went.
pub(crate) fn step(connection: &Connection, before: Outlived) -> Result<u64> {
    let mut keys = connection.prepare_cached(DROP_KEYS)?;
    let keys = keys.execute([before.keys_before.as_millis(), ROWS_MAX])?;
    let events = match last_outlived(connection, before.events_before.as_millis())? {
        Some(position) => connection.prepare_cached(DROP_EVENTS)?.execute([position])?,
        None => 0,
    };
    Ok(u64::try_from(keys + events).unwrap_or(u64::MAX))
}

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
