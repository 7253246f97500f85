//! A dry run: a request executed on one snapshot, without its writes.

use roster_core::{Failure, Outcome, Rules, StoreError};
use roster_engine::{Request, preview};
use rusqlite::Connection;

use super::facts::StoredFacts;
use crate::{failure::ReadResult, page::head::HEAD};

/// The result that a request would have as a first attempt. The position is that of the snapshot.
pub(crate) fn preview_request(
    connection: &Connection,
    rules: Rules,
    request: &Request,
) -> ReadResult<Result<Outcome, Failure>> {
    // The snapshot ends, by a rollback, when it goes out of scope.
    let _snapshot = connection.unchecked_transaction()?;
    let position = connection.prepare_cached(HEAD)?.query_row([], |row| row.get(0))?;
    let mut facts = StoredFacts::new(connection, &[request])?;
    let result = preview(rules, request, &mut facts, position);
    facts.check()?;
    let unread = || Err(StoreError::Internal("a fact was not read".into()).into());
    Ok(result.unwrap_or_else(unread))
}
