//! Forgetting what has outlived its time: keys of requests, and the start of the log.
//!
//! A step is bounded, so that no write waits for long behind it; whoever asks goes on until there
//! is nothing left. The log is only ever cut at its start, so that it stays without a gap.

use roster_core::Outlived;

use crate::{
    columns::column,
    connect::Connection,
    pool::{Miss, Question},
};

/// Most rows of each table that are dropped in one step.
const ROWS_MAX: i64 = 1000;

pub(crate) const DROP_KEYS: &str = "DELETE FROM idempotency_keys WHERE key IN \
     (SELECT key FROM idempotency_keys WHERE at < $1 ORDER BY at LIMIT $2)";

/// The oldest events, among which the last one before the first that is young enough is sought.
pub(crate) const OLDEST_EVENTS: &str = "SELECT position, at FROM events ORDER BY position LIMIT $1";

pub(crate) const DROP_EVENTS: &str = "DELETE FROM events WHERE position <= $1";

/// Drops a step of what has outlived its time; tells how many rows went.
impl Question for Outlived {
    type Answer = u64;

    async fn ask(&self, connection: &Connection) -> Result<u64, Miss> {
        forget(connection, *self).await
    }
}

async fn forget(connection: &Connection, before: Outlived) -> Result<u64, Miss> {
    let client = connection.client();
    let drop_keys = connection.prepare(DROP_KEYS).await?;
    let keys = client.execute(&drop_keys, &[&before.keys_before.as_millis(), &ROWS_MAX]).await?;
    let oldest = connection.prepare(OLDEST_EVENTS).await?;
    let mut last = None;
    for row in client.query(&oldest, &[&ROWS_MAX]).await? {
        let at: i64 = column(&row, 1, "events.at")?;
        if at >= before.events_before.as_millis() {
            break;
        }
        last = Some(column::<i64>(&row, 0, "events.position")?);
    }
    let Some(last) = last else { return Ok(keys) };
    let drop_events = connection.prepare(DROP_EVENTS).await?;
    Ok(keys + client.execute(&drop_events, &[&last]).await?)
}
