//! Erasing the history of purged users: the records of their events, and the idempotency records
//! of their requests.
//!
//! The transaction of the purge erases a short history. For a longer one it inserts a row in
//! `erasures`, which hides the history from every read, and steps of bounded size erase it. The
//! transaction of the last step deletes the row and marks the files for the sweep.

use roster_core::{Erasure, UserId, erasure::STEP_MAX, store::PENDING_ERASURES_MAX};
use rusqlite::{Connection, OptionalExtension as _, Result};

use super::sql::{DROP_KEYS_OF_USER, EMPTY_EVENTS};
use crate::scrub;

/// How many events a user has, counted up to a limit.
pub(crate) const COUNT_EVENTS: &str = "SELECT count(*) FROM (SELECT 1 FROM events \
     INDEXED BY events_subject WHERE subject_id = ?1 LIMIT ?2)";

/// How many idempotency records a user has, counted up to a limit.
pub(crate) const COUNT_KEYS: &str = "SELECT count(*) FROM (SELECT 1 FROM idempotency_keys \
     INDEXED BY idempotency_keys_user WHERE user_id = ?1 LIMIT ?2)";

pub(crate) const BEGIN: &str = "INSERT INTO erasures (id, reached) VALUES (?1, 0)";

pub(crate) const PENDING: &str = "SELECT id FROM erasures ORDER BY id LIMIT ?1";

pub(crate) const REACHED: &str = "SELECT reached FROM erasures WHERE id = ?1";

/// How many events the next step has, and where it ends.
pub(crate) const NEXT: &str = "SELECT count(*), max(position) FROM (SELECT position FROM events \
     INDEXED BY events_subject WHERE subject_id = ?1 AND position > ?2 ORDER BY position LIMIT ?3)";

pub(crate) const EMPTY: &str = "UPDATE events INDEXED BY events_subject SET record = '' \
     WHERE subject_id = ?1 AND position > ?2 AND position <= ?3 AND record <> ''";

/// The record of the purge itself stays: its request may be repeated too.
pub(crate) const DROP_KEYS: &str = "DELETE FROM idempotency_keys WHERE key IN \
     (SELECT key FROM idempotency_keys INDEXED BY idempotency_keys_user \
     WHERE user_id = ?1 AND effect <> 'user.purged' LIMIT ?2)";

pub(crate) const MOVE: &str = "UPDATE erasures SET reached = ?2 WHERE id = ?1";

pub(crate) const END: &str = "DELETE FROM erasures WHERE id = ?1";

/// Erases the history of a user in the transaction of its purge, and returns the number of rows.
/// `None` if there are more than `room` rows: the steps erase these.
pub(super) fn begin(connection: &Connection, id: UserId, room: i64) -> Result<Option<i64>> {
    let id = id.as_bytes();
    let count = |sql| -> Result<i64> {
        connection.prepare_cached(sql)?.query_row((id, room.saturating_add(1)), |row| row.get(0))
    };
    let rows = count(COUNT_EVENTS)?.max(count(COUNT_KEYS)?);
    if rows > room {
        connection.prepare_cached(BEGIN)?.execute([id])?;
        return Ok(None);
    }
    connection.prepare_cached(EMPTY_EVENTS)?.execute([id])?;
    connection.prepare_cached(DROP_KEYS_OF_USER)?.execute([id])?;
    Ok(Some(rows))
}

/// Erases the next step. Only a step with a position for the mark of the sweep can be the last one;
/// that one returns the position.
pub(super) fn step(
    connection: &Connection,
    id: UserId,
    sweep: Option<i64>,
) -> Result<(Erasure, Option<i64>)> {
    let id = id.as_bytes();
    let mut reached = connection.prepare_cached(REACHED)?;
    let Some(reached) = reached.query_row([id], |row| row.get::<_, i64>(0)).optional()? else {
        return Ok((Erasure::Done, None));
    };
    let mut next = connection.prepare_cached(NEXT)?;
    let (events, last): (i64, Option<i64>) =
        next.query_row((id, reached, STEP_MAX), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let last = last.unwrap_or(reached);
    if last > reached {
        connection.prepare_cached(EMPTY)?.execute((id, reached, last))?;
    }
    let keys = connection.prepare_cached(DROP_KEYS)?.execute((id, STEP_MAX))?;
    let keys = i64::try_from(keys).unwrap_or(i64::MAX);
    if let Some(position) = sweep.filter(|_| events < STEP_MAX && keys < STEP_MAX) {
        connection.prepare_cached(END)?.execute([id])?;
        scrub::mark(connection, position)?;
        return Ok((Erasure::Done, sweep));
    }
    if last > reached {
        connection.prepare_cached(MOVE)?.execute((id, last))?;
    }
    let is_idle = events == 0 && keys == 0;
    Ok((if is_idle { Erasure::Waiting } else { Erasure::Pending }, None))
}

/// The users whose history is still to be erased.
pub(crate) fn pending(connection: &Connection) -> Result<Vec<UserId>> {
    let mut pending = connection.prepare_cached(PENDING)?;
    let limit = i64::try_from(PENDING_ERASURES_MAX).unwrap_or(i64::MAX);
    pending.query_map([limit], |row| Ok(UserId::from_bytes(row.get(0)?)))?.collect()
}
