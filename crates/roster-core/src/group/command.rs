//! Commands: complete requests to change one group.

use std::collections::BTreeSet;

use super::{Group, GroupDraft, GroupId};
use crate::{
    command::{Caller, Edit, Idempotency, Preconditions},
    id::UserId,
    json::Json,
    limits::{GROUP_MEMBERS_CHANGE_MAX, GROUP_MEMBERS_NAMED_MAX},
    start::Start,
    timestamp::Timestamp,
};

/// An operation on a group.
#[derive(Clone, Debug)]
pub enum GroupAct {
    /// Create a group with a new id and these members.
    Create {
        /// The new id. Its time is `created_at`.
        id: GroupId,
        /// The group.
        draft: Box<GroupDraft>,
        /// Its first members.
        members: BTreeSet<UserId>,
    },
    /// Change a group, its members, or both at once.
    Change {
        /// The group's id.
        id: GroupId,
        /// The change of its record.
        edit: GroupEdit,
        /// The change of its members.
        members: MembersEdit,
        /// The preconditions.
        preconditions: Preconditions,
    },
    /// Change a group and its members by the result of a function.
    Edit {
        /// The group's id.
        id: GroupId,
        /// The function.
        edit: Edit<Group, (GroupEdit, MembersEdit)>,
        /// The preconditions.
        preconditions: Preconditions,
    },
    /// Delete a group permanently. Its memberships on both sides are removed; the members stay.
    Delete {
        /// The group's id.
        id: GroupId,
        /// The preconditions.
        preconditions: Preconditions,
    },
}

/// A change of a group's record.
#[derive(Clone, Debug)]
pub enum GroupEdit {
    /// No change.
    Keep,
    /// Replace the whole record.
    Replace(Box<GroupDraft>),
    /// Apply a JSON Merge Patch (RFC 7396).
    Patch(Box<Json>),
}

/// A change of a group's members.
#[derive(Clone, Debug)]
pub enum MembersEdit {
    /// No change.
    Keep,
    /// Add and remove members. One that is in both sets stays or becomes a member.
    Delta {
        /// The members to add.
        added: BTreeSet<UserId>,
        /// The members to remove.
        removed: BTreeSet<UserId>,
    },
    /// Remove one member; rejected if it is not a member.
    Remove(UserId),
    /// Replace all members by these.
    All(BTreeSet<UserId>),
}

impl MembersEdit {
    /// The number of members that it names.
    pub fn named(&self) -> usize {
        match self {
            Self::Keep => 0,
            Self::Remove(_) => 1,
            Self::Delta { added, removed } => added.len() + removed.len(),
            Self::All(members) => members.len(),
        }
    }

    /// How many members it may name. All members of a group can be sent, since those that belong to
    /// it already are no change.
    pub const fn named_max(&self) -> usize {
        match self {
            Self::All(_) => GROUP_MEMBERS_NAMED_MAX,
            Self::Keep | Self::Remove(_) | Self::Delta { .. } => GROUP_MEMBERS_CHANGE_MAX,
        }
    }
}

/// A request to change a group.
#[derive(Clone, Debug)]
pub struct GroupCommand {
    /// The operation.
    pub act: GroupAct,
    /// The time of the request.
    pub at: Timestamp,
    /// The caller.
    pub caller: Caller,
    /// The idempotency key, if the request has one.
    pub idempotency: Option<Idempotency>,
    /// Lets the caller cancel the command until it begins.
    pub start: Option<Start>,
}

impl GroupCommand {
    /// Whether the command may be executed. An engine calls this immediately before the execution.
    #[must_use]
    pub fn begin(&self) -> bool {
        self.start.as_ref().is_none_or(Start::begin)
    }

    /// The group's id.
    pub const fn group_id(&self) -> GroupId {
        match &self.act {
            GroupAct::Create { id, .. }
            | GroupAct::Change { id, .. }
            | GroupAct::Edit { id, .. }
            | GroupAct::Delete { id, .. } => *id,
        }
    }

    /// The number of members that it names. Members that an edit changes are counted when its
    /// function is called.
    pub fn members_named(&self) -> usize {
        match &self.act {
            GroupAct::Create { members, .. } => members.len(),
            GroupAct::Change { members, .. } => members.named(),
            GroupAct::Edit { .. } | GroupAct::Delete { .. } => 0,
        }
    }

    /// Whether the group must exist already.
    pub const fn is_about_one_that_is_there(&self) -> bool {
        !matches!(self.act, GroupAct::Create { .. })
    }
}
