//! The description in OpenAPI 3.0, for tools that read no newer version.
//!
//! It is made from the document of 3.1. A schema of 3.0 has one type and `nullable`, one `example`,
//! and nothing beside a `$ref`; the schema of a line and the names of members have no place. Such
//! tools also know one form of each body: an operation takes and returns JSON, a delete returns
//! nothing, and the operations on lines and rows are left out, and so is 304. Components that only
//! the left-out parts use are left out too.

use std::collections::BTreeSet;

use roster_core::Json;

use super::tree::{at, items, members, object, reference, remove, set, string, text};

/// The URL of the licence, which 3.0 knows by no identifier.
const LICENCE: &str = "https://www.apache.org/licenses/LICENSE-2.0";

/// The document in OpenAPI 3.0.
pub(super) fn in_version_3_0(mut document: Json) -> Json {
    let paths = remove(&mut document, "paths").unwrap_or(Json::Null);
    let components = remove(&mut document, "components").unwrap_or(Json::Null);
    let mut info = remove(&mut document, "info").unwrap_or(Json::Null);
    remove(&mut info, "summary");
    let name = at(&info, &["license", "name"]).clone();
    set(&mut info, "license", object([("name", name), ("url", string(LICENCE))]));
    remove(&mut document, "jsonSchemaDialect");
    set(&mut document, "openapi", string("3.0.3"));
    set(&mut document, "info", info);
    set(&mut document, "paths", converted(in_one_form(paths)));
    let components = without_unused(converted(components), &document);
    set(&mut document, "components", components);
    document
}

/// The components that the rest of the document uses, directly or by another component.
fn without_unused(components: Json, document: &Json) -> Json {
    let mut used = BTreeSet::new();
    let mut parts = vec![document];
    while let Some(part) = parts.pop() {
        if let Some(target) = part.member("$ref").and_then(text)
            && used.insert(target.to_owned())
            && let Some(path) = target.strip_prefix("#/components/")
        {
            parts.push(at(&components, &path.split('/').collect::<Vec<_>>()));
        }
        parts.extend(members(part).iter().map(|(_, value)| value).chain(items(part)));
    }
    let Json::Object(kinds) = components else { return components };
    let kinds = kinds.into_iter().map(|(kind, found)| {
        // An operation names its security scheme without a `$ref`.
        let Json::Object(mut found) = found else { return (kind, found) };
        found.retain(|(name, _)| {
            kind == "securitySchemes" || used.contains(&format!("#/components/{kind}/{name}"))
        });
        (kind, Json::Object(found))
    });
    Json::Object(kinds.collect())
}

/// The paths with one form of each body.
fn in_one_form(paths: Json) -> Json {
    let Json::Object(paths) = paths else { return paths };
    let paths = paths.into_iter().filter_map(|(path, item)| {
        let Json::Object(found) = item else { return None };
        let kept: Vec<_> = found
            .into_iter()
            .filter_map(|(method, part)| {
                if part.member("responses").is_none() {
                    return Some((method, part));
                }
                Some((method.clone(), operation_in_one_form(&method, part)?))
            })
            .collect();
        let has_operation = kept.iter().any(|(_, part)| part.member("responses").is_some());
        has_operation.then_some((path, Json::Object(kept)))
    });
    Json::Object(paths.collect())
}

/// An operation with one form of each body; `None` if it has no JSON.
fn operation_in_one_form(method: &str, mut operation: Json) -> Option<Json> {
    if let Some(mut body) = operation.member("requestBody").cloned() {
        let json = at(&body, &["content"]).member("application/json")?.clone();
        set(&mut body, "content", object([("application/json", json)]));
        set(&mut operation, "requestBody", body);
    }
    let mut responses = members(at(&operation, &["responses"])).to_vec();
    // Only a request with `If-None-Match` gets it, and no other response without 2xx has no body.
    responses.retain(|(status, _)| status != "304");
    let has = |responses: &[(String, Json)], wanted: &str| {
        responses.iter().any(|(status, _)| status == wanted)
    };
    if has(&responses, "204") && (has(&responses, "200") || has(&responses, "201")) {
        let is_kept = |status: &str| (status == "204") == (method == "delete");
        responses.retain(|(status, _)| !status.starts_with('2') || is_kept(status));
    }
    // Such a tool takes `default` for a success too.
    if let Some(place) = responses.iter().position(|(status, _)| status == "default") {
        let (_, refusal) = responses.remove(place);
        responses.push(("4XX".to_owned(), refusal.clone()));
        responses.push(("5XX".to_owned(), refusal));
    }
    for (_, response) in &mut responses {
        let content = members(at(response, &["content"]));
        let json = content.iter().find(|(name, _)| name.contains("json") && !name.contains("nd"));
        match json.cloned() {
            Some(json) => set(response, "content", Json::Object(vec![json])),
            None if content.iter().any(|(name, _)| name.ends_with("ndjson")) => return None,
            None => {}
        }
    }
    set(&mut operation, "responses", Json::Object(responses));
    Some(operation)
}

/// Converts everything in a part of the document.
fn converted(tree: Json) -> Json {
    match tree {
        Json::Array(items) => Json::Array(items.into_iter().map(converted).collect()),
        Json::Object(found) => {
            let found = found.into_iter().filter_map(|(name, value)| {
                let value = match name.as_str() {
                    // The names of these objects are free.
                    "properties" => each_member(without_reference(value), converted),
                    "example" | "examples" | "default" | "enum" | "const" => value,
                    "x-other-content" => return None,
                    _ => converted(value),
                };
                Some((name, value))
            });
            simplified(Json::Object(found.collect()))
        }
        other @ (Json::Null | Json::Bool(_) | Json::Int(_) | Json::Float(_) | Json::Text(_)) => {
            other
        }
    }
}

fn each_member(tree: Json, change: impl Fn(Json) -> Json) -> Json {
    let Json::Object(found) = tree else { return tree };
    Json::Object(found.into_iter().map(|(name, value)| (name, change(value))).collect())
}

/// The properties without one that is called `$ref`, which tools for 3.0 take for a reference.
fn without_reference(mut properties: Json) -> Json {
    if reference(&properties).is_none() {
        remove(&mut properties, "$ref");
    }
    properties
}

/// An object without the words of 3.1.
fn simplified(mut tree: Json) -> Json {
    remove(&mut tree, "x-item-schema");
    remove(&mut tree, "contentEncoding");
    remove(&mut tree, "propertyNames");
    if let Some(value) = remove(&mut tree, "const") {
        set(&mut tree, "enum", Json::Array(vec![value]));
    }
    if let Json::Array(examples) = at(&tree, &["examples"]).clone() {
        remove(&mut tree, "examples");
        if let Some(first) = examples.into_iter().next() {
            set(&mut tree, "example", first);
        }
    }
    let is_null = |of_type: &Json| text(of_type) == Some("null");
    if let Json::Array(types) = at(&tree, &["type"]).clone() {
        let named = types.iter().find(|of_type| !is_null(of_type)).cloned();
        set(&mut tree, "type", named.unwrap_or_else(|| string("string")));
        if types.iter().any(is_null) {
            set(&mut tree, "nullable", Json::Bool(true));
        }
    }
    let alternatives = items(at(&tree, &["anyOf"])).to_vec();
    let (null, others): (Vec<Json>, Vec<Json>) =
        alternatives.into_iter().partition(|one| is_null(at(one, &["type"])));
    if !null.is_empty() {
        remove(&mut tree, "anyOf");
        set(&mut tree, if others.len() == 1 { "allOf" } else { "anyOf" }, Json::Array(others));
        set(&mut tree, "nullable", Json::Bool(true));
    }
    if members(&tree).len() > 1
        && let Some(reference) = remove(&mut tree, "$ref")
    {
        set(&mut tree, "allOf", Json::Array(vec![object([("$ref", reference)])]));
    }
    tree
}

#[cfg(test)]
mod tests {
    use roster_core::{UserSchema, json};

    use super::*;

    fn simple(text: &str) -> String {
        let mut out = Vec::new();
        json::write_json(&mut out, &converted(json::read(text.as_bytes()).expect("JSON")));
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn the_words_of_3_1_have_their_form_in_3_0() {
        for (newer, older) in [
            (
                r#"{"type":["string","null"],"enum":["a",null]}"#,
                r#"{"type":"string","enum":["a",null],"nullable":true}"#,
            ),
            (r#"{"type":"string","examples":["a","b"]}"#, r#"{"type":"string","example":"a"}"#),
            (r#"{"const":true}"#, r#"{"enum":[true]}"#),
            (r##"{"$ref":"#/a"}"##, r##"{"$ref":"#/a"}"##),
            (
                r##"{"$ref":"#/a","description":"b"}"##,
                r##"{"description":"b","allOf":[{"$ref":"#/a"}]}"##,
            ),
            (
                r##"{"anyOf":[{"$ref":"#/a"},{"type":"null"}]}"##,
                r##"{"allOf":[{"$ref":"#/a"}],"nullable":true}"##,
            ),
            (
                r#"{"properties":{"const":{"const":1},"examples":{"type":"array"}}}"#,
                r#"{"properties":{"const":{"enum":[1]},"examples":{"type":"array"}}}"#,
            ),
            (
                r#"{"examples":{"a":{"value":{"const":1}}}}"#,
                r#"{"examples":{"a":{"value":{"const":1}}}}"#,
            ),
            (
                r#"{"properties":{"$ref":{"type":"string"}},"propertyNames":{"enum":["$ref"]}}"#,
                r#"{"properties":{}}"#,
            ),
        ] {
            assert_eq!(simple(newer), older);
        }
    }

    #[test]
    fn nothing_of_3_1_is_left() {
        let document = crate::description::document("https://roster.test", &UserSchema::default());
        let older = in_version_3_0(document);
        assert_eq!(text(at(&older, &["openapi"])), Some("3.0.3"));
        let mut out = Vec::new();
        json::write_json(&mut out, &older);
        let all = String::from_utf8(out).expect("UTF-8");
        for word in [
            "\"type\":[",
            "\"const\":",
            "x-item-schema",
            "x-other-content",
            "propertyNames",
            "jsonSchemaDialect",
            "\"null\"",
        ] {
            assert!(!all.contains(word), "{word}");
        }
    }

    #[test]
    fn every_component_is_used() {
        let document = crate::description::document("https://roster.test", &UserSchema::default());
        let older = in_version_3_0(document);
        let components = at(&older, &["components"]);
        assert_eq!(*components, without_unused(components.clone(), &older));
        assert_eq!(*at(components, &["schemas", "ImportLine"]), Json::Null);
        assert_ne!(*at(components, &["schemas", "User"]), Json::Null);
        assert_ne!(*at(components, &["securitySchemes", "Bearer"]), Json::Null);
    }
}
