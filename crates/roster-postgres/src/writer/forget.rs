//! Deletion by age: of idempotency records, and of the oldest events of the log.
//!
//! A step deletes a bounded number of rows, so that writes do not wait long for it. The caller
//! repeats it until nothing is left. Events are deleted only from the start of the log, which
//! therefore has no gaps.

use std::sync::Arc;

use roster_core::Outlived;

use crate::{columns::column, connect::Connection, query_error::QueryResult};

/// The maximum number of rows that one step deletes from each table.
const ROWS_MAX: i64 = 1000;

pub(crate) const DROP_KEYS: &str = "DELETE FROM idempotency_keys WHERE key IN \
     (SELECT key FROM idempotency_keys WHERE at < $1 ORDER BY at LIMIT $2)";

/// The oldest events. The last one before the first that is kept ends the step.
pub(crate) const OLDEST_EVENTS: &str = "SELECT position, at FROM events ORDER BY position LIMIT $1";

pub(crate) const DROP_EVENTS: &str = "DELETE FROM events WHERE position <= $1";

/// Deletes the rows of one step; returns their number.
pub(crate) async fn forget(connection: Arc<Connection>, before: Outlived) -> QueryResult<u64> {
    let keys_before = before.keys_before.as_millis();
    let keys = connection.execute(DROP_KEYS, &[&keys_before, &ROWS_MAX]).await?;
    let mut last = None;
    for row in connection.query(OLDEST_EVENTS, &[&ROWS_MAX]).await? {
        let at: i64 = column(&row, 1, "events.at")?;
        if at >= before.events_before.as_millis() {
            break;
        }
        last = Some(column::<i64>(&row, 0, "events.position")?);
    }
    let Some(last) = last else { return Ok(keys) };
    Ok(keys + connection.execute(DROP_EVENTS, &[&last]).await?)
}
