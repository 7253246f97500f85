//! The change log: one event for each real change, written in the transaction of the change.
//!
//! Positions are dense from 1 in commit order; one that was read never gains an earlier
//! neighbour. Replaying the log from its start gives exactly the stored users.

use bytes::Bytes;

use crate::{attribute::Attribute, id::UserId, timestamp::Timestamp};

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident $text:literal,)*) => {
        /// What became true.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EventKind {
            $($(#[$doc])* $variant,)*
        }

        impl EventKind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The kind as the log spells it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }
    };
}

kinds! {
    /// A user joined the collection.
    Created "user.created",
    /// A user changed.
    Updated "user.updated",
    /// A user left the collection.
    Deleted "user.deleted",
}

impl EventKind {
    /// The kind of that spelling.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == text)
    }
}

/// One entry of the change log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What became true.
    pub kind: EventKind,
    /// When.
    pub at: Timestamp,
    /// Who made the change.
    pub actor: String,
    /// The request that asked for it.
    pub request_id: String,
    /// Which user.
    pub user_id: UserId,
    /// The user's version after the change.
    pub version: i64,
    /// The members that differ, as the REST face names them; server-made ones apart.
    pub changed: Vec<Attribute>,
    /// The canonical JSON after the change.
    pub record: Bytes,
}
