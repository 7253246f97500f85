//! PATCH of a group: its own attributes, and what becomes of its members.
//!
//! A group may have very many members, so that they are never read for a change: what comes out
//! names those who join and those who leave. Only the ids that the operations name are told.

use std::collections::BTreeSet;

use roster_core::{Json, UserId};

use super::{
    Op, Operation, Patch,
    entries::no_value_of_a_removal,
    path::{Target, alternatives},
    value,
};
use crate::{
    Profile, ScimError, ScimType,
    schema::{AttributeSchema, GROUP},
};

/// A group after the operations.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupPatch {
    /// Its own attributes.
    pub tree: Json,
    /// What becomes of its members.
    pub members: MembersChange,
}

/// What becomes of a group's members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MembersChange {
    /// Whether nobody stays but who is added.
    pub replaces: bool,
    /// Who belongs to the group from now on.
    pub added: BTreeSet<UserId>,
    /// Who belongs to it no more; nobody who is added, and nobody where all are replaced.
    pub removed: BTreeSet<UserId>,
}

impl MembersChange {
    /// Whether all stay as they are.
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

    /// Carries out one operation upon `members`.
    pub(super) fn step(
        &mut self,
        op: Op,
        target: &Target,
        attribute: &'static AttributeSchema,
        value: Option<Json>,
        profile: Profile,
    ) -> Result<(), ScimError> {
        let whole = target.known_part().is_none_or(|part| part.name == "value");
        if let Some(condition) = &target.condition {
            let ids = alternatives(condition, "value").ok_or_else(by_value)?;
            if op != Op::Remove || !whole {
                return Err(whole_alone());
            }
            // Who is no member is removed already, and a text that is no id is nobody's.
            ids.into_iter().filter_map(UserId::parse).for_each(|id| self.remove(id));
            return Ok(());
        }
        if target.part.is_some() {
            return Err(whole_alone());
        }
        match (op, value) {
            (Op::Remove, None | Some(Json::Null)) => self.replace(BTreeSet::new()),
            (Op::Remove, Some(_)) if !profile.is_tolerant() => return Err(no_value_of_a_removal()),
            (Op::Remove, Some(value)) => {
                for text in texts(attribute, value, profile)? {
                    if let Some(id) = UserId::parse(&text) {
                        self.remove(id);
                    }
                }
            }
            (Op::Add, value) => {
                for id in ids(attribute, value.unwrap_or(Json::Null), profile)? {
                    self.add(id);
                }
            }
            (Op::Replace, value) => {
                self.replace(ids(attribute, value.unwrap_or(Json::Null), profile)?);
            }
        }
        Ok(())
    }
}

/// A group's own attributes and its members after the operations. `tree` is the group without its
/// members.
pub fn apply(
    tree: &Json,
    operations: Vec<Operation>,
    profile: Profile,
) -> Result<GroupPatch, ScimError> {
    let mut patch = Patch::new(&GROUP, tree, profile);
    patch.members.retain(|(name, _)| name != "members");
    patch.membership = Some(MembersChange::default());
    let mut patch = patch.carry_out(operations)?;
    let members = patch.membership.take().unwrap_or_default();
    Ok(GroupPatch { tree: patch.resource(), members })
}

fn ids(
    attribute: &'static AttributeSchema,
    value: Json,
    profile: Profile,
) -> Result<BTreeSet<UserId>, ScimError> {
    let id = |text: String| {
        let detail = "the value of a member is the id of a user or of a group";
        UserId::parse(&text).ok_or_else(|| ScimError::new(ScimType::InvalidValue, detail))
    };
    texts(attribute, value, profile)?.into_iter().map(id).collect()
}

/// The `value` of each member that is given.
fn texts(
    attribute: &'static AttributeSchema,
    value: Json,
    profile: Profile,
) -> Result<Vec<String>, ScimError> {
    let value_of = |parts: super::Members| {
        let found = parts.into_iter().find(|(name, _)| name == "value");
        if let Some((_, Json::Text(text))) = found {
            return Ok(text);
        }
        let detail = "every member has a value, which is its id";
        Err(ScimError::new(ScimType::InvalidValue, detail))
    };
    value::many(attribute, value, profile)?.into_iter().map(value_of).collect()
}

fn by_value() -> ScimError {
    let detail = "members are chosen by members[value eq \"...\"]";
    ScimError::new(ScimType::InvalidFilter, detail)
}

fn whole_alone() -> ScimError {
    // RFC 7643 section 4.2: the parts of a member do not change.
    ScimError::new(ScimType::Mutability, "a member is added and removed as a whole")
}
