//! Groups: what a group is, who may be a member, and what becomes of groups when somebody asks.
//!
//! A group has a name that no other group has, and members: users, and other groups up to a
//! depth, never in a circle. A change of its members is a change of the group, never of the
//! member. Its record holds its own members of the record alone; who belongs to it is asked for
//! page by page. Nothing here knows how an engine keeps memberships.

mod command;
mod decide;
mod desk;
mod draft;
mod nesting;
mod query;
mod record;
mod store;

pub use command::{GroupAct, GroupCommand, GroupEdit, MembersEdit};
pub use decide::{Facts, GroupChange, GroupDecision, Newcomer, Sketch, left, sketch};
pub use desk::GroupDesk;
pub use draft::GroupDraft;
pub use nesting::{Levels, Nesting};
pub use query::{GroupPage, GroupQuery, GroupRef, GroupsOf, MembersPage, MembersQuery};
pub use store::GroupStore;

use crate::{id::UserId, text::fold_key, timestamp::Timestamp};

/// The id of a group. Users and groups have their ids from one maker, so that no group has the id
/// of a user and a member is named by its id alone.
pub type GroupId = UserId;

/// One group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The id, for ever.
    pub id: GroupId,
    /// From 1, one more at each real change, of its members too.
    pub version: i64,
    /// What people call it.
    pub display_name: String,
    /// What the client calls it.
    pub external_id: Option<String>,
    /// The moment of the last real change; never goes back.
    pub updated_at: Timestamp,
}

impl Group {
    /// The key of its name, which no other group has.
    pub fn name_key(&self) -> String {
        group_name_key(&self.display_name)
    }
}

/// The key by which a group's name is looked up.
pub fn group_name_key(display_name: &str) -> String {
    fold_key(display_name)
}

/// What a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemberKind {
    /// A live user.
    User,
    /// Another group.
    Group,
}

impl MemberKind {
    /// The kind as it stands on the wire.
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
    /// Which of the two.
    pub kind: MemberKind,
}
