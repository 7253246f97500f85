//! The change log: one event for each real change, written in the transaction of the change.
//!
//! Positions are dense from 1 in commit order; one that was read never gains an earlier
//! neighbour. Replaying the log from its start gives exactly the stored users.

use bytes::Bytes;

use crate::{
    attribute::Attribute,
    id::UserId,
    limits::{PAGE_BYTES_MAX, PAGE_EXAMINED_MAX},
    timestamp::Timestamp,
};

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
    /// A deleted user came back.
    Restored "user.restored",
    /// A deleted user was forgotten, with all records in the log.
    Purged "user.purged",
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
    /// The canonical JSON after the change; empty once the user is purged.
    pub record: Bytes,
}

/// The names of changed members in one text, as engines keep them: separated by commas.
pub fn changed_text(changed: &[Attribute]) -> String {
    let mut text = String::with_capacity(changed.len() * 12);
    for attribute in changed {
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(attribute.name());
    }
    text
}

/// The changed members that such a text names; `None` where it names something else.
pub fn changed_of(text: &str) -> Option<Vec<Attribute>> {
    text.split(',').filter(|name| !name.is_empty()).map(Attribute::from_name).collect()
}

/// A question for events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventsQuery {
    /// Events after this position alone.
    pub after: i64,
    /// Most events.
    pub limit: usize,
    /// Events of this kind alone.
    pub kind: Option<EventKind>,
    /// Events of this user alone.
    pub user_id: Option<UserId>,
    /// The page ends early once its records hold this many bytes.
    pub bytes_max: usize,
    /// The page ends early once this many events were looked at.
    pub examined_max: usize,
}

impl EventsQuery {
    /// The events after a position, of every kind and user.
    pub fn after(after: i64, limit: usize) -> Self {
        Self {
            after,
            limit,
            kind: None,
            user_id: None,
            bytes_max: PAGE_BYTES_MAX,
            examined_max: PAGE_EXAMINED_MAX,
        }
    }
}

/// Events in the order of the log, read in one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventsPage {
    /// The events, each with its position.
    pub events: Vec<(i64, Event)>,
    /// The place that the page reaches: further events come after it. At the end of the log it
    /// is the head, whatever was asked for.
    pub reached: i64,
    /// The position of the log's last event.
    pub head: i64,
    /// The position of the oldest event that is kept; one beyond the head when none is.
    pub oldest: i64,
}
