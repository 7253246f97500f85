//! Erasing the history of purged users: the records of their events, and the idempotency records
//! of their requests.
//!
//! A short history is erased with the purge. A longer one leaves a row in `erasures`, which hides
//! it from every read, and is erased a bounded step at a time. The transaction of the last step
//! removes the row. Whoever makes a step holds the row, so that processes do not wait for each
//! other.

use roster_core::{Erasure, UserId, erasure::STEP_MAX, store::PENDING_ERASURES_MAX};

use crate::{
    columns::{column, id_column, uuid},
    connect::Connection,
    pool::{Miss, Question},
};

/// The record of an event, which is read as an empty one while it is still to be erased.
pub(crate) const EVENT_RECORD: &str = "CASE WHEN (SELECT erasures.id FROM erasures \
     WHERE erasures.id = events.user_id) IS NULL THEN record ELSE '' END";

/// Erases the histories of all users that a transaction purges, where they have at most 1,000
/// events and 1,000 idempotency records together; else leaves all of them to the steps.
pub(crate) const BEGIN: &str = "WITH own_events AS MATERIALIZED (SELECT own.position \
     FROM unnest($1::uuid[]) AS purged (id) CROSS JOIN LATERAL (SELECT position FROM events \
     WHERE (user_id, position) > (purged.id, 0) AND user_id <= purged.id \
     ORDER BY user_id, position LIMIT 1001) AS own LIMIT 1001), \
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

pub(crate) const HOLD: &str = "SELECT reached FROM erasures WHERE id = $1 FOR UPDATE SKIP LOCKED";

/// How many events the next step has, and where it ends.
pub(crate) const NEXT: &str = "SELECT count(*), max(position) FROM (SELECT position FROM events \
     WHERE (user_id, position) > ($1, $2) AND user_id <= $1 \
     ORDER BY user_id, position LIMIT $3) AS next";

pub(crate) const EMPTY: &str = "UPDATE events SET record = '' \
     WHERE (user_id, position) > ($1, $2) AND (user_id, position) <= ($1, $3)";

/// All but the record of the purge itself, which may come twice like any request.
pub(crate) const DROP_KEYS: &str = "DELETE FROM idempotency_keys WHERE key IN \
     (SELECT key FROM idempotency_keys WHERE user_id = $1 AND effect <> 'user.purged' LIMIT $2)";

pub(crate) const MOVE: &str = "UPDATE erasures SET reached = $2 WHERE id = $1";

pub(crate) const END: &str = "DELETE FROM erasures WHERE id = $1";

/// Erases the next step of the history of this user.
pub(crate) struct Erase(pub(crate) UserId);

impl Question for Erase {
    type Answer = Erasure;

    async fn ask(&self, connection: &Connection) -> Result<Erasure, Miss> {
        // A connection on which this fails is closed, and its transaction ends with it.
        connection.client().batch_execute("BEGIN").await?;
        let erasure = step(connection, self.0).await?;
        connection.client().batch_execute("COMMIT").await?;
        Ok(erasure)
    }
}

async fn step(connection: &Connection, id: UserId) -> Result<Erasure, Miss> {
    let (client, id) = (connection.client(), uuid(id));
    let hold = connection.prepare(HOLD).await?;
    let Some(row) = client.query_opt(&hold, &[&id]).await? else { return Ok(Erasure::Waiting) };
    let reached: i64 = column(&row, 0, "erasures.reached")?;
    let next = connection.prepare(NEXT).await?;
    let next = client.query_one(&next, &[&id, &reached, &STEP_MAX]).await?;
    let events: i64 = column(&next, 0, "events")?;
    let last: Option<i64> = column(&next, 1, "events.position")?;
    let last = last.unwrap_or(reached);
    let empty = connection.prepare(EMPTY).await?;
    client.execute(&empty, &[&id, &reached, &last]).await?;
    let drop_keys = connection.prepare(DROP_KEYS).await?;
    let keys = client.execute(&drop_keys, &[&id, &STEP_MAX]).await?;
    if events < STEP_MAX && keys < STEP_MAX.unsigned_abs() {
        let end = connection.prepare(END).await?;
        client.execute(&end, &[&id]).await?;
        return Ok(Erasure::Done);
    }
    let next = connection.prepare(MOVE).await?;
    client.execute(&next, &[&id, &last]).await?;
    Ok(Erasure::Pending)
}

/// Asks for the users whose history is still to be erased.
pub(crate) struct PendingErasures;

impl Question for PendingErasures {
    type Answer = Vec<UserId>;

    async fn ask(&self, connection: &Connection) -> Result<Vec<UserId>, Miss> {
        let limit = i64::try_from(PENDING_ERASURES_MAX).unwrap_or(i64::MAX);
        let statement = connection.prepare(PENDING).await?;
        let rows = connection.client().query(&statement, &[&limit]).await?;
        let ids = rows.iter().map(|row| id_column(row, 0, "erasures.id"));
        Ok(ids.collect::<Result<_, _>>()?)
    }
}
