//! One transaction, tried once.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::join;
use roster_core::{Failure, Refusal, StoreError};

use super::{
    facts::{Facts, Missing},
    fetch::{Lock, fetch},
    flush::{Begin, flush},
    judge::Names,
    prepared::Prepared,
    queue::Results,
    run::{Done, Run, run},
    sql,
};
use crate::{
    columns::{column, corrupt},
    connect::Connection,
    failure::{Remedy, remedy},
    in_force::InForce,
    pool::Miss,
};

/// Why a transaction came to nothing, or may have.
#[derive(Debug)]
pub(super) enum Fault {
    /// Others were in its way: nothing is committed, and it can be carried out again.
    Again(Miss),
    /// There is no connection any more, and nothing is committed.
    Lost(Miss),
    /// The rules that it was decided under are in force no more: nothing is committed.
    EraEnded,
    /// One of the commands is at fault: nothing is committed.
    Own(StoreError),
    /// All share it: it is unknown what became of them, or it would befall each alone.
    Common(StoreError),
}

impl Fault {
    /// No answer came in time.
    pub(super) fn of_silence(commit_was_sent: &AtomicBool) -> Self {
        let error = || StoreError::Unavailable("the database did not answer in time".into());
        if commit_was_sent.load(Ordering::Acquire) {
            Self::Common(error())
        } else {
            Self::Lost(error().into())
        }
    }

    pub(super) fn before_commit(miss: Miss) -> Self {
        match &miss {
            Miss::Database(error) => match remedy(error) {
                Remedy::Again => Self::Again(miss),
                Remedy::Reconnect => Self::Lost(miss),
                Remedy::Nothing => Self::of_statement(miss.into()),
            },
            Miss::EraEnded => Self::EraEnded,
            Miss::Store(_) => Self::of_statement(miss.into()),
        }
    }

    pub(super) fn at_commit(miss: Miss) -> Self {
        match &miss {
            // The server says that it rolled back.
            Miss::Database(error) => match remedy(error) {
                Remedy::Again => Self::Again(miss),
                Remedy::Reconnect => Self::Common(StoreError::Unavailable(
                    format!("the fate of the write is not known: {}", StoreError::from(miss))
                        .into(),
                )),
                Remedy::Nothing => Self::of_statement(miss.into()),
            },
            Miss::EraEnded => Self::EraEnded,
            Miss::Store(_) => Self::of_statement(miss.into()),
        }
    }

    fn of_statement(error: StoreError) -> Self {
        match error {
            error @ (StoreError::Full(_) | StoreError::Unavailable(_)) => Self::Common(error),
            error @ (StoreError::WritesStopped
            | StoreError::TimedOut
            | StoreError::Corrupt { .. }
            | StoreError::Internal(_)) => Self::Own(error),
        }
    }
}

/// Carries the commands out in one transaction. `sent` tells whether the commit may have reached
/// the database, should this be given up.
pub(super) async fn attempt(
    connection: &Connection,
    in_force: InForce,
    commands: &[&Prepared],
    names: Names,
    sent: &AtomicBool,
) -> Result<Results, Fault> {
    let InForce { rules, era } = in_force;
    let mut facts = Facts::default();
    let mut begun = false;
    let done = loop {
        match run(rules, names, commands, &facts) {
            Run::Done(done) => break done,
            Run::Missing(missing) => {
                let fetched = gather(connection, &missing, begun, &mut facts).await;
                begun = true;
                if let Err(miss) = fetched {
                    return Err(rolled_back(connection, Fault::before_commit(miss)).await);
                }
            }
        }
    };
    let Done { results, writes } = *done;
    if writes.is_empty() {
        return match position(connection, era, begun, &results).await {
            Ok(before) => Ok(outcomes(results, before)),
            Err(miss) => Err(rolled_back(connection, Fault::before_commit(miss)).await),
        };
    }
    let opening = if begun { Begin::Done } else { Begin::Now };
    match flush(connection, era, &writes, opening, sent).await {
        Ok(_) if connection.was_warned() => Err(Fault::Common(StoreError::Unavailable(
            "the database warned at the commit: the fate of the write is not known".into(),
        ))),
        Ok(before) => Ok(outcomes(results, before)),
        Err(miss) if sent.load(Ordering::Acquire) => Err(Fault::at_commit(miss)),
        Err(miss) => Err(rolled_back(connection, Fault::before_commit(miss)).await),
    }
}

async fn gather(
    connection: &Connection,
    missing: &Missing,
    begun: bool,
    facts: &mut Facts,
) -> Result<(), Miss> {
    if begun {
        return fetch(connection, missing, Lock::Rows, facts).await;
    }
    let opening = connection.client().batch_execute("BEGIN");
    let (opened, fetched) = join(opening, fetch(connection, missing, Lock::Rows, facts)).await;
    opened?;
    fetched
}

/// After a failed statement the transaction is ended, so that the connection can be used again.
pub(super) async fn rolled_back(connection: &Connection, fault: Fault) -> Fault {
    if matches!(fault, Fault::Lost(_)) {
        return fault;
    }
    match connection.client().batch_execute("ROLLBACK").await {
        Ok(()) => fault,
        Err(error) => Fault::Lost(error.into()),
    }
}

/// Where the log stands, for commands that change nothing; ends the transaction. A name that is
/// taken is taken under the policy of an era, which must last.
async fn position(
    connection: &Connection,
    era: i64,
    begun: bool,
    results: &[Result<super::run::Told, Failure>],
) -> Result<i64, Miss> {
    let depends = |result: &Result<_, Failure>| match result {
        Ok(_) => true,
        Err(failure) => is_by_policy(failure),
    };
    let mut position = 0;
    if results.iter().any(depends) {
        position = position_in_era(connection, era).await?;
    }
    if begun {
        connection.client().batch_execute("COMMIT").await?;
    }
    Ok(position)
}

/// Whether another policy may not have refused it.
pub(super) const fn is_by_policy(failure: &Failure) -> bool {
    matches!(failure, Failure::Refused(Refusal::Taken(_)))
}

/// Where the log stands, as long as the era lasts.
pub(super) async fn position_in_era(connection: &Connection, era: i64) -> Result<i64, Miss> {
    let statement = connection.prepare(sql::POSITION).await?;
    let row = connection.client().query_opt(&statement, &[]).await?;
    let row = row.ok_or_else(|| corrupt("log_head"))?;
    if column::<i64>(&row, 1, "log_head")? != era {
        return Err(Miss::EraEnded);
    }
    Ok(column(&row, 0, "log_head")?)
}

fn outcomes(results: Vec<Result<super::run::Told, Failure>>, before: i64) -> Results {
    results.into_iter().map(|result| result.map(|told| told.outcome(before))).collect()
}
