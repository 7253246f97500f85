//! The reads of groups and memberships that an engine implements.

use super::{GroupId, GroupPage, GroupQuery, GroupsOf, MembersPage, MembersQuery};
use crate::{
    id::UserId,
    user::Stored,
    write::{failure::StoreError, outcome::Answer},
};

/// The reads of groups of an engine.
pub trait GroupStore: Send + Sync + 'static {
    /// The group with this id.
    fn group(&self, id: GroupId) -> Answer<'_, Result<Option<Stored>, StoreError>>;

    /// One page of groups with its log position, read in one snapshot.
    fn groups(&self, query: GroupQuery) -> Answer<'_, Result<GroupPage, StoreError>>;

    /// One page of a group's direct members with the group, read in one snapshot; `None` if the
    /// group does not exist.
    fn members(&self, query: MembersQuery) -> Answer<'_, Result<Option<MembersPage>, StoreError>>;

    /// The direct groups of these users, in one statement.
    fn groups_of(&self, users: Vec<UserId>) -> Answer<'_, Result<GroupsOf, StoreError>>;
}
