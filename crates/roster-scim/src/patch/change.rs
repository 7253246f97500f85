//! Applies one operation to one attribute.

use roster_core::{Json, Work};

use super::{
    Op, entries, free,
    parts::{find, given, merge, object, required, set_part, unless_empty, without},
    path::{Part, Target},
    same::Index,
};
use crate::{ScimError, Strictness, schema::AttributeSchema, value::is_no_value};

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
    let is_sent = !is_no_value(value.as_ref());
    match &target.part {
        Some(Part::Free(keys)) => {
            let at = (keys.as_slice(), target.condition.as_ref());
            let changed = free::change(op, at, current, value, (strictness, work))?;
            Ok(changed.and_then(|changed| unless_empty(object(Some(changed)))))
        }
        Some(Part::Known(part)) => {
            let mut members = object(current);
            let had_it = find(&members, part.name).is_some();
            if let Some(value) = value.clone().filter(|_| op == Op::Remove && is_sent) {
                without(part, find(&members, part.name).cloned(), value, (strictness, work))?;
            }
            match given(part, value.clone(), strictness)? {
                // A new id is a new reference.
                Some(id) if op != Op::Remove && part.name == "value" => {
                    merge(op, attribute, &mut members, vec![(part.name.to_owned(), id)])?;
                }
                _ => set_part(op, part, &mut members, value, strictness)?,
            }
            // A value without its required part is removed.
            let is_cleared = part.required && had_it && find(&members, part.name).is_none();
            Ok(if is_cleared { None } else { unless_empty(members) })
        }
        None if op == Op::Remove => {
            let exists = current.is_some();
            let rest = match value.filter(|_| is_sent) {
                Some(value) => without(attribute, current, value, (strictness, work))?,
                None => None,
            };
            if rest.is_some() { Ok(rest) } else { removed(attribute, exists) }
        }
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

fn removed(attribute: &AttributeSchema, exists: bool) -> Result<Option<Json>, ScimError> {
    // RFC 7644 section 3.5.2.2: a required attribute cannot be removed.
    if attribute.required && exists { Err(required(attribute)) } else { Ok(None) }
}
