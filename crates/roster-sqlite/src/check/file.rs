//! The file itself: SQLite's own check of pages, rows and indexes.

use roster_engine::Line;
use rusqlite::{Connection, Result};

/// Checks every page, every row, and each index against its table.
pub(super) fn check(connection: &Connection) -> Line {
    let mut line = Line::new("pages");
    let read = read(connection, &mut line);
    line.end(read);
    line
}

fn read(connection: &Connection, line: &mut Line) -> Result<()> {
    let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
    line.count = pages.unsigned_abs();
    let mut statement = connection.prepare("PRAGMA integrity_check(100)")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let message: String = row.get(0)?;
        // It names tables, indexes, pages and row numbers; no value.
        line.require(message == "ok", &"roster.db", &message);
    }
    Ok(())
}
