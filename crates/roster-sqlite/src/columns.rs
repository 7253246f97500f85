//! How values stand in columns.
//!
//! The one place that knows it: statuses are numbers, an absent sort key is the empty blob (which
//! SQLite orders after every text).

use roster_core::{Status, StoreError, UserId};
use rusqlite::{
    ToSql,
    types::{ToSqlOutput, ValueRef},
};

/// A sort key as it is bound.
pub(crate) struct SortText<'a>(pub(crate) Option<&'a str>);

impl ToSql for SortText<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Some(text) => ValueRef::Text(text.as_bytes()),
            None => ValueRef::Blob(&[]),
        }))
    }
}

/// The number of a status.
pub(crate) const fn status_number(status: Status) -> i64 {
    match status {
        Status::Active => 0,
        Status::Suspended => 1,
    }
}

/// An id column.
pub(crate) fn id_of(value: ValueRef<'_>, place: &str) -> Result<UserId, StoreError> {
    match value {
        ValueRef::Blob(bytes) => UserId::from_slice(bytes).ok_or_else(|| corrupt(place)),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Text(_) => {
            Err(corrupt(place))
        }
    }
}

/// A text column, as bytes.
pub(crate) fn text_of<'a>(value: ValueRef<'a>, place: &str) -> Result<&'a [u8], StoreError> {
    match value {
        ValueRef::Text(bytes) => Ok(bytes),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Blob(_) => {
            Err(corrupt(place))
        }
    }
}

/// Stored bytes that are not what they must be.
pub(crate) fn corrupt(place: &str) -> StoreError {
    StoreError::Corrupt { place: place.to_owned() }
}
