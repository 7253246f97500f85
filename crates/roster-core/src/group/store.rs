//! What the directory asks of an engine about groups.
//!
//! Group commands share the log, the marks of repeated requests and the transactions of the
//! users' commands. An engine loads what [`super::sketch()`] asks for, has it settled, and writes.

use super::{GroupCommand, GroupId, GroupPage, GroupQuery, GroupsOf, MembersPage, MembersQuery};
use crate::{
    failure::{Failure, StoreError},
    id::UserId,
    outcome::{Answer, Outcome},
    user::Stored,
};

/// The groups of an engine.
pub trait GroupStore: Send + Sync + 'static {
    /// Carries out a group command; a successful one is durable.
    fn change_group(&self, command: GroupCommand) -> Answer<'_, Result<Outcome, Failure>>;

    /// What a group command would come to: the same judgement, and nothing is stored.
    fn preview_group(&self, command: GroupCommand) -> Answer<'_, Result<Outcome, Failure>>;

    /// The group of that id.
    fn group(&self, id: GroupId) -> Answer<'_, Result<Option<Stored>, StoreError>>;

    /// One page of groups, with the log position it reflects, read in one snapshot.
    fn groups(&self, query: GroupQuery) -> Answer<'_, Result<GroupPage, StoreError>>;

    /// One page of a group's direct members, with the group, read in one snapshot; `None` where
    /// there is no such group.
    fn members(&self, query: MembersQuery) -> Answer<'_, Result<Option<MembersPage>, StoreError>>;

    /// The direct groups of these users, in one statement.
    fn groups_of(&self, users: Vec<UserId>) -> Answer<'_, Result<GroupsOf, StoreError>>;
}
