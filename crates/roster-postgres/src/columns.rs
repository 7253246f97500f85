//! How values are stored in columns.
//!
//! Only this module knows the encoding: keys are bytes, an absent sort key is the byte ff (which is
//! greater than every UTF-8 text), statuses are numbers, ids are UUIDs.

use roster_core::UserId;
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
