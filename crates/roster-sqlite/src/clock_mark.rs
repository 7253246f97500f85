//! The row of the clock mark.

use roster_core::{ClockMark, ClockReading, Timestamp, clock_mark::PendingMark};
use rusqlite::{Connection, OptionalExtension as _, Result};

pub(crate) const READ: &str =
    "SELECT revision, at, pending_at, waited_ms FROM clock_mark WHERE id = 1";

pub(crate) const NEWEST_EVENT: &str =
    "SELECT at FROM events WHERE position = (SELECT max(position) FROM events)";

pub(crate) const WRITE: &str = "INSERT OR REPLACE INTO clock_mark \
     (id, revision, at, pending_at, waited_ms) VALUES (1, ?1, ?2, ?3, ?4)";

/// Advances the mark by what a process measured.
pub(crate) fn advance(connection: &Connection, reading: ClockReading) -> Result<ClockMark> {
    let stored = read(connection)?;
    let mark = match stored {
        Some(mark) => mark.advance(reading),
        None => ClockMark::first(newest_event(connection)?, reading.wall),
    };
    if stored != Some(mark) {
        let pending = mark.pending.map_or((0, 0), |it| (it.at.as_millis(), it.waited_ms));
        let mut write = connection.prepare_cached(WRITE)?;
        write.execute((mark.revision, mark.at.as_millis(), pending.0, pending.1))?;
    }
    Ok(mark)
}

fn read(connection: &Connection) -> Result<Option<ClockMark>> {
    let mut read = connection.prepare_cached(READ)?;
    let row = read.query_row([], |row| {
        let pending_at: i64 = row.get(2)?;
        let at = Timestamp::from_millis(pending_at);
        let pending = PendingMark { at, waited_ms: row.get(3)? };
        Ok(ClockMark {
            revision: row.get(0)?,
            at: Timestamp::from_millis(row.get(1)?),
            pending: (pending_at != 0).then_some(pending),
        })
    });
    row.optional()
}

fn newest_event(connection: &Connection) -> Result<Option<Timestamp>> {
    let mut newest = connection.prepare_cached(NEWEST_EVENT)?;
    let at: Option<i64> = newest.query_row([], |row| row.get(0)).optional()?;
    Ok(at.map(Timestamp::from_millis))
}
