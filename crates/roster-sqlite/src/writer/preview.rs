//! What a connection that only reads can tell of a request: a dry run, and the stored result of a
//! repeated request.

use roster_core::{Failure, Idempotency, Outcome, Rules, StoreError, Timestamp};
use roster_engine::{CommandError, Facts as _, Request, preview, recall};
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

/// The stored result of a request, if it came before and its record has not expired.
pub(crate) fn recall_request(
    connection: &Connection,
    idempotency: &Idempotency,
    at: Timestamp,
) -> Result<Option<Outcome>, Failure> {
    let mut facts = StoredFacts::new(connection, &[]).map_err(store_error)?;
    let record = facts.idempotency_record(&idempotency.key);
    facts.check().map_err(store_error)?;
    match record {
        Ok(record) => Ok(recall(record.as_ref(), idempotency, at)?),
        Err(CommandError::Failed(failure)) => Err(failure),
        Err(CommandError::MissingFact) => Err(Failure::Store(unread())),
    }
}

fn unread() -> StoreError {
    StoreError::Internal("a fact was not read".into())
}
