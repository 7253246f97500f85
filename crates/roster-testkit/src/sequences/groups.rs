//! Groups in a sequence: both stores execute the same commands and must return the same.

use std::collections::BTreeSet;

use proptest::sample::Index;
use roster_core::{
    Command, GroupId, UserId,
    group::{
        GroupAct, GroupDraft, GroupEdit, GroupQuery, MembersEdit, MembersQuery, StatedKinds,
        group_name_key,
    },
};

use super::Pair;
use crate::{
    arbitrary::{GroupEdited, GroupQuestion, GroupStep, Held, Mark, MembersEdited},
    conformance::{
        grouping::filtered,
        harness::{Conditional, only_if},
        reads::words,
    },
};

impl Pair {
    pub(super) async fn write_group(&mut self, step: GroupStep, mark: Option<Mark>) {
        let Some(command) = self.group_command(step, mark).await else { return };
        let answer = self.subject.execute(vec![command.clone()]).await;
        let expected = self.oracle.execute(vec![command.clone()]).await;
        assert_eq!(answer, expected, "{command:#?}");
        self.compare_groups().await;
    }

    pub(super) async fn preview_group(&mut self, step: GroupStep) {
        let Some(command) = self.group_command(step, None).await else { return };
        self.preview_command(command).await;
    }

    pub(super) async fn group_command(
        &mut self,
        step: GroupStep,
        mark: Option<Mark>,
    ) -> Option<Command> {
        let act = self.group_act(step).await?;
        Some(Command { idempotency: mark.map(Into::into), ..self.oracle.command(act) })
    }

    /// Reads a list of groups from both, page by page.
    pub(super) async fn walk_groups(&self, question: &GroupQuestion) {
        let ids = question.ids.as_ref().map(|ids| self.members_at(ids).into_iter().collect());
        let mut query = GroupQuery {
            ids,
            name_key: question.name.map(group_name_key),
            external_id: question.external_id.map(str::to_owned),
            member: question.member.and_then(|member| self.members_at(&[member]).pop_first()),
            words: question.typed.map(words).unwrap_or_default(),
            count: true,
            ..GroupQuery::first(question.limit)
        };
        if let Some(filter) = question.filter {
            query = filtered(query, filter);
        }
        loop {
            let page = self.subject.group_page(query.clone()).await;
            let expected = self.oracle.group_page(query.clone()).await;
            assert_eq!(page, expected, "{query:?}");
            match page.next {
                Some(next) => query.after = Some(next),
                None => return,
            }
        }
    }

    /// Compares every group, its members, and the groups of every user and group.
    pub(super) async fn compare_groups(&self) {
        for group in &self.groups {
            for after in [None, self.known.first().copied()] {
                let query = MembersQuery { group: *group, after, limit: 2 };
                let page = self.subject.members_page(query).await;
                assert_eq!(page, self.oracle.members_page(query).await, "{query:?}");
            }
        }
        let all = self.users_and_groups();
        let of = self.subject.groups_of_many(all.clone()).await;
        let expected = self.oracle.groups_of_many(all).await;
        assert_eq!(of, expected, "the direct groups of all users and groups");
    }

    async fn group_act(&mut self, step: GroupStep) -> Option<Conditional> {
        Some(match step {
            GroupStep::Create(body, members, merges) => {
                let id = self.oracle.new_id();
                self.groups.push(id);
                let members = self.members_at(&members);
                let added = MembersEdit::Delta { added: members.clone(), removed: BTreeSet::new() };
                let edit = GroupEdit::Patch(Box::new(body.clone()));
                let otherwise = merges.then(|| Box::new((edit, added)));
                let draft = Box::new(GroupDraft::parse(body));
                GroupAct::Create { id, draft, members, kinds: StatedKinds::new(), otherwise }.into()
            }
            GroupStep::Change(which, edit, members, preconditions) => {
                let (id, preconditions) = self.which(which, preconditions).await?;
                let edit = match edit {
                    GroupEdited::Keep => GroupEdit::Keep,
                    GroupEdited::Replace(body) => {
                        GroupEdit::Replace(Box::new(GroupDraft::parse(body)))
                    }
                    GroupEdited::Patch(body) => GroupEdit::Patch(Box::new(body)),
                };
                let members = match members {
                    MembersEdited::Keep => MembersEdit::Keep,
                    MembersEdited::Delta(joins, leaves) => MembersEdit::Delta {
                        added: self.members_at(&joins),
                        removed: self.members_at(&leaves),
                    },
                    MembersEdited::All(all) => MembersEdit::All(self.members_at(&all)),
                };
                only_if(
                    GroupAct::Change { id, edit, members, kinds: StatedKinds::new() },
                    preconditions,
                )
            }
            GroupStep::Delete(which, preconditions) => {
                let (id, preconditions) = self.which(which, preconditions).await?;
                only_if(GroupAct::Delete { id }, preconditions)
            }
        })
    }

    async fn which(
        &self,
        which: Index,
        preconditions: Held,
    ) -> Option<(GroupId, roster_core::Preconditions)> {
        if self.groups.is_empty() {
            return None;
        }
        let id = *which.get(&self.groups);
        let group = self.oracle.group_now(id).await;
        let version = group.map_or(1, |group| group.version);
        Some((id, Self::preconditions_at(version, preconditions)))
    }

    /// All ids of users and groups that were ever generated. A user of another tenant may have the
    /// id of a group.
    fn users_and_groups(&self) -> Vec<UserId> {
        let all: BTreeSet<UserId> = self.known.iter().chain(&self.groups).copied().collect();
        all.into_iter().collect()
    }

    /// Ids of users and groups that were ever created, at these indexes.
    fn members_at(&self, indexes: &[Index]) -> BTreeSet<UserId> {
        let all = self.users_and_groups();
        if all.is_empty() {
            return BTreeSet::new();
        }
        indexes.iter().map(|index| *index.get(&all)).collect()
    }
}
