//! What a connection that only reads can tell of commands: a dry run, and what came before.
//!
//! A dry run is judged on one snapshot, by the code that judges what is written. Whether the same
//! request came before is not asked for it; that is a question of its own.

use roster_core::{
    Command, Effect, Failure, GroupCommand, Idempotency, Outcome, Rules, Stored, Timestamp,
};
use rusqlite::Connection;

use super::{
    groups,
    judge::{Halt, Judge},
    once,
};
use crate::{failure::store_error, page::head::HEAD};

/// What a command would come to, had it never come before; the position is that of the snapshot.
pub(crate) fn preview(
    connection: &Connection,
    rules: Rules,
    command: &Command,
) -> Result<Outcome, Failure> {
    told(attempt(connection, || {
        Ok(Judge::new(connection, rules)?.judge(command, None)?.foretold())
    }))
}

/// The same of a group command.
pub(crate) fn preview_group(
    connection: &Connection,
    rules: Rules,
    command: &GroupCommand,
) -> Result<Outcome, Failure> {
    told(attempt(connection, || Ok(groups::judge(connection, rules, command)?.foretold())))
}

/// What the same request came to before, if it came and is remembered at that moment.
pub(crate) fn recalled(
    connection: &Connection,
    mark: &Idempotency,
    at: Timestamp,
) -> Result<Option<Outcome>, Failure> {
    told(once::recall(connection, mark, at))
}

fn told<T>(attempt: Result<T, Halt>) -> Result<T, Failure> {
    match attempt {
        Ok(told) => Ok(told),
        Err(Halt::Command(failure)) => Err(failure),
        Err(Halt::Transaction(error)) => Err(Failure::Store(store_error(error))),
    }
}

fn attempt(
    connection: &Connection,
    judge: impl FnOnce() -> Result<(Effect, Stored), Halt>,
) -> Result<Outcome, Halt> {
    // Ends, by a rollback, when it goes out of scope.
    let _snapshot = connection.unchecked_transaction()?;
    let position = connection.prepare_cached(HEAD)?.query_row([], |row| row.get(0))?;
    let (effect, stored) = judge()?;
    Ok(Outcome { effect, stored, position, replayed: false })
}
