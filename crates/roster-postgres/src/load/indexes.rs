//! Indexes that are created after the data is loaded, which is much faster than updating them for
//! each row, and makes them smaller.
//!
//! Their definitions are stored before they are dropped, in the transaction of the mark, so that
//! they are created again whatever happens in between. Each change of the schema is separate.

use roster_engine::Table;
use tokio_postgres::Client;

use super::error::LoadError;
use crate::uniqueness::{KEYS, Key};

/// The indexes of the tables, except those of constraints: name and definition.
const LIST: &str = "SELECT i.relname::text, pg_get_indexdef(i.oid) \
     FROM pg_index x \
     JOIN pg_class i ON i.oid = x.indexrelid \
     JOIN pg_class t ON t.oid = x.indrelid \
     JOIN pg_namespace n ON n.oid = t.relnamespace \
     WHERE n.nspname = current_schema() AND t.relname = ANY($1) \
     AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.oid) \
     ORDER BY i.relname";
const NOTE: &str = "INSERT INTO settings (tenant, name, value) \
     VALUES (0, 'migration.index.' || $1, $2)";
const NOTED: &str = "SELECT substr(name, length('migration.index.') + 1), value FROM settings \
     WHERE tenant = 0 AND name LIKE 'migration.index.%' ORDER BY name";
const IS_UNIQUE: &str = "SELECT EXISTS (SELECT FROM settings \
     WHERE tenant = 0 AND name = $1 AND value = 'unique')";

/// An index to create.
#[derive(Debug)]
pub struct Index {
    /// Its name.
    pub name: String,
    made_by: String,
}

/// Stores the definitions of the indexes, except those of keys that may be unique: the source
/// determines these.
pub(super) async fn note(client: &Client) -> Result<(), LoadError> {
    let tables: Vec<&str> = Table::ALL.iter().map(|table| table.name).collect();
    for row in client.query(LIST, &[&tables]).await? {
        let (name, made_by): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        if KEYS.iter().any(|key| key.make.contains(&format!(" {name} "))) {
            continue;
        }
        client.execute(NOTE, &[&name, &made_by.as_bytes()]).await?;
    }
    Ok(())
}

/// Drops all indexes that can be created again.
pub(super) async fn drop_all(client: &Client) -> Result<(), LoadError> {
    for Key { drop, .. } in KEYS {
        client.batch_execute(drop).await?;
    }
    for Index { name, .. } in noted(client).await? {
        client.batch_execute(&format!("DROP INDEX IF EXISTS \"{name}\"")).await?;
    }
    Ok(())
}

/// The indexes to create: the stored ones, and those of the keys that are unique in the source.
pub(super) async fn wanted(client: &Client) -> Result<Vec<Index>, LoadError> {
    let mut wanted = noted(client).await?;
    for Key { policy, make, .. } in KEYS {
        let name = policy.stored_name();
        if client.query_one(IS_UNIQUE, &[&name]).await?.try_get(0)? {
            wanted.push(Index { name: name.to_owned(), made_by: (*make).to_owned() });
        }
    }
    Ok(wanted)
}

/// Creates an index, unless it exists.
pub(super) async fn make(client: &Client, index: &Index) -> Result<(), LoadError> {
    let Index { made_by, .. } = index;
    let statement = if made_by.contains(" IF NOT EXISTS ") {
        made_by.clone()
    } else {
        made_by.replacen(" INDEX ", " INDEX IF NOT EXISTS ", 1)
    };
    Ok(client.batch_execute(&statement).await?)
}

async fn noted(client: &Client) -> Result<Vec<Index>, LoadError> {
    let rows = client.query(NOTED, &[]).await?;
    let index = |row: tokio_postgres::Row| {
        let made_by: Vec<u8> = row.try_get(1)?;
        let made_by = String::from_utf8_lossy(&made_by).into_owned();
        Ok(Index { name: row.try_get(0)?, made_by })
    };
    rows.into_iter().map(index).collect()
}
