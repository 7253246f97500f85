//! The operations on a group.

use std::collections::{BTreeMap, BTreeSet};

use super::{Group, GroupDraft, GroupId, MemberKind};
use crate::{
    id::UserId,
    json::Json,
    limits::{GROUP_MEMBERS_CHANGE_MAX, GROUP_MEMBERS_NAMED_MAX},
    write::edit::Edit,
};

/// What the request says some members are, each with the pointer to the place where it says so.
pub type StatedKinds = BTreeMap<UserId, (MemberKind, String)>;

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
        /// What the members must be.
        kinds: StatedKinds,
        /// The change of the group that has the name already; `None` to reject the command then.
        otherwise: Option<Box<(GroupEdit, MembersEdit)>>,
    },
    /// Change a group, its members, or both at once.
    Change {
        /// The group's id.
        id: GroupId,
        /// The change of its record.
        edit: GroupEdit,
        /// The change of its members.
        members: MembersEdit,
        /// What the members must be that are added or stay.
        kinds: StatedKinds,
    },
    /// Change a group and its members by the result of a function.
    Edit {
        /// The group's id.
        id: GroupId,
        /// The function.
        edit: Edit<Group, (GroupEdit, MembersEdit)>,
    },
    /// Delete a group permanently. Its memberships on both sides are removed; the members stay.
    Delete {
        /// The group's id.
        id: GroupId,
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

impl GroupAct {
    /// The group's id.
    pub const fn id(&self) -> GroupId {
        match self {
            Self::Create { id, .. }
            | Self::Change { id, .. }
            | Self::Edit { id, .. }
            | Self::Delete { id } => *id,
        }
    }

    /// The number of members that it names. Members that an edit changes are counted when its
    /// function is called.
    pub fn members_named(&self) -> usize {
        match self {
            // Those of the other change are the same ones.
            Self::Create { members, .. } => members.len(),
            Self::Change { members, .. } => members.named(),
            Self::Edit { .. } | Self::Delete { .. } => 0,
        }
    }

    /// The key of the name of the group that is changed if it exists already.
    pub fn name_to_find(&self) -> Option<String> {
        match self {
            Self::Create { draft, otherwise: Some(_), .. } => draft.name_key(),
            Self::Create { .. } | Self::Change { .. } | Self::Edit { .. } | Self::Delete { .. } => {
                None
            }
        }
    }

    /// The operation once it is known which group has the name to find.
    #[must_use]
    pub fn on_holder(self, holder: Option<GroupId>) -> Self {
        match (self, holder) {
            (Self::Create { otherwise: Some(otherwise), kinds, .. }, Some(id)) => {
                let (edit, members) = *otherwise;
                Self::Change { id, edit, members, kinds }
            }
            (act, _) => act,
        }
    }

    /// Whether the group must exist already.
    pub const fn is_about_one_that_is_there(&self) -> bool {
        !matches!(self, Self::Create { .. })
    }
}
