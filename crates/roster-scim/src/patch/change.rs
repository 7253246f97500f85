//! Applies one operation to one attribute.

use roster_core::{Json, Work};

use super::{
    Op, entries, free,
    path::{Part, Target},
    same::Index,
};
use crate::{
    ScimError, ScimType, Strictness,
    schema::{AttributeSchema, Mutability},
    value::{Members, one},
};

/// The value after the operation; `None` if the attribute is absent.
pub(super) fn change<'w>(
    op: Op,
    target: &Target,
    attribute: &'static AttributeSchema,
    current: Option<Json>,
    value: Option<Json>,
    (strictness, work): (Strictness, &'w Work),
    index: &mut Option<Index<'w>>,
) -> Result<Option<Json>, ScimError> {
    if attribute.multi_valued {
        return entries::change(op, target, attribute, current, value, (strictness, work), index);
    }
    match &target.part {
        Some(Part::Free(keys)) => {
            let at = (keys.as_slice(), target.condition.as_ref());
            let changed = free::change(op, at, current, value, (strictness, work))?;
            Ok(changed.and_then(|changed| unless_empty(object(Some(changed)))))
        }
        Some(Part::Known(part)) => {
            let mut members = object(current);
            let had_it = find(&members, part.name).is_some();
            set_part(op, part, &mut members, value, strictness)?;
            // A value without its required part is removed.
            let is_cleared = part.required && had_it && find(&members, part.name).is_none();
            Ok(if is_cleared { None } else { unless_empty(members) })
        }
        None if op == Op::Remove => removed(attribute, current.is_some()),
        None => match given(attribute, value, strictness)? {
            // RFC 7643 section 2.5: null and an empty array mean absent, so this is a removal.
            None if op == Op::Replace => removed(attribute, current.is_some()),
            None => Ok(current),
            // An object with any keys.
            Some(Json::Object(parts)) if attribute.sub_attributes.is_empty() => {
                Ok(unless_empty(free::merged(op, object(current), parts, work)?))
            }
            Some(Json::Object(parts)) => {
                let mut members = object(current);
                merge(op, attribute, &mut members, parts)?;
                Ok(unless_empty(members))
            }
            Some(one) => Ok(Some(one)),
        },
    }
}

/// The value of an operation on an attribute or a part.
pub(super) fn given(
    attribute: &'static AttributeSchema,
    value: Option<Json>,
    strictness: Strictness,
) -> Result<Option<Json>, ScimError> {
    one(attribute, value.unwrap_or(Json::Null), strictness, format_args!("{}", attribute.name))
}

fn removed(attribute: &AttributeSchema, exists: bool) -> Result<Option<Json>, ScimError> {
    // RFC 7644 section 3.5.2.2: a required attribute cannot be removed.
    if attribute.required && exists { Err(required(attribute)) } else { Ok(None) }
}

/// Sets the given parts and keeps the others (RFC 7644 section 3.5.2.3).
pub(super) fn merge(
    op: Op,
    attribute: &AttributeSchema,
    members: &mut Members,
    parts: Members,
) -> Result<(), ScimError> {
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

fn required(attribute: &AttributeSchema) -> ScimError {
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

fn find<'m>(members: &'m [(String, Json)], name: &str) -> Option<&'m Json> {
    super::find(members, name)
}
