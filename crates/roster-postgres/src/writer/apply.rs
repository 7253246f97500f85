//! Applying the writes of a batch.
//!
//! All statements are sent at once, in their order, the one that moves the head of the log last and
//! the commit behind it. If one fails the database refuses those behind it, the commit included.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::{join_all, join3, try_join_all};
use roster_engine::Writes;
use tokio_postgres::{Error, Statement};

use super::{
    columns::{DeletedUsers, Events, Idempotency, Parameters, SearchRows, Users},
    group_columns::GroupColumns,
    sql,
};
use crate::{
    columns::{column, corrupt, uuid},
    connect::Connection,
    erasure,
    pool::{QueryError, QueryResult},
};

/// Whether the transaction is to be begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// It is begun with the first statement.
    Now,
    /// It was begun.
    Done,
}

/// Applies the writes and commits; returns the position before the first of the events.
/// `commit_was_sent` is set as soon as the commit may reach the database.
pub(super) async fn apply(
    connection: &Connection,
    era: i64,
    writes: &Writes,
    begin: Begin,
    commit_was_sent: &AtomicBool,
) -> QueryResult<i64> {
    let (created, updated, deleted) = Users::of(writes)?;
    let (kept, dropped) = DeletedUsers::of(writes)?;
    let (added, removed) = SearchRows::of(writes);
    let groups = GroupColumns::of(&writes.groups)?;
    let events = Events::of(&writes.events)?;
    let idempotency = Idempotency::of(writes)?;
    let expired = idempotency.expired();
    let purged: Vec<_> = writes.purged.iter().map(|(id, _)| uuid(*id)).collect();
    let count = i64::try_from(writes.events.len()).unwrap_or(i64::MAX);
    let counts = &writes.counts;
    let head: Parameters<'_> =
        vec![&count, &counts.active, &counts.suspended, &counts.deleted, &era];
    let append = [head, events.parameters(), idempotency.parameters()].concat();
    let has_new = !created.is_empty();
    let create = [created.parameters(), added.words(), added.keys()].concat();
    let mut steps: Vec<(&str, bool, Parameters<'_>)> = vec![
        // Rows are deleted first: another user may take their keys.
        (sql::DELETE, !deleted.is_empty(), vec![&deleted]),
        (sql::DROP_DELETED, !dropped.is_empty(), vec![&dropped]),
        (sql::REPLACE, !updated.is_empty(), updated.parameters()),
        (sql::KEEP_DELETED, !kept.is_empty(), kept.parameters()),
        (sql::DROP_WORDS, removed.has_words(), removed.words()),
        (sql::DROP_KEYS, removed.has_keys(), removed.keys()),
        (sql::CREATE, has_new, create),
        (sql::ADD_WORDS, !has_new && added.has_words(), added.words()),
        (sql::ADD_KEYS, !has_new && added.has_keys(), added.keys()),
        (erasure::BEGIN, !purged.is_empty(), vec![&purged]),
        (sql::DELETE_EXPIRED_IDEMPOTENCY, !expired.is_empty(), vec![&expired]),
    ];
    steps.extend(groups.steps());
    steps.push((sql::APPEND, true, append));
    let steps: Vec<_> = steps.into_iter().filter(|(_, wanted, _)| *wanted).collect();
    let prepared = try_join_all(steps.iter().map(|(sql, ..)| connection.prepare(sql))).await?;
    let parameters = steps.into_iter().map(|(.., parameters)| parameters);
    let steps: Vec<(Statement, Parameters<'_>)> = prepared.into_iter().zip(parameters).collect();
    connection.forget_warnings();
    commit_was_sent.store(true, Ordering::Release);
    send(connection, begin, &steps).await
}

/// Sends the steps and the commit, and waits for all answers.
async fn send(
    connection: &Connection,
    begin: Begin,
    steps: &[(Statement, Parameters<'_>)],
) -> QueryResult<i64> {
    let client = connection.client();
    let opening = async {
        match begin {
            Begin::Now => client.batch_execute("BEGIN").await,
            Begin::Done => Ok(()),
        }
    };
    let steps = steps.iter().map(|(sql, parameters)| client.query(sql, parameters));
    // Polled in this order, which is the order on the wire.
    let (opened, answers, commit) =
        join3(opening, join_all(steps), client.batch_execute("COMMIT")).await;
    opened?;
    let mut before = None;
    for answer in answers {
        let rows = answer.map_err(era_ended)?;
        before = rows.into_iter().next().or(before);
    }
    commit?;
    let before = before.ok_or_else(|| corrupt("log_head"))?;
    Ok(column(&before, 0, "log_head")?)
}

/// The constraint that refuses a batch of another era.
const ERA_CONSTRAINT: &str = "log_head_era";

fn era_ended(error: Error) -> QueryError {
    let constraint = error.as_db_error().and_then(|error| error.constraint());
    if constraint == Some(ERA_CONSTRAINT) { QueryError::EraEnded } else { error.into() }
}
