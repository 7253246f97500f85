//! Groups: a map of groups and a set of memberships. Every lookup scans all of them.

use std::collections::BTreeSet;

use bytes::Bytes;
use roster_core::{
    Caller, Command, Effect, Event, EventKind, Failure, Group, GroupAct, GroupId, Member,
    MemberKind, Outcome, Rules, StoreError, Stored, Timestamp, UserAct, UserId,
    group::{
        Facts, GroupChange, GroupDecision, GroupPage, GroupQuery, GroupRef, GroupsOf, Levels,
        MembersPage, MembersQuery, Nesting, Newcomer, Sketch, joined, left, sketch,
    },
    limits::{GROUP_MEMBERS_MAX, TOTAL_EXACT_MAX},
    list::{Direction, PageKey, SortBy, SortKey, Total},
};

use super::state::State;

impl State {
    /// Executes a command about a group.
    pub(super) fn execute_group(
        &mut self,
        rules: Rules,
        act: &GroupAct,
        command: &Command,
    ) -> Result<Outcome, Failure> {
        let holder = act.name_to_find().and_then(|key| {
            self.groups.values().find(|group| group.name_key() == key).map(|group| group.id)
        });
        let act = &act.clone().on_holder(holder);
        let id = act.id();
        let sketch = sketch(rules, self.groups.get(&id), act, command)?;
        let facts = self.facts(&sketch);
        match sketch.settle(&facts)? {
            GroupDecision::Unchanged => {
                let missing =
                    || StoreError::Internal("the group of an unchanged result is missing".into());
                let group = self.groups.get(&id).ok_or_else(missing)?;
                let stored = stored(group);
                Ok(self.outcome(Effect::Unchanged, stored))
            }
            GroupDecision::Create(change) | GroupDecision::Replace(change) => {
                Ok(self.write_group(*change))
            }
            GroupDecision::Remove(change) => {
                self.leave_all(id, command.at, &command.caller);
                self.memberships.retain(|(group, _)| *group != id);
                self.groups.remove(&id);
                Ok(self.append(
                    Event::clone(&change.event),
                    Stored { record: change.record, ..stored(&change.group) },
                ))
            }
        }
    }

    /// Removes a user or group from all its groups, and returns them.
    pub(super) fn leave_all(
        &mut self,
        member: UserId,
        at: Timestamp,
        caller: &Caller,
    ) -> Vec<GroupId> {
        let groups: Vec<GroupId> = self.direct_groups(member).into_iter().collect();
        for id in &groups {
            if let Some(group) = self.groups.get(id) {
                let change = left(group, member, at, caller);
                self.write_group(change);
            }
        }
        groups
    }

    /// The groups from which the deletion removed a user, if its restore is to rejoin them.
    pub(super) fn groups_left(&self, act: &UserAct) -> BTreeSet<GroupId> {
        let UserAct::Restore { id, joins_groups: true } = *act else {
            return BTreeSet::new();
        };
        let mut latest = self.log.iter().rev().map(|(_, event)| event);
        let Some(deleted) = latest.find(|event| event.user_id == id) else {
            return BTreeSet::new();
        };
        let is_of_deletion = |event: &&Event| {
            event.kind == EventKind::GroupUpdated
                && event.request_id == deleted.request_id
                && event.changed.is_empty()
                && event.members.added.is_empty()
                && event.members.removed == [id]
        };
        latest.take_while(is_of_deletion).map(|event| event.user_id).collect()
    }

    /// Adds a restored user to each of these groups that still exists and is not full.
    pub(super) fn rejoin(&mut self, user: UserId, groups: BTreeSet<GroupId>, command: &Command) {
        for id in groups {
            let members = u64::try_from(self.members_of(id).len()).unwrap_or(u64::MAX);
            if let Some(group) = self.groups.get(&id).filter(|_| members < GROUP_MEMBERS_MAX) {
                let change = joined(group, user, command.at, &command.caller);
                self.write_group(change);
            }
        }
    }

    fn write_group(&mut self, change: GroupChange) -> Outcome {
        let GroupChange { group, added, removed, event, record } = change;
        for member in added {
            self.memberships.insert((group.id, member.id));
        }
        for member in removed {
            self.memberships.remove(&(group.id, member));
        }
        let stored = Stored { id: group.id, version: group.version, record };
        self.groups.insert(group.id, group);
        self.append(Event::clone(&event), stored)
    }

    fn facts(&self, sketch: &Sketch) -> Facts {
        let id = sketch.id();
        let name_holder = sketch.name_claim().and_then(|key| {
            let mut others = self.groups.values().filter(|group| group.id != id);
            others.find(|group| group.name_key() == key).map(|group| group.id)
        });
        let members: BTreeSet<UserId> = self.members_of(id).into_iter().collect();
        let newcomers = sketch.looked_up(&members).into_iter();
        let newcomers = newcomers.filter_map(|id| Some((id, self.newcomer(id)?)));
        let newcomers: std::collections::BTreeMap<UserId, Newcomer> = newcomers.collect();
        let groups: BTreeSet<GroupId> = newcomers
            .iter()
            .filter(|(id, newcomer)| newcomer.kind == MemberKind::Group && !members.contains(id))
            .map(|(id, _)| *id)
            .collect();
        let nesting = if groups.is_empty() {
            Nesting::default()
        } else {
            let above = walk(BTreeSet::from([id]), |id| self.direct_groups(id));
            Nesting { above, below: walk(groups, |id| self.groups_in(id)) }
        };
        Facts { name_holder, present: members, newcomers, nesting }
    }

    fn newcomer(&self, id: UserId) -> Option<Newcomer> {
        let groups = u64::try_from(self.direct_groups(id).len()).unwrap_or(u64::MAX);
        Some(Newcomer { kind: self.kind(id)?, groups })
    }

    fn kind(&self, id: UserId) -> Option<MemberKind> {
        let user = self.live.contains_key(&id).then_some(MemberKind::User);
        user.or_else(|| self.groups.contains_key(&id).then_some(MemberKind::Group))
    }

    fn members_of(&self, group: GroupId) -> Vec<UserId> {
        let own = self.memberships.iter().filter(|(of, _)| *of == group);
        own.map(|(_, member)| *member).collect()
    }

    fn direct_groups(&self, member: UserId) -> Vec<GroupId> {
        let own = self.memberships.iter().filter(|(_, of)| *of == member);
        own.map(|(group, _)| *group).collect()
    }

    fn groups_in(&self, group: GroupId) -> Vec<GroupId> {
        let mut members = self.members_of(group);
        members.retain(|id| self.groups.contains_key(id));
        members
    }

    pub(super) fn group(&self, id: GroupId) -> Option<Stored> {
        self.groups.get(&id).map(stored)
    }

    pub(super) fn group_page(&self, query: &GroupQuery) -> GroupPage {
        let is_member = |group: &Group| {
            query.member.is_none_or(|member| self.memberships.contains(&(group.id, member)))
        };
        let has_members =
            |group: &Group| self.memberships.iter().any(|(holder, _)| *holder == group.id);
        let matching: Vec<&Group> = self
            .groups
            .values()
            .filter(|group| query.ids.as_ref().is_none_or(|ids| ids.contains(&group.id)))
            .filter(|group| query.name_key.as_ref().is_none_or(|key| group.name_key() == *key))
            .filter(|group| query.external_id.is_none() || group.external_id == query.external_id)
            .filter(|group| is_member(group))
            .filter(|group| query.tests(group, has_members(group)))
            .collect();
        let total = u64::try_from(matching.len()).unwrap_or(u64::MAX);
        let total = if query.is_unconditional() || total <= TOTAL_EXACT_MAX {
            Total::Exactly(total)
        } else {
            Total::AtLeast(TOTAL_EXACT_MAX)
        };
        let total = query.count.then_some(total);
        let (items, position) = (Vec::new(), self.position);
        let mut page = GroupPage { items, next: None, position, total, examined: None };
        let mut bytes = 0;
        let is_by_name = query.sort.by == SortBy::Name;
        let key = |group: &Group| {
            let name = SortKey::Text(Some(group.name_key()));
            PageKey { key: if is_by_name { name } else { SortKey::Id }, id: group.id }
        };
        // Names are unique.
        let mut matching = matching;
        matching.sort_by_key(|group| (is_by_name.then(|| group.name_key()), group.id));
        if query.sort.direction == Direction::Descending {
            matching.reverse();
        }
        let after = query.after.as_ref().map(|after| {
            let name = match &after.key {
                SortKey::Text(name) => name.clone().filter(|_| is_by_name),
                SortKey::Id | SortKey::Time(_) => None,
            };
            (name, after.id)
        });
        let is_after = |group: &&Group| {
            let Some(after) = &after else { return true };
            let key = (is_by_name.then(|| group.name_key()), group.id);
            match query.sort.direction {
                Direction::Ascending => key > *after,
                Direction::Descending => key < *after,
            }
        };
        let mut last = None;
        for group in matching.into_iter().filter(is_after) {
            if page.items.len() >= query.limit || bytes >= query.bytes_max {
                page.next = last;
                break;
            }
            let stored = stored(group);
            bytes += stored.record.len();
            page.items.push(stored);
            last = Some(key(group));
        }
        page
    }

    pub(super) fn members_page(&self, query: &MembersQuery) -> Option<MembersPage> {
        let group = self.group(query.group)?;
        let members = self.members_of(query.group);
        let total = u64::try_from(members.len()).unwrap_or(u64::MAX);
        let member = |id: UserId| Member { id, kind: self.kind(id).unwrap_or(MemberKind::User) };
        let mut remaining = members.into_iter().filter(|id| query.after.is_none_or(|at| *id > at));
        let items: Vec<Member> = remaining.by_ref().take(query.limit).map(member).collect();
        let next = remaining.next().and(items.last().map(|last| last.id));
        Some(MembersPage { group, total, items, next, position: self.position })
    }

    pub(super) fn groups_of(&self, users: &[UserId]) -> GroupsOf {
        let mut groups_of = GroupsOf::new();
        for user in users {
            let groups = self.direct_groups(*user).into_iter();
            let named = groups.filter_map(|id| {
                let display_name = self.groups.get(&id)?.display_name.clone();
                Some(GroupRef { id, display_name })
            });
            let named: Vec<GroupRef> = named.collect();
            if !named.is_empty() {
                groups_of.insert(*user, named);
            }
        }
        groups_of
    }
}

fn walk(start: BTreeSet<GroupId>, next: impl Fn(GroupId) -> Vec<GroupId>) -> Levels {
    let mut levels = Levels::from(start);
    while let Some(front) = levels.front() {
        let step = front.iter().flat_map(|id| next(*id)).collect();
        if !levels.step(step) {
            break;
        }
    }
    levels
}

fn stored(group: &Group) -> Stored {
    let record: Bytes = group.to_record();
    Stored { id: group.id, version: group.version, record }
}
