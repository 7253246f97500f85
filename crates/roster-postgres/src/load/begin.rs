//! The first step of a load: what the database holds is judged, and an empty one is marked.
//!
//! A database that is refused is left as it was, its schema included.

use roster_engine::Table;
use tokio_postgres::Client;

use super::{
    Load, commit,
    error::LoadError,
    indexes,
    mark::{self, Source},
};
use crate::{
    connect::Connector,
    schema::{self, Turn},
};

/// Whether there is a schema that could hold something.
const HAS_SCHEMA: &str = "SELECT to_regclass('settings') IS NOT NULL \
     AND to_regclass('log_head') IS NOT NULL AND to_regclass('users') IS NOT NULL \
     AND to_regclass('idempotency_keys') IS NOT NULL";

const HAS_ROWS: &str = "SELECT EXISTS (SELECT FROM users) OR EXISTS (SELECT FROM deleted_users) \
     OR EXISTS (SELECT FROM events) OR EXISTS (SELECT FROM words) \
     OR EXISTS (SELECT FROM further_keys) OR EXISTS (SELECT FROM idempotency_keys) \
     OR EXISTS (SELECT FROM log_head WHERE position > 0)";

const HEAD: &str = "SELECT log_id, position FROM log_head WHERE number = 1";

/// Whoever writes moves the head last: without one, no write comes to an end.
pub(super) const DROP_UNUSED_HEAD: &str = "DELETE FROM log_head WHERE position = 0 RETURNING era";

const KEEP_ERA: &str = "INSERT INTO settings (name, value) VALUES ('migration.era', $1)";
const ERA: &str = "SELECT value FROM settings WHERE name = 'migration.era'";

pub(super) async fn begin(connector: &Connector, source: Source) -> Result<Load, LoadError> {
    let connection = connector.connect_for_maintenance().await?;
    let client = connection.client();
    if client.query_one(HAS_SCHEMA, &[]).await?.try_get(0)? {
        // Before the schema is brought up to date: that of a database that is in use is not ours
        // to change.
        judge(client, &source).await?;
    }
    schema::migrate(connector).await?;
    // No service gives birth to a store of its own meanwhile.
    let turn = Turn::take(connector).await?;
    client.batch_execute("BEGIN").await?;
    if !judge(client, &source).await? {
        mark_empty(client, &source).await?;
    }
    let mut reached = Vec::with_capacity(Table::ALL.len());
    for table in Table::ALL {
        reached.push((table, mark::reached(client, table).await?));
    }
    commit(&connection).await?;
    turn.end().await?;
    if reached.iter().all(|(_, reached)| reached.rows == 0) {
        indexes::take_away(client).await?;
    }
    Ok(Load { connection, source, reached })
}

/// Whether a load of this source was begun; refused, unless that or nothing is there.
async fn judge(client: &Client, source: &Source) -> Result<bool, LoadError> {
    if let Some(mark) = mark::read(client).await? {
        source.recognize(&mark)?;
        return Ok(true);
    }
    if client.query_one(HAS_ROWS, &[]).await?.try_get(0)? {
        let same = holds_same(client, source).await?;
        return Err(if same { LoadError::AlreadyThere } else { LoadError::NotEmpty });
    }
    Ok(false)
}

/// Whether the log is the source's, and ends where that ends.
async fn holds_same(client: &Client, source: &Source) -> Result<bool, LoadError> {
    let Some(row) = client.query_opt(HEAD, &[]).await? else { return Ok(false) };
    let (log_id, position): (&[u8], i64) = (row.try_get(0)?, row.try_get(1)?);
    Ok(log_id == source.log_id.0 && position == source.head.position)
}

/// Marks a database that holds nothing.
async fn mark_empty(client: &Client, source: &Source) -> Result<(), LoadError> {
    let unused = client.query_opt(DROP_UNUSED_HEAD, &[]).await?;
    if has_head(client).await? {
        return Err(LoadError::NotAlone);
    }
    // What a service that was started on it made for itself; the source brings its own.
    client.execute("DELETE FROM settings", &[]).await?;
    client.execute("DELETE FROM groups_head", &[]).await?;
    client.execute("DELETE FROM clock_mark", &[]).await?;
    let era: i64 = unused.map(|row| row.try_get(0)).transpose()?.unwrap_or(0);
    client.execute(KEEP_ERA, &[&era.to_be_bytes().as_slice()]).await?;
    mark::create(client, source).await?;
    indexes::note(client).await
}

/// Whether the log has a head.
pub(super) async fn has_head(client: &Client) -> Result<bool, LoadError> {
    Ok(client.query_opt(HEAD, &[]).await?.is_some())
}

/// The era that begins with the end of the load: another one than any process knows that opened
/// the database when it was empty.
pub(super) async fn next_era(client: &Client) -> Result<i64, LoadError> {
    let row = client.query_opt(ERA, &[]).await?;
    let era: Option<Vec<u8>> = row.map(|row| row.try_get(0)).transpose()?;
    let era = era.and_then(|era| Some(i64::from_be_bytes(era.try_into().ok()?)));
    era.map(|era| era + 1).ok_or(LoadError::OtherSource { source_end: None })
}
