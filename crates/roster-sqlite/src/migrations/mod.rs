//! What a migration does that SQL cannot.
//!
//! Runs in the migration's own transaction, and holds one user in memory at a time.

use roster_core::{SearchKeys, User, UserId};
use rusqlite::{Connection, Result};

use crate::writer::search_rows::SearchRows;

const USERS: &str = "SELECT id, record FROM users ORDER BY number";

/// Makes words and further keys of all users of a file that had neither.
pub(crate) fn backfill(connection: &Connection) -> Result<()> {
    let mut search_rows = SearchRows::new(connection)?;
    let mut users = connection.prepare(USERS)?;
    let mut rows = users.query([])?;
    while let Some(row) = rows.next()? {
        let id: [u8; 16] = row.get(0)?;
        // A damaged record keeps nobody from starting: it has no words, and whoever reads it, or
        // checks the store, is told.
        if let Ok(user) = User::from_record(row.get_ref(1)?.as_bytes()?) {
            search_rows.add(UserId::from_bytes(id), &SearchKeys::of(&user))?;
        }
    }
    Ok(())
}
