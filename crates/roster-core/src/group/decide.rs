//! The rules for groups, as pure functions in two steps.
//!
//! [`sketch`] applies a command to the group's record. The [`Sketch`] lists the facts that it
//! needs. The engine reads these [`Facts`] in the transaction of the write, and [`Sketch::settle`]
//! makes the decision.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bytes::Bytes;

use super::{
    Group, GroupAct, GroupDraft, GroupEdit, GroupId, Member, MemberKind, MembersEdit, Nesting,
    StatedKinds,
};
use crate::{
    failure::{GroupRefusal, Refusal},
    id::UserId,
    json::{self, Json},
    limits::{
        GROUP_DEPTH_MAX, GROUP_MEMBERS_CHANGE_MAX, GROUP_MEMBERS_MAX, GROUPS_OF_MEMBER_MAX,
        UNKNOWN_MEMBERS_LISTED_MAX,
    },
    timestamp::Timestamp,
    user::attribute::Attribute,
    write::{
        command::{Caller, Command, Guard, Preconditions, Rules, Tags},
        event::{Event, EventKind, MembersChanged},
        violation::{Violation, ViolationCode, Violations},
    },
};

/// The result of a command for the group's record, before other facts are known.
#[derive(Clone, Debug)]
pub struct Sketch {
    before: Option<Group>,
    after: Group,
    members: MembersEdit,
    kinds: StatedKinds,
    is_deletion: bool,
    at: Timestamp,
    caller: Caller,
}

/// The facts that settle a sketch.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The other group that has the claimed name.
    pub name_holder: Option<GroupId>,
    /// The current members among [`Sketch::named`], or all members if that is `None`.
    pub present: BTreeSet<UserId>,
    /// The existing users and groups among [`Sketch::looked_up`].
    pub newcomers: BTreeMap<UserId, Newcomer>,
    /// The nesting of the group and of the groups that join; empty if there are none.
    pub nesting: Nesting,
}

/// A user or group that joins a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Newcomer {
    /// Whether it is a user or a group.
    pub kind: MemberKind,
    /// The number of groups that it is in.
    pub groups: u64,
}

/// The result of a command that the rules allow.
#[derive(Clone, Debug)]
pub enum GroupDecision {
    /// The group already has the requested state: nothing is written.
    Unchanged,
    /// The group is created.
    Create(Box<GroupChange>),
    /// The group is replaced.
    Replace(Box<GroupChange>),
    /// The group is deleted, and its list of members with it. Each group that contained it changes
    /// too, see [`left`].
    Remove(Box<GroupChange>),
}

/// A change of a group, to be written.
#[derive(Clone, Debug)]
pub struct GroupChange {
    /// The group after the change.
    pub group: Group,
    /// Its canonical JSON.
    pub record: Bytes,
    /// The members that join.
    pub added: Vec<Member>,
    /// The members that leave.
    pub removed: Vec<UserId>,
    /// The entry of the change log.
    pub event: Arc<Event>,
}

/// The sketch of a command with this operation. `current` is the group that it applies to, if it
/// exists.
pub fn sketch(
    rules: Rules,
    current: Option<&Group>,
    act: &GroupAct,
    command: &Command,
) -> Result<Sketch, Refusal> {
    let preconditions = &command.preconditions;
    let not_found = || Refusal::Group(GroupRefusal::NotFound);
    let sketched = |before: Option<&Group>, after, members, is_deletion| Sketch {
        before: before.cloned(),
        after,
        members,
        kinds: StatedKinds::new(),
        is_deletion,
        at: command.at,
        caller: command.caller.clone(),
    };
    match act {
        GroupAct::Create { id, draft, members, kinds, .. } => {
            check_member_count(members.len(), GROUP_MEMBERS_CHANGE_MAX)?;
            let written = draft.resolve(None).map_err(Refusal::Invalid)?;
            let group = Group {
                id: *id,
                version: 1,
                display_name: written.display_name,
                external_id: written.external_id,
                member_count: 0,
                updated_at: id.created_at(),
            };
            let sketch = sketched(None, group, MembersEdit::All(members.clone()), false);
            Ok(Sketch { kinds: kinds.clone(), ..sketch })
        }
        GroupAct::Change { edit, members, kinds, .. } => {
            let current = current.ok_or_else(not_found)?;
            let after = edited(rules, current, (edit, members), preconditions)?;
            check_member_count(members.named(), members.named_max())?;
            let sketch = sketched(Some(current), after, members.clone(), false);
            Ok(Sketch { kinds: kinds.clone(), ..sketch })
        }
        GroupAct::Edit { edit, .. } => {
            let current = current.ok_or_else(not_found)?;
            check_preconditions(preconditions, current)?;
            let (edit, members) = edit.apply(current)?;
            // The function computed its change from this version.
            let if_match = Some(Tags::Versions(vec![current.version]));
            let preconditions = Preconditions { if_match, if_none_match: None };
            let after = edited(rules, current, (&edit, &members), &preconditions)?;
            check_member_count(members.named(), members.named_max())?;
            Ok(sketched(Some(current), after, members, false))
        }
        GroupAct::Delete { .. } => {
            let current = current.ok_or_else(not_found)?;
            check_preconditions(preconditions, current)?;
            if rules.delete == Guard::On && !preconditions.name_a_version() {
                return Err(Refusal::PreconditionRequired { cleared: Vec::new() });
            }
            Ok(sketched(Some(current), current.clone(), MembersEdit::Keep, true))
        }
    }
}

/// The change of a group when one of its members is deleted.
pub fn left(group: &Group, member: UserId, at: Timestamp, caller: &Caller) -> GroupChange {
    let group = next_version(group, at);
    let members = MembersChanged { added: Vec::new(), removed: vec![member] };
    change(group, EventKind::GroupUpdated, Vec::new(), (Vec::new(), members), caller)
}

/// The change of a group when a deleted user that was its member is restored.
pub fn joined(group: &Group, user: UserId, at: Timestamp, caller: &Caller) -> GroupChange {
    let group = next_version(group, at);
    let members = MembersChanged { added: vec![user], removed: Vec::new() };
    let added = vec![Member { id: user, kind: MemberKind::User }];
    change(group, EventKind::GroupUpdated, Vec::new(), (added, members), caller)
}

impl Sketch {
    /// The key of a new name, which no other group may have.
    pub fn name_claim(&self) -> Option<String> {
        let key = self.after.name_key();
        let is_own = self.before.as_ref().is_some_and(|before| before.name_key() == key);
        (!is_own && !self.is_deletion).then_some(key)
    }

    /// The group's id.
    pub const fn id(&self) -> GroupId {
        self.after.id
    }

    /// Whether the group is new, without members and without groups that contain it.
    pub const fn is_new(&self) -> bool {
        self.before.is_none()
    }

    /// Whether the command changes members.
    pub const fn is_about_members(&self) -> bool {
        !matches!(self.members, MembersEdit::Keep)
    }

    /// The ids whose membership must be read; `None` for all members.
    pub fn named(&self) -> Option<BTreeSet<UserId>> {
        match &self.members {
            MembersEdit::Keep => Some(BTreeSet::new()),
            MembersEdit::Remove(member) => Some(BTreeSet::from([*member])),
            MembersEdit::Delta { added, removed } => Some(added | removed),
            MembersEdit::All(_) => None,
        }
    }

    /// The users and groups that must be looked up, given the current members: those that join, and
    /// those whose kind the request states. Empty if the command changes more members than allowed.
    pub fn looked_up(&self, present: &BTreeSet<UserId>) -> BTreeSet<UserId> {
        let mut joining = self.joining(present);
        if joining.len() > GROUP_MEMBERS_CHANGE_MAX {
            return BTreeSet::new();
        }
        joining.extend(self.kinds.keys());
        joining
    }

    fn joining(&self, present: &BTreeSet<UserId>) -> BTreeSet<UserId> {
        match &self.members {
            MembersEdit::Keep | MembersEdit::Remove(_) => BTreeSet::new(),
            MembersEdit::Delta { added, .. } => added - present,
            MembersEdit::All(all) => all - present,
        }
    }

    /// The decision, given all facts.
    pub fn settle(self, facts: &Facts) -> Result<GroupDecision, Refusal> {
        if self.is_deletion {
            let group = next_version(&self.after, self.at);
            let none = (Vec::new(), MembersChanged::default());
            let change = change(group, EventKind::GroupDeleted, Vec::new(), none, &self.caller);
            return Ok(GroupDecision::Remove(Box::new(change)));
        }
        if facts.name_holder.is_some() {
            return Err(GroupRefusal::NameTaken.into());
        }
        let joining = self.joining(&facts.present);
        let removed: Vec<UserId> = match &self.members {
            MembersEdit::Keep => Vec::new(),
            MembersEdit::Remove(member) if facts.present.contains(member) => vec![*member],
            MembersEdit::Remove(_) => return Err(GroupRefusal::NotMember.into()),
            MembersEdit::Delta { added, removed } => {
                (removed - added).intersection(&facts.present).copied().collect()
            }
            MembersEdit::All(all) => (&facts.present - all).into_iter().collect(),
        };
        check_member_count(joining.len() + removed.len(), GROUP_MEMBERS_CHANGE_MAX)?;
        let added = self.check_members(&joining, &removed, facts)?;
        self.check_kinds(facts)?;
        let members = MembersChanged { added: joining.into_iter().collect(), removed };
        let Some(before) = &self.before else {
            let changed = changed(None, &self.after);
            let joined = (added, members);
            let change = change(self.after, EventKind::GroupCreated, changed, joined, &self.caller);
            return Ok(GroupDecision::Create(Box::new(change)));
        };
        let changed = changed(Some(before), &self.after);
        if changed.is_empty() && members.is_empty() {
            return Ok(GroupDecision::Unchanged);
        }
        let group = next_version(&self.after, self.at);
        let joined = (added, members);
        let change = change(group, EventKind::GroupUpdated, changed, joined, &self.caller);
        Ok(GroupDecision::Replace(Box::new(change)))
    }

    /// Checks that the members are what the request says they are.
    fn check_kinds(&self, facts: &Facts) -> Result<(), Refusal> {
        let wrong = self.kinds.iter().filter_map(|(id, (stated, pointer))| {
            let kind = facts.newcomers.get(id)?.kind;
            let detail = format!("the member is a {}", kind.as_str());
            (kind != *stated)
                .then(|| Violation::new(pointer.clone(), ViolationCode::InvalidValue, detail))
        });
        let wrong: Violations = wrong.collect();
        if wrong.is_empty() { Ok(()) } else { Err(Refusal::Invalid(wrong)) }
    }

    /// Checks that all of these may join: they exist, there is room, and the groups among them form
    /// no cycle and no deeper nesting than allowed.
    fn check_members(
        &self,
        joining: &BTreeSet<UserId>,
        removed: &[UserId],
        facts: &Facts,
    ) -> Result<Vec<Member>, GroupRefusal> {
        let known = |id: &&UserId| facts.newcomers.contains_key(*id);
        let unknown = joining.iter().filter(|id| !known(id)).take(UNKNOWN_MEMBERS_LISTED_MAX);
        let unknown: Vec<UserId> = unknown.copied().collect();
        if !unknown.is_empty() {
            return Err(GroupRefusal::UnknownMembers(unknown));
        }
        let count = |of: usize| u64::try_from(of).unwrap_or(u64::MAX);
        let members = self.after.member_count + count(joining.len());
        let members = members.saturating_sub(count(removed.len()));
        if !joining.is_empty() && members > GROUP_MEMBERS_MAX {
            return Err(GroupRefusal::TooManyMembers);
        }
        let full = joining.iter().find(|id| {
            facts.newcomers.get(*id).is_some_and(|of| of.groups >= GROUPS_OF_MEMBER_MAX)
        });
        if let Some(full) = full {
            return Err(GroupRefusal::TooManyGroups(*full));
        }
        let kind = |id: &UserId| facts.newcomers.get(id).map(|of| of.kind);
        let is_group = |id: &&UserId| kind(id) == Some(MemberKind::Group);
        let groups: BTreeSet<GroupId> = joining.iter().filter(is_group).copied().collect();
        if !groups.is_empty() {
            let Nesting { above, below } = &facts.nesting;
            if groups.contains(&self.after.id) || above.contains_any(&groups) {
                return Err(GroupRefusal::Cycle);
            }
            if above.is_too_wide() || below.is_too_wide() {
                return Err(GroupRefusal::TooWide);
            }
            if above.depth().max(1) + below.depth().max(1) > GROUP_DEPTH_MAX {
                return Err(GroupRefusal::TooDeep);
            }
        }
        Ok(joining.iter().filter_map(|id| Some(Member { id: *id, kind: kind(id)? })).collect())
    }
}

fn edited(
    rules: Rules,
    current: &Group,
    (edit, members): (&GroupEdit, &MembersEdit),
    preconditions: &Preconditions,
) -> Result<Group, Refusal> {
    let (draft, is_guarded) = match edit {
        GroupEdit::Keep => {
            check_preconditions(preconditions, current)?;
            return Ok(current.clone());
        }
        GroupEdit::Replace(draft) => (GroupDraft::clone(draft), rules.put == Guard::On),
        GroupEdit::Patch(patch) => (patched(current, patch), false),
    };
    check_preconditions(preconditions, current)?;
    if draft.body_version.is_some_and(|version| version != current.version) {
        return Err(Refusal::VersionMismatch { current: current.version });
    }
    let written = draft.resolve(Some(current)).map_err(Refusal::Invalid)?;
    let clears = current.external_id.is_some() && written.external_id.is_none();
    let empties = current.member_count > 0
        && matches!(members, MembersEdit::All(members) if members.is_empty());
    let is_stated = preconditions.name_a_version() || draft.body_version.is_some();
    if is_guarded && (clears || empties) && !is_stated {
        let cleared = if clears { vec![Attribute::ExternalId] } else { Vec::new() };
        return Err(Refusal::PreconditionRequired { cleared });
    }
    Ok(Group {
        display_name: written.display_name,
        external_id: written.external_id,
        ..current.clone()
    })
}

/// The draft that results from a patch: the patch is merged into the record and the result is
/// parsed like any body.
fn patched(current: &Group, patch: &Json) -> GroupDraft {
    let stored = json::read(&current.to_record()).unwrap_or(Json::Object(Vec::new()));
    let Json::Object(mut members) = stored else { return GroupDraft::default() };
    // Only a version that the patch names is a precondition, so the stored one is removed.
    members.retain(|(name, _)| name != Attribute::Version.name());
    let mut draft = GroupDraft::parse(json::merge(Json::Object(members), patch.clone()));
    draft.check_removals(patch);
    draft
}

fn check_preconditions(preconditions: &Preconditions, current: &Group) -> Result<(), Refusal> {
    if preconditions.allow_write(current.version) {
        Ok(())
    } else {
        Err(Refusal::VersionMismatch { current: current.version })
    }
}

fn check_member_count(members: usize, most: usize) -> Result<(), Refusal> {
    if members <= most {
        return Ok(());
    }
    let detail = format!("add and remove at most {most} members in one request");
    let violation = Violation::new("/members", ViolationCode::TooMany, detail);
    Err(Refusal::Invalid(violation.into()))
}

fn next_version(group: &Group, at: Timestamp) -> Group {
    Group { version: group.version + 1, updated_at: group.updated_at.max(at), ..group.clone() }
}

fn changed(before: Option<&Group>, after: &Group) -> Vec<Attribute> {
    let mut changed = Vec::new();
    if before.is_none_or(|before| before.display_name != after.display_name) {
        changed.push(Attribute::DisplayName);
    }
    if before.and_then(|before| before.external_id.as_ref()) != after.external_id.as_ref() {
        changed.push(Attribute::ExternalId);
    }
    changed
}

fn change(
    mut group: Group,
    kind: EventKind,
    changed: Vec<Attribute>,
    (added, members): (Vec<Member>, MembersChanged),
    caller: &Caller,
) -> GroupChange {
    let count = |of: usize| u64::try_from(of).unwrap_or(u64::MAX);
    group.member_count =
        (group.member_count + count(added.len())).saturating_sub(count(members.removed.len()));
    let record = group.to_record();
    let removed = members.removed.clone();
    let event = Event {
        kind,
        at: group.updated_at,
        actor: caller.actor.to_string(),
        request_id: caller.request_id.clone(),
        user_id: group.id,
        version: group.version,
        changed,
        members,
        record: record.clone(),
    };
    GroupChange { group, record, added, removed, event: Arc::new(event) }
}
