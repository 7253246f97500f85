//! How values are stored in columns.
//!
//! Only this module knows the encoding: keys are bytes, an absent sort key is the byte ff (which is
//! greater than every UTF-8 text), statuses are numbers, ids are UUIDs.

use roster_core::UserId;
use uuid::Uuid;

pub(crate) const ABSENT: &[u8] = &[0xff];

pub(crate) fn sort_text(key: Option<&str>) -> &[u8] {
    key.map_or(ABSENT, str::as_bytes)
}

pub(crate) const fn uuid(id: UserId) -> Uuid {
    Uuid::from_bytes(*id.as_bytes())
}

pub(crate) const fn id_of(uuid: Uuid) -> UserId {
    UserId::from_bytes(*uuid.as_bytes())
}
