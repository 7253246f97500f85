//! One transaction: its work, the head of the log, the commit.
//!
//! It is completely on disk, or not at all. Only after a failed sync of the commit this is unknown
//! until the store is opened again. A failed transaction leaves nothing in memory: the head is the
//! one before it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use roster_core::{Failure, Outcome, Rules, StoreError, UserSchema};
use roster_engine::{
    Cost, Database as _, Executed, Request, Results, batches, head, is_live, preview,
    refuse_deleted_tenant, user_schema,
};
use rusqlite::{Connection, Error};

use super::{
    apply::Applied,
    facts::StoredFacts,
    shared::Shared,
    sql::{MOVE_HEAD, POSITION},
};
use crate::{
    failure::{ReadError, ReadResult, is_busy, is_failed_sync, is_full, is_io},
    policy::in_force,
    reads::rows::{Rows, run as steps},
};

/// The longest wait for a transaction of another process.
const BEGIN_WAIT_MAX: Duration = Duration::from_secs(2);

/// A transaction that failed. It is rolled back, unless [`Fault::is_lost`].
pub(super) struct Fault {
    /// Why.
    pub(super) error: ReadError,
    /// Whether the commit failed. Before it, nothing is on disk.
    at_commit: bool,
}

impl Fault {
    /// Whether it is an error of SQLite for which `test` returns true.
    pub(super) fn is(&self, test: impl FnOnce(&Error) -> bool) -> bool {
        matches!(&self.error, ReadError::Sqlite(error) if test(error))
    }

    /// Whether it is not known what the disk holds.
    pub(super) fn is_lost(&self) -> bool {
        let is_lost_commit = |error: &_| self.at_commit && is_io(error) && !is_full(error);
        self.is(|error| is_failed_sync(error) || is_lost_commit(error))
    }

    /// The error for all requests of the transaction; `None` if a single command may have caused
    /// it.
    pub(super) fn common(&self) -> Option<StoreError> {
        let text = || self.error.to_string().into();
        // A single command would wait for a lock just as long.
        if self.is_lost() || self.is(is_busy) {
            Some(StoreError::Unavailable(text()))
        } else {
            self.is(is_full).then(|| StoreError::Full(text()))
        }
    }

    /// The error if there was only one request.
    pub(super) fn into_error(self) -> StoreError {
        self.common().unwrap_or_else(|| self.error.into())
    }
}

/// Executes requests in one transaction. Returns a result for each, or only for the first of them
/// if these fill it.
pub(super) fn execute(
    connection: &Connection,
    shared: &Shared,
    requests: &[&Request],
) -> Result<(Results, Applied), Fault> {
    run(connection, || {
        // Another program may have changed the policy, which is an event.
        let rules = in_force(connection, shared.rules())?;
        let position = position(connection)?;
        let mut applied = Applied::new(position, rules);
        let mut results = Results::with_capacity(requests.len());
        let mut cost = Cost::default();
        // Single requests come before imports. Only what they change is kept in the cache.
        let same = |one: &&Request, other: &&Request| one.is_import() == other.is_import();
        for batch in batches(requests).flat_map(|batch| batch.chunk_by(same)) {
            let Some(first) = batch.first() else { continue };
            let tenant = first.tenant();
            let rows = Rows(connection, tenant);
            if !tenant.is_default() && !steps(is_live(rows))? {
                results.extend(refuse_deleted_tenant(batch));
                continue;
            }
            let mut facts = StoredFacts::new(rows, batch);
            let schema = match applied.schemas.get(&tenant) {
                Some(schema) => Arc::clone(schema),
                None => schema_in_force(rows, shared)?,
            };
            let completed = roster_engine::run(rules, &schema, batch, &mut facts);
            facts.check()?;
            let before = applied.position;
            applied.apply(rows, &completed.writes, &facts.row_numbers, first.is_import())?;
            let is_partial = completed.results.len() < batch.len();
            let outcome = |result: Result<Executed, _>| Ok(result?.outcome(before));
            results.extend(completed.results.into_iter().map(outcome));
            cost += completed.cost;
            if is_partial || cost.is_full() {
                break;
            }
        }
        if applied.position != position {
            connection.prepare_cached(MOVE_HEAD)?.execute([applied.position])?;
        }
        ReadResult::Ok((results, applied))
    })
}

/// The position of the last event of the log.
pub(super) fn position(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached(POSITION)?.query_row([], |row| row.get(0))
}

/// The schema of a tenant's users: that of the last commit.
fn schema_in_force(rows: Rows<'_>, shared: &Shared) -> ReadResult<Arc<UserSchema>> {
    match shared.schema(rows.tenant()) {
        Some(schema) => Ok(schema),
        None => steps(user_schema(rows)),
    }
}

/// The result that a request would have if it were sent for the first time. The position is that of
/// the snapshot.
pub(crate) fn preview_request(
    connection: &Connection,
    rules: Rules,
    schema: &Arc<UserSchema>,
    request: &Request,
) -> ReadResult<Result<Outcome, Failure>> {
    // The snapshot ends, by a rollback, when it goes out of scope.
    let _snapshot = connection.unchecked_transaction()?;
    let rows = Rows(connection, request.tenant());
    let position = steps(head(rows))?.position;
    let rules = in_force(connection, rules)?;
    let mut facts = StoredFacts::new(rows, &[request]);
    let result = preview(rules, schema, request, &mut facts, position);
    facts.check()?;
    let unread = || Err(StoreError::Internal("a fact was not read".into()).into());
    Ok(result.unwrap_or_else(unread))
}

/// Begins a transaction. Waits while `roster policy set` or another program writes.
fn begin(connection: &Connection) -> rusqlite::Result<usize> {
    let start = Instant::now();
    loop {
        match connection.prepare_cached("BEGIN IMMEDIATE")?.execute([]) {
            Err(error) if is_busy(&error) && start.elapsed() < BEGIN_WAIT_MAX => {}
            result => return result,
        }
    }
}

pub(super) fn run<T, E: Into<ReadError>>(
    connection: &Connection,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, Fault> {
    let execute = |sql| connection.prepare_cached(sql)?.execute([]);
    let fault = |error, at_commit| Fault { error, at_commit };
    let done = begin(connection)
        .map_err(ReadError::from)
        .and_then(|_| work().map_err(Into::into))
        .map_err(|error| fault(error, false))
        .and_then(|done| match execute("COMMIT") {
            Ok(_) => Ok(done),
            Err(error) => Err(fault(error.into(), true)),
        });
    if done.is_err() && !connection.is_autocommit() {
        // If the rollback fails, the next start ignores the transaction in the log, because it has
        // no commit record. The exception is a commit whose sync failed.
        drop(connection.execute_batch("ROLLBACK"));
    }
    done
}
