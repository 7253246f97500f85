//! One transaction of a group command, tried once.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::join;
use roster_core::{
    Failure, GroupCommand, Outcome, Refusal, Rules, StoreError, limits::IDEMPOTENCY_KEEP_MS,
};

use super::{
    LOCK,
    judge::{GroupJudgement, judge},
};
use crate::{
    columns::{column, corrupt},
    connect::Connection,
    in_force::InForce,
    pool::Miss,
    writer::{
        attempt::{Fault, rolled_back},
        facts::Place,
        fetch::known,
        flush::{Begin, flush},
        run::{NewMark, Writes},
        sql,
    },
};

/// What a command comes to before it is written.
enum Judged {
    /// Nothing is written.
    Known(Result<Outcome, Failure>),
    Writes(Outcome, Box<Writes>),
}

/// Carries the command out. `sent` tells whether the commit may have reached the database, should
/// this be given up.
pub(in crate::writer) async fn attempt(
    connection: &Connection,
    in_force: InForce,
    command: &GroupCommand,
    sent: &AtomicBool,
) -> Result<Result<Outcome, Failure>, Fault> {
    let InForce { rules, era } = in_force;
    let (outcome, writes) = match judged(connection, rules, command).await {
        Ok(Judged::Known(result)) => {
            return match connection.client().batch_execute("COMMIT").await {
                Ok(()) => Ok(result),
                Err(error) => {
                    Err(rolled_back(connection, Fault::before_commit(error.into())).await)
                }
            };
        }
        Ok(Judged::Writes(outcome, writes)) => (outcome, writes),
        Err(miss) => return Err(rolled_back(connection, Fault::before_commit(miss)).await),
    };
    let events = i64::try_from(writes.events.len()).unwrap_or(i64::MAX);
    match flush(connection, era, &writes, Begin::Done, sent).await {
        Ok(_) if connection.was_warned() => Err(Fault::Common(StoreError::Unavailable(
            "the database warned at the commit: the fate of the write is not known".into(),
        ))),
        Ok(before) => Ok(Ok(Outcome { position: before + events, ..outcome })),
        Err(miss) if sent.load(Ordering::Acquire) => Err(Fault::at_commit(miss)),
        Err(miss) => Err(rolled_back(connection, Fault::before_commit(miss)).await),
    }
}

async fn judged(
    connection: &Connection,
    rules: Rules,
    command: &GroupCommand,
) -> Result<Judged, Miss> {
    let client = connection.client();
    let lock = connection.prepare(LOCK).await?;
    let (begun, locked) = join(client.batch_execute("BEGIN"), client.query(&lock, &[])).await;
    begun?;
    if locked?.is_empty() {
        return Err(corrupt("groups_head").into());
    }
    let mut writes = Writes::default();
    if let Some(mark) = &command.idempotency
        && let Some(known) = known(connection, mark.key).await?
    {
        let age = command.at.as_millis().saturating_sub(known.at.as_millis());
        if age > IDEMPOTENCY_KEEP_MS {
            writes.outlived.push(mark.key);
        } else if known.fingerprint != mark.fingerprint {
            return Ok(Judged::Known(Err(Refusal::KeyReused.into())));
        } else if let (Some(stored), Place::At(position)) = (known.stored, known.position) {
            let outcome = Outcome { effect: known.effect, stored, position, replayed: true };
            return Ok(Judged::Known(Ok(outcome)));
        } else {
            writes.outlived.push(mark.key);
        }
    }
    let judgement = match judge(connection, rules, command).await? {
        Ok(judgement) => judgement,
        Err(failure) => return Ok(Judged::Known(Err(failure))),
    };
    let (effect, stored) = judgement.foretold();
    let mut outcome = Outcome { effect, stored, position: 0, replayed: false };
    if let GroupJudgement::Writes(others, change) = judgement {
        for change in others.into_iter().chain([*change]) {
            writes.change_group(change);
        }
    }
    if let Some(mark) = &command.idempotency {
        let nth = i64::try_from(writes.events.len()).unwrap_or(i64::MAX);
        let (key, fingerprint) = (mark.key, mark.fingerprint);
        let stored = outcome.stored.clone();
        writes.marks.push(NewMark { key, fingerprint, at: command.at, effect, stored, nth });
    }
    if writes.is_empty() {
        outcome.position = position(connection).await?;
        return Ok(Judged::Known(Ok(outcome)));
    }
    Ok(Judged::Writes(outcome, Box::new(writes)))
}

async fn position(connection: &Connection) -> Result<i64, Miss> {
    let statement = connection.prepare(sql::POSITION).await?;
    let row = connection.client().query_opt(&statement, &[]).await?;
    let row = row.ok_or_else(|| corrupt("log_head"))?;
    Ok(column(&row, 0, "log_head")?)
}
