//! How values stand in columns.
//!
//! The one place that knows it: statuses are numbers, an absent sort key is the empty blob (which
//! SQLite orders after every text).

use bytes::Bytes;
use roster_core::{Status, StoreError, UserId};
use rusqlite::{
    Row, ToSql,
    types::{ToSqlOutput, ValueRef},
};

use crate::failure::ReadResult;

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

/// An id column. `place` names it in an error.
pub(crate) fn id_of(row: &Row<'_>, index: usize, place: &str) -> ReadResult<UserId> {
    let id = row.get_ref(index)?.as_blob().ok().and_then(UserId::from_slice);
    Ok(id.ok_or_else(|| corrupt(place))?)
}

/// A text column, as bytes.
pub(crate) fn text_of<'r>(row: &'r Row<'_>, index: usize, place: &str) -> ReadResult<&'r [u8]> {
    match row.get_ref(index)? {
        ValueRef::Text(bytes) => Ok(bytes),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Blob(_) => {
            Err(corrupt(place).into())
        }
    }
}

/// A text column.
pub(crate) fn string_of<'r>(row: &'r Row<'_>, index: usize, place: &str) -> ReadResult<&'r str> {
    Ok(std::str::from_utf8(text_of(row, index, place)?).map_err(|_| corrupt(place))?)
}

/// The record in a text column.
pub(crate) fn record_of(row: &Row<'_>, index: usize, place: &str) -> ReadResult<Bytes> {
    Ok(Bytes::copy_from_slice(text_of(row, index, place)?))
}

/// An integer column.
pub(crate) fn number_of(row: &Row<'_>, index: usize, place: &str) -> ReadResult<i64> {
    Ok(row.get_ref(index)?.as_i64().map_err(|_| corrupt(place))?)
}

/// Stored bytes that are not what they must be.
pub(crate) fn corrupt(place: &str) -> StoreError {
    StoreError::Corrupt { place: place.to_owned() }
}
