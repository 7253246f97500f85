//! Reading the head of the log, and snapshots with it.

use roster_core::Head;
use roster_engine::corrupt;

use crate::{columns::column, connect::Connection, query_error::QueryResult, writer::SNAPSHOT};

pub(crate) const HEAD: &str =
    "SELECT position, active, suspended, deleted FROM log_head WHERE number = 1";

/// The head of the log.
pub(crate) async fn head(connection: &Connection) -> QueryResult<Head> {
    let row = connection.query_opt(HEAD, &[]).await?.ok_or_else(|| corrupt("log_head"))?;
    let number = |index| column(&row, index, "log_head");
    Ok(Head {
        position: number(0)?,
        active: number(1)?,
        suspended: number(2)?,
        deleted: number(3)?,
    })
}

/// Reads in one snapshot with the head of the log.
pub(crate) async fn snapshot<'c, T, F: Future<Output = QueryResult<T>>>(
    connection: &'c Connection,
    read: impl FnOnce(&'c Connection, Head) -> F,
) -> QueryResult<T> {
    let work = async { read(connection, head(connection).await?).await };
    connection.transaction(SNAPSHOT, work).await
}
