//! API keys.

use std::sync::Arc;

use roster_core::{
    Timestamp,
    access::{ApiKey, KeyChange, KeyId, KeyRefusal},
};
use roster_engine::change_keys;

use crate::{
    connection::{BEGIN_AT_HEAD, Connection},
    failure::QueryResult,
    reads::rows::Rows,
};

pub(crate) const NOTE_USE: &str = "UPDATE keys SET last_used_at = used.at \
     FROM unnest($1::text[], $2::bigint[]) AS used (id, at) \
     WHERE keys.id = used.id AND keys.last_used_at < used.at";

/// Decides a change of the keys, and applies it. If a change is committed but its result is lost,
/// running it again changes nothing.
pub(crate) async fn change(
    connection: Arc<Connection>,
    change: &KeyChange,
) -> QueryResult<Result<ApiKey, KeyRefusal>> {
    let rows = Rows::of_store(&connection);
    connection.transaction(BEGIN_AT_HEAD, change_keys(rows, change)).await
}

/// Records when keys were used.
pub(crate) async fn note_use(
    connection: Arc<Connection>,
    uses: &[(KeyId, Timestamp)],
) -> QueryResult<()> {
    let ids: Vec<&str> = uses.iter().map(|(id, _)| id.as_str()).collect();
    let moments: Vec<i64> = uses.iter().map(|(_, at)| at.as_millis()).collect();
    let statement = connection.prepare(NOTE_USE).await?;
    connection.client().execute(&statement, &[&ids, &moments]).await?;
    Ok(())
}
