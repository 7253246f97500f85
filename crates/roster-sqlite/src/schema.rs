//! The schema, and how an older file is brought up to it.
//!
//! Migrations are SQL files that are only ever appended to; `PRAGMA user_version` counts those
//! that a file has had. Each runs in its own transaction, forward only. A file of a newer schema,
//! or one that is not ours, is left exactly as it was found.

use rusqlite::{Connection, ErrorCode};

use crate::open_error::OpenError;

/// The SQL of every schema step, oldest first. A step that was released is never changed.
pub const MIGRATIONS: &[&str] = &[include_str!("migrations/0001_schema.sql")];

/// `rstr`: marks a SQLite file as ours.
const APPLICATION_ID: i32 = 0x7273_7472;

/// Refuses a file that is not ours or too new for this program. Changes nothing.
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
    // A negative version is none of ours: it is newer than anything known.
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}
