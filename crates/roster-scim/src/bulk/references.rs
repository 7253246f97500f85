//! References to resources that other operations of the request create: `bulkId:` and the name of
//! the operation (RFC 7644 section 3.7.2).

use std::collections::BTreeSet;

use roster_core::Json;

const PREFIX: &str = "bulkId:";

/// The name of the operation, if the text is a reference.
pub(super) fn referred(text: &str) -> Option<&str> {
    text.strip_prefix(PREFIX).filter(|name| !name.is_empty())
}

/// The pieces of the path of a PATCH operation, and whether they are in double quotes, as the
/// reference in `members[value eq "bulkId:ada"]`.
fn pieces(path: &str) -> impl Iterator<Item = (&str, bool)> {
    path.split('"').enumerate().map(|(number, piece)| (piece, number % 2 == 1))
}

fn is_path(name: &str) -> bool {
    name.eq_ignore_ascii_case("path")
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
            for (name, value) in members {
                if let Json::Text(path) = value
                    && is_path(name)
                {
                    let quoted = pieces(path).filter(|(_, is_quoted)| *is_quoted);
                    let named = quoted.filter_map(|(piece, _)| referred(piece));
                    found.extend(named.map(str::to_owned));
                }
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
        Json::Object(members) => {
            let member = |(name, value): (String, Json)| {
                let value = resolved(value, id_of);
                if let Json::Text(path) = &value
                    && is_path(&name)
                {
                    let path = resolved_path(path, id_of);
                    return (name, Json::Text(path));
                }
                (name, value)
            };
            Json::Object(members.into_iter().map(member).collect())
        }
        other @ (Json::Null | Json::Bool(_) | Json::Int(_) | Json::Float(_)) => other,
    }
}

fn resolved_path(path: &str, id_of: &impl Fn(&str) -> Option<String>) -> String {
    let piece = |(piece, is_quoted): (&str, bool)| {
        let name = referred(piece).filter(|_| is_quoted);
        name.and_then(id_of).unwrap_or_else(|| piece.to_owned())
    };
    pieces(path).map(piece).collect::<Vec<_>>().join("\"")
}
