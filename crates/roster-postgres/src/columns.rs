//! How values are stored in columns.
//!
//! Only this module knows it: keys are bytes, an absent sort key is the byte ff (which is greater
//! than every UTF-8 text), statuses are numbers, ids are UUIDs.

use bytes::Bytes;
use roster_core::{StoreError, UserId};
use roster_engine::corrupt;
use tokio_postgres::{Row, types::FromSql};
use uuid::Uuid;

/// An absent sort key.
pub(crate) const ABSENT: &[u8] = &[0xff];

/// A sort key as it is stored.
pub(crate) fn sort_text(key: Option<&str>) -> &[u8] {
    key.map_or(ABSENT, str::as_bytes)
}

/// An id as it is stored.
pub(crate) const fn uuid(id: UserId) -> Uuid {
    Uuid::from_bytes(*id.as_bytes())
}

/// A stored id.
pub(crate) const fn id_of(uuid: Uuid) -> UserId {
    UserId::from_bytes(*uuid.as_bytes())
}

/// A column of a row.
pub(crate) fn column<'r, T: FromSql<'r>>(
    row: &'r Row,
    index: usize,
    place: &str,
) -> Result<T, StoreError> {
    row.try_get(index).map_err(|_| corrupt(place))
}

/// An id column.
pub(crate) fn id_column(row: &Row, index: usize, place: &str) -> Result<UserId, StoreError> {
    column(row, index, place).map(id_of)
}

/// A column of canonical JSON.
pub(crate) fn record_column(row: &Row, index: usize, place: &str) -> Result<Bytes, StoreError> {
    let text: &str = column(row, index, place)?;
    Ok(Bytes::copy_from_slice(text.as_bytes()))
}
