//! Schema extensions that the operator declares (`PUT /schema` of the REST interface).
//!
//! Their attributes are members of `attributes` of the record. They are not in the static attribute
//! tables: a request that names one is changed to name the member of `attributes`, and responses
//! and `/Schemas` get them from the schema of users.

use roster_core::{
    Json, UserSchema,
    user_schema::{DeclaredMember, ValueType},
};

use crate::{
    error::{ScimError, ScimType},
    patch::{Op, Operation},
    schema::{AttributeType, ROSTER_URN},
    strictness::{Strictness, as_flag, as_text},
};

/// A name of a declared extension.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Named<'s> {
    /// The whole extension, by its URN.
    Extension(&'s str),
    /// An attribute of it.
    Attribute(&'s DeclaredMember),
    /// A name that the extension does not declare.
    Unknown(&'s str),
}

/// Resolves `URN` and `URN:attribute`, in any case; `None` if no declared extension has the URN.
pub(crate) fn resolve<'s>(schema: &'s UserSchema, name: &str) -> Option<Named<'s>> {
    let mut found = None;
    for urn in schema.scim_schemas() {
        let Some((start, rest)) = name.split_at_checked(urn.len()) else { continue };
        if !start.eq_ignore_ascii_case(urn) {
            continue;
        }
        if rest.is_empty() {
            return Some(Named::Extension(urn));
        }
        // Several URNs may be a prefix of the name. The one that declares the attribute is used.
        let Some(attribute) = rest.strip_prefix(':') else { continue };
        match schema.scim_member(urn, attribute) {
            Some(member) => return Some(Named::Attribute(member)),
            None => found = Some(Named::Unknown(urn)),
        }
    }
    found
}

/// The declared attribute of this name, in any case, of any extension.
pub(crate) fn without_urn<'s>(schema: &'s UserSchema, name: &str) -> Option<&'s DeclaredMember> {
    let mut shown = schema.members.iter().filter(|member| member.scim_schema.is_some());
    shown.find(|member| member.name.eq_ignore_ascii_case(name))
}

/// The changes of `attributes` that the object of an extension contains: `null` removes. With
/// `is_whole`, attributes that are not in the object are removed. Tolerant parsing drops names that
/// are not declared, and strict parsing rejects them.
pub(crate) fn changes(
    schema: &UserSchema,
    urn: &str,
    value: Json,
    is_whole: bool,
    strictness: Strictness,
    dropped: &mut Vec<String>,
) -> Result<Vec<(String, Json)>, ScimError> {
    let kind = value.kind();
    let Json::Object(sent) = value else {
        let detail = format!("{urn}: send an object, not {kind}");
        return Err(ScimError::new(ScimType::InvalidValue, detail));
    };
    let mut changes: Vec<(String, Json)> = Vec::new();
    for (name, value) in sent {
        if let Some(member) = schema.scim_member(urn, &name) {
            changes.push((member.name.clone(), converted(member, value, strictness)));
        } else {
            unknown(urn, &name, strictness, dropped)?;
        }
    }
    if is_whole {
        for member in schema.scim_members(urn) {
            if changes.iter().all(|(name, _)| *name != member.name) {
                changes.push((member.name.clone(), Json::Null));
            }
        }
    }
    Ok(changes)
}

/// Drops a name that is not declared; strict parsing rejects it.
pub(crate) fn unknown(
    urn: &str,
    name: &str,
    strictness: Strictness,
    dropped: &mut Vec<String>,
) -> Result<(), ScimError> {
    if strictness == Strictness::Strict {
        let detail = format!("{urn}: the schema declares no such attribute");
        return Err(ScimError::new(ScimType::InvalidSyntax, detail));
    }
    dropped.push(format!("{urn}:{name}"));
    Ok(())
}

/// Converts what providers send in place of the declared type. `null` and `[]` are no value.
pub(crate) fn converted(member: &DeclaredMember, value: Json, strictness: Strictness) -> Json {
    if value == Json::Array(Vec::new()) {
        return Json::Null;
    }
    if !strictness.is_tolerant() {
        return value;
    }
    let one = |value: Json| match (member.value_type, value) {
        (ValueType::Boolean, value) => as_flag(value),
        (ValueType::String, value) => as_text(value, strictness),
        (ValueType::Integer | ValueType::Number, Json::Text(text)) => match text.parse() {
            Ok(number) => Json::Int(number),
            Err(_) => Json::Text(text),
        },
        (_, value) => value,
    };
    if !member.multi_valued || value == Json::Null {
        return one(value);
    }
    // A single value is a list of one.
    Json::Array(value.into_values().into_iter().map(one).collect())
}

/// The operations of a PATCH, with declared attributes named as members of `attributes`.
pub fn of_attributes(
    operations: Vec<Operation>,
    schema: &UserSchema,
    strictness: Strictness,
) -> Result<Vec<Operation>, ScimError> {
    if schema.scim_schemas().is_empty() {
        return Ok(operations);
    }
    let mut rewriting = Rewriting { schema, strictness, operations: Vec::new() };
    for operation in operations {
        rewriting.add(operation)?;
    }
    Ok(rewriting.operations)
}

struct Rewriting<'s> {
    schema: &'s UserSchema,
    strictness: Strictness,
    operations: Vec<Operation>,
}

impl Rewriting<'_> {
    fn add(&mut self, operation: Operation) -> Result<(), ScimError> {
        let Operation { op, path, value } = operation;
        match (path, value) {
            (Some(path), value) => match resolve(self.schema, &path) {
                None => self.operations.push(Operation { op, path: Some(path), value }),
                Some(Named::Attribute(member)) => self.change(op, member, value),
                Some(Named::Extension(urn)) => self.change_all(op, urn, value)?,
                Some(Named::Unknown(urn)) => {
                    let detail = format!("{urn}: the schema declares no such attribute");
                    return Err(ScimError::new(ScimType::InvalidPath, detail));
                }
            },
            (None, Some(Json::Object(members))) => {
                let mut others = Vec::new();
                for (name, value) in members {
                    match resolve(self.schema, &name) {
                        Some(Named::Attribute(member)) => self.change(op, member, Some(value)),
                        Some(Named::Extension(urn)) => self.change_all(op, urn, Some(value))?,
                        Some(Named::Unknown(urn)) => {
                            unknown(urn, &name, self.strictness, &mut Vec::new())?;
                        }
                        None => others.push((name, value)),
                    }
                }
                if !others.is_empty() {
                    let value = Some(Json::Object(others));
                    self.operations.push(Operation { op, path: None, value });
                }
            }
            (None, value) => self.operations.push(Operation { op, path: None, value }),
        }
        Ok(())
    }

    fn change(&mut self, op: Op, member: &DeclaredMember, value: Option<Json>) {
        let path = Some(format!("{ROSTER_URN}:attributes.{}", member.name));
        let value = value.map(|value| converted(member, value, self.strictness));
        self.operations.push(Operation { op, path, value });
    }

    fn change_all(&mut self, op: Op, urn: &str, value: Option<Json>) -> Result<(), ScimError> {
        if op == Op::Remove {
            for member in self.schema.scim_members(urn) {
                self.change(op, member, None);
            }
            return Ok(());
        }
        let value = value.unwrap_or(Json::Null);
        let sent = changes(self.schema, urn, value, false, self.strictness, &mut Vec::new())?;
        for (name, value) in sent {
            let path = Some(format!("{ROSTER_URN}:attributes.{name}"));
            self.operations.push(Operation { op, path, value: Some(value) });
        }
        Ok(())
    }
}

/// The type of an attribute in `/Schemas`.
pub(crate) const fn attribute_type(value_type: ValueType) -> AttributeType {
    match value_type {
        ValueType::String => AttributeType::String,
        ValueType::Boolean => AttributeType::Boolean,
        ValueType::Integer => AttributeType::Integer,
        ValueType::Number => AttributeType::Decimal,
        ValueType::DateTime => AttributeType::DateTime,
    }
}
