//! Short functions that read and build JSON trees.
//!
//! The description is a tree of [`Json`], which keeps its members in order. A value that is absent
//! or of another type reads as empty. The tests check that the document is complete, so nothing
//! here can fail while a page is made.

use roster_core::Json;

/// The value of an absent member.
static NOTHING: Json = Json::Null;

/// The value at a path of members; `null` if there is none.
pub(super) fn at<'a>(tree: &'a Json, path: &[&str]) -> &'a Json {
    path.iter().try_fold(tree, |tree, name| tree.member(name)).unwrap_or(&NOTHING)
}

/// The text at a path of members; empty if there is none.
pub(super) fn text_at<'a>(tree: &'a Json, path: &[&str]) -> &'a str {
    text(at(tree, path)).unwrap_or_default()
}

/// The text, if the value is a text.
pub(super) const fn text(tree: &Json) -> Option<&str> {
    if let Json::Text(text) = tree { Some(text.as_str()) } else { None }
}

/// The members of an object; empty for any other value.
pub(super) fn members(tree: &Json) -> &[(String, Json)] {
    if let Json::Object(members) = tree { members } else { &[] }
}

/// The items of an array; empty for any other value.
pub(super) fn items(tree: &Json) -> &[Json] {
    if let Json::Array(items) = tree { items } else { &[] }
}

/// The last segment of a `$ref`.
pub(super) fn reference(tree: &Json) -> Option<&str> {
    let reference = tree.member("$ref").and_then(text)?;
    reference.rsplit('/').next()
}

pub(crate) fn string(text: impl Into<String>) -> Json {
    Json::Text(text.into())
}

/// An object with these members.
pub(crate) fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// A reference to a component.
pub(super) fn component(kind: &str, name: &str) -> Json {
    object([("$ref", string(format!("#/components/{kind}/{name}")))])
}

/// Sets a member of an object. A new member is added at the end.
pub(super) fn set(tree: &mut Json, name: &str, value: Json) {
    let Json::Object(members) = tree else { return };
    match members.iter_mut().find(|(found, _)| found == name) {
        Some((_, slot)) => *slot = value,
        None => members.push((name.to_owned(), value)),
    }
}

/// Removes a member from an object and returns its value.
pub(super) fn remove(tree: &mut Json, name: &str) -> Option<Json> {
    let Json::Object(members) = tree else { return None };
    let place = members.iter().position(|(found, _)| found == name)?;
    Some(members.remove(place).1)
}

/// Applies a function to every text in a tree. The names of members do not change.
pub(super) fn map_texts(tree: Json, change: &dyn Fn(String) -> Json) -> Json {
    match tree {
        Json::Text(text) => change(text),
        Json::Array(items) => {
            Json::Array(items.into_iter().map(|item| map_texts(item, change)).collect())
        }
        Json::Object(members) => Json::Object(
            members.into_iter().map(|(name, value)| (name, map_texts(value, change))).collect(),
        ),
        other @ (Json::Null | Json::Bool(_) | Json::Int(_) | Json::Float(_)) => other,
    }
}

/// A schema that accepts the same values as this one, and `null`.
pub(super) fn nullable(mut schema: Json) -> Json {
    if let Some(reference) = remove(&mut schema, "$ref").as_ref().and_then(text) {
        let name = reference.rsplit('/').next().unwrap_or_default().to_owned();
        let null = object([("type", string("null"))]);
        return object([("anyOf", Json::Array(vec![component("schemas", &name), null]))]);
    }
    let of_type = at(&schema, &["type"]).clone();
    if text(&of_type).is_some() {
        set(&mut schema, "type", Json::Array(vec![of_type, string("null")]));
    }
    if let Json::Array(mut allowed) = at(&schema, &["enum"]).clone() {
        allowed.push(Json::Null);
        set(&mut schema, "enum", Json::Array(allowed));
    }
    schema
}
