//! The part of the directory that reads and changes groups.
//!
//! The right to read users includes reading groups, and the right to change users includes changing
//! groups.

use std::{collections::BTreeSet, mem, sync::Arc};

use super::{
    Group, GroupAct, GroupCommand, GroupDraft, GroupEdit, GroupId, GroupPage, GroupQuery, GroupsOf,
    MembersEdit, MembersPage, MembersQuery,
};
use crate::{
    access::{Permit, ReadUsers, WriteUsers},
    clock::Clock,
    command::{Edit, Mode, Terms},
    failure::{Failure, StoreError},
    id::UserId,
    limits::NESTED_MEMBERSHIPS_MAX,
    outcome::Outcome,
    store::Store,
    user::Stored,
};

/// The number of groups whose own groups are read at once.
const NESTED_AT_ONCE: usize = 100;

/// The groups of the directory.
#[derive(Clone)]
pub struct GroupDesk {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
}

impl GroupDesk {
    pub(crate) fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Creates a group.
    pub async fn create(
        &self,
        _may: Permit<WriteUsers>,
        draft: GroupDraft,
        members: BTreeSet<UserId>,
        terms: Terms,
    ) -> Result<Outcome, Failure> {
        let (id, draft) = (self.clock.new_id(), Box::new(draft));
        self.execute(GroupAct::Create { id, draft, members }, terms).await
    }

    /// Changes a group, its members, or both at once.
    pub async fn change(
        &self,
        _may: Permit<WriteUsers>,
        id: GroupId,
        edit: GroupEdit,
        members: MembersEdit,
        mut terms: Terms,
    ) -> Result<Outcome, Failure> {
        let preconditions = mem::take(&mut terms.preconditions);
        self.execute(GroupAct::Change { id, edit, members, preconditions }, terms).await
    }

    /// Changes a group and its members by the result of a function.
    pub async fn edit(
        &self,
        _may: Permit<WriteUsers>,
        id: GroupId,
        edit: Edit<Group, (GroupEdit, MembersEdit)>,
        mut terms: Terms,
    ) -> Result<Outcome, Failure> {
        let preconditions = mem::take(&mut terms.preconditions);
        self.execute(GroupAct::Edit { id, edit, preconditions }, terms).await
    }

    /// Deletes a group permanently.
    pub async fn delete(
        &self,
        _may: Permit<WriteUsers>,
        id: GroupId,
        mut terms: Terms,
    ) -> Result<Outcome, Failure> {
        let preconditions = mem::take(&mut terms.preconditions);
        self.execute(GroupAct::Delete { id, preconditions }, terms).await
    }

    /// The group with this id.
    pub async fn get(
        &self,
        _may: Permit<ReadUsers>,
        id: GroupId,
    ) -> Result<Option<Stored>, StoreError> {
        self.store.group(id).await
    }

    /// One page of groups.
    pub async fn list(
        &self,
        _may: Permit<ReadUsers>,
        query: GroupQuery,
    ) -> Result<GroupPage, StoreError> {
        self.store.groups(query).await
    }

    /// One page of a group's direct members, with the group; `None` if the group does not exist.
    pub async fn members(
        &self,
        _may: Permit<ReadUsers>,
        query: MembersQuery,
    ) -> Result<Option<MembersPage>, StoreError> {
        self.store.members(query).await
    }

    /// The direct groups of these users.
    pub async fn groups_of(
        &self,
        _may: Permit<ReadUsers>,
        users: Vec<UserId>,
    ) -> Result<GroupsOf, StoreError> {
        self.store.groups_of(users).await
    }

    /// The groups that the user is a direct member of, and those that contain these, sorted. They
    /// are read level by level, so the result may contain a part of a concurrent change. Returns
    /// `None` if more than [`NESTED_MEMBERSHIPS_MAX`] memberships lead to them.
    pub async fn nested_groups_of(
        &self,
        _may: Permit<ReadUsers>,
        user: UserId,
    ) -> Result<Option<Vec<GroupId>>, StoreError> {
        let (mut found, mut front) = (BTreeSet::new(), vec![user]);
        let mut left = NESTED_MEMBERSHIPS_MAX;
        while !front.is_empty() {
            let mut next = Vec::new();
            for members in front.chunks(NESTED_AT_ONCE) {
                let groups = self.store.groups_of(members.to_vec()).await?;
                for group in groups.into_values().flatten() {
                    let Some(less) = left.checked_sub(1) else { return Ok(None) };
                    left = less;
                    if found.insert(group.id) {
                        next.push(group.id);
                    }
                }
            }
            front = next;
        }
        Ok(Some(found.into_iter().collect()))
    }

    async fn execute(&self, act: GroupAct, terms: Terms) -> Result<Outcome, Failure> {
        let Terms { caller, idempotency, mode, start, .. } = terms;
        let command = GroupCommand { act, at: self.clock.now(), caller, idempotency, start };
        match mode {
            Mode::DryRun => self.store.preview_group(command).await,
            Mode::Write => self.store.change_group(command).await,
        }
    }
}
