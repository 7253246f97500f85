//! Operations of a PATCH on declared attributes, renamed to operations on members of `attributes`.

use roster_core::{Json, UserSchema, Work, schema::DeclaredMember};

use super::{Op, Operation, parts::no_value_of_a_removal};
use crate::{
    error::{ScimError, ScimType},
    schema::{
        ROSTER_URN, USER,
        declared::{Extensions, Named, changes, converted, undeclared, unknown, without_urn},
    },
    strictness::Strictness,
    value::{below, is_no_value, names_nothing, twice},
};

/// The operations of a PATCH, with declared attributes named as members of `attributes`. Names that
/// a declared extension does not have are added to `dropped`.
pub(crate) fn of_attributes(
    operations: Vec<Operation>,
    schema: &UserSchema,
    strictness: Strictness,
    work: &Work,
    dropped: &mut Vec<String>,
) -> Result<Vec<Operation>, ScimError> {
    if schema.members.iter().all(|member| member.scim_schema.is_none()) {
        return Ok(operations);
    }
    let extensions = Extensions::of(schema);
    let (named, rewritten) = (Vec::new(), Vec::new());
    let mut rewriting = Rewriting {
        extensions,
        strictness,
        work,
        number: 0,
        named,
        operations: rewritten,
        dropped,
    };
    for operation in operations {
        let number = operation.number;
        (rewriting.number, rewriting.named) = (number, Vec::new());
        rewriting.add(operation).map_err(|error| error.of_operation(number))?;
    }
    Ok(rewriting.operations)
}

/// The number of comparisons that an operation on one declared attribute counts as.
const REWRITING_COMPARISONS: usize = 32;

/// Whether it is nothing, a value of a declared attribute, or a list of such values.
fn is_removable(value: &Json) -> bool {
    let is_one = |value: &Json| !matches!(value, Json::Null | Json::Array(_) | Json::Object(_));
    if let Json::Array(items) = value {
        items.iter().all(is_one)
    } else {
        *value == Json::Null || is_one(value)
    }
}

struct Rewriting<'s> {
    extensions: Extensions<'s>,
    strictness: Strictness,
    work: &'s Work,
    /// The number of the operation.
    number: usize,
    /// The attributes to which an operation gives a value.
    named: Vec<String>,
    operations: Vec<Operation>,
    dropped: &'s mut Vec<String>,
}

impl<'s> Rewriting<'s> {
    fn add(&mut self, operation: Operation) -> Result<(), ScimError> {
        let Operation { op, path, value, .. } = operation;
        match (path, value) {
            (Some(path), value) if path.eq_ignore_ascii_case("schemas") => {
                let value = value.map(|value| self.without_declared(value));
                self.push_as_it_is(op, Some(path), value);
            }
            (Some(path), value) => {
                let at = path.find('[').unwrap_or(path.len());
                let (name, condition) = path.split_at_checked(at).unwrap_or((&path, ""));
                match self.resolve(name) {
                    None => {
                        self.refuse_below(&path)?;
                        self.push_as_it_is(op, Some(path), value);
                    }
                    Some(Named::Attribute(member)) => {
                        // The path names a single value, whatever it is.
                        let is_any = op == Op::Remove
                            && !member.multi_valued
                            && self.strictness.is_tolerant()
                            && value.as_ref().is_none_or(is_removable);
                        self.change(op, member, condition, value.filter(|_| !is_any))?;
                    }
                    Some(Named::Extension(urn)) if condition.is_empty() => {
                        self.change_all(op, urn, value)?;
                    }
                    Some(Named::Extension(urn) | Named::Unknown(urn)) => {
                        let detail = format!("{urn}: the schema declares no such attribute");
                        return Err(ScimError::new(ScimType::InvalidPath, detail));
                    }
                }
            }
            (None, Some(Json::Object(members))) => {
                let mut others = Vec::new();
                for (name, value) in members {
                    let at = name.find('[').unwrap_or(name.len());
                    let (whole, condition) = name.split_at_checked(at).unwrap_or((&name, ""));
                    match self.resolve(whole) {
                        Some(Named::Attribute(_)) if !self.strictness.is_tolerant() => {
                            let detail = format!("{name}: send it below the URN of its schema");
                            return Err(ScimError::new(ScimType::InvalidSyntax, detail));
                        }
                        Some(Named::Attribute(member)) => {
                            self.change(op, member, condition, Some(value))?;
                        }
                        Some(Named::Extension(urn)) => self.change_all(op, urn, Some(value))?,
                        Some(Named::Unknown(urn)) => {
                            let known = &self.extensions;
                            unknown(known, urn, &name, self.strictness, self.dropped)?;
                        }
                        None if name.eq_ignore_ascii_case("schemas") => {
                            others.push((name, self.without_declared(value)));
                        }
                        None => {
                            self.refuse_below(&name)?;
                            others.push((name, value));
                        }
                    }
                }
                if !others.is_empty() {
                    let value = Some(Json::Object(others));
                    self.push_as_it_is(op, None, value);
                }
            }
            (None, value) => self.push_as_it_is(op, None, value),
        }
        Ok(())
    }

    /// The value of `schemas` without the URNs of declared extensions, which are known.
    fn without_declared(&self, schemas: Json) -> Json {
        let Json::Array(mut urns) = schemas else { return schemas };
        let is_declared =
            |urn: &str| matches!(self.extensions.resolve(urn), Some(Named::Extension(_)));
        urns.retain(|urn| !matches!(urn, Json::Text(urn) if is_declared(urn)));
        Json::Array(urns)
    }

    /// Resolves a name. In tolerant parsing an attribute needs no URN, if no other has the name.
    fn resolve(&self, name: &str) -> Option<Named<'s>> {
        let named = self.extensions.resolve(name);
        if named.is_some() || !self.strictness.is_tolerant() || name.contains(':') {
            return named;
        }
        let first = name.split('.').next().unwrap_or_default();
        if USER.schema.attribute(first).is_some() || USER.extension_with(first).is_some() {
            return None;
        }
        without_urn(self.extensions.schema, name).map(Named::Attribute)
    }

    /// Rejects a path below a declared attribute that leads to nothing.
    fn refuse_below(&self, path: &str) -> Result<(), ScimError> {
        let first = path.split(['.', '[']).next().unwrap_or_default();
        if first.len() == path.len() {
            return Ok(());
        }
        match self.resolve(first) {
            Some(Named::Attribute(member)) => Err(below(&member.name)),
            Some(Named::Extension(_) | Named::Unknown(_)) | None => Ok(()),
        }
    }

    fn change(
        &mut self,
        op: Op,
        member: &DeclaredMember,
        condition: &str,
        value: Option<Json>,
    ) -> Result<(), ScimError> {
        if op == Op::Remove && value.as_ref().is_some_and(names_nothing) {
            return if self.strictness.is_tolerant() {
                Ok(())
            } else {
                Err(no_value_of_a_removal())
            };
        }
        // The empty text is no value of a list; without a value the whole list would be removed.
        let is_empty = value.as_ref().is_some_and(Json::is_empty_text);
        if op == Op::Remove && member.multi_valued && is_empty {
            let detail = format!("{}: send the values to remove", member.name);
            return Err(ScimError::new(ScimType::InvalidValue, detail));
        }
        let is_of_one = op != Op::Remove && !condition.is_empty();
        let is_none = |value: &Json| [Json::Null, Json::Array(Vec::new())].contains(value);
        let is_sent = value.as_ref().is_some_and(|value| !is_none(value));
        let value = value.map(|value| {
            // A condition selects single values of the list.
            let multi_valued = member.multi_valued && !is_of_one;
            let member = DeclaredMember { multi_valued, ..member.clone() };
            converted(&member, value, self.strictness)
        });
        if is_of_one && is_sent && value == Some(Json::Null) {
            let detail = format!("{}: send a value", member.name);
            return Err(ScimError::new(ScimType::InvalidValue, detail));
        }
        // Core checks what is stored, and this is not stored.
        if op == Op::Remove && !value.as_ref().is_none_or(is_removable) {
            let detail = format!("{}: send the values to remove", member.name);
            return Err(ScimError::new(ScimType::InvalidValue, detail));
        }
        self.push(op, member, condition, value)
    }

    fn push_as_it_is(&mut self, op: Op, path: Option<String>, value: Option<Json>) {
        self.operations.push(Operation { number: self.number, op, path, value, declared: None });
    }

    fn push(
        &mut self,
        op: Op,
        member: &DeclaredMember,
        condition: &str,
        value: Option<Json>,
    ) -> Result<(), ScimError> {
        let name = member.name.as_str();
        self.work.spend(REWRITING_COMPARISONS)?;
        if condition.is_empty() && value.is_some() {
            if self.named.iter().any(|known| known == name) {
                return Err(twice(name));
            }
            self.named.push(name.to_owned());
        }
        let path = Some(format!("{ROSTER_URN}:attributes.{name}{condition}"));
        let declared = (!condition.is_empty()).then(|| Box::new(member.clone()));
        self.operations.push(Operation { number: self.number, op, path, value, declared });
        Ok(())
    }

    fn change_all(&mut self, op: Op, urn: &'s str, value: Option<Json>) -> Result<(), ScimError> {
        let value = value.unwrap_or(Json::Null);
        let is_sent = !is_no_value(Some(&value));
        if op == Op::Remove && (is_sent || names_nothing(&value)) {
            if !self.strictness.is_tolerant() {
                return Err(no_value_of_a_removal());
            }
            if names_nothing(&value) {
                return Ok(());
            }
        }
        if op == Op::Remove && is_sent {
            return self.remove_all(urn, value);
        }
        if op != Op::Add && !is_sent {
            for member in self.extensions.schema.scim_members(urn) {
                self.push(Op::Remove, member, "", None)?;
            }
            return Ok(());
        }
        let extensions = &self.extensions;
        let sent = changes(extensions, urn, value, self.strictness, self.dropped)?;
        for (member, value) in sent {
            let value = converted(member, value, self.strictness);
            self.push(op, member, "", Some(value))?;
        }
        Ok(())
    }

    /// Removes the values that an object of an extension names.
    fn remove_all(&mut self, urn: &'s str, value: Json) -> Result<(), ScimError> {
        let Json::Object(members) = value else {
            let detail = format!("{urn}: send an object, not {}", value.kind());
            return Err(ScimError::new(ScimType::InvalidValue, detail));
        };
        let mut is_readable = false;
        for (name, value) in members {
            match self.extensions.member(urn, &name) {
                Some(member) => {
                    is_readable = true;
                    self.change(Op::Remove, member, "", Some(value))?;
                }
                None => {
                    unknown(&self.extensions, urn, &name, self.strictness, self.dropped)?;
                }
            }
        }
        if is_readable { Ok(()) } else { Err(undeclared(urn)) }
    }
}
