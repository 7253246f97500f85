//! References to resources that other operations of the request create: `bulkId:` and the name of
//! the operation (RFC 7644 section 3.7.2).

use std::collections::BTreeSet;

use roster_core::Json;

const PREFIX: &str = "bulkId:";

/// The name of the operation, if the text is a reference.
pub(super) fn referred(text: &str) -> Option<&str> {
    text.strip_prefix(PREFIX).filter(|name| !name.is_empty())
}

/// Collects the names of all operations that a value refers to, at any depth.
pub(super) fn references(value: &Json, found: &mut BTreeSet<String>) {
    match value {
        Json::Text(text) => found.extend(referred(text).map(str::to_owned)),
        Json::Array(items) => {
            for item in items {
                references(item, found);
            }
        }
        Json::Object(members) => {
            for (_, value) in members {
                references(value, found);
            }
        }
        Json::Null | Json::Bool(_) | Json::Int(_) | Json::Float(_) => {}
    }
}

/// Replaces references by ids.
pub(super) fn resolved(value: Json, id_of: &impl Fn(&str) -> Option<String>) -> Json {
    match value {
        Json::Text(text) => Json::Text(referred(&text).and_then(id_of).unwrap_or(text)),
        Json::Array(items) => {
            Json::Array(items.into_iter().map(|item| resolved(item, id_of)).collect())
        }
        Json::Object(members) => Json::Object(
            members.into_iter().map(|(name, value)| (name, resolved(value, id_of))).collect(),
        ),
        other @ (Json::Null | Json::Bool(_) | Json::Int(_) | Json::Float(_)) => other,
    }
}
