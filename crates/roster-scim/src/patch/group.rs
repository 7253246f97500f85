//! PATCH of a group: its attributes, and the change of its members.
//!
//! A group may have very many members, so a PATCH does not read them. The result has only the ids
//! that the operations name.

use std::collections::BTreeSet;

use roster_core::{Json, UserId};

use super::{
    Op, Operation, Patch,
    entries::no_value_of_a_removal,
    path::{Target, alternatives},
    value,
};
use crate::{
    ScimError, ScimType, Strictness,
    schema::{AttributeSchema, GROUP},
};

/// The result of a PATCH.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupPatch {
    /// The attributes of the group, except the members.
    pub tree: Json,
    /// The change of its members.
    pub members: MembersChange,
}

/// A change of a group's members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MembersChange {
    /// Whether all members outside `added` are removed.
    pub replaces: bool,
    /// The members to add.
    pub added: BTreeSet<UserId>,
    /// The members to remove. Contains no id of `added`, and is empty if `replaces` is true.
    pub removed: BTreeSet<UserId>,
}

impl MembersChange {
    /// Whether nothing changes.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    fn add(&mut self, id: UserId) {
        self.removed.remove(&id);
        self.added.insert(id);
    }

    fn remove(&mut self, id: UserId) {
        self.added.remove(&id);
        if !self.replaces {
            self.removed.insert(id);
        }
    }

    fn replace(&mut self, ids: BTreeSet<UserId>) {
        *self = Self { replaces: true, added: ids, removed: BTreeSet::new() };
    }

    /// Applies one operation to `members`.
    pub(super) fn step(
        &mut self,
        op: Op,
        target: &Target,
        attribute: &'static AttributeSchema,
        value: Option<Json>,
        strictness: Strictness,
    ) -> Result<(), ScimError> {
        let whole = target.known_part().is_none_or(|part| part.name == "value");
        if let Some(condition) = &target.condition {
            let ids = alternatives(condition, "value").ok_or_else(by_value)?;
            if op != Op::Remove || !whole {
                return Err(parts_are_immutable());
            }
            // Ids of non-members and invalid ids are ignored: there is nothing to remove.
            ids.into_iter().filter_map(UserId::parse).for_each(|id| self.remove(id));
            return Ok(());
        }
        if target.part.is_some() {
            return Err(parts_are_immutable());
        }
        match (op, value) {
            (Op::Remove, None | Some(Json::Null)) => self.replace(BTreeSet::new()),
            (Op::Remove, Some(_)) if !strictness.is_tolerant() => {
                return Err(no_value_of_a_removal());
            }
            (Op::Remove, Some(value)) => {
                for text in texts(attribute, value, strictness)? {
                    if let Some(id) = UserId::parse(&text) {
                        self.remove(id);
                    }
                }
            }
            (Op::Add, value) => {
                for id in ids(attribute, value.unwrap_or(Json::Null), strictness)? {
                    self.add(id);
                }
            }
            (Op::Replace, value) => {
                self.replace(ids(attribute, value.unwrap_or(Json::Null), strictness)?);
            }
        }
        Ok(())
    }
}

/// Applies operations to a group. `tree` is the group without its members.
pub fn apply(
    tree: &Json,
    operations: Vec<Operation>,
    strictness: Strictness,
) -> Result<GroupPatch, ScimError> {
    let mut patch = Patch::new(&GROUP, tree, strictness);
    patch.members.retain(|(name, _)| name != "members");
    patch.membership = Some(MembersChange::default());
    let mut patch = patch.apply_all(operations)?;
    let members = patch.membership.take().unwrap_or_default();
    Ok(GroupPatch { tree: patch.resource(), members })
}

fn ids(
    attribute: &'static AttributeSchema,
    value: Json,
    strictness: Strictness,
) -> Result<BTreeSet<UserId>, ScimError> {
    let id = |text: String| {
        let detail = "send the id of a user or of a group as the value of a member";
        UserId::parse(&text).ok_or_else(|| ScimError::new(ScimType::InvalidValue, detail))
    };
    texts(attribute, value, strictness)?.into_iter().map(id).collect()
}

/// The `value` of each given member.
fn texts(
    attribute: &'static AttributeSchema,
    value: Json,
    strictness: Strictness,
) -> Result<Vec<String>, ScimError> {
    let value_of = |parts: super::Members| {
        let found = parts.into_iter().find(|(name, _)| name == "value");
        if let Some((_, Json::Text(text))) = found {
            return Ok(text);
        }
        let detail = "send the id of each member as its value";
        Err(ScimError::new(ScimType::InvalidValue, detail))
    };
    value::many(attribute, value, strictness)?.into_iter().map(value_of).collect()
}

fn by_value() -> ScimError {
    let detail = "select members by members[value eq \"...\"]";
    ScimError::new(ScimType::InvalidFilter, detail)
}

fn parts_are_immutable() -> ScimError {
    // RFC 7643 section 4.2: the parts of a member do not change.
    ScimError::new(ScimType::Mutability, "a member is added and removed as a whole")
}
