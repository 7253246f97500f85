//! What a caller needs for each operation, as the table of routes says it: the scheme with the
//! scope, and the refusal of whoever is not known.

use roster_core::Json;

use super::tree::{at, component, members, object, set, string, text};
use crate::operation::{Need, Operation};

/// The same paths, each operation with what it needs.
pub(super) fn add_needs(paths: Json) -> Json {
    let Json::Object(paths) = paths else { return paths };
    Json::Object(paths.into_iter().map(|(path, item)| (path, in_item(item))).collect())
}

fn in_item(item: Json) -> Json {
    let Json::Object(item) = item else { return item };
    let operations = item.into_iter().map(|(name, mut operation)| {
        if let Some((named, Need::Scope(scope))) = need(&operation) {
            let scopes = Json::Array(vec![string(scope.as_str())]);
            let security = Json::Array(vec![object([("Bearer", scopes)]), Json::Object(vec![])]);
            set(&mut operation, "security", security);
            // SCIM describes all its refusals at once.
            if named.is_scim() {
                return (name, operation);
            }
            let mut responses = members(at(&operation, &["responses"])).to_vec();
            let place = responses.iter().position(|(status, _)| status.as_str() > "401");
            let refusal = ("401".to_owned(), component("responses", "Unauthenticated"));
            responses.insert(place.unwrap_or(responses.len()), refusal);
            set(&mut operation, "responses", Json::Object(responses));
        }
        (name, operation)
    });
    Json::Object(operations.collect())
}

/// What an operation needs, by its id; nothing where it is none.
fn need(operation: &Json) -> Option<(Operation, Need)> {
    let id = operation.member("operationId").and_then(text)?;
    let operation = Operation::ALL.iter().copied().find(|operation| operation.id() == id)?;
    Some((operation, operation.needs()))
}
