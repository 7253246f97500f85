//! The body of a PATCH: its operations, in order.

use roster_core::{Json, limits::PATCH_OPERATIONS_MAX, schema::DeclaredMember};

use crate::{ScimError, ScimType, Strictness, value::is_no_value};

/// The URN of a PATCH request.
pub const PATCH_URN: &str = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Adds values, or sets a single value.
    Add,
    /// Removes values.
    Remove,
    /// Sets values.
    Replace,
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// Its number in the request, from 1.
    pub number: usize,
    /// What it does.
    pub op: Op,
    /// The path; `None` if `value` names the attributes.
    pub path: Option<String>,
    /// The value.
    pub value: Option<Json>,
    /// The declared attribute whose values a condition in the path selects.
    pub declared: Option<Box<DeclaredMember>>,
}

/// Parses a PATCH request.
pub fn read(body: Json, strictness: Strictness) -> Result<Vec<Operation>, ScimError> {
    let mut members = Named::of(body, "the body")?;
    check_schemas(members.take("schemas")?, strictness)?;
    let Some(Json::Array(operations)) = members.take("Operations")? else {
        return Err(no_operations());
    };
    if !members.is_empty() && !strictness.is_tolerant() {
        return Err(unknown_in_body());
    }
    if operations.is_empty() {
        return Err(invalid("send at least one operation"));
    }
    if operations.len() > PATCH_OPERATIONS_MAX {
        return Err(too_many_operations());
    }
    let operations = operations.into_iter().zip(1..);
    operations.map(|(one, number)| operation(one, number, false, strictness)).collect()
}

pub(super) fn unknown_in_body() -> ScimError {
    invalid("the body: unknown member; a PATCH has schemas and Operations")
}

pub(super) fn no_operations() -> ScimError {
    invalid("send Operations, an array of operations")
}

pub(super) fn too_many_operations() -> ScimError {
    let detail = format!("send at most {PATCH_OPERATIONS_MAX} operations at once");
    ScimError::of_status(413, detail)
}

pub(super) fn check_schemas(
    schemas: Option<Json>,
    strictness: Strictness,
) -> Result<(), ScimError> {
    let is_it = |urn: &Json| matches!(urn, Json::Text(urn) if urn.eq_ignore_ascii_case(PATCH_URN));
    match schemas {
        Some(Json::Array(urns)) if urns.iter().any(is_it) => Ok(()),
        _ if strictness.is_tolerant() => Ok(()),
        _ => Err(invalid(format!("send schemas with {PATCH_URN}"))),
    }
}

/// Parses an operation. `has_value` says that it has a value that is read elsewhere.
pub(super) fn operation(
    one: Json,
    number: usize,
    has_value: bool,
    strictness: Strictness,
) -> Result<Operation, ScimError> {
    let label = format!("operation {number}");
    let mut members = Named::of(one, &label)?;
    let op = match members.take("op")? {
        Some(Json::Text(word)) => op(&word, strictness)
            .ok_or_else(|| invalid(format!("{label}: send op as add, remove or replace"))),
        _ => Err(invalid(format!("{label}: send op, one of add, remove and replace"))),
    }?;
    let path = match members.take("path")? {
        None | Some(Json::Null) => None,
        // Some clients send an empty path instead of none.
        Some(Json::Text(path)) if path.is_empty() && strictness.is_tolerant() => None,
        Some(Json::Text(path)) => Some(path),
        Some(_) => {
            let detail = format!("{label}: send path as a string");
            return Err(ScimError::new(ScimType::InvalidPath, detail));
        }
    };
    let value = members.take("value")?;
    // A misspelt value would make a removal one of everything.
    let is_everything = op == Op::Remove && !has_value && is_no_value(value.as_ref());
    if !members.is_empty() && (is_everything || !strictness.is_tolerant()) {
        let detail = format!("{label}: unknown member; an operation has op, path and value");
        return Err(invalid(detail));
    }
    Ok(Operation { number, op, path, value, declared: None })
}

/// Parses `op`. Microsoft Entra capitalises it.
fn op(word: &str, strictness: Strictness) -> Option<Op> {
    let word = if strictness.is_tolerant() { word.to_ascii_lowercase() } else { word.to_owned() };
    match word.as_str() {
        "add" => Some(Op::Add),
        "remove" => Some(Op::Remove),
        "replace" => Some(Op::Replace),
        _ => None,
    }
}

/// The members of an object. Names ignore case (RFC 7643 section 2.1).
pub(super) struct Named<'p> {
    members: Vec<(String, Json)>,
    label: &'p str,
}

impl<'p> Named<'p> {
    pub(super) fn of(json: Json, label: &'p str) -> Result<Self, ScimError> {
        let Json::Object(members) = json else {
            return Err(invalid(format!("{label}: send an object")));
        };
        Ok(Self { members, label })
    }

    /// Whether all members were taken.
    const fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub(super) fn take(&mut self, name: &str) -> Result<Option<Json>, ScimError> {
        let is_it = |(found, _): &(String, Json)| found.eq_ignore_ascii_case(name);
        let taken = self.members.iter().position(is_it).map(|at| self.members.swap_remove(at).1);
        if self.members.iter().any(is_it) {
            return Err(invalid(format!("{}: {name} occurs twice", self.label)));
        }
        Ok(taken)
    }
}

pub(super) fn invalid(detail: impl Into<std::borrow::Cow<'static, str>>) -> ScimError {
    ScimError::new(ScimType::InvalidSyntax, detail)
}
