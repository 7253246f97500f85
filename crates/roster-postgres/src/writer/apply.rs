//! Applying the writes of a batch.
//!
//! All statements are sent at once. The last one updates the head of the log, and the commit
//! follows it. If a statement fails, the database rejects those after it, including the commit.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::{join_all, join3};
use roster_engine::{SCHEMA_SETTING, Writes, corrupt};
use tokio_postgres::Error;

use super::{
    parameters::{self, Columns},
    sql,
    steps::{Step, begin, prepare},
};
use crate::{
    connect::Connection,
    erasure,
    establish::NEXT_ERA,
    failure::{QueryError, QueryResult},
    uniqueness::KEEP,
};

/// A statement, if there are rows for it.
fn step<'w, R>(
    sql: &'static str,
    rows: &'w [R],
    columns: impl FnOnce(&'w [R]) -> Columns<'w>,
) -> Option<Step<'w>> {
    (!rows.is_empty()).then(|| Step { sql: sql.into(), parameters: columns(rows) })
}

/// Applies the writes and commits; returns the position before the first of the events.
/// `commit_may_arrive` is set as soon as the commit may reach the database.
pub(super) async fn apply_and_commit(
    connection: &Connection,
    era: i64,
    writes: &Writes,
    has_begun: bool,
    commit_may_arrive: &AtomicBool,
) -> QueryResult<i64> {
    let (mut created, mut updated, mut deleted) = (Vec::new(), Vec::new(), Vec::new());
    let (mut added, mut removed) = Default::default();
    for (id, write) in &writes.users {
        match (write.keys_before(), write.after()) {
            (None, Some(change)) => created.push(&**change),
            (Some(_), Some(change)) => updated.push(&**change),
            (Some(_), None) => deleted.push(*id),
            (None, None) => {}
        }
        parameters::push_search_keys(&mut added, *id, &write.index().added);
        parameters::push_search_keys(&mut removed, *id, &write.index().removed);
    }
    let left = &writes.deleted_users;
    let left_rows: Vec<_> = left.values().filter_map(|write| write.row.as_deref()).collect();
    let returned: Vec<_> =
        left.iter().filter(|(_, write)| write.existed).map(|(id, _)| *id).collect();
    let idempotency: Vec<_> = writes.idempotency.iter().collect();
    let expired: Vec<_> =
        idempotency.iter().copied().filter(|(_, new)| new.replaces_record).collect();
    let purged: Vec<_> = writes.purged.iter().map(|(id, _)| *id).collect();
    let groups = &writes.groups;
    let new_groups: Vec<_> = groups.created.iter().collect();
    let changed_groups: Vec<_> = groups.updated.values().collect();

    let create = |rows| {
        let parameters = [parameters::users(rows), parameters::words(&added.0)];
        parameters.into_iter().flatten().chain(parameters::further_keys(&added.1)).collect()
    };
    let (added_words, added_keys) =
        if created.is_empty() { (&*added.0, &*added.1) } else { Default::default() };
    let group_count = (groups.count() != 0).then(|| groups.count());
    let steps = [
        // Rows are deleted first: another user may take their keys.
        step(sql::DELETE, &deleted, parameters::ids),
        step(sql::DROP_DELETED, &returned, parameters::ids),
        step(sql::REPLACE, &updated, parameters::users),
        step(sql::KEEP_DELETED, &left_rows, parameters::deleted_users),
        step(sql::DROP_WORDS, &removed.0, parameters::words),
        step(sql::DROP_KEYS, &removed.1, parameters::further_keys),
        step(sql::CREATE, &created, create),
        step(sql::ADD_WORDS, added_words, parameters::words),
        step(sql::ADD_KEYS, added_keys, parameters::further_keys),
        step(erasure::BEGIN, &purged, parameters::ids),
        step(sql::DELETE_EXPIRED_IDEMPOTENCY, &expired, parameters::expired),
        step(sql::REMOVE_MEMBERSHIPS, &groups.removed, parameters::removed_members),
        step(sql::DELETE_MEMBERSHIPS_OF_GROUPS, &groups.deleted, parameters::ids),
        step(sql::DELETE_GROUPS, &groups.deleted, parameters::ids),
        step(sql::UPDATE_GROUPS, &changed_groups, parameters::groups),
        step(sql::CREATE_GROUPS, &new_groups, parameters::groups),
        step(sql::ADD_MEMBERSHIPS, &groups.added, parameters::added_members),
        step(sql::COUNT_GROUPS, group_count.as_slice(), parameters::numbers),
    ];
    let count = i64::try_from(writes.events.len()).unwrap_or(i64::MAX);
    let counts = &writes.counts;
    let head = [count, counts.active, counts.suspended, counts.deleted, era];
    let append = [
        parameters::numbers(&head),
        parameters::events(&writes.events),
        parameters::idempotency(&idempotency),
    ];
    let append =
        Step { sql: sql::APPEND.into(), parameters: append.into_iter().flatten().collect() };
    let last = [append].into_iter().chain(replace_schema(writes));
    let steps: Vec<_> = steps.into_iter().flatten().chain(last).collect();
    send(connection, has_begun, &steps, commit_may_arrive).await
}

/// Stores a new schema of users. The era ends after the batch has shown that it was decided in it.
fn replace_schema(writes: &Writes) -> Vec<Step<'static>> {
    let Some(schema) = &writes.schema else { return Vec::new() };
    let record = schema.to_record().to_vec();
    vec![
        Step { sql: KEEP.into(), parameters: vec![Box::new(SCHEMA_SETTING), Box::new(record)] },
        Step { sql: NEXT_ERA.into(), parameters: Vec::new() },
    ]
}

/// Sends the steps and the commit, and waits for all responses.
async fn send(
    connection: &Connection,
    has_begun: bool,
    steps: &[Step<'_>],
    commit_may_arrive: &AtomicBool,
) -> QueryResult<i64> {
    let queries = prepare(connection, steps).await?;
    connection.forget_warnings();
    commit_may_arrive.store(true, Ordering::Release);
    let client = connection.client();
    // The first polls are in this order, which is the order on the wire.
    let (opened, answers, commit) =
        join3(begin(connection, has_begun), join_all(queries), client.batch_execute("COMMIT"))
            .await;
    opened?;
    let mut before = None;
    for answer in answers {
        let rows = answer.map_err(era_ended)?;
        before = rows.into_iter().next().or(before);
    }
    commit?;
    let before = before.ok_or_else(|| corrupt("log_head"))?;
    Ok(before.try_get(0)?)
}

/// The name of the constraint that rejects a batch of another era.
const ERA_CONSTRAINT: &str = "log_head_era";

fn era_ended(error: Error) -> QueryError {
    let constraint = error.as_db_error().and_then(|error| error.constraint());
    if constraint == Some(ERA_CONSTRAINT) { QueryError::EraEnded } else { error.into() }
}
