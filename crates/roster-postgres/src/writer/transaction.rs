//! One transaction, tried once.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::join;
use roster_core::{Failure, Refusal, StoreError};
use roster_engine::{Completed, Executed, Request, Results, run};

use super::{
    apply::{Begin, apply},
    facts::Fetched,
    fetch::{Lock, fetch},
    sql,
};
use crate::{
    columns::{column, corrupt},
    connect::Connection,
    failure::{Remedy, remedy, too_slow},
    in_force::InForce,
    pool::{QueryError, QueryResult},
};

/// Why a transaction failed.
#[derive(Debug)]
pub(super) enum Fault {
    /// Another transaction changed the same data. Nothing is committed.
    Conflict(StoreError),
    /// Another transaction held a lock for too long. Nothing is committed.
    Busy(StoreError),
    /// The connection is lost, and the commit was not sent: nothing is committed.
    Disconnected(StoreError),
    /// The policy that the batch was decided under has changed. Nothing is committed.
    EraEnded,
    /// One of the commands is at fault. Nothing is committed.
    Command(StoreError),
    /// The error is that of all commands: the commit may have arrived, or no command can succeed.
    Batch(StoreError),
}

impl Fault {
    /// The database did not answer in time.
    pub(super) fn of_silence(commit_was_sent: &AtomicBool) -> Self {
        if commit_was_sent.load(Ordering::Acquire) {
            Self::Batch(too_slow())
        } else {
            Self::Disconnected(too_slow())
        }
    }

    /// A failure before the commit was sent.
    fn before_commit(error: QueryError) -> Self {
        let remedy = match &error {
            QueryError::Database(error) => remedy(error),
            QueryError::EraEnded => return Self::EraEnded,
            QueryError::Store(_) => Remedy::Nothing,
        };
        match (remedy, StoreError::from(error)) {
            (Remedy::Again, error) => Self::Conflict(error),
            (Remedy::Wait, error) => Self::Busy(error),
            (Remedy::Reconnect, error) => Self::Disconnected(error),
            (_, error @ (StoreError::Full(_) | StoreError::Unavailable(_))) => Self::Batch(error),
            (_, error) => Self::Command(error),
        }
    }

    /// A failure after the commit was sent. An error that the server reports means that it rolled
    /// back; without one the commit is in doubt.
    fn at_commit(error: QueryError) -> Self {
        match Self::before_commit(error) {
            Self::Disconnected(error) => Self::Batch(StoreError::Unavailable(
                format!("the fate of the write is not known: {error}").into(),
            )),
            fault @ (Self::Conflict(_)
            | Self::Busy(_)
            | Self::EraEnded
            | Self::Command(_)
            | Self::Batch(_)) => fault,
        }
    }
}

/// Executes a batch in one transaction. `commit_was_sent` tells whether the commit may have reached
/// the database, should this be dropped. There may be fewer results than requests.
pub(super) async fn execute(
    connection: &Connection,
    in_force: InForce,
    requests: &[&Request],
    commit_was_sent: &AtomicBool,
) -> Result<Results, Fault> {
    let is_sent = || commit_was_sent.load(Ordering::Acquire);
    match try_execute(connection, in_force, requests, commit_was_sent).await {
        Ok(_) if is_sent() && connection.was_warned() => {
            Err(Fault::Batch(StoreError::Unavailable(
                "the database warned at the commit: the fate of the write is not known".into(),
            )))
        }
        Ok(results) => Ok(results),
        Err(error) if is_sent() => Err(Fault::at_commit(error)),
        Err(error) => Err(roll_back(connection, Fault::before_commit(error)).await),
    }
}

async fn try_execute(
    connection: &Connection,
    InForce { rules, era }: InForce,
    requests: &[&Request],
    commit_was_sent: &AtomicBool,
) -> QueryResult<Results> {
    let mut facts = Fetched::default();
    let mut begin = Begin::Now;
    let Completed { results, writes } = loop {
        let completed = run(rules, requests, &mut facts);
        if facts.missing.is_empty() {
            break completed;
        }
        fetch_in_transaction(connection, begin, &mut facts).await?;
        begin = Begin::Done;
    };
    let before = if writes.is_empty() {
        position(connection, era, begin, &results).await?
    } else {
        apply(connection, era, &writes, begin, commit_was_sent).await?
    };
    let outcome = |result: Result<Executed, Failure>| Ok(result?.outcome(before));
    Ok(results.into_iter().map(outcome).collect())
}

async fn fetch_in_transaction(
    connection: &Connection,
    begin: Begin,
    facts: &mut Fetched,
) -> QueryResult<()> {
    if begin == Begin::Done {
        return fetch(connection, Lock::Rows, facts).await;
    }
    let opening = connection.client().batch_execute("BEGIN");
    let (opened, fetched) = join(opening, fetch(connection, Lock::Rows, facts)).await;
    opened?;
    fetched
}

/// Ends the transaction of a failed statement, so that the connection can be used again.
async fn roll_back(connection: &Connection, fault: Fault) -> Fault {
    if matches!(fault, Fault::Disconnected(_)) {
        return fault;
    }
    match connection.client().batch_execute("ROLLBACK").await {
        Ok(()) => fault,
        Err(error) => Fault::Disconnected(QueryError::from(error).into()),
    }
}

/// The position of the log, for a batch that writes nothing; ends the transaction. A refusal for a
/// key that is taken depends on the policy, so its era must not have ended.
async fn position(
    connection: &Connection,
    era: i64,
    begin: Begin,
    results: &[Result<Executed, Failure>],
) -> QueryResult<i64> {
    let depends_on_era = |result: &Result<_, Failure>| {
        matches!(result, Ok(_) | Err(Failure::Refused(Refusal::Taken(_))))
    };
    let mut position = 0;
    if results.iter().any(depends_on_era) {
        position = position_in_era(connection, era).await?;
    }
    if begin == Begin::Done {
        connection.client().batch_execute("COMMIT").await?;
    }
    Ok(position)
}

/// The position of the log, unless the era has ended.
pub(super) async fn position_in_era(connection: &Connection, era: i64) -> QueryResult<i64> {
    let row = connection.query_opt(sql::POSITION, &[]).await?;
    let row = row.ok_or_else(|| corrupt("log_head"))?;
    if column::<i64>(&row, 1, "log_head")? != era {
        return Err(QueryError::EraEnded);
    }
    Ok(column(&row, 0, "log_head")?)
}
