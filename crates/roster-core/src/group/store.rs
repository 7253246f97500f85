//! The trait that an engine implements for groups.
//!
//! Group commands and user commands have the same log, idempotency records and transactions. An
//! engine reads the facts that [`super::sketch()`] needs, settles the sketch, and writes the
//! decision.

use super::{GroupCommand, GroupId, GroupPage, GroupQuery, GroupsOf, MembersPage, MembersQuery};
use crate::{
    failure::{Failure, StoreError},
    id::UserId,
    outcome::{Answer, Outcome},
    user::Stored,
};

/// The group operations of an engine.
pub trait GroupStore: Send + Sync + 'static {
    /// Executes a group command. A success is durable.
    fn change_group(&self, command: GroupCommand) -> Answer<'_, Result<Outcome, Failure>>;

    /// Decides a group command in the same way, and stores nothing.
    fn preview_group(&self, command: GroupCommand) -> Answer<'_, Result<Outcome, Failure>>;

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
