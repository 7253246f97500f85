//! Execution of a command about a group.

use std::collections::{BTreeMap, BTreeSet};

use roster_core::{
    Command, Effect, Group, GroupAct, GroupId, MemberKind, StoreError, Stored, UserAct, UserId,
    event::changed_of,
    group::{Facts as GroupFacts, GroupDecision, Levels, Nesting, Newcomer, Sketch, sketch},
    limits::{GROUP_MEMBERS_MAX, GROUP_NESTING_MAX, GROUPS_OF_MEMBER_MAX},
};

use crate::{
    database::{Cell, Dialect, Values, corrupt},
    read::stored_groups::{GROUP, GROUP_OF_NAME, groups_of_ids, member_kind},
    write::{
        batch::Batch,
        executed::Executed,
        facts::{CommandError, Facts},
    },
};

/// All members of a group.
pub const ALL_MEMBERS: &str =
    "SELECT member_id FROM group_members WHERE tenant = $1 AND group_id = $2";

/// The members of a group among some ids: each is looked up. `$2` is the tenant, `$3` the group.
pub fn members_among<D: Dialect>() -> String {
    D::for_each("$1", |id| {
        format!(
            "SELECT member_id FROM group_members \
             WHERE member_id = {id} AND tenant = $2 AND group_id = $3"
        )
    })
}

/// Which of some ids are users or groups, and the number of groups that each is a member of,
/// counted up to the limit. `$2` is the tenant.
pub fn newcomers<D: Dialect>() -> String {
    let by_member = D::indexed_by("group_members_member");
    let of = |table, kind| {
        let of_each = D::for_each("$1", |id| {
            // The order admits one index only.
            let is_id = D::equals("id", id);
            format!(
                "SELECT id, {kind}, (SELECT count(*) FROM (SELECT 1 \
                 FROM group_members{by_member} WHERE tenant = {table}.tenant \
                 AND member_id = {table}.id LIMIT {GROUPS_OF_MEMBER_MAX}) AS few) \
                 FROM {table} WHERE {is_id} AND tenant = $2 ORDER BY id"
            )
        });
        format!("SELECT * FROM ({of_each}) AS of_{table}")
    };
    format!("{} UNION ALL {}", of("users", 0), of("groups", 1))
}

/// The group of each direct membership of some groups. One more than the limit shows that it is
/// exceeded. `$2` is the tenant.
pub fn groups_above<D: Dialect>() -> String {
    let (by_member, most) = (D::indexed_by("group_members_member"), GROUP_NESTING_MAX + 1);
    let of_each = D::for_each("$1", |id| {
        format!(
            "SELECT group_id FROM group_members{by_member} WHERE member_id = {id} AND tenant = $2"
        )
    });
    format!("SELECT group_id FROM ({of_each}) AS above LIMIT {most}")
}

/// The group in each direct membership of a group in some groups, up to the same limit. `$2` is the
/// tenant.
pub fn groups_below<D: Dialect>() -> String {
    let (nested, most) = (D::indexed_by("group_members_nested"), GROUP_NESTING_MAX + 1);
    let of_each = D::for_each("$1", |id| {
        format!(
            "SELECT member_id FROM group_members{nested} \
             WHERE group_id = {id} AND kind = 1 AND tenant = $2"
        )
    });
    format!("SELECT member_id FROM ({of_each}) AS below LIMIT {most}")
}

/// The last event of a user.
pub const LAST_EVENT: &str = "SELECT changed FROM events \
     WHERE tenant = $1 AND subject_id = $2 ORDER BY subject_id DESC, position DESC LIMIT 1";

impl<F: Facts> Batch<'_, F> {
    pub(crate) fn execute_group(
        &mut self,
        act: &GroupAct,
        command: &Command,
    ) -> Result<Executed, CommandError> {
        if let Some(key) = act.name_to_find() {
            let holder = self.group_of_name(&key)?;
            if holder.is_some() {
                return self.execute_group(&act.clone().on_holder(holder), command);
            }
        }
        let id = act.id();
        self.writes.groups.others += act.members_named();
        let current = if act.is_about_one_that_is_there() { self.group(id)? } else { None };
        let sketch = sketch(self.rules, current.as_ref().map(|(group, _)| group), act, command)?;
        let facts = self.group_facts(&sketch)?;
        match sketch.settle(&facts)? {
            GroupDecision::Unchanged => {
                let missing = || StoreError::Internal("a group that does not exist".into());
                let (_, stored) = current.ok_or_else(missing)?;
                Ok(self.unchanged(Effect::Unchanged, stored))
            }
            GroupDecision::Create(change) | GroupDecision::Replace(change) => {
                Ok(self.change_group(*change))
            }
            GroupDecision::Remove(change) => {
                self.leave_groups(id, command.at, &command.caller)?;
                let members = change.group.member_count;
                self.writes.groups.others += usize::try_from(members).unwrap_or(usize::MAX);
                Ok(self.change_group(*change))
            }
        }
    }

    /// The groups that a command makes its user a member of: those that the user left when it was
    /// deleted, if they still exist and have room, in the order of their ids.
    pub(crate) fn groups_to_join(&mut self, act: &UserAct) -> Result<Vec<Group>, CommandError> {
        let UserAct::Restore { id, joins_groups: true } = *act else {
            return Ok(Vec::new());
        };
        let last = self.facts.rows(LAST_EVENT.to_owned(), vec![self.tenant(), id.into()])?;
        let Some(deleted) = last.first() else { return Ok(Vec::new()) };
        let changed = changed_of(deleted.text(0, "events.changed")?);
        let (_, members) = changed.ok_or_else(|| corrupt("events.changed"))?;
        let left: BTreeSet<GroupId> = members.removed.into_iter().collect();
        let mut groups = Vec::with_capacity(left.len());
        if left.is_empty() {
            return Ok(groups);
        }
        for row in
            &*self.facts.rows(groups_of_ids::<F::Dialect>(), vec![list(&left), self.tenant()])?
        {
            let group = row.group()?;
            if group.member_count < GROUP_MEMBERS_MAX {
                groups.push(group);
            }
        }
        groups.sort_by_key(|group| group.id);
        Ok(groups)
    }

    /// The tenant, as a parameter of a statement.
    pub(crate) fn tenant(&self) -> Cell {
        self.facts.tenant().into()
    }

    /// What the decision depends on, in addition to the group itself.
    fn group_facts(&mut self, sketch: &Sketch) -> Result<GroupFacts, CommandError> {
        let id = sketch.id();
        let mut facts = GroupFacts::default();
        let name_holder = match sketch.name_claim() {
            Some(key) => self.group_of_name(&key),
            None => Ok(None),
        };
        if sketch.is_about_members() && !sketch.is_new() {
            facts.present = self.members(id, sketch.named().as_ref())?;
            if sketch.named().is_none() {
                // All members were read, whether or not the command is rejected.
                self.writes.groups.others += facts.present.len();
            }
        }
        if sketch.is_about_members() {
            facts.newcomers = self.newcomers(&sketch.looked_up(&facts.present))?;
        }
        facts.name_holder = name_holder?.filter(|holder| *holder != id);
        let joins = |id: &GroupId| !facts.present.contains(id);
        let groups = facts.newcomers.iter();
        let groups = groups.filter(|(id, of)| of.kind == MemberKind::Group && joins(id));
        let groups: BTreeSet<GroupId> = groups.map(|(id, _)| *id).collect();
        if !groups.is_empty() {
            let above = levels(BTreeSet::from([id]), |front| {
                self.adjacent(groups_above::<F::Dialect>(), front)
            });
            let below = levels(groups, |front| self.adjacent(groups_below::<F::Dialect>(), front));
            facts.nesting = Nesting { above: above?, below: below? };
        }
        Ok(facts)
    }

    /// A group and its stored form.
    fn group(&mut self, id: GroupId) -> Result<Option<(Group, Stored)>, CommandError> {
        let rows = self.facts.rows(GROUP.to_owned(), vec![self.tenant(), id.into()])?;
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(Some((row.group()?, row.stored("groups")?)))
    }

    fn group_of_name(&mut self, key: &str) -> Result<Option<GroupId>, CommandError> {
        let rows = self.facts.rows(GROUP_OF_NAME.to_owned(), vec![self.tenant(), key.into()])?;
        Ok(rows.first().map(|row| row.id(0, "groups.id")).transpose()?)
    }

    /// The members of a group: those of the given ids, or all.
    fn members(
        &mut self,
        group: GroupId,
        among: Option<&BTreeSet<UserId>>,
    ) -> Result<BTreeSet<UserId>, CommandError> {
        let rows = match among {
            Some(ids) => {
                let parameters = vec![list(ids), self.tenant(), group.into()];
                self.facts.rows(members_among::<F::Dialect>(), parameters)
            }
            None => self.facts.rows(ALL_MEMBERS.to_owned(), vec![self.tenant(), group.into()]),
        };
        Ok(ids_of(&rows?)?)
    }

    /// Which of these ids are users or groups, and the number of groups that each is a member of.
    fn newcomers(
        &mut self,
        ids: &BTreeSet<UserId>,
    ) -> Result<BTreeMap<UserId, Newcomer>, CommandError> {
        let mut found = BTreeMap::new();
        if ids.is_empty() {
            return Ok(found);
        }
        for row in &*self.facts.rows(newcomers::<F::Dialect>(), vec![list(ids), self.tenant()])? {
            let groups = row.number(2, "group_members")?.unsigned_abs();
            found.insert(row.id(0, "users.id")?, Newcomer { kind: member_kind(row, 1)?, groups });
        }
        Ok(found)
    }

    /// The groups that a statement returns for these groups.
    fn adjacent(
        &mut self,
        sql: String,
        front: &BTreeSet<GroupId>,
    ) -> Result<Vec<GroupId>, CommandError> {
        let rows = self.facts.rows(sql, vec![list(front), self.tenant()])?;
        Ok(ids_of(&rows)?)
    }
}

/// Walks through the groups level by level.
fn levels(
    start: BTreeSet<GroupId>,
    mut next: impl FnMut(&BTreeSet<GroupId>) -> Result<Vec<GroupId>, CommandError>,
) -> Result<Levels, CommandError> {
    let mut levels = Levels::from(start);
    while let Some(front) = levels.front() {
        let found = next(front)?;
        if !levels.step(found) {
            break;
        }
    }
    Ok(levels)
}

fn list(ids: &BTreeSet<UserId>) -> Cell {
    Cell::Ids(ids.iter().copied().collect())
}

fn ids_of<C: FromIterator<UserId>>(rows: &[Values]) -> Result<C, StoreError> {
    rows.iter().map(|row| row.id(0, "group_members")).collect()
}
