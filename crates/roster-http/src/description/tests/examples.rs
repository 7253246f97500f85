//! Tests the served description with the tool that compares responses with it.

use roster_core::UserSchema;
use std::{borrow::Cow, collections::BTreeSet};

use roster_testkit::openapi::{Description, Exchange};
use serde_json::Value;

use crate::{
    description,
    problem::{registry::PROBLEMS, violations::VIOLATIONS},
};

const BASE: &str = "http://127.0.0.1:8080/v1";

pub(super) fn document() -> Value {
    serde_json::from_slice(&description::openapi(BASE, &UserSchema::default())).expect("JSON")
}

fn checks() -> Description {
    Description::load(&description::openapi(BASE, &UserSchema::default()))
        .expect("a document that the checks read")
}

pub(super) fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).expect("a target"),
        None => value,
    }
}

/// The example of a parameter or header, as text.
fn shown(document: &Value, one: &Value) -> String {
    let example = &resolve(document, one)["example"];
    if let Some(items) = example.as_array() {
        return items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",");
    }
    example.as_str().map_or_else(|| example.to_string(), str::to_owned)
}

/// The request and response that the examples of an operation and a status describe.
fn exchange(
    document: &Value,
    path: &str,
    method: &str,
    (status, response): (&str, &Value),
    (media_type, body): (&str, &Value),
) -> Exchange {
    let response = resolve(document, response);
    let headers = response["headers"].as_object().into_iter().flatten();
    let mut response_headers: Vec<(String, String)> = headers
        .filter(|(name, _)| *name != "Preference-Applied")
        .map(|(name, header)| (name.clone(), shown(document, header)))
        .collect();
    response_headers.push(("Content-Type".to_owned(), media_type.to_owned()));
    let item = &document["paths"][path];
    let content = item[method]["requestBody"]["content"].as_object().into_iter().flatten().next();
    let request = content.map(|(media_type, one)| {
        let example = one["examples"].as_object().and_then(|all| all.values().next());
        let example = &resolve(document, example.expect("an example"))["value"];
        let example = example.as_str().map_or_else(|| example.to_string(), str::to_owned);
        (media_type.clone(), example)
    });
    let (request_type, request_body) = request.unwrap_or_default();
    let id = "01a1f84a-963b-7c3e-9a41-5d2e8f604b17";
    Exchange {
        method: method.to_ascii_uppercase(),
        path: format!(
            "/v1{}",
            path.replace("{user_id}", id)
                .replace("{group_id}", id)
                .replace("{webhook_id}", id)
                .replace("{member_id}", id)
                .replace("{id}", id)
                .replace("{key_id}", "3hGk9PzQ7a")
                .replace("{tenant}", "acme")
                .replace("{code}", "not-found")
        ),
        query: None,
        request_headers: vec![("Content-Type".to_owned(), request_type)],
        request_body: request_body.into_bytes(),
        status: status.parse().expect("a status"),
        response_headers,
        // An example that is not one JSON value, such as NDJSON, is a text.
        response_body: body.as_str().map_or_else(|| body.to_string(), str::to_owned).into_bytes(),
    }
}

#[test]
fn every_example_satisfies_what_it_is_an_example_of() {
    let (document, checks) = (document(), checks());
    let mut held = 0;
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            for (status, response) in operation["responses"].as_object().into_iter().flatten() {
                let content = resolve(&document, response)["content"].as_object();
                for (media_type, one) in content.into_iter().flatten() {
                    for (_, example) in one["examples"].as_object().into_iter().flatten() {
                        let body = &resolve(&document, example)["value"];
                        let exchange = exchange(
                            &document,
                            path,
                            method,
                            (status, response),
                            (media_type, body),
                        );
                        checks.check(&exchange).expect("an example is as described");
                        held += 1;
                    }
                }
            }
        }
    }
    assert!(held > 150, "{held} examples");
}

/// A success that the description shows, which a request needs to be checked: status, response,
/// media type and body. Lines may be none.
fn success<'a>(
    document: &'a Value,
    operation: &'a Value,
) -> (&'a str, &'a Value, &'a str, Cow<'a, Value>) {
    let responses = operation["responses"].as_object().expect("responses");
    let successes = responses.iter().filter(|(status, _)| status.starts_with('2'));
    let mut shown = successes.flat_map(|(status, response)| {
        let content = response["content"].as_object().into_iter().flatten();
        content.filter_map(move |(media_type, one)| {
            if media_type == "application/x-ndjson" {
                return Some((status, response, media_type, Cow::Owned(Value::from(""))));
            }
            let example = one["examples"].as_object()?.values().next()?;
            let value = &resolve(document, example)["value"];
            Some((status, response, media_type, Cow::Borrowed(value)))
        })
    });
    let id = &operation["operationId"];
    let (status, response, media_type, body) =
        shown.next().unwrap_or_else(|| panic!("{id} has no example of a success"));
    (status, response, media_type, body)
}

#[test]
fn every_body_has_examples_and_each_is_one_that_may_be_taken() {
    let (document, checks) = (document(), checks());
    let mut checked = 0;
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            let Some(content) = operation["requestBody"]["content"].as_object() else { continue };
            let others = operation["requestBody"]["x-other-content"].as_object();
            for (media_type, one) in content.iter().chain(others.into_iter().flatten()) {
                let examples = one["examples"].as_object().expect("examples");
                assert!(!examples.is_empty(), "{method} {path} {media_type}");
                for (name, example) in examples {
                    let (status, response, shown, body) = success(&document, operation);
                    let outcome = (status, response);
                    let mut sent = exchange(&document, path, method, outcome, (shown, &body));
                    let value = &resolve(&document, example)["value"];
                    sent.request_headers = vec![("content-type".to_owned(), media_type.clone())];
                    sent.request_body = value
                        .as_str()
                        .map_or_else(|| value.to_string(), str::to_owned)
                        .into_bytes();
                    checks
                        .check(&sent)
                        .unwrap_or_else(|fault| panic!("{method} {path} {name}: {fault}"));
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 35, "{checked} examples");
}

#[test]
fn every_explanation_is_as_described() {
    let checks = checks();
    let answer = |path: &str, body: &[u8]| Exchange {
        method: "GET".to_owned(),
        path: format!("/v1{path}"),
        status: 200,
        response_headers: [
            ("content-type", "application/json"),
            ("x-request-id", "r1"),
            ("cache-control", "no-cache"),
            ("vary", "Accept, Accept-Encoding"),
            ("etag", "\"5891b5b522d5df086d0ff0b110fbd9d2\""),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec(),
        response_body: body.to_vec(),
        ..Exchange::default()
    };
    let codes = PROBLEMS.iter().map(|kind| kind.code).chain(VIOLATIONS.iter().map(|one| one.code));
    for code in codes {
        let body = description::problem(code, BASE).expect("a known code");
        checks.check(&answer(&format!("/problems/{code}"), &body)).expect("as described");
    }
    checks.check(&answer("/problems", &description::problem_list(BASE))).expect("as described");
    checks
        .check(&answer("/openapi.json", &description::openapi(BASE, &UserSchema::default())))
        .expect("as described");
}

#[test]
fn the_checks_and_the_list_of_operations_agree() {
    let checks = checks();
    let documented: BTreeSet<&str> = checks.documented().map(|(operation, _)| operation).collect();
    let operations = description::operations();
    assert_eq!(documented, operations.iter().map(|(_, _, id)| id.as_str()).collect());
}
