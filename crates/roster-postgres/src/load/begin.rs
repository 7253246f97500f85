//! The first step of a load: checks what the database contains, and marks an empty one.
//!
//! A rejected database is not changed, and neither is its schema.

use roster_engine::{Table, first};
use tokio_postgres::Client;

use super::{
    Load, commit,
    error::LoadError,
    indexes,
    mark::{self, Source},
};
use crate::{
    connect::Connector,
    connection::Connection,
    migrations::{self, MigrationLock},
    reads::rows::Rows,
};

/// Whether the database has a schema that could contain data.
const HAS_SCHEMA: &str = "SELECT to_regclass('settings') IS NOT NULL \
     AND to_regclass('log_head') IS NOT NULL AND to_regclass('users') IS NOT NULL \
     AND to_regclass('idempotency_keys') IS NOT NULL AND to_regclass('tenants') IS NOT NULL";

const HAS_ROWS: &str = "SELECT EXISTS (SELECT FROM users) OR EXISTS (SELECT FROM deleted_users) \
     OR EXISTS (SELECT FROM events) OR EXISTS (SELECT FROM words) \
     OR EXISTS (SELECT FROM further_keys) OR EXISTS (SELECT FROM idempotency_keys) \
     OR EXISTS (SELECT FROM tenants WHERE id <> 0) \
     OR EXISTS (SELECT FROM log_head WHERE position > 0)";

const HEAD: &str = "SELECT log_id, position FROM log_head WHERE number = 1";

/// Every write updates the head last, so without its row no write can commit.
pub(super) const DROP_UNUSED_HEAD: &str = "DELETE FROM log_head WHERE position = 0 RETURNING era";

const KEEP_ERA: &str = "INSERT INTO settings (tenant, name, value) \
     VALUES (0, 'migration.era', $1)";

pub(super) async fn begin(connector: &Connector, source: Source) -> Result<Load, LoadError> {
    let connection = connector.connect_for_maintenance().await?;
    let client = connection.client();
    if client.query_one(HAS_SCHEMA, &[]).await?.try_get(0)? {
        // Checked before the migration: the schema of a database that is in use must not change.
        is_begun(&connection, &source).await?;
    }
    migrations::migrate(connector).await?;
    // Prevents services from creating a store of their own meanwhile.
    let migration_lock = MigrationLock::take(connector).await?;
    client.batch_execute("BEGIN").await?;
    if !is_begun(&connection, &source).await? {
        mark_empty(&connection, &source).await?;
    }
    let mut reached = Vec::with_capacity(Table::ALL.len());
    for table in Table::ALL {
        reached.push((table, mark::reached(&connection, table).await?));
    }
    commit(&connection).await?;
    migration_lock.end().await?;
    if reached.iter().all(|(_, reached)| reached.rows == 0) {
        indexes::drop_all(client).await?;
    }
    Ok(Load { connection, source, reached })
}

/// Whether a load of this source has begun. Fails if the database contains anything else.
async fn is_begun(connection: &Connection, source: &Source) -> Result<bool, LoadError> {
    if let Some(mark) = mark::read(connection).await? {
        source.recognize(&mark)?;
        return Ok(true);
    }
    if connection.client().query_one(HAS_ROWS, &[]).await?.try_get(0)? {
        let same = holds_same(connection, source).await?;
        return Err(if same { LoadError::AlreadyThere } else { LoadError::NotEmpty });
    }
    Ok(false)
}

/// Whether the log is that of the source and ends at the same position.
async fn holds_same(connection: &Connection, source: &Source) -> Result<bool, LoadError> {
    let Some(row) = first(Rows::of_store(connection), HEAD, &[]).await? else { return Ok(false) };
    let end = (row.log_id(0).ok(), row.number(1, "").ok());
    Ok(end == (Some(source.log_id), Some(source.position)))
}

/// Marks an empty database.
async fn mark_empty(connection: &Connection, source: &Source) -> Result<(), LoadError> {
    let client = connection.client();
    let unused = client.query_opt(DROP_UNUSED_HEAD, &[]).await?;
    if has_head(client).await? {
        return Err(LoadError::NotAlone);
    }
    // These rows were created by a service that started on the empty database. The source has
    // others.
    client.execute("DELETE FROM settings", &[]).await?;
    client.execute("DELETE FROM tenants", &[]).await?;
    client.execute("DELETE FROM clock_mark", &[]).await?;
    let era: i64 = unused.map(|row| row.try_get(0)).transpose()?.unwrap_or(0);
    client.execute(KEEP_ERA, &[&era.to_be_bytes().as_slice()]).await?;
    mark::create(client, source).await?;
    indexes::note(client).await
}

pub(super) async fn has_head(client: &Client) -> Result<bool, LoadError> {
    Ok(client.query_opt(HEAD, &[]).await?.is_some())
}

/// The era that begins when the load ends. It differs from every era that a process may have read
/// from the empty database.
pub(super) async fn next_era(connection: &Connection) -> Result<i64, LoadError> {
    let era = mark::stored(connection, "migration.era").await?;
    let era = era.and_then(|era| Some(i64::from_be_bytes(era[..].try_into().ok()?)));
    era.map(|era| era + 1).ok_or(LoadError::OtherSource(None))
}
