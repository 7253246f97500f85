//! How values are stored in columns.
//!
//! Only this module knows the encoding: a status is a number, an absent sort key is the empty blob
//! (which SQLite sorts after every text).

use roster_core::Keys;
use roster_engine::status_number;
use rusqlite::types::ValueRef;

/// The key columns of `users`, in the order of [`key_values`]: the parameter of each in the
/// statements that write it, and its name.
pub(crate) const KEY_COLUMNS: [(usize, &str); 8] = [
    (5, "status"),
    (6, "username_key"),
    (7, "email_key"),
    (8, "phone_number_key"),
    (9, "external_id"),
    (10, "family_name_key"),
    (11, "name_key"),
    (12, "expires_at_key"),
];

/// The values of the key columns of `users`.
pub(crate) fn key_values(keys: &Keys) -> [ValueRef<'_>; 8] {
    [
        ValueRef::Integer(status_number(keys.status)),
        ValueRef::Text(keys.username.as_bytes()),
        sort_text(keys.email.as_deref()),
        keys.phone_number.as_deref().into(),
        keys.external_id.as_deref().into(),
        sort_text(keys.family_name.as_deref()),
        sort_text(keys.name.as_deref()),
        sort_text(keys.expires_at.as_deref()),
    ]
}

fn sort_text(key: Option<&str>) -> ValueRef<'_> {
    key.map_or(ValueRef::Blob(&[]), ValueRef::from)
}
