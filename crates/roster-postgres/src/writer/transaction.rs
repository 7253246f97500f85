//! One attempt at a transaction, and a dry run, which is a transaction without its writes.

use std::{
    mem,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use roster_core::{Failure, Outcome, Refusal, StoreError};
use roster_engine::{
    CLAIMS_MAX, Completed, Executed, Facts as _, Request, Results, corrupt, first, preview,
    refuse_deleted_tenant, run,
};

use super::{
    apply::apply_and_commit,
    facts::Fetched,
    fetch::{Lock, fetch, missing},
    sql,
};
use crate::{
    connection::{Connection, SNAPSHOT, WARNED},
    failure::{QueryError, QueryResult, Remedy, remedy, superseded, too_slow, was_idle},
    in_force::{InForce, RulesInForce},
    reads::rows::Rows,
};

/// Why a transaction failed.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) kind: FaultKind,
    pub(super) error: StoreError,
}

/// The kinds of failed transactions. Nothing was committed, except perhaps with
/// [`FaultKind::InDoubt`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaultKind {
    /// Another transaction changed the same data.
    Conflict,
    /// Another transaction held a lock for too long.
    LockTimeout,
    /// The connection is lost, and the commit was not sent.
    Disconnected,
    /// The uniqueness policy has changed since the batch was decided.
    EraEnded,
    /// One of the commands is faulty.
    Command,
    /// No command can succeed now.
    Batch,
    /// The commit may have arrived. The batch must not run again.
    InDoubt,
}

impl Fault {
    pub(super) const fn new(kind: FaultKind, error: StoreError) -> Self {
        Self { kind, error }
    }

    /// The fault if the database did not respond in time.
    pub(super) fn of_silence(commit_may_arrive: &AtomicBool) -> Self {
        let is_sent = commit_may_arrive.load(Ordering::Acquire);
        Self::new(if is_sent { FaultKind::InDoubt } else { FaultKind::Disconnected }, too_slow())
    }

    /// A failure before the commit was sent.
    fn before_commit(error: QueryError) -> Self {
        let remedy = match &error {
            QueryError::Database(error) => remedy(&error.0),
            QueryError::EraEnded => return Self::new(FaultKind::EraEnded, error.into()),
            QueryError::Locked => return Self::new(FaultKind::Conflict, error.into()),
            QueryError::Store(_) => Remedy::Nothing,
        };
        let error = StoreError::from(error);
        let kind = match (remedy, &error) {
            (Remedy::Again, _) => FaultKind::Conflict,
            (Remedy::Wait, _) => FaultKind::LockTimeout,
            (Remedy::Reconnect, _) => FaultKind::Disconnected,
            (_, StoreError::Full(_) | StoreError::Unavailable(_) | StoreError::Superseded(_)) => {
                FaultKind::Batch
            }
            _ => FaultKind::Command,
        };
        Self { kind, error }
    }

    /// A failure after the commit was sent. The commit is in doubt if the connection is lost, and
    /// after an error that says that the server is about to close it. After any other error that
    /// the server reports, it rolled back; also after one that says that the session was idle in
    /// its transaction, because the commit would have ended that.
    fn at_commit(error: QueryError) -> Self {
        let was_idle = matches!(&error, QueryError::Database(error) if was_idle(&error.0));
        let fault = Self::before_commit(error);
        if fault.kind != FaultKind::Disconnected || was_idle {
            return fault;
        }
        let why = fault.error.with_causes();
        let text = format!("the fate of the write is not known: {why}");
        Self::new(FaultKind::InDoubt, StoreError::Unavailable(text.into()))
    }
}

/// Executes a batch in one transaction. There may be fewer results than requests. `facts` are those
/// of the attempt before. If the caller drops the future, `commit_may_arrive` shows whether the
/// commit may have reached the database.
pub(super) async fn execute(
    connection: &Connection,
    rules: &RulesInForce,
    requests: &[&Request],
    facts: &mut Fetched,
    commit_may_arrive: &AtomicBool,
) -> Result<Results, Fault> {
    let is_sent = || commit_may_arrive.load(Ordering::Acquire);
    *facts = mem::take(facts).again();
    match try_execute(connection, rules, requests, facts, commit_may_arrive).await {
        Ok(_) if is_sent() && connection.was_warned() => {
            Err(Fault::new(FaultKind::InDoubt, StoreError::Unavailable(WARNED.into())))
        }
        Ok(_) if !connection.is_current() => {
            let kind = if is_sent() { FaultKind::InDoubt } else { FaultKind::Disconnected };
            Err(Fault::new(kind, superseded()))
        }
        Ok(results) => Ok(results),
        Err(error) if is_sent() => Err(Fault::at_commit(error)),
        Err(error) => Err(roll_back(connection, Fault::before_commit(error)).await),
    }
}

async fn try_execute(
    connection: &Connection,
    in_force: &RulesInForce,
    requests: &[&Request],
    facts: &mut Fetched,
    commit_may_arrive: &AtomicBool,
) -> QueryResult<Results> {
    let tenant = facts.tenant();
    let known = in_force.known(tenant);
    if !in_force.is_of_current_log(&known) {
        return Err(QueryError::EraEnded);
    }
    let InForce { rules, schema, era, log } = known;
    // A deletion ends the era, so no other process writes to a deleted tenant either.
    let Some(schema) = schema else {
        position_in_era(connection, era).await?;
        return Ok(refuse_deleted_tenant(requests));
    };
    let (mut has_begun, mut lock) = (false, Lock::Wait(log));
    for request in requests {
        request.ask(facts);
        // Each of these keys is locked.
        if facts.holders.missing.len() >= CLAIMS_MAX {
            break;
        }
    }
    let Completed { results, writes, is_stale, .. } = loop {
        let queries = missing(facts, lock);
        if !queries.is_empty() {
            fetch(connection, has_begun, queries, facts).await?;
            (has_begun, lock) = (true, Lock::AtOnce(log));
        }
        let completed = run(rules, &schema, requests, facts);
        if facts.is_complete() {
            break completed;
        }
    };
    if is_stale {
        return Err(QueryError::Locked);
    }
    let before = if writes.is_empty() {
        position(connection, era, has_begun, &results).await?
    } else {
        apply_and_commit(Rows(connection, tenant), era, &writes, has_begun, commit_may_arrive)
            .await?
    };
    let outcome = |result: Result<Executed, Failure>| Ok(result?.outcome(before));
    Ok(results.into_iter().map(outcome).collect())
}

/// Ends the transaction of a failed statement, so that the connection can be used again.
async fn roll_back(connection: &Connection, fault: Fault) -> Fault {
    if fault.kind != FaultKind::Disconnected
        && let Err(error) = connection.client().batch_execute("ROLLBACK").await
    {
        return Fault::new(FaultKind::Disconnected, QueryError::from(error).into());
    }
    fault
}

/// The position of the log, for a batch that writes nothing; ends the transaction. A refusal for a
/// key that is taken depends on the policy, and one of a value on the schema of users, so their era
/// must not have ended.
async fn position(
    connection: &Connection,
    era: i64,
    has_begun: bool,
    results: &[Result<Executed, Failure>],
) -> QueryResult<i64> {
    let depends_on_era = |result: &Result<_, Failure>| match result {
        Ok(_) => true,
        Err(Failure::Refused(refusal)) => matches!(
            refusal,
            Refusal::Taken(_) | Refusal::Invalid(_) | Refusal::VersionMismatch { .. }
        ),
        Err(Failure::Store(_)) => false,
    };
    let mut position = 0;
    if results.iter().any(depends_on_era) {
        position = position_in_era(connection, era).await?;
    }
    if has_begun {
        connection.client().batch_execute("COMMIT").await?;
    }
    Ok(position)
}

/// The position of the log, unless the era has ended.
async fn position_in_era(connection: &Connection, era: i64) -> QueryResult<i64> {
    let row = first(Rows::of_store(connection), sql::POSITION, &[])
        .await?
        .ok_or_else(|| corrupt("log_head"))?;
    if row.number(1, "log_head")? != era {
        return Err(QueryError::EraEnded);
    }
    Ok(row.number(0, "log_head")?)
}

/// Executes a request without its writes, as if it came for the first time; `None` if the policy
/// has changed.
pub(crate) async fn dry_run(
    connection: Arc<Connection>,
    InForce { rules, schema, era, .. }: InForce,
    request: &Request,
) -> QueryResult<Option<Result<Outcome, Failure>>> {
    let work = async {
        let position = match position_in_era(&connection, era).await {
            Err(QueryError::EraEnded) => return Ok(None),
            position => position?,
        };
        let Some(schema) = &schema else {
            return Ok(Some(Err(Refusal::TenantNotFound.into())));
        };
        let mut facts = Fetched::of(request.tenant());
        request.ask(&mut facts);
        loop {
            let queries = missing(&mut facts, Lock::Nothing);
            fetch(&connection, true, queries, &mut facts).await?;
            let result = preview(rules, schema, request, &mut facts, position);
            if result.is_some() {
                return Ok(result);
            }
        }
    };
    connection.transaction(SNAPSHOT, work).await
}
