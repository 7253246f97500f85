//! The schema, and how an older file is brought up to it.
//!
//! Migrations are SQL files that are only ever appended to; `PRAGMA user_version` counts those
//! that a file has had. Each runs in its own transaction, forward only. A file of a newer schema,
//! or one that is not ours, is left exactly as it was found.

use roster_core::{SearchKeys, User, UserId};
use rusqlite::{Connection, ErrorCode};

use crate::{open_error::OpenError, writer::search_rows};

/// The SQL of every schema step, oldest first.
pub const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_users_and_events.sql"),
    include_str!("migrations/0002_search_and_idempotency.sql"),
    include_str!("migrations/0003_keys.sql"),
    include_str!("migrations/0004_groups.sql"),
    include_str!("migrations/0005_erasures_and_clock_mark.sql"),
];

/// The number of migrations after which users have words and further keys.
const FOUND_BY_SINCE: usize = 2;

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
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), OpenError> {
    let found = version(connection)?;
    for (index, sql) in MIGRATIONS.iter().enumerate().skip(found) {
        let transaction =
            connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        transaction.execute_batch(sql)?;
        if index + 1 == FOUND_BY_SINCE {
            backfill(&transaction)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", i64::try_from(index + 1).unwrap_or(0))?;
        transaction.commit()?;
    }
    Ok(())
}

/// Makes words and further keys of all users of a file that had neither. Keeps one user in memory at
/// a time.
fn backfill(connection: &Connection) -> rusqlite::Result<()> {
    let mut users = connection.prepare("SELECT id, record FROM users ORDER BY number")?;
    let mut rows = users.query([])?;
    while let Some(row) = rows.next()? {
        // A damaged record does not prevent the start. It has no words; a read or a check of the
        // store reports it.
        if let Ok(user) = User::from_record(row.get_ref(1)?.as_bytes()?) {
            let id = UserId::from_bytes(row.get(0)?);
            search_rows::add(connection, id, &SearchKeys::of(&user))?;
        }
    }
    Ok(())
}

fn version(connection: &Connection) -> Result<usize, OpenError> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    // A negative version is none of ours: it is newer than anything known.
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}
