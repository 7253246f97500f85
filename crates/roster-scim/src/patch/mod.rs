//! PATCH (RFC 7644 section 3.5.2), including the deviations of identity providers.
//!
//! A pure function of a resource and operations returns the new resource. Operations are applied to
//! a copy, in order; if one fails, none has an effect. The result has the form that the attribute
//! table describes. Core validates it as it validates a PUT.
//!
//! The operations, the values of the resource and the tests of a path can all be many. So each step
//! whose length a caller chooses is counted in a [`Work`] before it is done.

mod change;
mod complete;
mod declared;
mod dropped;
mod entries;
mod free;
pub mod group;
mod parts;
mod path;
mod request;
mod same;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use roster_core::{Json, Work};

pub(crate) use declared::of_attributes;
pub(crate) use dropped::dropped;
pub(crate) use parts::given;
pub use request::{Op, Operation, PATCH_URN, read};

use crate::{
    ResourceType, ScimError, ScimType, Strictness,
    schema::{AttributeSchema, Mutability, Schema},
    value::{Members, is_no_value, names_nothing, twice, unknown},
    work_email,
};
use complete::{Idle, idle, idle_types, is_complete};
use parts::{different, find, no_value_of_a_removal, object, put};
use path::{Part, Target};
use same::Index;

/// How many bytes of JSON are read in the time of one comparison.
const BYTES_PER_COMPARISON: usize = 8;
/// The attribute of e-mail addresses.
const EMAILS: &str = "emails";
/// The number of comparisons that the search for the attribute of a path takes.
const SEARCH_COMPARISONS: usize = 8;

/// The resource after the operations. If they change nothing, it equals `tree`.
pub fn apply(
    resource_type: &'static ResourceType,
    tree: Json,
    operations: Vec<Operation>,
    strictness: Strictness,
    work: &Work,
) -> Result<Json, ScimError> {
    let members = object(Some(tree));
    let patch = Patch::new(resource_type, members, strictness, work);
    patch.apply_all(operations)
}

/// The number of comparisons that reading a value of this many bytes of JSON counts as.
const fn cost(bytes: usize) -> usize {
    1 + bytes / BYTES_PER_COMPARISON
}

/// A resource while operations are applied to it.
struct Patch<'w> {
    resource_type: &'static ResourceType,
    strictness: Strictness,
    work: &'w Work,
    members: Members,
    /// The idle entries that were there before or were sent as entries.
    idle: Idle,
    /// The attributes that the `value` of the operation has named, by schema and name; the empty
    /// name is all of an extension.
    in_value: HashMap<(&'static str, &'static str), NamedParts>,
    /// The values of the list to which the operation before added some.
    index: Option<Index<'w>>,
    /// The addresses without a type that have the type of responses until the end.
    untyped: HashSet<String>,
}

/// Parts of an attribute, by the condition that selects their values; the empty part is the whole.
type NamedParts = HashMap<Option<String>, HashSet<String>>;

/// Where the operation names its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    /// In `path`.
    ByPath,
    /// As a member of `value`. As in a body, read-only attributes may occur.
    InValue,
}

impl<'w> Patch<'w> {
    fn new(
        resource_type: &'static ResourceType,
        members: Members,
        strictness: Strictness,
        work: &'w Work,
    ) -> Self {
        let (idle, in_value) = (idle(resource_type.schema, &members), HashMap::new());
        let (index, untyped) = (None, HashSet::new());
        Self { resource_type, strictness, work, members, idle, in_value, index, untyped }
    }

    fn apply_all(mut self, operations: Vec<Operation>) -> Result<Json, ScimError> {
        for operation in operations {
            let number = operation.number;
            self.step(operation).map_err(|error| error.of_operation(number))?;
            self.show_type()?;
        }
        if let Some((_, emails)) = self.members.iter_mut().find(|(name, _)| name == EMAILS) {
            work_email::remove_type(emails, |address| self.untyped.contains(address));
        }
        self.normalize()?;
        Ok(Json::Object(self.members))
    }

    /// Shows a new primary address without a type to the next operation as a response shows it.
    fn show_type(&mut self) -> Result<(), ScimError> {
        let emails = self.members.iter_mut().find(|(name, _)| name == EMAILS);
        let Some((_, emails)) = emails else { return Ok(()) };
        if let Json::Array(entries) = &emails {
            self.work.spend(entries.len() / BYTES_PER_COMPARISON)?;
        }
        if let Some(address) = work_email::add_type(emails) {
            self.untyped.insert(address);
            self.index = None;
        }
        Ok(())
    }

    fn step(&mut self, operation: Operation) -> Result<(), ScimError> {
        let Operation { op, path, value, declared, .. } = operation;
        self.work.spend(cost(value.as_ref().map_or(0, Json::size)))?;
        self.in_value.clear();
        let Some(path) = path else { return self.apply_members(op, None, value) };
        self.work.spend(SEARCH_COMPARISONS + cost(path.len()))?;
        let declared = declared.as_deref();
        match Target::parse_with(self.resource_type, &path, self.strictness, declared)? {
            Some(target) => self.apply_to(op, &target, value, Named::ByPath),
            // Unknown attributes are ignored in tolerant parsing.
            None => Ok(()),
        }
    }

    /// Applies `op` to each member of `value`, below the URN of a schema if one is given.
    fn apply_members(
        &mut self,
        op: Op,
        below: Option<&'static Schema>,
        value: Option<Json>,
    ) -> Result<(), ScimError> {
        if op == Op::Remove && below.is_none() {
            return Err(ScimError::new(ScimType::NoTarget, "name what to remove in path"));
        }
        let Some(Json::Object(members)) = value else {
            let detail = "send value as an object of attributes";
            return Err(ScimError::new(ScimType::InvalidValue, detail));
        };
        let mut names = HashSet::new();
        // A schema of which no name is known is an error, as in a body.
        let mut is_readable = members.is_empty() || below.is_none();
        for (name, value) in members {
            if !names.insert(name.to_ascii_lowercase()) {
                let detail = format!("value has {name} twice");
                return Err(ScimError::new(ScimType::InvalidSyntax, detail));
            }
            let schema = self.resource_type.schema_of(&name).filter(|_| below.is_none());
            if let Some(schema) = schema {
                match (op, value) {
                    (Op::Replace, Json::Null) if !self.is_main(schema) => {
                        self.must_be_only(schema)?;
                        self.whole_schema(Op::Remove, schema, None)?;
                    }
                    (_, Json::Null) => {}
                    (_, value) => self.apply_members(op, Some(schema), Some(value))?,
                }
                continue;
            }
            let below = below.map(|schema| schema.urn);
            self.work.spend(SEARCH_COMPARISONS + cost(below.map_or(0, str::len) + name.len()))?;
            let target = Target::of_member(self.resource_type, below, &name, self.strictness)?;
            if let Some(target) = target {
                is_readable = true;
                self.must_be_first(&target, &value)?;
                if op == Op::Remove {
                    self.must_be(&target, &value)?;
                }
                self.apply_to(op, &target, Some(value), Named::InValue)?;
            }
        }
        match below.filter(|_| !is_readable) {
            Some(schema) => Err(unknown(schema.urn, schema.attributes)),
            None => Ok(()),
        }
    }

    fn apply_to(
        &mut self,
        op: Op,
        target: &Target,
        value: Option<Json>,
        named: Named,
    ) -> Result<(), ScimError> {
        let value = match (op, value) {
            (Op::Add | Op::Replace, None) => return Err(value_missing()),
            (_, value) => value,
        };
        let Some(attribute) = target.attribute else {
            return self.whole_schema(op, target.schema, value);
        };
        if attribute.mutability == Mutability::ReadOnly {
            return self.read_only(op, target, attribute, value, named);
        }
        if op == Op::Remove && value.as_ref().is_some_and(names_nothing) {
            let is_one = !attribute.multi_valued && !attribute.is_complex();
            if !self.strictness.is_tolerant() {
                return Err(no_value_of_a_removal());
            }
            if !is_one {
                return Ok(());
            }
        }
        let is_list = op != Op::Remove && target.condition.is_none() && target.part.is_none();
        let before = match self.current(target.schema, attribute) {
            found if is_list && op == Op::Add => idle_types(attribute, found),
            _ => Vec::new(),
        };
        let how = (self.strictness, self.work);
        let mut index = self.index.take();
        self.within(target.schema, |members| {
            let at = members.iter().position(|(name, _)| name == attribute.name);
            // The position is kept, so a changed order of members is not a change.
            let found = at.and_then(|at| members.get_mut(at));
            let current = found.map(|(_, value)| std::mem::replace(value, Json::Null));
            match (change::change(op, target, attribute, current, value, how, &mut index)?, at) {
                (Some(changed), _) => put(members, attribute.name, changed),
                (None, Some(at)) => drop(members.remove(at)),
                (None, None) => {}
            }
            Ok::<_, ScimError>(())
        })?;
        self.index = index;
        if is_list {
            let now = idle_types(attribute, self.current(target.schema, attribute));
            let sent = now.into_iter().filter(|known| !before.contains(known));
            self.idle.extend(sent.map(|known| (attribute.name, known)));
        }
        Ok(())
    }

    /// Fails if `value` has named the attribute, the part or the whole of it before.
    fn must_be_first(&mut self, target: &Target, value: &Json) -> Result<(), ScimError> {
        let attribute = target.attribute.filter(|it| it.mutability != Mutability::ReadOnly);
        let Some(attribute) = attribute else { return Ok(()) };
        if self.in_value.contains_key(&(target.schema.urn, "")) {
            return Err(twice(attribute.name));
        }
        let known = self.in_value.entry((target.schema.urn, attribute.name)).or_default();
        let condition = target.condition.as_ref().map(|condition| format!("{condition:?}"));
        let has_other = match &condition {
            Some(_) => known.contains_key(&None),
            None => known.keys().any(Option::is_some),
        };
        let known = known.entry(condition).or_default();
        let mut name = |part: String| {
            let is_clash = known.contains("") || (part.is_empty() && !known.is_empty());
            if has_other || is_clash || !known.insert(part) {
                Err(twice(attribute.name))
            } else {
                Ok(())
            }
        };
        match (&target.part, value) {
            (Some(Part::Known(part)), _) => name(part.name.to_owned()),
            (Some(Part::Free(keys)), _) => name(keys.join(".")),
            (None, Json::Object(parts)) if !attribute.multi_valued => {
                parts.iter().try_for_each(|(part, _)| name(as_known(attribute, part)))
            }
            // The id of a manager as a text.
            (None, Json::Text(_)) if attribute.is_complex() && !attribute.multi_valued => {
                name("value".to_owned())
            }
            (None, _) => name(String::new()),
        }
    }

    /// Fails if `value` has named an attribute of an extension before, which it removes as a whole.
    fn must_be_only(&mut self, schema: &'static Schema) -> Result<(), ScimError> {
        let has_any = self.in_value.keys().any(|(urn, _)| *urn == schema.urn);
        self.in_value.insert((schema.urn, ""), NamedParts::new());
        if has_any { Err(twice(schema.urn)) } else { Ok(()) }
    }

    /// Fails if a single value to remove is not the one that is there.
    fn must_be(&self, target: &Target, sent: &Json) -> Result<(), ScimError> {
        let Some(attribute) = target.attribute.filter(|it| !it.multi_valued && !it.is_complex())
        else {
            return Ok(());
        };
        let sent = given(attribute, Some(sent.clone()), self.strictness)?;
        match (self.current(target.schema, attribute), sent) {
            (Some(current), Some(sent)) if *current != sent => Err(different()),
            _ => Ok(()),
        }
    }

    /// Changes an extension as a whole.
    fn whole_schema(
        &mut self,
        op: Op,
        schema: &'static Schema,
        value: Option<Json>,
    ) -> Result<(), ScimError> {
        let is_sent = !is_no_value(value.as_ref());
        let names_nothing = value.as_ref().is_some_and(names_nothing);
        if op == Op::Remove && (is_sent || names_nothing) && !self.strictness.is_tolerant() {
            return Err(no_value_of_a_removal());
        }
        if op == Op::Remove && names_nothing {
            return Ok(());
        }
        if is_sent {
            return self.apply_members(op, Some(schema), value);
        }
        if op == Op::Add {
            return Ok(());
        }
        if self.is_main(schema) {
            let detail = "the schema of a resource cannot be removed: name its attributes";
            return Err(ScimError::new(ScimType::Mutability, detail));
        }
        let writable = |name: &str| {
            schema.attribute(name).is_some_and(|it| it.mutability != Mutability::ReadOnly)
        };
        self.index = None;
        self.within(schema, |members| members.retain(|(name, _)| !writable(name)));
        Ok(())
    }

    /// Rejects a change of a read-only attribute. The current value is accepted, because clients
    /// send back what they read.
    fn read_only(
        &self,
        op: Op,
        target: &Target,
        attribute: &AttributeSchema,
        value: Option<Json>,
        named: Named,
    ) -> Result<(), ScimError> {
        let fault = || {
            let detail = format!("{} is read-only; leave it out", attribute.name);
            ScimError::new(ScimType::Mutability, detail)
        };
        let value = value.unwrap_or(Json::Null);
        if op == Op::Remove {
            return Err(fault());
        }
        if attribute.name == "schemas" {
            return self.known_schemas(&value);
        }
        // An old copy has old versions and groups, which are ignored. The id never changes.
        if named == Named::InValue && self.strictness.is_tolerant() && attribute.name != "id" {
            return Ok(());
        }
        let mut current = self.current(target.schema, attribute);
        if let Some(part) = target.known_part() {
            current = current.and_then(|current| current.member(part.name));
        }
        let same = match (current, &value) {
            // An id is read in any case (RFC 9562 section 4).
            (Some(Json::Text(id)), Json::Text(sent)) if attribute.name == "id" => {
                id.eq_ignore_ascii_case(sent)
            }
            (Some(current), _) => is_within(&value, current),
            (None, _) => value == Json::Null,
        };
        if same { Ok(()) } else { Err(fault()) }
    }

    /// Accepts known URNs: `schemas` is computed from the attributes of the resource.
    fn known_schemas(&self, value: &Json) -> Result<(), ScimError> {
        let is_known = |urn: &str| self.resource_type.schema_of(urn).is_some();
        let known = |urn: &Json| matches!(urn, Json::Text(urn) if is_known(urn));
        let all_known =
            if let Json::Array(urns) = value { urns.iter().all(known) } else { known(value) };
        if all_known || self.strictness.is_tolerant() {
            return Ok(());
        }
        Err(ScimError::new(ScimType::InvalidValue, "schemas has an unknown URN"))
    }

    fn current(&self, schema: &Schema, attribute: &AttributeSchema) -> Option<&Json> {
        let root =
            find(&self.members, if self.is_main(schema) { attribute.name } else { schema.urn })?;
        if self.is_main(schema) { Some(root) } else { root.member(attribute.name) }
    }

    /// Changes the object that contains the attributes of a schema.
    fn within<T>(&mut self, schema: &Schema, change: impl FnOnce(&mut Members) -> T) -> T {
        if self.is_main(schema) {
            return change(&mut self.members);
        }
        let found = self.members.iter_mut().find(|(name, _)| name == schema.urn);
        let taken = found.map(|(_, value)| std::mem::replace(value, Json::Null));
        let mut members = object(taken);
        let done = change(&mut members);
        put(&mut self.members, schema.urn, Json::Object(members));
        done
    }

    fn is_main(&self, schema: &Schema) -> bool {
        schema.urn == self.resource_type.schema.urn
    }

    /// Normalizes the result: removes incomplete values and empty extensions, and updates `schemas`
    /// (RFC 7644 section 3.5.2).
    fn normalize(&mut self) -> Result<(), ScimError> {
        let strictness = self.strictness;
        let idle = std::mem::take(&mut self.idle);
        for schema in self.resource_type.schemas() {
            if !self.is_main(schema) && find(&self.members, schema.urn).is_none() {
                continue;
            }
            self.within(schema, |members| {
                for attribute in schema.attributes {
                    let at = members.iter().position(|(name, _)| name == attribute.name);
                    let value = at.and_then(|at| members.get_mut(at)).map(|(_, value)| value);
                    let Some((at, value)) = at.zip(value) else { continue };
                    if !is_complete(attribute, value, &idle, strictness)? {
                        members.remove(at);
                    }
                }
                Ok::<_, ScimError>(())
            })?;
        }
        for extension in self.resource_type.extensions {
            let is_it = |(name, _): &(String, Json)| name == extension.urn;
            self.members.retain(|member| {
                !is_it(member) || !matches!(&member.1, Json::Object(members) if members.is_empty())
            });
            self.name_schema(extension.urn, self.members.iter().any(is_it));
        }
        Ok(())
    }

    fn name_schema(&mut self, urn: &'static str, exists: bool) {
        let schemas = self.members.iter_mut().find(|(name, _)| name == "schemas");
        let Some((_, Json::Array(urns))) = schemas else { return };
        let is_it = |known: &Json| matches!(known, Json::Text(known) if known == urn);
        if !exists {
            urns.retain(|known| !is_it(known));
        } else if !urns.iter().any(is_it) {
            urns.push(Json::Text(urn.to_owned()));
        }
    }
}

/// The name of a part in its own letters. Keys of an object with any keys have no others.
fn as_known(attribute: &AttributeSchema, part: &str) -> String {
    attribute.sub_attribute(part).map_or(part, |part| part.name).to_owned()
}

fn value_missing() -> ScimError {
    ScimError::new(ScimType::InvalidValue, "send the value to set, or null for no value")
}

/// Whether `current` contains everything that is given.
fn is_within(given: &Json, current: &Json) -> bool {
    match (given, current) {
        (Json::Object(given), Json::Object(current)) => given.iter().all(|(name, value)| {
            let found = current.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            found.map_or(*value == Json::Null, |(_, found)| is_within(value, found))
        }),
        (given, current) => given == current,
    }
}
