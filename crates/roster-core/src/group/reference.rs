//! A group as users refer to it.

use std::collections::BTreeMap;

use super::GroupId;
use crate::id::UserId;

/// A group's id and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRef {
    /// The group's id.
    pub id: GroupId,
    /// Its name.
    pub display_name: String,
}

/// The direct groups of users, each list in the order of ids. A user without groups has no entry.
pub type GroupsOf = BTreeMap<UserId, Vec<GroupRef>>;
