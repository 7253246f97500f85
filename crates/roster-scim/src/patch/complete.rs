//! The entries of lists that have what they need after a PATCH.

use std::{collections::HashSet, mem};

use roster_core::Json;

use super::parts::find;
use crate::{
    ScimError, Strictness,
    schema::{AttributeSchema, Schema},
    value::{is_idle, is_primary, lacks, required},
};

/// Idle entries that PATCH leaves as they are: the attribute and the type of each.
pub(super) type Idle = HashSet<(&'static str, Option<String>)>;

/// The idle entries of all lists that need no part.
pub(super) fn idle(schema: &Schema, members: &[(String, Json)]) -> Idle {
    let of_list = |attribute: &'static AttributeSchema| {
        let value = find(members, attribute.name);
        idle_types(attribute, value).into_iter().map(|known| (attribute.name, known))
    };
    schema.attributes.iter().flat_map(of_list).collect()
}

/// The types of the idle entries of a list that needs no part.
pub(super) fn idle_types(attribute: &AttributeSchema, value: Option<&Json>) -> Vec<Option<String>> {
    let Some(Json::Array(values)) = value.filter(|_| required(attribute).is_none()) else {
        return Vec::new();
    };
    let idle = values.iter().filter(|value| is_idle(value));
    idle.map(type_of).collect()
}

fn type_of(value: &Json) -> Option<String> {
    let Some(Json::Text(text)) = value.member("type") else { return None };
    Some(text.clone())
}

fn is_primary_value(value: &Json) -> bool {
    matches!(value, Json::Object(members) if is_primary(members))
}

/// Whether an attribute has a value, and each value what it needs. A flag `primary` that an idle
/// entry took is null until then. Tolerant parsing removes an idle
/// value that was not there before: clients that send a type or the flag `primary` apart from the
/// value also send them without one.
pub(super) fn is_complete(
    attribute: &AttributeSchema,
    value: &mut Json,
    idle: &Idle,
    strictness: Strictness,
) -> Result<bool, ScimError> {
    let part = required(attribute);
    let was_idle = |value: &Json| idle.contains(&(attribute.name, type_of(value)));
    let has_it = |value: &Json| match part {
        Some(part) => match value.member(part.name) {
            Some(Json::Text(text)) => !text.is_empty() || !strictness.is_tolerant(),
            found => found.is_some(),
        },
        None => !attribute.multi_valued || !is_idle(value) || was_idle(value),
    };
    let is_right = if let Json::Array(values) = value {
        values.retain(|value| has_it(value) || !(strictness.is_tolerant() && is_idle(value)));
        if values.is_empty() {
            return Ok(false);
        }
        let mut has_primary = values.iter().any(is_primary_value);
        let flags = values.iter_mut().filter_map(|value| {
            let Json::Object(members) = value else { return None };
            members.iter_mut().find(|(name, _)| name == "primary")
        });
        // The flag returns if no other entry has it.
        for (_, flag) in flags.filter(|(_, flag)| *flag == Json::Null) {
            *flag = Json::Bool(!mem::replace(&mut has_primary, true));
        }
        values.iter().all(has_it)
    } else {
        has_it(value)
    };
    if is_right { Ok(true) } else { Err(lacks(attribute, format_args!("{}", attribute.name))) }
}
