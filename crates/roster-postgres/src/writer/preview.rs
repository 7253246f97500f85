//! A dry run: a request executed on one snapshot, without its writes.

use std::sync::Arc;

use roster_core::{Failure, Outcome};
use roster_engine::{Request, preview};

use super::{
    facts::Fetched,
    fetch::{Lock, fetch},
    transaction::position_in_era,
};
use crate::{
    connect::Connection,
    in_force::InForce,
    pool::{QueryError, QueryResult},
};

/// Begins a snapshot.
pub(crate) const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Executes a request without its writes, as if it came for the first time; `None` if the policy
/// has changed.
pub(crate) async fn dry_run(
    connection: Arc<Connection>,
    InForce { rules, era }: InForce,
    request: &Request,
) -> QueryResult<Option<Result<Outcome, Failure>>> {
    let work = async {
        let position = match position_in_era(&connection, era).await {
            Err(QueryError::EraEnded) => return Ok(None),
            position => position?,
        };
        let mut facts = Fetched::default();
        loop {
            let result = preview(rules, request, &mut facts, position);
            if result.is_some() {
                return Ok(result);
            }
            fetch(&connection, Lock::Nothing, &mut facts).await?;
        }
    };
    connection.transaction(SNAPSHOT, work).await
}
