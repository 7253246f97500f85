//! Writing down what commands came to.
//!
//! All statements are on the wire at once, in their order, the head of the log moved by the last
//! and the commit behind it. The first that fails makes the database refuse those behind it, the
//! commit included.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::{join_all, join3, try_join_all};
use tokio_postgres::{Error, Statement, error::SqlState, types::ToSql};

use super::{
    columns::{Events, Keeping, Marks, Pairs, Users},
    groups::GroupColumns,
    run::Writes,
    sql,
};
use crate::{
    columns::{column, corrupt, uuid},
    connect::Connection,
    erasure,
    pool::Miss,
};

/// The parameters of a statement.
type Parameters<'a> = Vec<&'a (dyn ToSql + Sync)>;

/// Whether the transaction is to be begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// It is, with the first statement.
    Now,
    /// It was.
    Done,
}

/// Writes it all down and commits; gives the position before the first of the events. `sent` is
/// told as soon as the commit may have reached the database.
pub(crate) async fn flush(
    connection: &Connection,
    era: i64,
    writes: &Writes,
    begin: Begin,
    sent: &AtomicBool,
) -> Result<i64, Miss> {
    let mut replaced = Users::default();
    let mut created = Users::default();
    let mut gone = Vec::new();
    for (id, differs) in &writes.live {
        match (&differs.is, differs.was_there) {
            (Some(current), true) => replaced.push(current)?,
            (Some(current), false) => created.push(current)?,
            (None, true) => gone.push(uuid(*id)),
            (None, false) => {}
        }
    }
    let mut kept = Keeping::default();
    let mut dropped = Vec::new();
    for (id, differs) in &writes.deleted {
        if differs.was_there {
            dropped.push(uuid(*id));
        }
        if let Some(current) = &differs.is {
            kept.push(current)?;
        }
    }
    let changed_groups = GroupColumns::of(&writes.groups)?;
    let (added_words, dropped_words) = Pairs::of_words(&writes.words);
    let (added_keys, dropped_keys) = Pairs::of_keys(&writes.further);
    let events = Events::of(&writes.events)?;
    let marks = Marks::of(&writes.marks)?;
    let purged: Vec<_> = writes.purged.iter().copied().map(uuid).collect();
    let outlived: Vec<&[u8]> = writes.outlived.iter().map(<[u8; 32]>::as_slice).collect();
    let count = i64::try_from(writes.events.len()).unwrap_or(i64::MAX);
    let head: Parameters<'_> =
        vec![&count, &writes.active, &writes.suspended, &writes.kept_deleted, &era];
    let appended = [head, events.parameters(), marks.parameters()].concat();
    let (replaced_keys, created_keys) = (replaced.keys(), created.keys());
    let enters = !created.is_empty();
    let entering =
        [created.parameters(&created_keys), added_words.words(), added_keys.keys()].concat();
    let mut steps: Vec<(&str, bool, Parameters<'_>)> = vec![
        // What is dropped goes first: another user may take its key.
        (sql::DELETE, !gone.is_empty(), vec![&gone]),
        (sql::DROP_DELETED, !dropped.is_empty(), vec![&dropped]),
        (sql::REPLACE, !replaced.is_empty(), replaced.parameters(&replaced_keys)),
        (sql::KEEP_DELETED, !kept.is_empty(), kept.parameters()),
        (sql::DROP_WORDS, !dropped_words.is_empty(), dropped_words.words()),
        (sql::DROP_KEYS, !dropped_keys.is_empty(), dropped_keys.keys()),
        (sql::CREATE, enters, entering),
        (sql::ADD_WORDS, !enters && !added_words.is_empty(), added_words.words()),
        (sql::ADD_KEYS, !enters && !added_keys.is_empty(), added_keys.keys()),
        (erasure::BEGIN, !purged.is_empty(), vec![&purged]),
        (sql::FORGET_MARKS, !outlived.is_empty(), vec![&outlived]),
    ];
    steps.extend(changed_groups.steps());
    // The last one, which moves the head.
    steps.push((sql::APPEND, true, appended));
    let steps: Vec<_> = steps.into_iter().filter(|(_, wanted, _)| *wanted).collect();
    let prepared = try_join_all(steps.iter().map(|(sql, ..)| connection.prepare(sql))).await?;
    let steps: Vec<(Statement, Parameters<'_>)> = prepared
        .into_iter()
        .zip(steps)
        .map(|(sql, (_, _, parameters))| (sql, parameters))
        .collect();
    connection.forget_warnings();
    sent.store(true, Ordering::Release);
    send(connection, begin, &steps).await
}

/// Sends the steps and the commit, and waits for all answers.
async fn send(
    connection: &Connection,
    begin: Begin,
    steps: &[(Statement, Parameters<'_>)],
) -> Result<i64, Miss> {
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
        let rows = answer.map_err(told)?;
        before = rows.into_iter().next().or(before);
    }
    commit?;
    let before = before.ok_or_else(|| corrupt("log_head"))?;
    Ok(column(&before, 0, "log_head")?)
}

fn told(error: Error) -> Miss {
    if error.code() == Some(&SqlState::DIVISION_BY_ZERO) {
        return Miss::EraEnded;
    }
    error.into()
}
