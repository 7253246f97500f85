//! References to resources that other operations of the request create: `bulkId:` and the name of
//! the operation (RFC 7644 section 3.7.2).
//!
//! A text is a reference only where an id can be: in `members`, `manager` and `$ref`, in the value
//! of a PATCH operation whose path is one of them, and in a condition on `members`. Elsewhere it is
//! a text like any other.

use std::collections::BTreeSet;

use roster_core::Json;

use crate::schema::{ENTERPRISE_URN, GROUP_URN, USER_URN};

const PREFIX: &str = "bulkId:";

/// The name of the operation, if the text is a reference.
pub(super) fn referred(text: &str) -> Option<&str> {
    text.strip_prefix(PREFIX).filter(|name| !name.is_empty())
}

/// Adds the names of all operations that a value refers to, at any depth.
pub(super) fn references(value: &mut Json, found: &mut BTreeSet<String>) {
    visit(value, false, &mut |name| {
        found.insert(name.to_owned());
        None
    });
}

/// Replaces references by ids.
pub(super) fn resolve(value: &mut Json, id_of: &impl Fn(&str) -> Option<String>) {
    visit(value, false, &mut |name| id_of(name));
}

type IdOf<'f> = &'f mut dyn FnMut(&str) -> Option<String>;

/// Replaces the references for which there is an id. `has_ids` says that texts can be references.
fn visit(value: &mut Json, has_ids: bool, id_of: IdOf<'_>) {
    match value {
        Json::Text(text) if has_ids => {
            if let Some(id) = referred(text).and_then(id_of) {
                *text = id;
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| visit(item, has_ids, id_of)),
        Json::Object(members) => {
            let is_path = |name: &str| name.eq_ignore_ascii_case("path");
            let path_has_ids = members.iter().any(|(name, value)| {
                is_path(name) && matches!(value, Json::Text(path) if leads_to_ids(path))
            });
            for (name, value) in members {
                if let Json::Text(path) = value
                    && path_has_ids
                    && is_path(name)
                {
                    *path = resolved_path(path, id_of);
                    continue;
                }
                if is_free(name) {
                    continue;
                }
                let is_value = path_has_ids && name.eq_ignore_ascii_case("value");
                visit(value, has_ids || is_value || leads_to_ids(name), id_of);
            }
        }
        Json::Null | Json::Bool(_) | Json::Int(_) | Json::Float(_) | Json::Text(_) => {}
    }
}

/// Whether a name or a path, perhaps with the URN of a schema, is of an attribute that has ids.
fn leads_to_ids(path: &str) -> bool {
    let path = path.split('[').next().unwrap_or_default();
    // Clients send a dot after the URN too.
    let name = match below_urn(path) {
        Some(below) => below.trim_start_matches([':', '.']),
        None => path,
    };
    let name = name.split('.').next().unwrap_or_default();
    ["members", "manager", "$ref"].iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Whether an object of a resource has this name, in which every text is one of the caller.
fn is_free(name: &str) -> bool {
    name.eq_ignore_ascii_case("attributes") || (name.contains(':') && below_urn(name).is_none())
}

/// What follows the URN of a schema whose attributes can have ids.
fn below_urn(name: &str) -> Option<&str> {
    [USER_URN, ENTERPRISE_URN, GROUP_URN].iter().find_map(|urn| {
        let (start, rest) = name.split_at_checked(urn.len())?;
        start.eq_ignore_ascii_case(urn).then_some(rest)
    })
}

/// The path with the references of its condition replaced, as `members[value eq "bulkId:ada"]`.
fn resolved_path(path: &str, id_of: IdOf<'_>) -> String {
    let pieces = path.split('"').enumerate().map(|(number, piece)| {
        let name = referred(piece).filter(|_| number % 2 == 1);
        name.and_then(&mut *id_of).unwrap_or_else(|| piece.to_owned())
    });
    pieces.collect::<Vec<_>>().join("\"")
}
