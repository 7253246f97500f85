//! Helpers with which the cases read and write groups.

use roster_core::{
    GroupId, Member, Outcome, Refusal, Stored, UserId,
    group::{
        GroupAct, GroupDraft, GroupEdit, GroupPage, GroupQuery, GroupRef, GroupsOf, MembersEdit,
        MembersPage, MembersQuery, StatedKinds,
    },
};
use serde_json::{Value, json};

use super::harness::{Harness, tree};

type CommandResult = Result<Outcome, Refusal>;

/// The query with a filter, which must be valid.
pub fn filtered(query: GroupQuery, filter: &str) -> GroupQuery {
    query.with_filter(filter).unwrap_or_else(|fault| panic!("{filter}: {fault:?}"))
}

impl Harness {
    /// Creates a group with this name and these members. Panics if the store rejects it.
    pub async fn group(&self, name: &str, members: &[UserId]) -> GroupId {
        let act = self.grouping(&json!({"display_name": name}), members);
        self.act(act).await.unwrap_or_else(|no| panic!("{name}: {no:?}")).stored.id
    }

    /// The act that creates a group with a new id.
    pub fn grouping(&self, body: &Value, members: &[UserId]) -> GroupAct {
        let draft = Box::new(GroupDraft::parse(tree(body)));
        {
            let (id, members) = (self.new_id(), members.iter().copied().collect());
            GroupAct::Create { id, draft, members, kinds: StatedKinds::new(), otherwise: None }
        }
    }

    /// Adds and removes members of a group.
    pub async fn join(&self, id: GroupId, added: &[UserId], removed: &[UserId]) -> CommandResult {
        self.act(joining(id, added, removed)).await
    }

    /// All members of a group, read in short pages; `None` if the group does not exist.
    pub async fn members_of(&self, group: GroupId) -> Option<Vec<Member>> {
        let (mut members, mut after) = (Vec::new(), None);
        loop {
            let page = self.members_page(MembersQuery { group, after, limit: 2 }).await?;
            members.extend(page.items);
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        assert!(
            members.is_sorted_by(|one, other| one.id < other.id),
            "members are in the order of ids"
        );
        Some(members)
    }

    /// One page of members.
    pub async fn members_page(&self, query: MembersQuery) -> Option<MembersPage> {
        self.store().members(query).await.expect("the store answers")
    }

    /// The ids of all groups that match a query, read page by page.
    pub async fn walk_groups(&self, mut query: GroupQuery) -> Vec<GroupId> {
        let mut groups = Vec::new();
        loop {
            let page = self.group_page(query.clone()).await;
            groups.extend(page.items.iter().map(|stored| stored.id));
            match page.next {
                Some(next) => query.after = Some(next),
                None => return groups,
            }
        }
    }

    /// One page of groups.
    pub async fn group_page(&self, query: GroupQuery) -> GroupPage {
        self.store().groups(query).await.expect("the store answers")
    }

    /// The group with an id.
    pub async fn group_now(&self, id: GroupId) -> Option<Stored> {
        self.store().group(id).await.expect("the store answers")
    }

    /// The direct groups of several users or groups.
    pub async fn groups_of_many(&self, users: Vec<UserId>) -> GroupsOf {
        self.store().groups_of(users).await.expect("the store answers")
    }

    /// The ids and names of the direct groups of a user or group.
    pub async fn groups_of(&self, user: UserId) -> Vec<GroupRef> {
        let mut of = self.groups_of_many(vec![user]).await;
        of.remove(&user).unwrap_or_default()
    }
}

/// The act that adds and removes members of a group.
pub fn joining(id: GroupId, added: &[UserId], removed: &[UserId]) -> GroupAct {
    let set = |ids: &[UserId]| ids.iter().copied().collect();
    let members = MembersEdit::Delta { added: set(added), removed: set(removed) };
    GroupAct::Change { id, edit: GroupEdit::Keep, members, kinds: StatedKinds::new() }
}
