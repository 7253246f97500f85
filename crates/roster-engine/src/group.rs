//! Execution of a command about a group.

use std::collections::BTreeSet;

use roster_core::{
    Effect, GroupCommand, GroupId, MemberKind, StoreError, Stored,
    group::{Facts as GroupFacts, GroupDecision, Levels, Nesting, Sketch, sketch},
};

use crate::{
    batch::{Batch, Executed},
    facts::{CommandError, Facts},
};

impl<F: Facts> Batch<'_, F> {
    pub(crate) fn execute_group(
        &mut self,
        command: &GroupCommand,
    ) -> Result<Executed, CommandError> {
        let id = command.group_id();
        self.writes.groups.others += command.members_named();
        let current =
            if command.is_about_one_that_is_there() { self.facts.group(id)? } else { None };
        let sketch = sketch(self.rules, current.as_ref().map(|stored| &stored.group), command)?;
        let members = current.as_ref().map_or(0, |stored| stored.members);
        let facts = self.group_facts(&sketch, members)?;
        match sketch.settle(&facts)? {
            GroupDecision::Unchanged => {
                let missing = || StoreError::Internal("a group that does not exist".into());
                let current = current.ok_or_else(missing)?;
                let (version, record) = (current.group.version, current.record);
                Ok(self.unchanged(Effect::Unchanged, Stored { id, version, record }))
            }
            GroupDecision::Create(change) | GroupDecision::Replace(change) => {
                Ok(self.change_group(*change))
            }
            GroupDecision::Remove(change) => {
                self.leave_groups(id, command.at, &command.caller)?;
                self.writes.groups.others += usize::try_from(members).unwrap_or(usize::MAX);
                Ok(self.change_group(*change))
            }
        }
    }

    /// What the decision depends on, in addition to the group itself.
    fn group_facts(&mut self, sketch: &Sketch, members: u64) -> Result<GroupFacts, CommandError> {
        let id = sketch.id();
        let mut facts = GroupFacts { members, ..GroupFacts::default() };
        let name_holder = match sketch.name_claim() {
            Some(key) => self.facts.group_of_name(&key),
            None => Ok(None),
        };
        if sketch.is_about_members() && !sketch.is_new() {
            facts.present = self.facts.members(id, sketch.named().as_ref())?;
        }
        if sketch.is_about_members() {
            facts.newcomers = self.facts.newcomers(&sketch.newcomers(&facts.present))?;
        }
        facts.name_holder = name_holder?.filter(|holder| *holder != id);
        let groups = facts.newcomers.iter().filter(|(_, of)| of.kind == MemberKind::Group);
        let groups: BTreeSet<GroupId> = groups.map(|(id, _)| *id).collect();
        if !groups.is_empty() {
            let above = levels(BTreeSet::from([id]), |front| self.facts.groups_above(front));
            let below = levels(groups, |front| self.facts.groups_below(front));
            facts.nesting = Nesting { above: above?, below: below? };
        }
        Ok(facts)
    }
}

/// Walks through the groups level by level.
fn levels(
    start: BTreeSet<GroupId>,
    mut next: impl FnMut(&BTreeSet<GroupId>) -> Result<BTreeSet<GroupId>, CommandError>,
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
