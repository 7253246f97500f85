//! Completes the answers of the description.
//!
//! A part names an answer's codes; its headers, its schema and its examples follow from them here,
//! so that an example always holds the title and status that the registry holds.

use roster_core::Json;

use super::{
    problem_page::example,
    tree::{at, component, items, members, object, reference, remove, set, string, text},
};
use crate::problem::registry;

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
        let kind = registry::find(code)?;
        let example =
            object([("summary", string(kind.title)), ("value", example(kind, "{base_url}"))]);
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

/// The same paths with the headers that every answer has.
pub(super) fn add_common_headers(paths: Json) -> Json {
    let Json::Object(paths) = paths else { return paths };
    Json::Object(paths.into_iter().map(|(path, item)| (path, in_item(item))).collect())
}

fn in_item(item: Json) -> Json {
    let Json::Object(item) = item else { return item };
    let operations = item.into_iter().map(|(name, mut operation)| {
        let answers = members(at(&operation, &["responses"])).to_vec();
        if !answers.is_empty() {
            let answers = answers.into_iter().map(|(status, response)| {
                if reference(&response).is_some() {
                    return (status, response);
                }
                // Only writes answer 204, and no cache keeps the answer to a write.
                let kept = if status == "204" { Kept::Nothing } else { Kept::MayBe };
                (status, with_common_headers(&response, kept))
            });
            set(&mut operation, "responses", Json::Object(answers.collect()));
        }
        (name, operation)
    });
    Json::Object(operations.collect())
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
