//! Erasing the history of purged users: the records of their events, and the idempotency records
//! of their requests.
//!
//! The purge itself erases a short history. For a longer one it inserts a row in `erasures`, which
//! hides the history from every read, and bounded steps erase it. The transaction of the last step
//! deletes the row. A step locks the row; another process skips a locked row instead of waiting.

use std::sync::Arc;

use roster_core::{Erasure, UserId, erasure::STEP_MAX, store::PENDING_ERASURES_MAX};
use uuid::Uuid;

use crate::{
    columns::{column, id_column, uuid},
    connect::Connection,
    query_error::QueryResult,
};

/// The record of an event; an empty text if its erasure is pending.
pub(crate) const EVENT_RECORD: &str = "CASE WHEN (SELECT erasures.id FROM erasures \
     WHERE erasures.id = events.subject_id) IS NULL THEN record ELSE '' END";

/// Erases the histories of all users that a transaction purges, if all of them together have at
/// most 1,000 events, and at most 1,000 idempotency records. Otherwise it leaves all of them to the
/// steps.
pub(crate) const BEGIN: &str = "WITH own_events AS MATERIALIZED (SELECT own.position \
     FROM unnest($1::uuid[]) AS purged (id) CROSS JOIN LATERAL (SELECT position FROM events \
     WHERE (subject_id, position) > (purged.id, 0) AND subject_id <= purged.id \
     ORDER BY subject_id, position LIMIT 1001) AS own LIMIT 1001), \
     own_keys AS MATERIALIZED (SELECT own.key \
     FROM unnest($1::uuid[]) AS purged (id) CROSS JOIN LATERAL (SELECT key \
     FROM idempotency_keys WHERE user_id = purged.id LIMIT 1001) AS own LIMIT 1001), \
     size AS MATERIALIZED (SELECT (SELECT count(*) FROM own_events) <= 1000 \
     AND (SELECT count(*) FROM own_keys) <= 1000 AS is_small), \
     emptied AS (UPDATE events SET record = '' WHERE (SELECT is_small FROM size) \
     AND position = ANY(ARRAY(SELECT position FROM own_events))), \
     forgotten AS (DELETE FROM idempotency_keys WHERE (SELECT is_small FROM size) \
     AND key = ANY(ARRAY(SELECT key FROM own_keys))) \
     INSERT INTO erasures (id, reached) SELECT id, 0 FROM unnest($1::uuid[]) AS purged (id) \
     WHERE NOT (SELECT is_small FROM size)";

pub(crate) const PENDING: &str = "SELECT id FROM erasures ORDER BY id LIMIT $1";

pub(crate) const LOCK: &str = "SELECT reached FROM erasures WHERE id = $1 FOR UPDATE SKIP LOCKED";

/// The number of events of the next step, and the position of the last one.
pub(crate) const NEXT: &str = "SELECT count(*), max(position) FROM (SELECT position FROM events \
     WHERE (subject_id, position) > ($1, $2) AND subject_id <= $1 \
     ORDER BY subject_id, position LIMIT $3) AS next";

pub(crate) const EMPTY: &str = "UPDATE events SET record = '' \
     WHERE (subject_id, position) > ($1, $2) AND (subject_id, position) <= ($1, $3)";

/// Keeps the record of the purge: a caller may repeat that request too.
pub(crate) const DROP_KEYS: &str = "DELETE FROM idempotency_keys WHERE key IN \
     (SELECT key FROM idempotency_keys WHERE user_id = $1 AND effect <> 'user.purged' LIMIT $2)";

pub(crate) const MOVE: &str = "UPDATE erasures SET reached = $2 WHERE id = $1";

pub(crate) const END: &str = "DELETE FROM erasures WHERE id = $1";

/// Erases the next step of a user's history.
pub(crate) async fn erase(connection: Arc<Connection>, id: UserId) -> QueryResult<Erasure> {
    connection.transaction("BEGIN", step(&connection, uuid(id))).await
}

async fn step(connection: &Connection, id: Uuid) -> QueryResult<Erasure> {
    let Some(row) = connection.query_opt(LOCK, &[&id]).await? else { return Ok(Erasure::Waiting) };
    let reached: i64 = column(&row, 0, "erasures.reached")?;
    let next = connection.query_one(NEXT, &[&id, &reached, &STEP_MAX]).await?;
    let events: i64 = column(&next, 0, "events")?;
    let last = column::<Option<i64>>(&next, 1, "events.position")?.unwrap_or(reached);
    connection.execute(EMPTY, &[&id, &reached, &last]).await?;
    let keys = connection.execute(DROP_KEYS, &[&id, &STEP_MAX]).await?;
    if events < STEP_MAX && keys < STEP_MAX.unsigned_abs() {
        connection.execute(END, &[&id]).await?;
        return Ok(Erasure::Done);
    }
    connection.execute(MOVE, &[&id, &last]).await?;
    Ok(Erasure::Pending)
}

/// The users whose history is not yet erased.
pub(crate) async fn pending(connection: Arc<Connection>) -> QueryResult<Vec<UserId>> {
    let limit = i64::try_from(PENDING_ERASURES_MAX).unwrap_or(i64::MAX);
    let rows = connection.query(PENDING, &[&limit]).await?;
    Ok(rows.iter().map(|row| id_column(row, 0, "erasures.id")).collect::<Result<_, _>>()?)
}
