//! The check of a store: its file, and everything that roster-engine checks.
//!
//! It reads one snapshot of a store, which a service may change meanwhile, or the database inside a
//! backup.

use std::path::Path;

use roster_core::{LogId, PolicyKey};
use roster_engine::{CheckReader, SearchRow};
use rusqlite::{Connection, params};

pub use roster_engine::{Findings, Line};

use crate::{
    backup::{BackupError, Sealed, open_store},
    establish::read_head,
    failure::ReadResult,
    migrations,
    policy::count_shared,
    reads::rows::{Rows, run},
    wal::damage::{damage_of, refuse_damage},
};

const HAS_WORD: &str = "SELECT 1 FROM words WHERE tenant = ?1 AND word = ?2 AND id = ?3";
const HAS_KEY: &str =
    "SELECT 1 FROM further_keys WHERE tenant = ?1 AND kind = ?2 AND key = ?3 AND id = ?4";

/// Checks the store of a data directory, served or not.
pub fn check(directory: &Path) -> Result<Findings, BackupError> {
    let damage = damage_of(directory)?;
    let checked = open_store(directory).and_then(|connection| check_store(&connection));
    let Some(damage) = damage else { return checked };
    // SQLite reads the log up to the damage only, so the rest of the check may fail because of it.
    let mut findings = checked.or_else(|error| {
        refuse_damage(directory)?;
        Err(error)
    })?;
    if let Some(pages) = findings.lines.first_mut() {
        let what = format!("it is damaged at byte {}, and later commits cannot be read", damage.at);
        pages.fault(&"roster.db-wal", &what);
    }
    Ok(findings)
}

impl Sealed {
    /// Checks the store inside a backup.
    pub fn check(&self) -> Result<Findings, BackupError> {
        check_store(&self.database()?)
    }
}

fn check_store(connection: &Connection) -> Result<Findings, BackupError> {
    let snapshot = connection.unchecked_transaction()?;
    let (_, position) = head(&snapshot)?;
    let mut lines = vec![check_file(&snapshot), check_schema(&snapshot)?];
    lines.extend(finish(roster_engine::check(Rows::of_store(&snapshot), position))?);
    Ok(Findings { lines })
}

/// Returns the problems of the file itself, of its schema and of the stored counters.
pub(crate) fn whole(connection: &Connection) -> Result<Vec<String>, BackupError> {
    let (_, position) = head(connection)?;
    let counters = finish(roster_engine::check_counters(Rows::of_store(connection), position))?;
    let lines = [check_file(connection), check_schema(connection)?, counters];
    Ok(lines.into_iter().flat_map(|line| line.named).collect())
}

/// The identity of the log, and its last position.
pub(crate) fn head(connection: &Connection) -> Result<(LogId, i64), BackupError> {
    let no_row = || BackupError::Faulty("log_head holds no row".to_owned());
    read_head(connection)?.ok_or_else(no_row)
}

/// The stored numbers of live and of deleted users of all tenants.
pub(crate) fn totals(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    let totals = "SELECT sum(active + suspended), sum(deleted) FROM tenants";
    connection.query_row(totals, [], |row| Ok((row.get(0)?, row.get(1)?)))
}

fn finish<T>(steps: impl Future<Output = T>) -> Result<T, BackupError> {
    run(async { Ok(steps.await) }).map_err(|error| BackupError::Faulty(error.to_string()))
}

impl CheckReader for Rows<'_> {
    async fn missing(self, rows: &[SearchRow]) -> ReadResult<Vec<usize>> {
        let mut has_word = self.0.prepare_cached(HAS_WORD)?;
        let mut has_key = self.0.prepare_cached(HAS_KEY)?;
        let (mut missing, tenant) = (Vec::new(), self.1.number());
        for (index, SearchRow { id, kind, key }) in rows.iter().enumerate() {
            let is_there = match kind {
                None => has_word.exists(params![tenant, key, id.as_bytes()])?,
                Some(kind) => has_key.exists(params![tenant, kind, key, id.as_bytes()])?,
            };
            if !is_there {
                missing.push(index);
            }
        }
        Ok(missing)
    }

    fn count_shared_sql(key: PolicyKey) -> String {
        count_shared(key)
    }
}

/// Checks every page, every row, and each index against its table.
fn check_file(connection: &Connection) -> Line {
    let mut line = Line::new("pages");
    let read = read_file(connection, &mut line);
    line.end(read);
    line
}

/// Compares the schema with that of this program.
fn check_schema(connection: &Connection) -> Result<Line, BackupError> {
    let mut line = Line::new("schema");
    let differences = migrations::differences(connection)?;
    line.count = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?
        .unsigned_abs();
    for difference in differences {
        line.require(false, &"roster.db", &difference);
    }
    Ok(line)
}

fn read_file(connection: &Connection, line: &mut Line) -> rusqlite::Result<()> {
    let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
    line.count = pages.unsigned_abs();
    let mut statement = connection.prepare("PRAGMA integrity_check(100)")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let message: String = row.get(0)?;
        // The message of SQLite names tables, indexes, pages and row numbers. It contains no
        // values.
        line.require(message == "ok", &"roster.db", &message);
    }
    Ok(())
}
