//! Erasing the history of purged users: the records of their events, and the idempotency records
//! of their requests; and everything in purged tenants.
//!
//! The transaction of the purge erases a short history. For a longer one it inserts a row in
//! `erasures`, which hides the history from every read, and steps of bounded size erase it. The
//! transaction of the last step deletes the row and marks the files for the sweep.

use roster_core::{Erasure, Purged, TenantId, UserId};
use roster_engine::{ErasureSql, erase, erase_tenant};
use rusqlite::{Connection, Result};

use crate::writer::sql::{DROP_KEYS_OF_USER, EMPTY_EVENTS};
use crate::{
    failure::ReadResult,
    purge::mark,
    reads::rows::{Rows, run},
};

/// How many events a user has, counted up to a limit.
pub(crate) const COUNT_EVENTS: &str = "SELECT count(*) FROM (SELECT 1 FROM events \
     INDEXED BY events_subject WHERE tenant = ?1 AND subject_id = ?2 LIMIT ?3)";

/// How many idempotency records a user has, counted up to a limit.
pub(crate) const COUNT_KEYS: &str = "SELECT count(*) FROM (SELECT 1 FROM idempotency_keys \
     INDEXED BY idempotency_keys_user WHERE tenant = ?1 AND user_id = ?2 LIMIT ?3)";

pub(crate) const BEGIN: &str = "INSERT INTO erasures (tenant, id, reached) VALUES (?1, ?2, 0)";

pub(crate) const SQL: ErasureSql = ErasureSql {
    reached: "SELECT reached FROM erasures WHERE tenant = $1 AND id = $2",
    next: "SELECT count(*), max(position) FROM (SELECT position FROM events \
         INDEXED BY events_subject WHERE tenant = $1 AND subject_id = $2 AND position > $3 \
         ORDER BY position LIMIT $4)",
    empty: "UPDATE events INDEXED BY events_subject SET record = '' \
         WHERE tenant = $1 AND subject_id = $2 AND position > $3 AND position <= $4 \
         AND record <> ''",
    drop_keys: "DELETE FROM idempotency_keys WHERE (tenant, key) IN \
         (SELECT tenant, key FROM idempotency_keys INDEXED BY idempotency_keys_user \
         WHERE tenant = $1 AND user_id = $2 AND effect <> 'user.purged' LIMIT $3)",
    // A row of a user is in many indexes, and other writes wait for the step.
    rows_of_tenant_max: 25,
    next_of_tenant: "SELECT count(*), max(position) FROM (SELECT position FROM events \
         INDEXED BY events_tenant WHERE tenant = $1 AND tenant <> 0 AND position > $2 \
         ORDER BY position LIMIT $3)",
    empty_of_tenant: "UPDATE events INDEXED BY events_tenant SET record = '' \
         WHERE tenant = $1 AND tenant <> 0 AND position > $2 AND position <= $3 \
         AND record <> ''",
};

/// Erases the history of a user in the transaction of its purge, and returns the number of rows.
/// `None` if there are more than `room` rows: the steps erase these.
pub(crate) fn begin(
    connection: &Connection,
    tenant: TenantId,
    id: UserId,
    room: i64,
) -> Result<Option<i64>> {
    let user = (tenant.number(), id.as_bytes());
    let count = |sql| -> Result<i64> {
        let most = (user.0, user.1, room.saturating_add(1));
        connection.prepare_cached(sql)?.query_row(most, |row| row.get(0))
    };
    let rows = count(COUNT_EVENTS)?.max(count(COUNT_KEYS)?);
    if rows > room {
        connection.prepare_cached(BEGIN)?.execute(user)?;
        return Ok(None);
    }
    connection.prepare_cached(EMPTY_EVENTS)?.execute(user)?;
    connection.prepare_cached(DROP_KEYS_OF_USER)?.execute(user)?;
    Ok(Some(rows))
}

/// Erases the next step. Only a step with a position for the mark of the sweep can be the last one;
/// that one returns the position.
pub(crate) fn step(
    connection: &Connection,
    Purged { tenant, user }: Purged,
    sweep: Option<i64>,
) -> ReadResult<(Erasure, Option<i64>)> {
    let (rows, may_end) = (Rows(connection, tenant), sweep.is_some());
    let erasure = match user {
        Some(id) => run(erase(rows, &SQL, id, may_end))?,
        None => run(erase_tenant(rows, &SQL, may_end))?,
    };
    if let (Some(Erasure::Done), Some(position)) = (erasure, sweep) {
        mark::set(connection, position)?;
        return Ok((Erasure::Done, sweep));
    }
    Ok((erasure.unwrap_or(Erasure::Done), None))
}
