//! The file itself: SQLite's own check of pages, rows and indexes.

use rusqlite::Connection;

use super::findings::Line;

/// Every page, every row, and each index against its table.
pub(super) fn look(connection: &Connection) -> Line {
    Line::of("pages", |line| {
        let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
        line.count = pages.unsigned_abs();
        let mut statement = connection.prepare("PRAGMA integrity_check(100)")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let message: String = row.get(0)?;
            // It names tables, indexes, pages and row numbers; no value.
            line.hold(message == "ok", &"roster.db", &message);
        }
        Ok(())
    })
}
