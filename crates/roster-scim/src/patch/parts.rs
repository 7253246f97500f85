//! The parts of an attribute's value, and the rules for changing them.

use std::collections::HashMap;

use roster_core::{Json, Work};

use super::Op;
use crate::{
    ScimError, ScimType, Strictness,
    schema::{AttributeSchema, Mutability},
    value::{Members, one},
};

/// The value of an operation on an attribute or a part.
pub(crate) fn given(
    attribute: &'static AttributeSchema,
    value: Option<Json>,
    strictness: Strictness,
) -> Result<Option<Json>, ScimError> {
    one(attribute, value.unwrap_or(Json::Null), strictness, format_args!("{}", attribute.name))
}

/// Sets the given parts and keeps the others (RFC 7644 section 3.5.2.3).
pub(super) fn merge(
    op: Op,
    attribute: &AttributeSchema,
    members: &mut Members,
    parts: Members,
) -> Result<(), ScimError> {
    if is_reference(attribute)
        && let Some(id) = find(&parts, "value")
    {
        match (op, id) {
            (Op::Replace, Json::Null) => {
                members.clear();
                return Ok(());
            }
            // An addition removes nothing.
            (_, Json::Null) => {}
            (_, id) if find(members, "value").is_none_or(|known| known == id) => {}
            // The other parts describe another resource.
            _ => members.clear(),
        }
    }
    for (name, value) in parts {
        let part = attribute.sub_attribute(&name);
        if value == Json::Null {
            if op == Op::Replace {
                if part.is_some_and(|part| part.required) {
                    return Err(part.map_or_else(|| required(attribute), required));
                }
                members.retain(|(found, _)| *found != name);
            }
            continue;
        }
        if let Some(part) = part {
            may_change(part, find(members, part.name), &value)?;
        }
        put(members, &name, value);
    }
    Ok(())
}

/// Whether it is one reference to another resource, as the manager is (RFC 7643 section 4.3).
fn is_reference(attribute: &AttributeSchema) -> bool {
    !attribute.multi_valued && attribute.sub_attribute("$ref").is_some()
}

/// Applies an operation to one part of an object.
pub(super) fn set_part(
    op: Op,
    part: &'static AttributeSchema,
    members: &mut Members,
    value: Option<Json>,
    strictness: Strictness,
) -> Result<(), ScimError> {
    let value = match op {
        Op::Remove => None,
        Op::Add | Op::Replace => given(part, value, strictness)?,
    };
    match value {
        Some(value) => {
            may_change(part, find(members, part.name), &value)?;
            put(members, part.name, value);
        }
        None if op == Op::Add => {}
        None if find(members, part.name).is_none() => {}
        None if part.mutability == Mutability::ReadWrite => {
            members.retain(|(found, _)| found != part.name);
        }
        None => return Err(unchangeable(part)),
    }
    Ok(())
}

/// Checks that the part may get this value (RFC 7644 section 3.5.2). An immutable part may be set
/// once.
fn may_change(
    part: &AttributeSchema,
    current: Option<&Json>,
    value: &Json,
) -> Result<(), ScimError> {
    let same = current == Some(value);
    match part.mutability {
        Mutability::ReadWrite | Mutability::WriteOnly => Ok(()),
        Mutability::Immutable if current.is_none() || same => Ok(()),
        Mutability::ReadOnly if same => Ok(()),
        Mutability::Immutable | Mutability::ReadOnly => Err(unchangeable(part)),
    }
}

fn unchangeable(part: &AttributeSchema) -> ScimError {
    let detail = format!("{} cannot be changed after it is set", part.name);
    ScimError::new(ScimType::Mutability, detail)
}

pub(super) fn required(attribute: &AttributeSchema) -> ScimError {
    let detail = format!("{} cannot be removed: send another value", attribute.name);
    ScimError::new(ScimType::Mutability, detail)
}

/// The members of an object; empty for an absent value.
pub(super) fn object(value: Option<Json>) -> Members {
    if let Some(Json::Object(members)) = value { members } else { Vec::new() }
}

/// An object with these members; `None` if there are none.
pub(super) fn unless_empty(members: Members) -> Option<Json> {
    (!members.is_empty()).then_some(Json::Object(members))
}

/// Replaces a member in its position, or appends it.
pub(super) fn put(members: &mut Members, name: &str, value: Json) {
    match members.iter_mut().find(|(found, _)| found == name) {
        Some((_, found)) => *found = value,
        None => members.push((name.to_owned(), value)),
    }
}

pub(super) fn find<'m>(members: &'m [(String, Json)], name: &str) -> Option<&'m Json> {
    members.iter().find(|(found, _)| found == name).map(|(_, value)| value)
}

/// How many members of an object are compared in the time of one comparison.
const MEMBERS_PER_COMPARISON: usize = 8;

/// What is left of a value after a removal with a value. Of an object only the parts are removed
/// that `sent` names too; fails if there are none.
pub(super) fn without(
    attribute: &'static AttributeSchema,
    current: Option<Json>,
    sent: Json,
    (strictness, work): (Strictness, &Work),
) -> Result<Option<Json>, ScimError> {
    if !strictness.is_tolerant() {
        return Err(no_value_of_a_removal());
    }
    let sent = given(attribute, Some(sent), strictness)?;
    match (current, sent) {
        (Some(Json::Object(mut members)), Some(Json::Object(sent))) => {
            work.spend(1 + (members.len() + sent.len()) / MEMBERS_PER_COMPARISON)?;
            let sent: HashMap<&str, &Json> =
                sent.iter().map(|(name, value)| (name.as_str(), value)).collect();
            let is_sent = |(name, value): &(String, Json)| {
                let found = sent.get(name.as_str());
                found.is_some_and(|found| *found == value || **found == Json::Null)
            };
            let is_key =
                |name: &str| attribute.sub_attribute(name).is_some_and(|part| part.required);
            let own = |name: &str| members.iter().find(|(own, _)| own == name).map(|(_, own)| own);
            // A value that is another one is not meant by its parts that are null.
            let named = sent.iter().filter(|(_, value)| ***value != Json::Null);
            let (mut is_other, mut is_same) = (false, false);
            for (name, value) in named {
                let is_equal = own(name) == Some(*value);
                (is_other, is_same) = (is_other || !is_equal, is_same || is_equal);
            }
            if !members.iter().any(is_sent) || is_other && !is_same {
                return Err(different());
            }
            // Without its required part nothing is left of a value.
            let is_whole = members.iter().any(|member| is_key(&member.0) && is_sent(member));
            members.retain(|member| !is_whole && !is_sent(member));
            Ok(unless_empty(members))
        }
        // The path names a single value, whatever it is.
        _ => Ok(None),
    }
}

/// The error of a removal whose value is not where its path leads.
pub(super) fn different() -> ScimError {
    let detail = "no value that the operation names is there";
    ScimError::new(ScimType::InvalidValue, detail)
}

/// RFC 7644 section 3.5.2.2 defines no meaning for a value in a removal, so strict parsing rejects
/// it.
pub(super) fn no_value_of_a_removal() -> ScimError {
    let detail = "remove takes no value: select the values to remove by a condition in the path";
    ScimError::new(ScimType::InvalidSyntax, detail)
}
