//! The row of the clock mark.
//!
//! Each change names the revision that it is made on. Where another process was first, nothing is
//! written, and what it wrote is the mark.

use std::sync::Arc;

use roster_core::{ClockMark, ClockReading, Timestamp, clock_mark::PendingMark};

use crate::{columns::column, connect::Connection, query_error::QueryResult};

pub(crate) const READ: &str =
    "SELECT revision, at, pending_at, waited_ms FROM clock_mark WHERE id = 1";

pub(crate) const NEWEST_EVENT: &str = "SELECT at FROM events ORDER BY position DESC LIMIT 1";

/// Nothing is written where the log has no head: another store is being loaded. The lock makes the
/// load wait until this row is written, or this statement until the head is gone.
pub(crate) const WRITE: &str = "INSERT INTO clock_mark AS stored \
     (id, revision, at, pending_at, waited_ms) SELECT 1::smallint, $1::bigint, $2::bigint, \
     $3::bigint, $4::bigint FROM log_head WHERE number = 1 FOR KEY SHARE \
     ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, at = excluded.at, \
     pending_at = excluded.pending_at, waited_ms = excluded.waited_ms \
     WHERE stored.revision = excluded.revision - 1";

/// Moves the clock mark by a reading of this process; returns the mark that is stored then.
pub(crate) async fn advance(
    connection: Arc<Connection>,
    reading: ClockReading,
) -> QueryResult<ClockMark> {
    let stored = read(&connection).await?;
    let mark = match stored {
        Some(mark) => mark.advance(reading),
        None => ClockMark::first(newest_event(&connection).await?, reading.wall),
    };
    if stored == Some(mark) {
        return Ok(mark);
    }
    let at = mark.at.as_millis();
    let pending = mark.pending.map_or((0, 0), |it| (it.at.as_millis(), it.waited_ms));
    let written = connection.execute(WRITE, &[&mark.revision, &at, &pending.0, &pending.1]).await?;
    if written == 1 {
        return Ok(mark);
    }
    Ok(read(&connection).await?.unwrap_or(mark))
}

async fn read(connection: &Connection) -> QueryResult<Option<ClockMark>> {
    let Some(row) = connection.query_opt(READ, &[]).await? else { return Ok(None) };
    let pending_at: i64 = column(&row, 2, "clock_mark.pending_at")?;
    let waited_ms = column(&row, 3, "clock_mark.waited_ms")?;
    let pending = PendingMark { at: Timestamp::from_millis(pending_at), waited_ms };
    Ok(Some(ClockMark {
        revision: column(&row, 0, "clock_mark.revision")?,
        at: Timestamp::from_millis(column(&row, 1, "clock_mark.at")?),
        pending: (pending_at != 0).then_some(pending),
    }))
}

async fn newest_event(connection: &Connection) -> QueryResult<Option<Timestamp>> {
    let row = connection.query_opt(NEWEST_EVENT, &[]).await?;
    let at = row.map(|row| column(&row, 0, "events.at")).transpose()?;
    Ok(at.map(Timestamp::from_millis))
}
