//! The deep check of a store: is the file whole, and is all that it keeps twice the same?
//!
//! Reads one snapshot, beside a service that writes on, or the database inside a backup. Each
//! table is read as a stream, in an order that some index gives, so that memory does not grow with
//! the collection. It changes nothing and repairs nothing.

mod counters;
mod file;
mod findings;
mod groups;
mod history;
mod keys;
mod log;
mod people;
mod rows;

use std::path::Path;

use roster_core::{Head, LogId};
use rusqlite::Connection;

use crate::{
    backup::{BackupError, Sealed, open_store},
    establish::read_head,
};
pub use findings::{Findings, Line};

/// Checks the store of a data directory, served or not.
pub fn check(directory: &Path) -> Result<Findings, BackupError> {
    look(&open_store(directory)?)
}

impl Sealed {
    /// Checks the store inside a backup.
    pub fn check(&self) -> Result<Findings, BackupError> {
        look(&self.database()?)
    }
}

fn look(connection: &Connection) -> Result<Findings, BackupError> {
    let snapshot = connection.unchecked_transaction()?;
    let (_, head) = self::head(&snapshot)?;
    let mut lines = vec![file::look(&snapshot), counters::look(&snapshot, head)];
    lines.extend(people::look(&snapshot, head));
    lines.push(log::idempotency_keys(&snapshot, head));
    Ok(Findings { lines })
}

/// What is wrong with a database at the first look: the file itself, and its counters.
pub(crate) fn whole(connection: &Connection) -> Result<Vec<String>, BackupError> {
    let (_, head) = head(connection)?;
    let lines = [file::look(connection), counters::look(connection, head)];
    Ok(lines.into_iter().flat_map(|line| line.named).collect())
}

/// The log's identity, and the head that is kept.
pub(crate) fn head(connection: &Connection) -> Result<(LogId, Head), BackupError> {
    let no_row = || BackupError::Faulty("log_head holds no row".to_owned());
    read_head(connection)?.ok_or_else(no_row)
}
