//! A user as it is kept: the profile and what the server made for it.

mod record;

pub use record::CorruptRecord;

use bytes::Bytes;

use crate::{id::UserId, profile::Profile, timestamp::Timestamp};

/// Whether a user takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// In use; the default of a new user.
    Active,
    /// Kept, listed, but out of use.
    Suspended,
}

impl Status {
    /// The status as it stands on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
        }
    }

    /// The status of that spelling.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Active, Self::Suspended].into_iter().find(|status| status.as_str() == text)
    }
}

/// One user of the collection.
#[derive(Clone, Debug, PartialEq)]
pub struct User {
    /// The id, for ever.
    pub id: UserId,
    /// From 1, one more at each real change.
    pub version: i64,
    /// Whether the user takes part.
    pub status: Status,
    /// All that clients may write but the status.
    pub profile: Profile,
    /// The moment of the last real change; never goes back.
    pub updated_at: Timestamp,
}

/// A live user as an engine keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Which user.
    pub id: UserId,
    /// Its version: the ETag.
    pub version: i64,
    /// Its canonical JSON.
    pub record: Bytes,
}

/// A deleted user that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deleted {
    /// The record that left the collection.
    pub stored: Stored,
    /// When it left.
    pub at: Timestamp,
}
