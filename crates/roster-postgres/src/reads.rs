//! Reading single deleted users, and the head of the log.

use roster_core::{Deleted, Head, StoreError, Stored, Timestamp, UserId};
use tokio_postgres::Row;

use crate::{
    columns::{column, corrupt, id_column, record_column, uuid},
    connect::Connection,
    pool::{Miss, Question},
};

pub(crate) const GET_DELETED: &str =
    "SELECT id, version, deleted_at, record FROM deleted_users WHERE id = $1";

pub(crate) const HEAD: &str =
    "SELECT position, active, suspended, deleted FROM log_head WHERE number = 1";

/// Asks for the deleted user of an id.
pub(crate) struct DeletedUser(pub(crate) UserId);

/// Asks where the log stands.
pub(crate) struct LogHead;

impl Question for DeletedUser {
    type Answer = Option<Deleted>;

    async fn ask(&self, connection: &Connection) -> Result<Self::Answer, Miss> {
        let get = connection.prepare(GET_DELETED).await?;
        let row = connection.client().query_opt(&get, &[&uuid(self.0)]).await?;
        Ok(row.as_ref().map(deleted_of).transpose()?)
    }
}

impl Question for LogHead {
    type Answer = Head;

    async fn ask(&self, connection: &Connection) -> Result<Head, Miss> {
        head(connection).await
    }
}

/// A deleted user of the columns of [`GET_DELETED`].
pub(crate) fn deleted_of(row: &Row) -> Result<Deleted, StoreError> {
    let id = id_column(row, 0, "deleted_users.id")?;
    let version = column(row, 1, "deleted_users.version")?;
    let at = Timestamp::from_millis(column(row, 2, "deleted_users.deleted_at")?);
    let record = record_column(row, 3, "deleted_users.record")?;
    Ok(Deleted { stored: Stored { id, version, record }, at })
}

/// Where the log stands.
pub(crate) async fn head(connection: &Connection) -> Result<Head, Miss> {
    let head = connection.prepare(HEAD).await?;
    let row = connection.client().query_opt(&head, &[]).await?;
    Ok(row.as_ref().map_or_else(|| Err(corrupt("log_head")), head_of)?)
}

/// The head of the columns of [`HEAD`].
pub(crate) fn head_of(row: &Row) -> Result<Head, StoreError> {
    let number = |index| column(row, index, "log_head");
    Ok(Head {
        position: number(0)?,
        active: number(1)?,
        suspended: number(2)?,
        deleted: number(3)?,
    })
}
