//! What a store that is being filled gets at the end: words, further keys, and the indexes that no
//! create reads. They are written in the order of their keys: that is faster than to insert each
//! key at its place.

use roster_core::{Rules, Sharing};
use rusqlite::Connection;

/// Postpones the indexes of users and events, except those that creates read. The temporary tables
/// hide the tables with the same names, which have an order.
const POSTPONE: &str = "
    CREATE TEMP TABLE words (tenant, word, id);
    CREATE TEMP TABLE further_keys (tenant, kind, key, id);
    CREATE TEMP TABLE postponed AS SELECT name, sql FROM main.sqlite_schema
        WHERE type = 'index' AND tbl_name IN ('users', 'events') AND sql IS NOT NULL";

const COMPLETE: &str = "
    INSERT INTO main.words SELECT * FROM temp.words ORDER BY tenant, word, id;
    DROP TABLE temp.words;
    INSERT INTO main.further_keys SELECT * FROM temp.further_keys ORDER BY tenant, kind, key, id;
    DROP TABLE temp.further_keys";

/// Prepares an empty store for the load.
pub(crate) fn begin(connection: &Connection, rules: Rules) -> rusqlite::Result<()> {
    connection.execute_batch(POSTPONE)?;
    let is_read = [
        ("users_id", true),
        ("users_username", true),
        ("users_email", rules.email == Sharing::Unique),
        ("users_external_id", rules.external_id == Sharing::Unique),
        // A create that keeps its id looks whether another record has had it.
        ("events_subject", true),
    ];
    for (index, _) in is_read.iter().filter(|(_, is_read)| *is_read) {
        connection.execute("DELETE FROM temp.postponed WHERE name = ?1", [index])?;
    }
    for name in postponed(connection, "SELECT name FROM temp.postponed")? {
        connection.execute_batch(&format!("DROP INDEX main.{name}"))?;
    }
    Ok(())
}

/// Writes everything that was postponed.
pub(crate) fn finish(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(COMPLETE)?;
    for index in postponed(connection, "SELECT sql FROM temp.postponed")? {
        connection.execute_batch(&index)?;
    }
    Ok(())
}

fn postponed(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}
