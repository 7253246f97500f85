//! One transaction: commands in their order, the head of the log, the commit.
//!
//! Either all of it is on disk or none. Nothing is kept in memory of a transaction that failed:
//! the head it began with is still the head.

use roster_core::{Command, Head, Rules, UserId};
use rusqlite::{Connection, Error};

use super::{
    queue::Results,
    sql::MOVE_HEAD,
    step::{Statements, Step},
};

/// What a transaction came to.
pub(super) struct Committed {
    /// A result for each command.
    pub(super) results: Results,
    /// The head after it.
    pub(super) head: Head,
    /// The users whose rows it changed.
    pub(super) touched: Vec<UserId>,
}

/// A transaction that was rolled back.
pub(super) struct Fault {
    /// Why.
    pub(super) error: Error,
    /// When.
    pub(super) moment: Moment,
}

/// When a transaction failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// Before the commit: nothing is on disk.
    Statement,
    /// At the commit.
    Commit,
}

/// Carries the commands out in one transaction.
pub(super) fn run(
    connection: &Connection,
    rules: Rules,
    head: Head,
    commands: &[&Command],
) -> Result<Committed, Fault> {
    let outcome = attempt(connection, rules, head, commands);
    if outcome.is_err() && !connection.is_autocommit() {
        // A rollback that fails is made up for when the file is opened next: the log has no
        // commit record.
        drop(connection.execute_batch("ROLLBACK"));
    }
    outcome
}

fn attempt(
    connection: &Connection,
    rules: Rules,
    head: Head,
    commands: &[&Command],
) -> Result<Committed, Fault> {
    let before = |error| Fault { error, moment: Moment::Statement };
    let execute = |sql| connection.prepare_cached(sql)?.execute([]);
    execute("BEGIN IMMEDIATE").map_err(before)?;
    let statements = Statements::prepare(connection).map_err(before)?;
    let mut step = Step::new(connection, statements, rules, head);
    let mut results = Results::with_capacity(commands.len());
    for command in commands {
        results.push(step.carry_out(command).map_err(before)?);
    }
    let (after, touched) = step.end();
    if after != head {
        let Head { position, active, suspended, deleted } = after;
        connection
            .prepare_cached(MOVE_HEAD)
            .and_then(|mut head| head.execute([position, active, suspended, deleted]))
            .map_err(before)?;
    }
    execute("COMMIT").map_err(|error| Fault { error, moment: Moment::Commit })?;
    Ok(Committed { results, head: after, touched })
}
