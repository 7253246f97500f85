//! App roles as Microsoft Entra sends them: the `value` of a role is the JSON text of an object.
//!
//! Entra's object is `{"id":"...","value":"Admin","displayName":"..."}`. Tolerant parsing takes its
//! `value` as that of the role. Any other JSON text stays as it is, and so does a text that the
//! user has already, so that a PUT of what a GET returned changes nothing.

use std::collections::HashSet;

use roster_core::{Json, json};

use crate::{
    schema::AttributeSchema,
    strictness::{Strictness, as_text},
    value::Members,
};

/// Whether entries of this attribute can be app roles.
pub(crate) fn can_be(attribute: &AttributeSchema) -> bool {
    attribute.name == "roles"
}

/// Reads the app roles among these roles, except those whose text the user has. Returns whether
/// there may be any.
pub(crate) fn read<'e, 's>(
    roles: impl Iterator<Item = &'e mut Members>,
    stored: impl Iterator<Item = &'s str>,
) -> bool {
    let of_role = |role: &'e mut Members| {
        let (_, value) = role.iter_mut().find(|(name, _)| name == "value")?;
        let inner = inner_value(value)?;
        Some((value, inner))
    };
    let found: Vec<(&mut Json, Json)> = roles.filter_map(of_role).collect();
    if found.is_empty() {
        return false;
    }
    let stored: HashSet<&str> = stored.collect();
    for (value, inner) in found {
        if !matches!(&*value, Json::Text(text) if stored.contains(text.as_str())) {
            *value = inner;
        }
    }
    true
}

/// The value in the text of an app role; `None` for any other value.
fn inner_value(value: &Json) -> Option<Json> {
    let Json::Text(text) = value else { return None };
    if !text.starts_with('{') {
        return None;
    }
    let object = json::read(text.as_bytes()).ok()?;
    let is_described = ["id", "displayName"].iter().any(|name| object.member(name).is_some());
    match object.member("value") {
        Some(Json::Text(inner)) if is_described && !inner.trim().is_empty() => {
            Some(as_text(Json::Text(inner.clone()), Strictness::Tolerant))
        }
        _ => None,
    }
}
