//! Completes the operations and the answers of the description.
//!
//! What a caller needs for an operation follows from the table of operations. A part names an
//! answer's codes; its headers, its schema and its examples follow from them here, so that an
//! example always holds the title and status that the registry holds.

use roster_core::Json;

use super::{
    problem_page::example,
    tree::{at, component, items, members, object, reference, remove, set, string, text, text_at},
};
use crate::{
    operation::{Need, Operation},
    problem::ProblemCode,
};

/// The answers that are problems, with headers, content and examples.
pub(super) fn complete_responses(responses: Json) -> Json {
    let Json::Object(responses) = responses else { return responses };
    let complete = |(name, response): (String, Json)| (name, complete(response));
    Json::Object(responses.into_iter().map(complete).collect())
}

fn complete(mut response: Json) -> Json {
    // An answer without a code is given before the request is whole: a bare status.
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
    let mut response = with_common_headers(&response, Kept::MayBe);
    set(&mut response, "content", content);
    set(&mut response, "x-problem-codes", codes);
    response
}

/// The paths, each operation with the scope that it needs and the headers that its answers have.
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

/// The scope that an operation needs, as the table of operations has it, and the response to an
/// unauthenticated caller.
fn add_scope(operation: &mut Json) {
    let id = text_at(operation, &["operationId"]);
    let Some(named) = Operation::ALL.iter().find(|known| known.id() == id) else { return };
    let scopes = match named.needs() {
        Need::Nothing => return,
        Need::Caller => Vec::new(),
        Need::Scope(scope) => vec![string(scope.as_str())],
    };
    let scopes = Json::Array(scopes);
    let security = Json::Array(vec![object([("Bearer", scopes)]), Json::Object(vec![])]);
    set(operation, "security", security);
    // SCIM describes all its refusals at once.
    if !named.is_scim() {
        let mut responses = members(at(operation, &["responses"])).to_vec();
        let place = responses.iter().position(|(status, _)| status.as_str() > "401");
        let refusal = ("401".to_owned(), component("responses", "Unauthenticated"));
        responses.insert(place.unwrap_or(responses.len()), refusal);
        set(operation, "responses", Json::Object(responses));
    }
}

/// The headers that every answer has.
fn add_common_headers(operation: &mut Json) {
    let answers = members(at(operation, &["responses"])).to_vec();
    if answers.is_empty() {
        return;
    }
    let answers = answers.into_iter().map(|(status, response)| {
        if reference(&response).is_some() {
            return (status, response);
        }
        // Only writes answer 204, and no cache keeps the answer to a write.
        let kept = if status == "204" { Kept::Nothing } else { Kept::MayBe };
        (status, with_common_headers(&response, kept))
    });
    set(operation, "responses", Json::Object(answers.collect()));
}

/// Whether there is anything that a cache could keep.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    MayBe,
    Nothing,
}

fn with_common_headers(response: &Json, kept: Kept) -> Json {
    let mut headers = members(at(response, &["headers"])).to_vec();
    if kept == Kept::MayBe {
        headers.push(("Cache-Control".to_owned(), component("headers", "CacheControl")));
    }
    headers.push(("X-Request-Id".to_owned(), component("headers", "RequestId")));
    // Rebuilt, so that every answer reads in one order.
    let mut complete = object([
        ("description", at(response, &["description"]).clone()),
        ("headers", Json::Object(headers)),
    ]);
    if let Some(content) = response.member("content") {
        set(&mut complete, "content", content.clone());
    }
    complete
}
