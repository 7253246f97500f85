//! When the keys of callers were used.

use roster_core::{Timestamp, access::KeyId};
use rusqlite::{Connection, params};

pub(crate) const NOTE_USE: &str =
    "UPDATE keys SET last_used_at = ?2 WHERE id = ?1 AND last_used_at < ?2";

/// Notes when keys were used, inside a transaction.
pub(crate) fn note_use(
    connection: &Connection,
    uses: &[(KeyId, Timestamp)],
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(NOTE_USE)?;
    uses.iter().try_for_each(|(id, at)| {
        statement.execute(params![id.as_str(), at.as_millis()]).map(|_| ())
    })
}
