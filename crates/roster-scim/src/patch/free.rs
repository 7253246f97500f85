//! Applies an operation inside an object with any keys: `attributes` of Roster's extension.
//!
//! The attribute table has no parts for it. Keys are case-sensitive. An array is a list of values.
//! Objects merge key by key, as complex attributes do.

use std::collections::HashMap;

use roster_core::{Json, TooMuchWork, Work};

use super::{
    Op, cost,
    parts::{different, no_value_of_a_removal, object, put, unless_empty},
    path::{Condition, matches},
};
use crate::{
    ScimError, ScimType, Strictness,
    value::{Members, distinct, is_no_value},
};

/// How many names are compared in the time of one comparison of values.
const NAMES_PER_COMPARISON: usize = 16;

/// The object after a change of the value below `keys`. The condition selects values of an array.
pub(super) fn change(
    op: Op,
    (keys, condition): (&[String], Option<&Condition>),
    current: Option<Json>,
    value: Option<Json>,
    how: (Strictness, &Work),
) -> Result<Option<Json>, ScimError> {
    let (strictness, work) = how;
    let Some((key, keys)) = keys.split_first() else {
        let value = value.unwrap_or(Json::Null);
        return match condition {
            Some(condition) => selected(op, condition, current, &value, how),
            None if op == Op::Remove => removed(current, value, strictness, work),
            None => Ok(changed(op, current, value, work)?),
        };
    };
    if let Some(other) = current.as_ref().filter(|value| !matches!(value, Json::Object(_))) {
        // Nothing is below it.
        if op == Op::Remove || value.as_ref().is_none_or(|value| *value == Json::Null) {
            return Ok(Some(other.clone()));
        }
        let detail = format!("{key} cannot be set: the value that the path leads to is no object");
        return Err(ScimError::new(ScimType::NoTarget, detail));
    }
    let is_new = current.is_none();
    let mut members = object(current);
    work.spend(1 + members.len() / NAMES_PER_COMPARISON)?;
    let at = members.iter().position(|(found, _)| found == key);
    let found = at.and_then(|at| members.get_mut(at));
    let found = found.map(|(_, found)| std::mem::replace(found, Json::Null));
    match (change(op, (keys, condition), found, value, how)?, at) {
        (Some(value), _) => put(&mut members, key, value),
        (None, Some(at)) => drop(members.remove(at)),
        (None, None) => {}
    }
    // A client may store an empty object. A removal that empties an object removes it, and an
    // addition of nothing makes none.
    let is_kept = op != Op::Remove && !is_new;
    Ok(if is_kept { Some(Json::Object(members)) } else { unless_empty(members) })
}

/// The value after a removal. With a value, only what equals it is removed: the value itself, or
/// values of an array.
fn removed(
    current: Option<Json>,
    value: Json,
    strictness: Strictness,
    work: &Work,
) -> Result<Option<Json>, ScimError> {
    if is_no_value(Some(&value)) {
        return Ok(None);
    }
    if !strictness.is_tolerant() {
        return Err(no_value_of_a_removal());
    }
    let mut items = match current {
        Some(Json::Array(items)) => items,
        Some(current) if current != value => return Err(different()),
        Some(_) | None => return Ok(None),
    };
    let given = value.into_values();
    for item in items.iter().chain(&given) {
        work.spend(cost(item.size()))?;
    }
    // Values with the same fingerprint are almost always equal, and then one of them is kept.
    let mut named: HashMap<u64, Vec<&Json>> = HashMap::new();
    for value in &given {
        let alike = named.entry(value.fingerprint()).or_default();
        if !alike.contains(&value) {
            alike.push(value);
        }
    }
    let is_named =
        |item: &Json| named.get(&item.fingerprint()).is_some_and(|alike| alike.contains(&item));
    // A list without values has lost them already.
    if !items.is_empty() && !items.iter().any(is_named) {
        return Err(different());
    }
    items.retain(|item| !is_named(item));
    Ok((!items.is_empty()).then_some(Json::Array(items)))
}

/// The array after a change of the values that match a condition. A removal with a value removes
/// what both name.
fn selected(
    op: Op,
    condition: &Condition,
    current: Option<Json>,
    value: &Json,
    (strictness, work): (Strictness, &Work),
) -> Result<Option<Json>, ScimError> {
    let removes = op == Op::Remove || *value == Json::Null;
    let mut named = Vec::new();
    if op == Op::Remove && *value != Json::Null {
        if !strictness.is_tolerant() {
            return Err(no_value_of_a_removal());
        }
        if !is_no_value(Some(value)) {
            named = value.clone().into_values();
        }
    }
    let before = current.clone();
    let items = current.map(Json::into_values).unwrap_or_default();
    let (mut kept, mut is_found) = (Vec::with_capacity(items.len()), false);
    for item in items {
        work.spend(cost(item.size()).saturating_mul(1 + named.len()))?;
        let is_named = named.is_empty() || named.contains(&item);
        let item = Json::Object(vec![("value".to_owned(), item)]);
        let is_match = is_named && matches(condition, &item, work)?;
        is_found |= is_match;
        if !is_match {
            kept.extend(object(Some(item)).into_iter().map(|(_, item)| item));
        } else if !removes {
            kept.push(value.clone());
        }
    }
    if !is_found && removes {
        // A list without values has lost them already.
        let is_lost = named.is_empty() || before.is_none();
        return if is_lost { Ok(before) } else { Err(different()) };
    }
    if !is_found {
        let detail = "no value of the list matches the condition of the path";
        return Err(ScimError::new(ScimType::NoTarget, detail));
    }
    let kept = distinct(kept);
    Ok((!kept.is_empty()).then_some(Json::Array(kept)))
}

fn changed(
    op: Op,
    current: Option<Json>,
    value: Json,
    work: &Work,
) -> Result<Option<Json>, TooMuchWork> {
    Ok(match (op, current, value) {
        (Op::Remove, _, _) | (Op::Replace, _, Json::Null) => None,
        (Op::Add, current, Json::Null) => current,
        (Op::Add, Some(Json::Array(items)), value) => Some(appended(items, value, work)?),
        // A single value was stored before the list was declared.
        (Op::Add, Some(one), value @ Json::Array(_)) => Some(appended(vec![one], value, work)?),
        (Op::Add | Op::Replace, Some(Json::Object(members)), Json::Object(given)) => {
            Some(Json::Object(merged(op, members, given, work)?))
        }
        (Op::Add | Op::Replace, _, value) => Some(value),
    })
}

/// The members with the given ones in their places, or after them. `null` has no effect in an
/// addition, and removes in a replacement.
pub(super) fn merged(
    op: Op,
    members: Members,
    given: Members,
    work: &Work,
) -> Result<Members, TooMuchWork> {
    work.spend(members.len() + given.len())?;
    let mut merged: Vec<Option<(String, Json)>> = members.into_iter().map(Some).collect();
    let names = merged.iter().enumerate();
    let mut places: HashMap<String, usize> =
        names.filter_map(|(at, member)| Some((member.as_ref()?.0.clone(), at))).collect();
    for (name, value) in given {
        let at = places.get(&name).copied();
        match (value, at.and_then(|at| merged.get_mut(at))) {
            (Json::Null, Some(member)) if op == Op::Replace => *member = None,
            (Json::Null, _) => {}
            (value, Some(member)) => *member = Some((name, value)),
            (value, None) => {
                places.insert(name.clone(), merged.len());
                merged.push(Some((name, value)));
            }
        }
    }
    Ok(merged.into_iter().flatten().collect())
}

/// The items, and the items of the value that are not among them.
fn appended(mut items: Vec<Json>, value: Json, work: &Work) -> Result<Json, TooMuchWork> {
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, item) in items.iter().enumerate() {
        work.spend(cost(item.size()))?;
        places.entry(item.fingerprint()).or_default().push(at);
    }
    for one in value.into_values() {
        let like = places.entry(one.fingerprint()).or_default();
        work.spend(cost(one.size()).saturating_mul(1 + like.len()))?;
        if like.iter().all(|at| items.get(*at) != Some(&one)) {
            like.push(items.len());
            items.push(one);
        }
    }
    Ok(Json::Array(items))
}
