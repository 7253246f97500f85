//! The check of a store: everything that is kept beside the records must follow from them, and the
//! change log must lead to what there is.
//!
//! It reads one snapshot and changes nothing. Tables are read in pages in the order of ids, so that
//! memory does not grow with the collection. Engines run the statements ([`CheckReader`]).

mod counters;
mod findings;
mod groups;
mod history;
mod log;
mod rows;
mod schema;
mod search;
mod users;

use std::fmt;

use roster_core::{Head, PolicyKey, page::Flow};

use crate::database::{Cell, Database, Values, first};

pub use findings::{Findings, Line};
pub use search::SearchRow;

/// Runs the statements of a check in one snapshot. A sort key that is absent is read as empty
/// bytes.
pub trait CheckReader: Database<Error: fmt::Display> {
    /// Which of these rows are missing in their table, by their places in the slice.
    fn missing(self, rows: &[SearchRow]) -> impl Future<Output = Result<Vec<usize>, Self::Error>>;

    /// The statement that counts the keys that belong to more than one user.
    fn count_shared_sql(key: PolicyKey) -> String;
}

/// Checks everything but what an engine alone has.
pub async fn check<R: CheckReader>(reader: R, head: Head) -> Vec<Line> {
    let mut lines = vec![check_counters(reader, head).await];
    lines.extend(users::check(reader, head).await);
    lines.push(log::check_idempotency_keys(reader, head).await);
    lines
}

/// Checks the kept counters and what is to be unique.
pub async fn check_counters<R: CheckReader>(reader: R, head: Head) -> Line {
    let mut line = Line::new("counters");
    let read = counters::check(reader, head, &mut line).await;
    line.end(read);
    line
}

/// Shows every row of a statement.
async fn each<R: CheckReader>(
    reader: R,
    sql: &str,
    parameters: &[Cell],
    mut show: impl FnMut(Values),
) -> Result<(), R::Error> {
    let show = |row| {
        show(row);
        Ok(Flow::Next)
    };
    reader.each(sql, parameters, show).await
}

/// The number in the only row of an aggregate.
async fn number<R: CheckReader>(reader: R, sql: &str) -> Result<i64, R::Error> {
    Ok(first(reader, sql, &[]).await?.unwrap_or_default().integer(0))
}
