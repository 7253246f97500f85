//! A dry run: a request executed on one snapshot, without its writes.

use roster_core::{Failure, Outcome, Rules, StoreError};
use roster_engine::{Request, preview};
use rusqlite::Connection;

use super::facts::StoredFacts;
use crate::{failure::store_error, page::head::HEAD};

/// What a request would come to if it never came before. The position is that of the snapshot.
pub(crate) fn preview_request(
    connection: &Connection,
    rules: Rules,
    request: &Request,
) -> Result<Outcome, Failure> {
    // The snapshot ends, by a rollback, when it goes out of scope.
    let _snapshot = connection.unchecked_transaction().map_err(store_error)?;
    let mut head = connection.prepare_cached(HEAD).map_err(store_error)?;
    let position = head.query_row([], |row| row.get(0)).map_err(store_error)?;
    let mut facts = StoredFacts::new(connection, &[request]).map_err(store_error)?;
    let result = preview(rules, request, &mut facts, position);
    facts.check().map_err(store_error)?;
    result.unwrap_or_else(|| Err(Failure::Store(unread())))
}

fn unread() -> StoreError {
    StoreError::Internal("a fact was not read".into())
}
