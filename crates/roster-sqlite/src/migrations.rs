//! The schema, and its migrations.
//!
//! Migrations are SQL files; new ones are only appended. `PRAGMA user_version` counts those that a
//! file has had. Each runs in its own transaction, forward only. A file with a newer schema, or of
//! another program, is not changed.

use std::collections::BTreeSet;

use rusqlite::{Connection, ErrorCode};

use crate::open_error::OpenError;

/// The SQL of every migration, oldest first. A released migration is never changed.
pub const MIGRATIONS: &[&str] = &[include_str!("migrations/0001_schema.sql")];

/// `rstr`: identifies a SQLite file of Roster.
const APPLICATION_ID: i32 = 0x7273_7472;

/// Fails if the file belongs to another program or is too new. Changes nothing.
pub(crate) fn recognize(connection: &Connection) -> Result<(), OpenError> {
    let application: i32 = match connection.pragma_query_value(None, "application_id", |r| r.get(0))
    {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            return Err(OpenError::Foreign);
        }
        other => other?,
    };
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let found = version(connection)?;
    let fresh = application == 0 && found == 0 && tables == 0;
    if application != APPLICATION_ID && !fresh {
        return Err(OpenError::Foreign);
    }
    let known = MIGRATIONS.len();
    if found > known { Err(OpenError::NewerSchema { found, known }) } else { Ok(()) }
}

/// Whether the file has the schema of this release.
pub(crate) fn is_current(connection: &Connection) -> Result<bool, OpenError> {
    recognize(connection)?;
    Ok(version(connection)? == MIGRATIONS.len())
}

/// What differs between the schema of a file and the schema that its migrations make: tables,
/// indexes, triggers and views. A trigger or a view that someone added would run with the
/// statements of the service.
pub(crate) fn differences(connection: &Connection) -> Result<Vec<String>, OpenError> {
    let known = version(connection)?.min(MIGRATIONS.len());
    let mut expected = Connection::open_in_memory()?;
    migrate(&mut expected, MIGRATIONS.get(..known).unwrap_or_default())?;
    let (expected, found) = (objects(&expected)?, objects(connection)?);
    let named = |object: &Object, what| format!("{} {}: {what}", object.kind, object.name);
    let added = found.difference(&expected).map(|object| named(object, "is not Roster's"));
    let missing = expected.difference(&found).map(|object| named(object, "is missing"));
    Ok(added.chain(missing).collect())
}

/// A row of the schema.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Object {
    kind: String,
    name: String,
    table: String,
    sql: Option<String>,
}

fn objects(connection: &Connection) -> rusqlite::Result<BTreeSet<Object>> {
    let mut rows = connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema")?;
    let objects = rows.query_map([], |row| {
        Ok(Object { kind: row.get(0)?, name: row.get(1)?, table: row.get(2)?, sql: row.get(3)? })
    })?;
    objects.collect()
}

/// Runs the migrations that the file has not had yet.
pub(crate) fn migrate(connection: &mut Connection, migrations: &[&str]) -> Result<(), OpenError> {
    let found = version(connection)?;
    for (index, sql) in migrations.iter().enumerate().skip(found) {
        let transaction =
            connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", i64::try_from(index + 1).unwrap_or(0))?;
        transaction.commit()?;
    }
    Ok(())
}

fn version(connection: &Connection) -> Result<usize, OpenError> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    // A negative version is invalid, and is treated as newer than any known one.
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}
