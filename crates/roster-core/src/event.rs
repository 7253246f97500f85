//! The change log: one event for each real change, written in the transaction of the change.
//!
//! Positions are dense from 1 in commit order; one that was read never gains an earlier
//! neighbour. Replaying the log from its start gives exactly the stored users and groups. An event
//! of a group tells who joined and who left, never the whole list.

use std::fmt::{self, Write as _};

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
    /// A group was made.
    GroupCreated "group.created",
    /// A group changed, or who belongs to it.
    GroupUpdated "group.updated",
    /// A group is gone.
    GroupDeleted "group.deleted",
}

impl EventKind {
    /// The kind of that spelling.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == text)
    }

    /// Whether it tells of a group.
    pub const fn is_of_group(self) -> bool {
        match self {
            Self::GroupCreated | Self::GroupUpdated | Self::GroupDeleted => true,
            Self::Created | Self::Updated | Self::Deleted | Self::Restored | Self::Purged => false,
        }
    }
}

/// Who joined a group and who left it, each in the order of ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MembersChanged {
    /// Who joined.
    pub added: Vec<UserId>,
    /// Who left.
    pub removed: Vec<UserId>,
}

impl MembersChanged {
    /// Whether nobody did.
    pub const fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }
}

/// What an id takes in the text of an event, its quotation marks and comma included.
const ID_BYTES: usize = 39;

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
    /// Which user; where the kind is one of groups, which group.
    pub user_id: UserId,
    /// The version after the change.
    pub version: i64,
    /// The members of the record that differ, as the REST face names them; server-made ones apart.
    pub changed: Vec<Attribute>,
    /// Who joined and left, where the kind is one of groups.
    pub members: MembersChanged,
    /// The canonical JSON after the change; empty once the user is purged.
    pub record: Bytes,
}

impl Event {
    /// About how many bytes it takes beside its frame.
    pub const fn bytes(&self) -> usize {
        let ids = self.members.added.len() + self.members.removed.len();
        self.record.len() + ids * ID_BYTES
    }
}

/// What changed in one text, as engines keep it: names of members, then `+` and the id of each who
/// joined, `-` and the id of each who left, all separated by commas.
pub fn changed_text(changed: &[Attribute], members: &MembersChanged) -> String {
    let ids = members.added.len() + members.removed.len();
    let mut text = String::with_capacity(changed.len() * 12 + ids * ID_BYTES);
    let mut next = |part: &dyn fmt::Display| {
        let comma = if text.is_empty() { "" } else { "," };
        // Writing to a string does not fail.
        let _infallible = write!(text, "{comma}{part}");
    };
    for attribute in changed {
        next(&attribute.name());
    }
    for id in &members.added {
        next(&format_args!("+{id}"));
    }
    for id in &members.removed {
        next(&format_args!("-{id}"));
    }
    text
}

/// What such a text says changed; `None` where it names something else.
pub fn changed_of(text: &str) -> Option<(Vec<Attribute>, MembersChanged)> {
    let (mut changed, mut members) = (Vec::new(), MembersChanged::default());
    for part in text.split(',').filter(|part| !part.is_empty()) {
        if let Some(id) = part.strip_prefix('+') {
            members.added.push(UserId::parse(id)?);
        } else if let Some(id) = part.strip_prefix('-') {
            members.removed.push(UserId::parse(id)?);
        } else {
            changed.push(Attribute::from_name(part)?);
        }
    }
    Some((changed, members))
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
    /// Events of this user, or of this group, alone.
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
