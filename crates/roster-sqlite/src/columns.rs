//! How values are stored in columns.
//!
//! Only this module knows it: statuses are numbers, an absent sort key is the empty blob (which
//! SQLite sorts after every text).

use bytes::Bytes;
use roster_core::{Keys, MemberKind, UserId};
use roster_engine::{corrupt, status_number};
use rusqlite::{Row, types::ValueRef};

use crate::failure::ReadResult;

/// The key columns of `users`, in the order of [`key_values`]: the parameter of each in the
/// statements that write it, and its name.
pub(crate) const KEY_COLUMNS: [(usize, &str); 7] = [
    (5, "status"),
    (6, "username_key"),
    (7, "email_key"),
    (8, "phone_number_key"),
    (9, "external_id"),
    (10, "family_name_key"),
    (11, "name_key"),
];

/// The values of the key columns of `users`.
pub(crate) fn key_values(keys: &Keys) -> [ValueRef<'_>; 7] {
    [
        ValueRef::Integer(status_number(keys.status)),
        ValueRef::Text(keys.username.as_bytes()),
        sort_text(keys.email.as_deref()),
        keys.phone_number.as_deref().into(),
        keys.external_id.as_deref().into(),
        sort_text(keys.family_name.as_deref()),
        sort_text(keys.name.as_deref()),
    ]
}

fn sort_text(key: Option<&str>) -> ValueRef<'_> {
    key.map_or(ValueRef::Blob(&[]), ValueRef::from)
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

/// The number of a member's kind.
pub(crate) const fn kind_number(kind: MemberKind) -> i64 {
    match kind {
        MemberKind::User => 0,
        MemberKind::Group => 1,
    }
}
