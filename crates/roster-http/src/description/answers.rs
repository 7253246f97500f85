//! Completes the operations and the responses of the description.
//!
//! The scope of an operation comes from the table of operations. A response in the source files
//! only names its problem codes. Its headers, schema and examples are added here, so that an
//! example always has the title and status of the registry.

use roster_core::Json;

use super::{
    problem_page::example,
    tree::{at, component, items, members, object, reference, remove, set, string, text, text_at},
};
use crate::{
    operation::{Need, Operation},
    problem::ProblemCode,
};

/// Adds headers, content and examples to the responses that are problems.
pub(super) fn complete_responses(responses: Json) -> Json {
    let Json::Object(responses) = responses else { return responses };
    let complete = |(name, response): (String, Json)| (name, complete(response));
    Json::Object(responses.into_iter().map(complete).collect())
}

fn complete(mut response: Json) -> Json {
    // A response without a code is sent before the request was read: a status without a body.
    let Some(codes) = remove(&mut response, "x-problem-codes") else { return response };
    let examples = items(&codes).iter().filter_map(text).filter_map(|code| {
        let problem = ProblemCode::parse(code)?;
        let (summary, value) = (string(problem.kind().title), example(problem, "{base_url}"));
        let example = object([("summary", summary), ("value", value)]);
        Some((code.to_owned(), example))
    });
    let content = object([(
        "application/problem+json",
        object([
            ("schema", component("schemas", "Problem")),
            ("examples", Json::Object(examples.collect())),
        ]),
    )]);
    let mut response = with_common_headers(&response, true);
    set(&mut response, "content", content);
    set(&mut response, "x-problem-codes", codes);
    response
}

/// Adds to each operation its scope and the common headers of its responses.
pub(super) fn complete_paths(paths: Json) -> Json {
    let Json::Object(mut paths) = paths else { return paths };
    for (_, item) in &mut paths {
        let Json::Object(operations) = item else { continue };
        for (_, operation) in operations {
            add_scope(operation);
            add_common_headers(operation);
        }
    }
    Json::Object(paths)
}

/// Adds the scope from the table of operations, and the response to an unauthenticated caller.
fn add_scope(operation: &mut Json) {
    let id = text_at(operation, &["operationId"]);
    let Some(named) = Operation::ALL.iter().find(|known| known.id() == id) else { return };
    let scopes: Vec<&str> = match named.needs() {
        Need::Nothing => return set(operation, "security", Json::Array(Vec::new())),
        Need::Caller => Vec::new(),
        Need::Scopes(scopes) => scopes.iter().map(|scope| scope.as_str()).collect(),
    };
    if !scopes.is_empty() {
        // Only OAuth has scopes in a requirement of OpenAPI; tools warn about those of a bearer.
        let noun = if scopes.len() == 1 { "scope" } else { "scopes" };
        let named = scopes.iter().map(|scope| format!("`{scope}`")).collect::<Vec<_>>();
        let needs = format!("Requires the {noun} {}.", named.join(" and "));
        let text = format!("{} {needs}", text_at(operation, &["description"]));
        set(operation, "description", string(text.trim_start()));
        let scopes = scopes.into_iter().map(string).collect();
        set(operation, "x-required-scopes", Json::Array(scopes));
    }
    // SCIM operations describe all errors in one response.
    if !named.is_scim() {
        add_response(operation, "401", "Unauthenticated");
    }
}

/// Adds a response of the components, in the order of the statuses.
pub(super) fn add_response(operation: &mut Json, status: &str, name: &str) {
    let mut responses = members(at(operation, &["responses"])).to_vec();
    let place = responses.iter().position(|(other, _)| other.as_str() > status);
    let added = (status.to_owned(), component("responses", name));
    responses.insert(place.unwrap_or(responses.len()), added);
    set(operation, "responses", Json::Object(responses));
}

/// Adds the headers that every response has.
fn add_common_headers(operation: &mut Json) {
    let responses = members(at(operation, &["responses"])).to_vec();
    if responses.is_empty() {
        return;
    }
    let responses = responses.into_iter().map(|(status, response)| {
        if reference(&response).is_some() {
            return (status, response);
        }
        // Only writes return 204, and no cache stores their responses.
        (status.clone(), with_common_headers(&response, status != "204"))
    });
    set(operation, "responses", Json::Object(responses.collect()));
}

fn with_common_headers(response: &Json, is_cacheable: bool) -> Json {
    let mut headers = members(at(response, &["headers"])).to_vec();
    if is_cacheable {
        headers.push(("Cache-Control".to_owned(), component("headers", "CacheControl")));
    }
    headers.push(("X-Request-Id".to_owned(), component("headers", "RequestId")));
    // Built again, so that the members of all responses have the same order.
    let mut complete = object([
        ("description", at(response, &["description"]).clone()),
        ("headers", Json::Object(headers)),
    ]);
    if let Some(content) = response.member("content") {
        set(&mut complete, "content", content.clone());
    }
    // Generators of clients know one media type for each body. The others are described here.
    if let Some(content) = response.member("x-other-content") {
        set(&mut complete, "x-other-content", content.clone());
    }
    complete
}
