//! PATCH of a group: its attributes, and the change of its members.
//!
//! A group may have very many members, so a PATCH does not read them. The result has only the ids
//! that the operations name.

use std::collections::BTreeSet;

use roster_core::{
    Json, UserId, Work,
    json::JsonFault,
    limits::{COMPARISONS_MAX, PATCH_OPERATIONS_MAX},
};

use super::{
    Op, Operation, Patch, dropped,
    parts::{no_value_of_a_removal, object},
    path::{Target, alternatives},
    request::{
        Named, check_schemas, invalid, no_operations, operation, too_many_operations,
        unknown_in_body,
    },
    value_missing,
};
use crate::{
    ScimError, ScimType, Strictness,
    group::{
        each_id, is_like_members, member_id, nearly_members,
        stream::{self, Fault, is_object},
    },
    schema::GROUP,
};

/// The operations of a PATCH, parsed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupOperations {
    /// The operations with their numbers, without what they do to the members.
    operations: Vec<Operation>,
    /// What they do to the members, whatever these are.
    members: MembersChange,
    /// The names of the attributes that no schema has. Tolerant parsing drops them.
    pub dropped: Vec<String>,
}

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
    fn step(
        &mut self,
        op: Op,
        target: &Target,
        value: Option<&[u8]>,
        strictness: Strictness,
    ) -> Result<(), Fault> {
        let whole = target.known_part().is_none_or(|part| part.name == "value");
        if op != Op::Remove && value.is_none() {
            return Err(value_missing().into());
        }
        if let Some(condition) = &target.condition {
            let ids = alternatives(condition, "value").ok_or_else(by_value)?;
            if op != Op::Remove || !whole {
                return Err(parts_are_immutable().into());
            }
            let value = value.filter(|value| *value != b"null" && *value != b"\"\"");
            if value.is_some() && !strictness.is_tolerant() {
                return Err(no_value_of_a_removal().into());
            }
            let mut named = BTreeSet::new();
            each_id(value.unwrap_or(b"[]"), strictness, |id| {
                named.insert(id);
            })?;
            // Ids of no members are ignored: there is nothing to remove.
            let mut ids = ids.into_iter().map(member_id).collect::<Result<BTreeSet<_>, _>>()?;
            if !named.is_empty() {
                ids.retain(|id| named.contains(id));
                if ids.is_empty() {
                    return Err(no_value_of_a_removal().into());
                }
            }
            for id in ids {
                self.remove(id);
            }
            return Ok(());
        }
        if target.part.is_some() {
            return Err(parts_are_immutable().into());
        }
        match (op, value) {
            (Op::Remove, None | Some(b"null")) => self.replace(BTreeSet::new()),
            (Op::Remove, Some(_)) if !strictness.is_tolerant() => {
                return Err(no_value_of_a_removal().into());
            }
            (Op::Remove, Some(value)) => each_id(value, strictness, |id| self.remove(id))?,
            (Op::Add, value) => {
                each_id(value.unwrap_or(b"null"), strictness, |id| self.add(id))?;
            }
            (Op::Replace, value) => {
                let mut ids = BTreeSet::new();
                each_id(value.unwrap_or(b"null"), strictness, |id| {
                    ids.insert(id);
                })?;
                self.replace(ids);
            }
        }
        Ok(())
    }
}

/// Parses the PATCH of a group. Its members are read as they come.
pub fn read(
    text: &[u8],
    strictness: Strictness,
) -> Result<Result<GroupOperations, ScimError>, JsonFault> {
    stream::nested(GroupOperations::read(text, strictness))
}

/// Applies operations to a group. `tree` is the group without its members.
pub fn apply(
    tree: Json,
    patch: &GroupOperations,
    strictness: Strictness,
    work: &Work,
) -> Result<GroupPatch, ScimError> {
    let members = object(Some(tree));
    let resource = Patch::new(&GROUP, members, strictness, work);
    let tree = resource.apply_all(patch.operations.clone())?;
    Ok(GroupPatch { tree, members: patch.members.clone() })
}

impl GroupOperations {
    /// The number of members that are added or removed.
    pub fn members_named(&self) -> usize {
        self.members.added.len() + self.members.removed.len()
    }

    fn read(text: &[u8], strictness: Strictness) -> Result<Self, Fault> {
        if !is_object(text) {
            stream::check(text)?;
            return Err(invalid("the body: send an object").into());
        }
        let (mut others, mut operations) = (Vec::new(), None);
        stream::members(text, |name, value| {
            if name.eq_ignore_ascii_case("Operations") {
                if operations.replace(value).is_some() {
                    return Err(invalid("the body: Operations occurs twice").into());
                }
            } else if name.eq_ignore_ascii_case("schemas") {
                others.push((name, stream::small(value)?));
            } else if !strictness.is_tolerant() {
                return Err(unknown_in_body().into());
            }
            Ok(())
        })?;
        check_schemas(Named::of(Json::Object(others), "the body")?.take("schemas")?, strictness)?;
        let operations = operations.filter(|operations| operations.starts_with(b"["));
        let mut patch = Self::default();
        let mut count = 0;
        stream::items(operations.ok_or_else(no_operations)?, |one| {
            count += 1;
            if count > PATCH_OPERATIONS_MAX {
                return Err(too_many_operations().into());
            }
            patch.read_operation(one, count, strictness)
        })?;
        if count == 0 {
            return Err(invalid("send at least one operation").into());
        }
        let work = Work::new(COMPARISONS_MAX);
        patch.dropped = dropped(&GROUP, &patch.operations, strictness, &work)?;
        Ok(patch)
    }

    fn read_operation(
        &mut self,
        text: &[u8],
        number: usize,
        strictness: Strictness,
    ) -> Result<(), Fault> {
        let (mut others, mut value) = (Vec::new(), None);
        if is_object(text) {
            stream::members(text, |name, sent| {
                if !name.eq_ignore_ascii_case("value") {
                    others.push((name, stream::small(sent)?));
                } else if value.replace(sent).is_some() {
                    let detail = format!("operation {number}: value occurs twice");
                    return Err(invalid(detail).into());
                }
                Ok(())
            })?;
        } else {
            return Err(invalid(format!("operation {number}: send an object")).into());
        }
        let has_value = value.is_some_and(|value| value != b"null");
        let Operation { op, path, .. } =
            operation(Json::Object(others), number, has_value, strictness)?;
        let of_members = self.take_members(op, path.as_deref(), value, strictness);
        let rest = of_members.map_err(|fault| fault.of_operation(number))?;
        if let Rest::Value(value) = rest {
            self.operations.push(Operation { number, op, path, value, declared: None });
        }
        Ok(())
    }

    /// Applies the part of an operation that is about members.
    fn take_members(
        &mut self,
        op: Op,
        path: Option<&str>,
        value: Option<&[u8]>,
        strictness: Strictness,
    ) -> Result<Rest, Fault> {
        let Some(path) = path else {
            let Some(value) = value.filter(|value| is_object(value) && op != Op::Remove) else {
                return Rest::of(value);
            };
            return self.take_object(op, None, value, strictness);
        };
        match Target::parse(&GROUP, path, strictness)? {
            Some(target) if target.is_members() => {
                self.members.step(op, &target, value, strictness)?;
                Ok(Rest::Nothing)
            }
            // The whole schema.
            Some(Target { attribute: None, schema, .. }) => {
                let Some(value) = value.filter(|value| is_object(value)) else {
                    return Rest::of(value);
                };
                self.take_object(op, Some(schema.urn), value, strictness)
            }
            None if is_misspelt(path) => Err(nearly_members().into()),
            Some(_) | None => Rest::of(value),
        }
    }

    /// Applies the members of the group in an object of attributes. The rest is without them.
    fn take_object(
        &mut self,
        op: Op,
        below: Option<&str>,
        value: &[u8],
        strictness: Strictness,
    ) -> Result<Rest, Fault> {
        let mut named = MembersNamed::default();
        let rest = self.without_members(op, below, value, strictness, &mut named)?;
        if named.nearly && !named.exactly {
            return Err(nearly_members().into());
        }
        Ok(Rest::Value(Some(Json::Object(rest))))
    }

    /// The members of an object of attributes, without the members of the group, to which `op` is
    /// applied.
    fn without_members(
        &mut self,
        op: Op,
        below: Option<&str>,
        value: &[u8],
        strictness: Strictness,
        named: &mut MembersNamed,
    ) -> Result<Vec<(String, Json)>, Fault> {
        let mut rest = Vec::new();
        let mut unknown = Vec::new();
        let had_members = named.exactly;
        stream::members(value, |name, sent| {
            let schema = GROUP.schema_of(&name).filter(|_| below.is_none() && is_object(sent));
            if let Some(schema) = schema {
                let inner = self.without_members(op, Some(schema.urn), sent, strictness, named)?;
                rest.push((name, Json::Object(inner)));
                return Ok(());
            }
            match Target::of_member(&GROUP, below, &name, strictness) {
                Ok(Some(target)) if target.is_members() => {
                    let is_whole = target.condition.is_none();
                    if is_whole && std::mem::replace(&mut named.exactly, true) {
                        return Err(invalid("members: it occurs twice").into());
                    }
                    self.members.step(op, &target, Some(sent), strictness)
                }
                Ok(None) => {
                    let path = below.map(|urn| format!("{urn}:{name}"));
                    named.nearly |= is_misspelt(path.as_ref().unwrap_or(&name));
                    unknown.push((name, stream::small(sent)?));
                    Ok(())
                }
                // An error is reported when the operation is applied.
                Ok(Some(_)) | Err(_) => {
                    rest.push((name, stream::small(sent)?));
                    Ok(())
                }
            }
        })?;
        // Below a URN, unknown names are ignored beside members and an error without them.
        if below.is_none() || named.exactly == had_members {
            rest.append(&mut unknown);
        }
        Ok(rest)
    }
}

/// How an object of attributes names the members of the group.
#[derive(Default)]
struct MembersNamed {
    exactly: bool,
    /// By a misspelt name.
    nearly: bool,
}

/// Whether an unknown path is probably a misspelt `members`.
fn is_misspelt(path: &str) -> bool {
    let own = GROUP.split_urn(path, Strictness::Tolerant).map_or(path, |(_, rest)| rest);
    is_like_members(own)
}

/// What is left of an operation without its part about members.
enum Rest {
    Nothing,
    /// An operation with this value.
    Value(Option<Json>),
}

impl Rest {
    fn of(value: Option<&[u8]>) -> Result<Self, Fault> {
        Ok(Self::Value(value.map(stream::small).transpose()?))
    }
}

fn by_value() -> ScimError {
    let detail = "select members by members[value eq \"...\"]";
    ScimError::new(ScimType::InvalidFilter, detail)
}

fn parts_are_immutable() -> ScimError {
    // RFC 7643 section 4.2: the parts of a member do not change.
    ScimError::new(ScimType::Mutability, "a member is added and removed as a whole")
}
