//! The check of a store: all stored data besides the records must follow from the records, and the
//! change log must lead to the current state.
//!
//! It reads one snapshot and changes nothing. Tables are read in pages in the order of ids, so that
//! memory does not grow with the collection. Engines run the statements ([`CheckReader`]).

mod findings;
mod groups;
mod history;
mod log;
mod rows;
mod schema;
mod search;
mod users;

use std::fmt;

use roster_core::{Head, PolicyKey, Sharing, page::Flow};

use crate::{
    database::{Cell, Database, Values, first},
    settings::setting,
};

pub use findings::{Findings, Line};
pub use search::SearchRow;

/// Runs the statements of a check in one snapshot. An absent sort key is read as empty bytes.
pub trait CheckReader: Database<Error: fmt::Display> {
    /// The indexes in `rows` of the rows that are missing in their table.
    fn missing(self, rows: &[SearchRow]) -> impl Future<Output = Result<Vec<usize>, Self::Error>>;

    /// The statement that counts the keys that belong to more than one user.
    fn count_shared_sql(key: PolicyKey) -> String;
}

/// Checks everything that both engines store.
pub async fn check<R: CheckReader>(reader: R, head: Head) -> Vec<Line> {
    let mut lines = vec![check_counters(reader, head).await];
    lines.extend(users::check(reader, head).await);
    lines.push(log::check_idempotency_keys(reader, head).await);
    lines
}

/// Checks the stored counters and the uniqueness of keys.
pub async fn check_counters<R: CheckReader>(reader: R, head: Head) -> Line {
    let mut line = Line::new("counters");
    let read = read_counters(reader, head, &mut line).await;
    line.end(read);
    line
}

const LAST: &str = "SELECT coalesce(max(position), 0) FROM events";

/// Checks the head of the log and the policy on shared keys.
async fn read_counters<R: CheckReader>(
    reader: R,
    head: Head,
    line: &mut Line,
) -> Result<(), R::Error> {
    for (name, kept, sql) in [
        ("active", head.active, "SELECT count(*) FROM users WHERE status = 0"),
        ("suspended", head.suspended, "SELECT count(*) FROM users WHERE status = 1"),
        ("deleted", head.deleted, "SELECT count(*) FROM deleted_users"),
    ] {
        let counted = number(reader, sql).await?;
        let what = format!("is {kept}, but there are {counted}");
        line.require(kept == counted, &format!("log_head.{name}"), &what);
    }
    let last = number(reader, LAST).await?;
    // If all events were deleted by age, there is no last event to compare.
    let what = format!("is {}, but the last event is at {last}", head.position);
    line.require(last == head.position || last == 0, &"log_head.position", &what);
    line.count = 4;
    for key in PolicyKey::ALL.iter().copied() {
        let policy = setting(reader, key.stored_name()).await?.unwrap_or_default();
        if policy.octets(0) == Sharing::Unique.stored().as_bytes() {
            let shared = number(reader, &R::count_shared_sql(key)).await?;
            let what = format!("{shared} keys that are to be unique belong to several users");
            line.require(shared == 0, &key.name(), &what);
        }
        line.count += 1;
    }
    Ok(())
}

/// Calls `show` with every row of a statement.
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
