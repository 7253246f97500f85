//! Reading snapshots with the head of the log.

use roster_core::Head;
use roster_engine::head;

use crate::{connect::Connection, query_error::QueryResult, writer::SNAPSHOT};

/// Reads in one snapshot with the head of the log.
pub(crate) async fn snapshot<'c, T, F: Future<Output = QueryResult<T>>>(
    connection: &'c Connection,
    read: impl FnOnce(&'c Connection, Head) -> F,
) -> QueryResult<T> {
    let work = async { read(connection, head(connection).await?).await };
    connection.transaction(SNAPSHOT, work).await
}
