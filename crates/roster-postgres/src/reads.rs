//! Reading single deleted users, and the head of the log.

use std::sync::Arc;

use roster_core::{Deleted, Head, StoreError, Stored, Timestamp, UserId};
use tokio_postgres::Row;

use crate::{
    columns::{column, corrupt, id_column, record_column, uuid},
    connect::Connection,
    query_error::QueryResult,
};

pub(crate) const GET_DELETED: &str =
    "SELECT id, version, deleted_at, record FROM deleted_users WHERE id = $1";

pub(crate) const HEAD: &str =
    "SELECT position, active, suspended, deleted FROM log_head WHERE number = 1";

/// The deleted user of an id.
pub(crate) async fn deleted(
    connection: Arc<Connection>,
    id: UserId,
) -> QueryResult<Option<Deleted>> {
    let row = connection.query_opt(GET_DELETED, &[&uuid(id)]).await?;
    Ok(row.as_ref().map(deleted_of).transpose()?)
}

/// A deleted user of the columns of [`GET_DELETED`].
pub(crate) fn deleted_of(row: &Row) -> Result<Deleted, StoreError> {
    let id = id_column(row, 0, "deleted_users.id")?;
    let version = column(row, 1, "deleted_users.version")?;
    let at = Timestamp::from_millis(column(row, 2, "deleted_users.deleted_at")?);
    let record = record_column(row, 3, "deleted_users.record")?;
    Ok(Deleted { stored: Stored { id, version, record }, at })
}

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
