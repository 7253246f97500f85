//! The description of the service, for programs and for people.
//!
//! One OpenAPI document says what every path takes and answers. `/openapi.json` serves it, `/docs`
//! shows it as a page, and the tests hold every answer of the service against it. Pages need no
//! script and no other host. Nothing here knows a request: all is made from the base URL
//! and the schema of users.

mod answers;
mod assemble;
mod forms;
mod page;
mod problem_page;
#[cfg(test)]
mod tests;
mod tree;

use std::{collections::HashMap, sync::LazyLock};

use bytes::Bytes;
use roster_core::{Json, UserSchema, json::write_json};

pub(crate) use tree::{object, string};

pub use page::{content_security_policy, docs_page};
pub use problem_page::{problem, problem_list, problem_list_page, problem_page};

/// The OpenAPI 3.1 document of a service at this base URL (no slash at its end), as JSON.
///
/// `attributes` has the declared members of the schema. Made anew with each call: keep the bytes.
pub fn openapi(base_url: &str, schema: &UserSchema) -> Bytes {
    json(&document(base_url, schema))
}

/// Every operation of the document: method in capitals, path template, operation id.
pub fn operations() -> Vec<(String, String, String)> {
    let document = document("", &UserSchema::default());
    let operations = assemble::operations(&document).into_iter();
    let named = operations.map(|(method, path, operation)| {
        let id = tree::text_at(operation, &["operationId"]).to_owned();
        (method.to_ascii_uppercase(), path.to_owned(), id)
    });
    named.collect()
}

/// The names of the query parameters of an operation.
pub(crate) fn query_parameters(operation_id: &str) -> &'static [String] {
    static NAMES: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
        let document = document("", &UserSchema::default());
        let operations = assemble::operations(&document).into_iter();
        let named = operations.map(|(_, path, operation)| {
            let id = tree::text_at(operation, &["operationId"]).to_owned();
            (id, assemble::query_parameters(&document, path, operation))
        });
        named.collect()
    });
    NAMES.get(operation_id).map_or(&[], Vec::as_slice)
}

/// The document as a tree; empty where its parts are not JSON, which the tests rule out.
fn document(base_url: &str, schema: &UserSchema) -> Json {
    assemble::assemble(base_url, schema).unwrap_or(Json::Null)
}

/// A tree as text.
pub(crate) fn json(tree: &Json) -> Bytes {
    let mut out = Vec::new();
    write_json(&mut out, tree);
    Bytes::from(out)
}

/// The path of a base URL: empty where the service is at the root of its host.
pub(crate) fn base_path(base_url: &str) -> &str {
    let after_scheme = base_url.split_once("://").map_or("", |(_, rest)| rest);
    after_scheme.find('/').and_then(|start| after_scheme.get(start..)).unwrap_or_default()
}
