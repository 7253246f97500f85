//! Applies an operation inside an object with any keys: `attributes` of Roster's extension.
//!
//! The attribute table has no parts for it. Keys are case-sensitive. An array is a list of values.
//! Objects merge key by key, as complex attributes do.

use roster_core::Json;

use super::{
    Op,
    change::{object, put, unless_empty},
};
use crate::ScimError;

/// The object after a change of the value below `keys`.
pub(super) fn change(
    op: Op,
    keys: &[String],
    current: Option<Json>,
    value: Option<Json>,
) -> Result<Option<Json>, ScimError> {
    let Some((key, keys)) = keys.split_first() else {
        return Ok(changed(op, current, value.unwrap_or(Json::Null)));
    };
    let mut members = object(current);
    let at = members.iter().position(|(found, _)| found == key);
    let found = at.and_then(|at| members.get_mut(at));
    let found = found.map(|(_, found)| std::mem::replace(found, Json::Null));
    match (change(op, keys, found, value)?, at) {
        (Some(value), _) => put(&mut members, key, value),
        (None, Some(at)) => drop(members.remove(at)),
        (None, None) => {}
    }
    // A client may store an empty object. A removal that empties an object removes it.
    Ok(if op == Op::Remove { unless_empty(members) } else { Some(Json::Object(members)) })
}

fn changed(op: Op, current: Option<Json>, value: Json) -> Option<Json> {
    match (op, current, value) {
        (Op::Remove, _, _) | (Op::Replace, _, Json::Null) => None,
        (Op::Add, current, Json::Null) => current,
        (Op::Add, Some(Json::Array(items)), value) => Some(appended(items, value)),
        (Op::Add | Op::Replace, Some(Json::Object(mut members)), Json::Object(given)) => {
            for (name, value) in given {
                if value != Json::Null {
                    put(&mut members, &name, value);
                } else if op == Op::Replace {
                    members.retain(|(found, _)| *found != name);
                }
            }
            Some(Json::Object(members))
        }
        (Op::Add | Op::Replace, _, value) => Some(value),
    }
}

/// The items, and the items of the value that are not among them.
fn appended(mut items: Vec<Json>, value: Json) -> Json {
    for one in value.into_values() {
        if !items.contains(&one) {
            items.push(one);
        }
    }
    Json::Array(items)
}
