//! Questions about groups: lists of them, their members, and the groups of users.
//!
//! Pages are keyset pages in the order of ids.

use std::collections::BTreeMap;

use super::{GroupId, Member};
use crate::{id::UserId, limits::PAGE_BYTES_MAX, list::Total, user::Stored};

/// A question for one page of groups, in the order of ids. All conditions must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupQuery {
    /// Groups after this one alone.
    pub after: Option<GroupId>,
    /// Most groups on the page; 0 asks for the total alone.
    pub limit: usize,
    /// One of these ids; sorted, none twice.
    pub ids: Option<Vec<GroupId>>,
    /// The key of the name.
    pub name_key: Option<String>,
    /// The external id.
    pub external_id: Option<String>,
    /// Who is a direct member.
    pub member: Option<UserId>,
    /// Whether to count all groups that meet the conditions.
    pub count: bool,
    /// The page ends early once its records hold this many bytes.
    pub bytes_max: usize,
}

impl GroupQuery {
    /// The first page.
    pub const fn first(limit: usize) -> Self {
        Self {
            after: None,
            limit,
            ids: None,
            name_key: None,
            external_id: None,
            member: None,
            count: false,
            bytes_max: PAGE_BYTES_MAX,
        }
    }

    /// Whether every group meets the conditions.
    pub const fn is_unconditional(&self) -> bool {
        self.ids.is_none()
            && self.name_key.is_none()
            && self.external_id.is_none()
            && self.member.is_none()
    }
}

/// One page of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupPage {
    /// The groups.
    pub items: Vec<Stored>,
    /// The page ends after this one and others follow; `None` at the end.
    pub next: Option<GroupId>,
    /// The log position that the page reflects.
    pub position: i64,
    /// The count, if it was asked for.
    pub total: Option<Total>,
}

/// A question for one page of the direct members of a group, in the order of ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MembersQuery {
    /// Which group.
    pub group: GroupId,
    /// Members after this one alone.
    pub after: Option<UserId>,
    /// Most members on the page; 0 asks for the group alone.
    pub limit: usize,
}

/// One page of members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MembersPage {
    /// The group, as it is in the same snapshot.
    pub group: Stored,
    /// How many members it has.
    pub total: u64,
    /// The members.
    pub items: Vec<Member>,
    /// The page ends after this one and others follow; `None` at the end.
    pub next: Option<UserId>,
    /// The log position that the page reflects.
    pub position: i64,
}

/// A group by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRef {
    /// Which group.
    pub id: GroupId,
    /// What people call it.
    pub display_name: String,
}

/// The direct groups of users, each in the order of ids. Who belongs to none is not there.
pub type GroupsOf = BTreeMap<UserId, Vec<GroupRef>>;
