//! Applying the writes of a batch.
//!
//! All statements are sent at once. Behind those that write rows, one updates the head of the log,
//! and only a transaction that has this lock updates the counters of a tenant. The commit follows.
//! If a statement fails, the database rejects those after it, including the commit.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::{join_all, join3};
use roster_core::TenantId;
use roster_engine::{Counts, INDEX_WORK_SETTING, INDEXES_SETTING, SCHEMA_SETTING, Writes, corrupt};
use tokio_postgres::Error;

use super::{
    parameters::{self, Columns},
    sql,
    steps::{Parameter, Step, begin, prepare},
};
use crate::{
    connection::Connection,
    erasure,
    failure::{QueryError, QueryResult},
    in_force::NEXT_ERA_OF_TENANT,
    reads::rows::Rows,
    uniqueness::KEEP,
};

/// A statement about a tenant, if there are rows for it.
fn step<'w, R>(
    tenant: TenantId,
    sql: &'static str,
    rows: &'w [R],
    columns: impl FnOnce(&'w [R]) -> Columns<'w>,
) -> Option<Step<'w>> {
    (!rows.is_empty()).then(|| step_of(tenant, sql, columns(rows)))
}

/// A statement about a tenant.
fn step_of<'w>(
    tenant: TenantId,
    sql: &'static str,
    columns: impl IntoIterator<Item = Parameter<'w>>,
) -> Step<'w> {
    let parameters = [parameters::tenant(tenant)].into_iter().chain(columns).collect();
    Step { sql: sql.into(), parameters }
}

/// Applies the writes and commits; returns the position before the first of the events.
/// `commit_may_arrive` is set as soon as the commit may reach the database.
pub(super) async fn apply_and_commit(
    Rows(connection, tenant): Rows<'_>,
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
    let steps = [
        // Rows are deleted first: another user may take their keys.
        step(tenant, sql::DELETE, &deleted, parameters::ids),
        step(tenant, sql::DROP_DELETED, &returned, parameters::ids),
        step(tenant, sql::REPLACE, &updated, parameters::users),
        step(tenant, sql::KEEP_DELETED, &left_rows, parameters::deleted_users),
        step(tenant, sql::DROP_WORDS, &removed.0, parameters::words),
        step(tenant, sql::DROP_KEYS, &removed.1, parameters::further_keys),
        step(tenant, sql::CREATE, &created, create),
        step(tenant, sql::ADD_WORDS, added_words, parameters::words),
        step(tenant, sql::ADD_KEYS, added_keys, parameters::further_keys),
        step(tenant, erasure::BEGIN, &purged, parameters::ids),
        step(tenant, sql::DELETE_EXPIRED_IDEMPOTENCY, &expired, parameters::expired),
        step(tenant, sql::REMOVE_MEMBERSHIPS, &groups.removed, parameters::removed_members),
        step(tenant, sql::DELETE_MEMBERSHIPS_OF_GROUPS, &groups.deleted, parameters::ids),
        step(tenant, sql::DELETE_GROUPS, &groups.deleted, parameters::ids),
        step(tenant, sql::UPDATE_GROUPS, &changed_groups, parameters::groups),
        step(tenant, sql::CREATE_GROUPS, &new_groups, parameters::groups),
        step(tenant, sql::ADD_MEMBERSHIPS, &groups.added, parameters::added_members),
    ];
    let events = i64::try_from(writes.events.len()).unwrap_or(i64::MAX);
    let head = [events, era, connection.log_table()];
    let append = [
        parameters::numbers(&head),
        parameters::events(&writes.events),
        parameters::idempotency(&idempotency),
    ];
    let append = step_of(tenant, sql::APPEND, append.into_iter().flatten());
    let last = [append].into_iter().chain(count(tenant, writes));
    let last = last.chain(replace_schema(tenant, writes));
    let steps: Vec<_> = steps.into_iter().flatten().chain(last).collect();
    send(connection, has_begun, &steps, commit_may_arrive).await
}

/// Updates the counters of the tenant, if one of them changes. The head of the log is locked, so no
/// other transaction waits for them.
fn count(tenant: TenantId, writes: &Writes) -> Option<Step<'static>> {
    let Counts { active, suspended, deleted } = writes.counts;
    let counts = [active, suspended, deleted, writes.groups.count()];
    let counts_change = counts.iter().any(|count| *count != 0);
    let columns = counts.map(|count| -> Parameter<'_> { Box::new(count) });
    counts_change.then(|| step_of(tenant, sql::COUNT, columns))
}

/// Stores a new schema of users. The era ends after the batch has shown that it was decided in it.
fn replace_schema(tenant: TenantId, writes: &Writes) -> Vec<Step<'static>> {
    let Some(schema) = &writes.schema else { return Vec::new() };
    let setting: [Parameter<'_>; 2] =
        [Box::new(SCHEMA_SETTING), Box::new(schema.to_record().to_vec())];
    let indexes: [Parameter<'_>; 2] =
        [Box::new(INDEXES_SETTING), Box::new(schema.indexes_to_json().into_bytes())];
    let mut steps = vec![
        step_of(tenant, KEEP, setting),
        step_of(tenant, KEEP, indexes),
        step_of(tenant, NEXT_ERA_OF_TENANT, []),
    ];
    if schema.has_index_work() {
        let work: [Parameter<'_>; 2] = [Box::new(INDEX_WORK_SETTING), Box::new(Vec::<u8>::new())];
        steps.push(step_of(tenant, KEEP, work));
    }
    steps
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
    let client = connection.client();
    // On a connection that is closed, nothing is sent.
    commit_may_arrive.store(!client.is_closed(), Ordering::Release);
    // The first polls are in this order, which is the order on the wire.
    let (opened, answers, commit) =
        join3(begin(connection, has_begun), join_all(queries), client.batch_execute("COMMIT"))
            .await;
    opened?;
    let mut before = None;
    for answer in answers {
        let rows = answer.map_err(constrained)?;
        before = rows.into_iter().next().or(before);
    }
    commit?;
    let before = before.ok_or_else(|| corrupt("log_head"))?;
    Ok(before.try_get(0)?)
}

/// The name of the constraint that rejects a batch of another era.
const ERA_CONSTRAINT: &str = "log_head_era";

/// The name of the constraint that rejects more users than the maximum of a tenant. The batch is
/// decided again on the new number.
const QUOTA_CONSTRAINT: &str = "tenants_quota";

fn constrained(error: Error) -> QueryError {
    match error.as_db_error().and_then(|error| error.constraint()) {
        Some(ERA_CONSTRAINT) => QueryError::EraEnded,
        Some(QUOTA_CONSTRAINT) => QueryError::Locked,
        _ => error.into(),
    }
}
