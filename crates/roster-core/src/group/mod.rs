//! Groups: their record, members, commands and rules.
//!
//! A group has a unique name and members: users, and other groups up to a maximum depth without
//! cycles. A change of its members is a change of the group, not of the member. The record does not
//! contain the members; they are read page by page. This module does not know how an engine stores
//! memberships.

mod command;
mod decide;
mod draft;
mod filter;
mod nesting;
mod query;
mod record;
mod reference;

pub use command::{GroupAct, GroupEdit, MembersEdit, StatedKinds};
pub use decide::{Facts, GroupChange, GroupDecision, Newcomer, Sketch, joined, left, sketch};
pub use draft::GroupDraft;
pub use filter::{GroupFilter, GroupPath};
pub use nesting::{Levels, Nesting};
pub use query::{GroupPage, GroupQuery, MembersPage, MembersQuery};
pub use reference::{GroupRef, GroupsOf};

use crate::{id::UserId, text::fold_key, timestamp::Timestamp};

/// The id of a group. Users and groups get ids from the same source, so an id never belongs to
/// both, and an id alone identifies a member.
pub type GroupId = UserId;

/// A group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The id, which never changes.
    pub id: GroupId,
    /// The version: 1 for a new group, one more after each change of the record or of the members.
    pub version: i64,
    /// Its name.
    pub display_name: String,
    /// The client's id for it.
    pub external_id: Option<String>,
    /// The number of its direct members.
    pub member_count: u64,
    /// The time of the last change; it never goes back.
    pub updated_at: Timestamp,
}

impl Group {
    /// The unique key of its name.
    pub fn name_key(&self) -> String {
        group_name_key(&self.display_name)
    }
}

/// The key by which a group's name is looked up.
pub fn group_name_key(display_name: &str) -> String {
    fold_key(display_name)
}

/// The kind of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemberKind {
    /// A live user.
    User,
    /// Another group.
    Group,
}

impl MemberKind {
    /// The kind in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Group => "group",
        }
    }
}

/// A member of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Member {
    /// The id of the user or group.
    pub id: UserId,
    /// Whether it is a user or a group.
    pub kind: MemberKind,
}
