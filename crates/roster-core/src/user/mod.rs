//! A stored user: the profile and the members that the server sets.
//!
//! Below: the table of the members, request bodies (`draft`), the rules (`decide`), and the keys by
//! which users are found.

pub mod attribute;
pub mod decide;
pub mod draft;
pub mod keys;
pub mod part;
pub mod profile;
mod record;
pub mod search_keys;
pub mod short_form;

pub use record::CorruptRecord;

use bytes::Bytes;

use crate::{id::UserId, timestamp::Timestamp, user::profile::Profile};

/// Whether a user is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// In use; the default for a new user.
    Active,
    /// Stored and listed, but not in use.
    Suspended,
}

impl Status {
    /// The status in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
        }
    }

    /// Parses a status.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Active, Self::Suspended].into_iter().find(|status| status.as_str() == text)
    }
}

/// A user.
#[derive(Clone, Debug, PartialEq)]
pub struct User {
    /// The id, which never changes.
    pub id: UserId,
    /// The version: 1 for a new user, one more after each change.
    pub version: i64,
    /// The status.
    pub status: Status,
    /// All members that clients write, except the status.
    pub profile: Profile,
    /// The time of the last change; it never goes back.
    pub updated_at: Timestamp,
}

/// A record as an engine stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The user's or group's id.
    pub id: UserId,
    /// The version, which is the ETag.
    pub version: i64,
    /// The canonical JSON.
    pub record: Bytes,
}

/// A deleted user that can be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deleted {
    /// The last record.
    pub stored: Stored,
    /// The time of the deletion.
    pub at: Timestamp,
}
