//! A dry run: the judgement of a command on a connection that only reads.
//!
//! It is judged on one snapshot, by the code that judges what is written. Whether the same request
//! came before is not asked.

use roster_core::{Command, Failure, Outcome, Rules};
use rusqlite::Connection;

use super::judge::{Halt, Judge};
use crate::{failure::store_error, page::head::HEAD};

/// What a command would come to, had it never come before; the position is that of the snapshot.
pub(crate) fn preview(
    connection: &Connection,
    rules: Rules,
    command: &Command,
) -> Result<Outcome, Failure> {
    match attempt(connection, rules, command) {
        Ok(outcome) => Ok(outcome),
        Err(Halt::Command(failure)) => Err(failure),
        Err(Halt::Transaction(error)) => Err(Failure::Store(store_error(error))),
    }
}

fn attempt(connection: &Connection, rules: Rules, command: &Command) -> Result<Outcome, Halt> {
    // Ends, by a rollback, when it goes out of scope.
    let _snapshot = connection.unchecked_transaction()?;
    let position = connection.prepare_cached(HEAD)?.query_row([], |row| row.get(0))?;
    let (effect, stored) = Judge::new(connection, rules)?.judge(command, None)?.foretold();
    Ok(Outcome { effect, stored, position, replayed: false })
}
