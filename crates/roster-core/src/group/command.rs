//! What is to be done to one group, with all that the decision needs.

use std::collections::BTreeSet;

use super::{Group, GroupDraft, GroupId};
use crate::{
    command::{Caller, Edit, Idempotency, Preconditions},
    id::UserId,
    json::Json,
    start::Start,
    timestamp::Timestamp,
};

/// What is to be done to a group.
#[derive(Clone, Debug)]
pub enum GroupAct {
    /// Create a group under a new id, with these members.
    Create {
        /// The new id; its moment is `created_at`.
        id: GroupId,
        /// The group.
        draft: Box<GroupDraft>,
        /// Who belongs to it from the start.
        members: BTreeSet<UserId>,
    },
    /// Change a group, its members, or both at once.
    Change {
        /// Which group.
        id: GroupId,
        /// What becomes of its own record.
        edit: GroupEdit,
        /// What becomes of its members.
        members: MembersEdit,
        /// What must hold first.
        preconditions: Preconditions,
    },
    /// Change a group and its members by what a function makes of the group.
    Edit {
        /// Which group.
        id: GroupId,
        /// The function.
        edit: Edit<Group, (GroupEdit, MembersEdit)>,
        /// What must hold first.
        preconditions: Preconditions,
    },
    /// Delete a group for good, with its memberships on both sides.
    Delete {
        /// Which group.
        id: GroupId,
        /// What must hold first.
        preconditions: Preconditions,
    },
}

/// What becomes of a group's own record.
#[derive(Clone, Debug)]
pub enum GroupEdit {
    /// It stays.
    Keep,
    /// The whole is replaced.
    Replace(Box<GroupDraft>),
    /// JSON Merge Patch (RFC 7396).
    Patch(Box<Json>),
}

/// What becomes of a group's members.
#[derive(Clone, Debug)]
pub enum MembersEdit {
    /// They stay.
    Keep,
    /// Some join, some leave. Who stands in both leaves and joins: it stays.
    Delta {
        /// Who belongs to it from now on.
        added: BTreeSet<UserId>,
        /// Who belongs to it no more.
        removed: BTreeSet<UserId>,
    },
    /// This one leaves. It is refused if it is not a member.
    Remove(UserId),
    /// These belong to it, and nobody else.
    All(BTreeSet<UserId>),
}

impl MembersEdit {
    /// How many members it names.
    pub fn named(&self) -> usize {
        match self {
            Self::Keep => 0,
            Self::Remove(_) => 1,
            Self::Delta { added, removed } => added.len() + removed.len(),
            Self::All(members) => members.len(),
        }
    }
}

/// A change of a group that somebody asked for.
#[derive(Clone, Debug)]
pub struct GroupCommand {
    /// What is to be done.
    pub act: GroupAct,
    /// When it was asked for.
    pub at: Timestamp,
    /// Who asked.
    pub caller: Caller,
    /// What marks a request that may come twice.
    pub idempotency: Option<Idempotency>,
    /// Asked before it is carried out, where whoever asks may have given it up by then.
    pub start: Option<Start>,
}

impl GroupCommand {
    /// Whether it may be carried out: an engine asks once it is to be, and right before.
    #[must_use]
    pub fn begin(&self) -> bool {
        self.start.as_ref().is_none_or(Start::begin)
    }

    /// The group that it is about.
    pub const fn group_id(&self) -> GroupId {
        match &self.act {
            GroupAct::Create { id, .. }
            | GroupAct::Change { id, .. }
            | GroupAct::Edit { id, .. }
            | GroupAct::Delete { id, .. } => *id,
        }
    }

    /// How many members it names. Those of a function are counted when they are changed.
    pub fn members_named(&self) -> usize {
        match &self.act {
            GroupAct::Create { members, .. } => members.len(),
            GroupAct::Change { members, .. } => members.named(),
            GroupAct::Edit { .. } | GroupAct::Delete { .. } => 0,
        }
    }

    /// Whether the group is to be there already.
    pub const fn is_about_one_that_is_there(&self) -> bool {
        !matches!(self.act, GroupAct::Create { .. })
    }
}
