//! The mark of an unfinished load and its progress, as rows of `settings` of the default tenant.
//!
//! `migration` names the source. While it exists, no process serves the database.
//! `migration.<table>` has the number of loaded rows, and changes in the transaction that loads
//! them. The last transaction deletes all of these rows.

use std::fmt::Write as _;

use bytes::Bytes;
use roster_core::{LogId, Position};
use roster_engine::{Cell, Table, first, setting};
use tokio_postgres::Client;

use super::error::LoadError;
use crate::{connection::Connection, failure::QueryError, reads::rows::Rows};

/// The setting that exists while a load is not finished.
const MARK: &str = "migration";

const CREATE: &str = "INSERT INTO settings (tenant, name, value) VALUES (0, $1, $2)";
const MOVE: &str = "UPDATE settings SET value = $3 WHERE tenant = 0 AND name = $1 AND value = $2";
const REMOVE: &str = "DELETE FROM settings \
     WHERE tenant = 0 AND (name = 'migration' OR name LIKE 'migration.%')";

/// The store that is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The identity of its log.
    pub log_id: LogId,
    /// The last position of its log.
    pub position: i64,
    /// The name of each table, and how many rows it has.
    pub rows: Vec<(&'static str, u64)>,
}

/// The progress of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// The number of loaded rows.
    pub rows: u64,
    /// The key of the last loaded row; `None` if there is none.
    pub key: Option<Vec<Cell>>,
}

impl Source {
    /// The end of the source's log.
    fn end(&self) -> Position {
        Position { log: self.log_id, number: self.position }
    }

    /// The value of the mark: the end of the log, and the number of rows of each table. The numbers
    /// differ if rows were deleted by age or stored since, even if the log has no new event.
    fn mark(&self) -> String {
        let mut mark = self.end().to_string();
        for (table, rows) in &self.rows {
            // Writing to a string does not fail.
            let _infallible = write!(mark, " {table}={rows}");
        }
        mark
    }

    /// Fails if the mark in the database is not the mark of this source.
    pub(super) fn recognize(&self, mark: &[u8]) -> Result<(), LoadError> {
        if mark == self.mark().as_bytes() {
            return Ok(());
        }
        let position = std::str::from_utf8(mark).ok().and_then(|mark| mark.split(' ').next());
        match position.and_then(Position::parse) {
            Some(position) if position.log == self.log_id => Err(LoadError::SourceChanged),
            source_end => Err(LoadError::OtherSource(source_end)),
        }
    }
}

pub(super) async fn read(connection: &Connection) -> Result<Option<Bytes>, LoadError> {
    stored(connection, MARK).await
}

pub(super) async fn stored(
    connection: &Connection,
    name: &str,
) -> Result<Option<Bytes>, LoadError> {
    let row = setting(Rows::of_store(connection), name).await?;
    let bytes = row.map(|row| row.bytes(0, "settings.value").cloned());
    Ok(bytes.transpose().map_err(QueryError::from)?)
}

/// Marks the database as one that is being loaded, with nothing loaded.
pub(super) async fn create(client: &Client, source: &Source) -> Result<(), LoadError> {
    client.execute(CREATE, &[&MARK, &source.mark().as_bytes()]).await?;
    for table in Table::ALL {
        client.execute(CREATE, &[&name(table), &value(0)]).await?;
    }
    Ok(())
}

pub(super) async fn reached(connection: &Connection, table: &Table) -> Result<Reached, LoadError> {
    let value = stored(connection, &name(table)).await?;
    let rows = value.and_then(|value| Some(u64::from_be_bytes(value[..].try_into().ok()?)));
    let rows = rows.ok_or(LoadError::OtherSource(None))?;
    let last = first(Rows::of_store(connection), &table.select_last_key::<Rows<'_>>(), &[]).await?;
    Ok(Reached { rows, key: last.map(|row| table.key_of(&row)) })
}

/// Stores the new progress, in the transaction that loads the rows. Fails if another process has
/// changed it.
pub(super) async fn advance(
    client: &Client,
    table: &Table,
    from: &Reached,
    to: &Reached,
) -> Result<(), LoadError> {
    let moved = client.execute(MOVE, &[&name(table), &value(from.rows), &value(to.rows)]).await?;
    if moved == 1 { Ok(()) } else { Err(LoadError::NotAlone) }
}

/// Deletes the mark and the progress of the tables.
pub(super) async fn remove(client: &Client) -> Result<(), LoadError> {
    client.execute(REMOVE, &[]).await?;
    Ok(())
}

fn value(rows: u64) -> Vec<u8> {
    rows.to_be_bytes().to_vec()
}

fn name(table: &Table) -> String {
    format!("{MARK}.{}", table.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(log: u8, position: i64, keys: u64) -> Source {
        let rows = vec![("users", 1), ("idempotency_keys", keys)];
        Source { log_id: LogId([log; 8]), position, rows }
    }

    #[test]
    fn a_mark_is_recognized_by_its_own_source_alone() {
        let source_of_mark = source(7, 5, 0);
        let mark = source_of_mark.mark();
        assert_eq!(mark, "0707070707070707-5 users=1 idempotency_keys=0");
        assert!(source_of_mark.recognize(mark.as_bytes()).is_ok());
        for changed in [source(7, 6, 0), source(7, 5, 1)] {
            let refused = changed.recognize(mark.as_bytes());
            assert!(matches!(refused, Err(LoadError::SourceChanged)), "{refused:?}");
        }
        let other = source(8, 5, 0).recognize(mark.as_bytes());
        let ends_at = source_of_mark.end();
        assert!(matches!(other, Err(LoadError::OtherSource(Some(it))) if it == ends_at));
        for unknown in ["", "7", "\u{fffd}", "0707070707070707 users=1"] {
            let refused = source_of_mark.recognize(unknown.as_bytes());
            assert!(matches!(refused, Err(LoadError::OtherSource(None))), "{unknown}");
        }
    }
}
