//! Erasing the history of purged users: the records of their events, and the idempotency records
//! of their requests; and everything in purged tenants.
//!
//! The purge itself erases a short history. For a longer one it inserts a row in `erasures`, which
//! hides the history from every read, and bounded steps erase it. The transaction of the last step
//! deletes the row. A step locks the row; another process skips a locked row instead of waiting.

use std::sync::Arc;

use roster_core::{Erasure, Purged};
use roster_engine::{ErasureSql, erase as erase_step, erase_tenant};

use crate::{connection::Connection, failure::QueryResult, reads::rows::Rows};

/// The record of an event; an empty text if its erasure is pending.
pub(crate) const EVENT_RECORD: &str = "CASE WHEN (SELECT erasures.id FROM erasures \
     WHERE erasures.tenant = events.tenant AND erasures.id = events.subject_id) IS NULL \
     THEN record ELSE '' END";

/// The same where events of all tenants are read: while everything in a tenant is erased, no event
/// of it has a record.
pub(crate) const EVENT_RECORD_OF_ALL: &str = "CASE WHEN (SELECT erasures.id FROM erasures \
     WHERE erasures.tenant = events.tenant AND erasures.id = events.subject_id) IS NULL \
     AND (SELECT erasures.id FROM erasures WHERE erasures.tenant = events.tenant \
     AND erasures.id = '00000000-0000-0000-0000-000000000000') IS NULL \
     THEN record ELSE '' END";

/// Erases the histories of all users of a tenant that a transaction purges, if all of them together
/// have at most 1,000 events, and at most 1,000 idempotency records. Otherwise it leaves all of
/// them to the steps.
pub(crate) const BEGIN: &str = "WITH own_events AS MATERIALIZED (SELECT own.position \
     FROM unnest($2::uuid[]) AS purged (id) CROSS JOIN LATERAL (SELECT position FROM events \
     WHERE tenant = $1 AND (subject_id, position) > (purged.id, 0) AND subject_id <= purged.id \
     ORDER BY subject_id, position LIMIT 1001) AS own LIMIT 1001), \
     own_keys AS MATERIALIZED (SELECT own.key \
     FROM unnest($2::uuid[]) AS purged (id) CROSS JOIN LATERAL (SELECT key \
     FROM idempotency_keys WHERE tenant = $1 AND user_id = purged.id LIMIT 1001) AS own \
     LIMIT 1001), \
     size AS MATERIALIZED (SELECT (SELECT count(*) FROM own_events) <= 1000 \
     AND (SELECT count(*) FROM own_keys) <= 1000 AS is_small), \
     emptied AS (UPDATE events SET record = '' WHERE (SELECT is_small FROM size) \
     AND position = ANY(ARRAY(SELECT position FROM own_events))), \
     forgotten AS (DELETE FROM idempotency_keys WHERE (SELECT is_small FROM size) \
     AND tenant = $1 AND key = ANY(ARRAY(SELECT key FROM own_keys))) \
     INSERT INTO erasures (tenant, id, reached) \
     SELECT $1::integer, id, 0 FROM unnest($2::uuid[]) AS purged (id) \
     WHERE NOT (SELECT is_small FROM size)";

pub(crate) const SQL: ErasureSql = ErasureSql {
    reached: "SELECT reached FROM erasures WHERE tenant = $1 AND id = $2 FOR UPDATE SKIP LOCKED",
    next: "SELECT count(*), max(position) FROM (SELECT position FROM events \
         WHERE tenant = $1 AND (subject_id, position) > ($2, $3) AND subject_id <= $2 \
         ORDER BY subject_id, position LIMIT $4) AS next",
    empty: "UPDATE events SET record = '' WHERE tenant = $1 \
         AND (subject_id, position) > ($2, $3) AND (subject_id, position) <= ($2, $4)",
    drop_keys: "DELETE FROM idempotency_keys WHERE tenant = $1 AND key = ANY(ARRAY(\
         SELECT key FROM idempotency_keys \
         WHERE tenant = $1 AND user_id = $2 AND effect <> 'user.purged' LIMIT $3))",
    // No other write waits for the step, but it shares the processors and the disk.
    rows_of_tenant_max: 200,
    next_of_tenant: "SELECT count(*), max(position) FROM (SELECT position FROM events \
         WHERE tenant = $1 AND tenant <> 0 AND position > $2 ORDER BY tenant, position LIMIT $3) \
         AS next",
    empty_of_tenant: "UPDATE events SET record = '' WHERE position = ANY(ARRAY(\
         SELECT position FROM events WHERE tenant = $1 AND tenant <> 0 AND position > $2 \
         AND position <= $3 ORDER BY tenant, position))",
};

/// Begins a step. Its commit waits neither for the disk nor for a standby, so the commits of
/// requests wait less. A step that a crash of the database loses is taken again.
const BEGIN_STEP: &str = "BEGIN; SET LOCAL synchronous_commit = off";

/// Erases the next step of something that is purged.
pub(crate) async fn erase(
    connection: Arc<Connection>,
    Purged { tenant, user }: Purged,
) -> QueryResult<Erasure> {
    let rows = Rows(&connection, tenant);
    let step = async {
        match user {
            Some(id) => erase_step(rows, &SQL, id, true).await,
            None => erase_tenant(rows, &SQL, true).await,
        }
    };
    let erasure = connection.transaction(BEGIN_STEP, step).await?;
    Ok(erasure.unwrap_or(Erasure::Waiting))
}
