//! The body of a PATCH: its operations, in order.

use roster_core::{Json, limits::PATCH_OPERATIONS_MAX};

use crate::{Profile, ScimError, ScimType};

/// The URN of a PATCH's body.
pub const PATCH_URN: &str = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Adds values, or sets the one.
    Add,
    /// Removes values.
    Remove,
    /// Sets values.
    Replace,
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// What it does.
    pub op: Op,
    /// To what; `None` where `value` names it.
    pub path: Option<String>,
    /// With what.
    pub value: Option<Json>,
}

/// Reads the body of a PATCH.
pub fn read(body: Json, profile: Profile) -> Result<Vec<Operation>, ScimError> {
    let mut members = Named::of(body, "the body")?;
    check_schemas(members.take("schemas")?, profile)?;
    let Some(Json::Array(operations)) = members.take("Operations")? else {
        return Err(invalid("send Operations, an array of operations"));
    };
    if operations.is_empty() {
        return Err(invalid("send at least one operation"));
    }
    if operations.len() > PATCH_OPERATIONS_MAX {
        let detail = format!("send at most {PATCH_OPERATIONS_MAX} operations at once");
        return Err(ScimError::of_status(413, detail));
    }
    let operations = operations.into_iter().zip(1..);
    operations.map(|(one, number)| operation(one, number, profile)).collect()
}

fn check_schemas(schemas: Option<Json>, profile: Profile) -> Result<(), ScimError> {
    let is_it = |urn: &Json| matches!(urn, Json::Text(urn) if urn.eq_ignore_ascii_case(PATCH_URN));
    match schemas {
        Some(Json::Array(urns)) if urns.iter().any(is_it) => Ok(()),
        _ if profile.is_tolerant() => Ok(()),
        _ => Err(invalid(format!("send schemas with {PATCH_URN}"))),
    }
}

fn operation(one: Json, number: usize, profile: Profile) -> Result<Operation, ScimError> {
    let place = format!("operation {number}");
    let mut members = Named::of(one, &place)?;
    let op = match members.take("op")? {
        Some(Json::Text(word)) => op(&word, profile)
            .ok_or_else(|| invalid(format!("{place}: op is add, remove or replace"))),
        _ => Err(invalid(format!("{place}: give op, which is add, remove or replace"))),
    }?;
    let path = match members.take("path")? {
        None | Some(Json::Null) => None,
        // Some clients send an empty path for none.
        Some(Json::Text(path)) if path.is_empty() && profile.is_tolerant() => None,
        Some(Json::Text(path)) => Some(path),
        Some(_) => {
            let detail = format!("{place}: path is a string");
            return Err(ScimError::new(ScimType::InvalidPath, detail));
        }
    };
    Ok(Operation { op, path, value: members.take("value")? })
}

/// The operation of a word: Microsoft Entra capitalises it.
fn op(word: &str, profile: Profile) -> Option<Op> {
    let word = if profile.is_tolerant() { word.to_ascii_lowercase() } else { word.to_owned() };
    match word.as_str() {
        "add" => Some(Op::Add),
        "remove" => Some(Op::Remove),
        "replace" => Some(Op::Replace),
        _ => None,
    }
}

/// The members of an object, found without regard to case (RFC 7643 section 2.1).
struct Named<'p> {
    members: Vec<(String, Json)>,
    place: &'p str,
}

impl<'p> Named<'p> {
    fn of(json: Json, place: &'p str) -> Result<Self, ScimError> {
        let Json::Object(members) = json else {
            return Err(invalid(format!("{place} is an object")));
        };
        Ok(Self { members, place })
    }

    fn take(&mut self, name: &str) -> Result<Option<Json>, ScimError> {
        let is_it = |(found, _): &(String, Json)| found.eq_ignore_ascii_case(name);
        let taken = self.members.iter().position(is_it).map(|at| self.members.swap_remove(at).1);
        if self.members.iter().any(is_it) {
            return Err(invalid(format!("{}: {name} stands twice", self.place)));
        }
        Ok(taken)
    }
}

fn invalid(detail: impl Into<std::borrow::Cow<'static, str>>) -> ScimError {
    ScimError::new(ScimType::InvalidSyntax, detail)
}
