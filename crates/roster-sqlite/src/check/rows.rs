//! The tables as streams of rows, each in the order of ids, so that they can be walked abreast.
//!
//! A row is copied out of its statement: the walk looks one row ahead.

use std::fmt;

use bytes::Bytes;
use roster_core::UserId;
use rusqlite::{
    Row, Rows,
    types::{Value, ValueRef},
};

use super::{findings::Line, people::place};

pub(super) const LIVE: &str = "SELECT id, version, record, updated_at, status, username_key, \
     email_key, phone_number_key, external_id, family_name_key, name_key \
     FROM users INDEXED BY users_id ORDER BY id";

pub(super) const DELETED: &str = "SELECT id, version, record, deleted_at, username_key, \
     email_key, external_id FROM deleted_users INDEXED BY deleted_users_id ORDER BY id";

pub(super) const EVENTS: &str = "SELECT subject_id, position, kind, at, version, changed, record \
     FROM events INDEXED BY events_subject ORDER BY subject_id, position";

pub(super) const GROUPS: &str =
    "SELECT id, version, record, name_key, external_id FROM groups ORDER BY id";

/// Whether the history of a purged user is still to be erased.
pub(super) const IS_BEING_ERASED: &str = "SELECT 1 FROM erasures WHERE id = ?1";

/// A row of `users`, `deleted_users` or `groups`.
pub(super) struct Item {
    pub(super) id: Vec<u8>,
    pub(super) version: i64,
    pub(super) record: Vec<u8>,
    /// The other columns.
    pub(super) columns: Vec<Value>,
}

impl Item {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        // A damaged text, which is no UTF-8, is a blob here: so it differs from any text.
        let column = |index| match row.get(index) {
            Ok(value) => Ok(value),
            Err(_) => bytes(row, index).map(Value::Blob),
        };
        Ok(Self {
            id: row.get(0)?,
            version: row.get(1)?,
            record: bytes(row, 2)?,
            columns: (3..row.as_ref().column_count())
                .map(column)
                .collect::<rusqlite::Result<_>>()?,
        })
    }

    /// A table and the id, as a fault is named.
    pub(super) fn place(&self, table: &str) -> String {
        place(table, &self.id)
    }

    /// Compares the record with the row: its id, version and spelling. `None` where the record
    /// cannot be read.
    pub(super) fn compare<T>(
        &self,
        line: &mut Line,
        place: &str,
        parsed: Result<T, impl fmt::Display>,
        written: impl Fn(&T) -> (UserId, i64, Bytes),
    ) -> Option<T> {
        line.count += 1;
        let parsed = match parsed {
            Ok(parsed) => parsed,
            Err(corrupt) => {
                line.fault(&place, &corrupt.to_string());
                return None;
            }
        };
        let (id, version, record) = written(&parsed);
        line.hold(id.as_bytes() == &*self.id, &place, "the record has another id");
        line.hold(version == self.version, &place, "the record has another version");
        line.hold(record == self.record, &place, "the record is not spelt as it is written");
        Some(parsed)
    }

    /// Compares columns with the values that the record has for them.
    pub(super) fn compare_columns<'v>(
        &self,
        line: &mut Line,
        place: &str,
        made: impl IntoIterator<Item = (&'v str, ValueRef<'v>)>,
    ) {
        for (stored, (column, made)) in self.columns.iter().zip(made) {
            line.hold(made == stored.into(), &place, &format!("{column} is not the record's"));
        }
    }
}

/// A row of `events`, without who asked.
pub(super) struct Entry {
    pub(super) id: Vec<u8>,
    pub(super) position: i64,
    pub(super) kind: String,
    pub(super) at: i64,
    pub(super) version: i64,
    pub(super) changed: String,
    pub(super) record: Vec<u8>,
}

impl Entry {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            position: row.get(1)?,
            kind: row.get(2)?,
            at: row.get(3)?,
            version: row.get(4)?,
            changed: row.get(5)?,
            record: bytes(row, 6)?,
        })
    }
}

/// Text that may be no UTF-8 any more.
fn bytes(row: &Row<'_>, index: usize) -> rusqlite::Result<Vec<u8>> {
    Ok(row.get_ref(index)?.as_bytes()?.to_vec())
}

/// A stream of rows with a look at the next one.
pub(super) struct Stream<'s, T> {
    rows: Rows<'s>,
    read: fn(&Row<'_>) -> rusqlite::Result<T>,
    id: fn(&T) -> &[u8],
    next: Option<T>,
}

impl<'s, T> Stream<'s, T> {
    pub(super) fn begin(
        rows: Rows<'s>,
        read: fn(&Row<'_>) -> rusqlite::Result<T>,
        id: fn(&T) -> &[u8],
    ) -> rusqlite::Result<Self> {
        let mut stream = Self { rows, read, id, next: None };
        stream.step()?;
        Ok(stream)
    }

    /// The id of the next row.
    pub(super) fn id(&self) -> Option<&[u8]> {
        self.next.as_ref().map(self.id)
    }

    /// The next row if it has this id.
    pub(super) fn take(&mut self, id: &[u8]) -> rusqlite::Result<Option<T>> {
        if self.id() != Some(id) {
            return Ok(None);
        }
        let taken = self.next.take();
        self.step()?;
        Ok(taken)
    }

    fn step(&mut self) -> rusqlite::Result<()> {
        self.next = match self.rows.next()? {
            Some(row) => Some((self.read)(row)?),
            None => None,
        };
        Ok(())
    }
}
