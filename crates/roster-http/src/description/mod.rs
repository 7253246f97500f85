//! The description of the API, for programs and for people.
//!
//! One OpenAPI document describes the requests and responses of every path. `/openapi.json` serves
//! it, `/docs` shows it as a page, and the tests compare every response with it. The pages need no
//! script and no other host. Everything here is made from the base URL and the schema of users;
//! nothing depends on a request.

mod answers;
mod assemble;
mod docs_page;
mod forms;
mod older;
mod page;
mod problem_page;
#[cfg(test)]
mod tests;
mod tree;

use std::{collections::HashMap, sync::LazyLock};

use bytes::Bytes;
use roster_core::{Json, UserSchema, json::write_json};

pub(crate) use tree::{object, string};

pub use docs_page::docs_page;
pub use page::content_security_policy;
pub(crate) use page::{render_page, service_page};
pub use problem_page::{problem, problem_list, problem_list_page, problem_page};

/// The OpenAPI 3.1 document of a service at this base URL (no slash at its end), as JSON.
///
/// `attributes` has the declared members of the schema. Each call builds the document again, so
/// the caller should keep the bytes.
pub fn openapi(base_url: &str, schema: &UserSchema) -> Bytes {
    json(&document(base_url, schema))
}

/// The same document in OpenAPI 3.0, for tools that read no newer version.
pub fn openapi_3_0(base_url: &str, schema: &UserSchema) -> Bytes {
    json(&older::in_version_3_0(document(base_url, schema)))
}

/// The OpenAPI 3.1 document of a tenant at this base URL, without the operations of the service.
pub(crate) fn openapi_of_tenant(base_url: &str, schema: &UserSchema) -> Bytes {
    json(&assemble::of_tenant(document(base_url, schema)))
}

/// The same document in OpenAPI 3.0.
pub(crate) fn openapi_3_0_of_tenant(base_url: &str, schema: &UserSchema) -> Bytes {
    json(&older::in_version_3_0(assemble::of_tenant(document(base_url, schema))))
}

/// Every operation of the document: method in upper case, path template, operation id.
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

/// The document as a tree. It is null only if a source file is not JSON, which the tests exclude.
fn document(base_url: &str, schema: &UserSchema) -> Json {
    assemble::assemble(base_url, schema).unwrap_or(Json::Null)
}

/// The text of a tree.
pub(crate) fn json(tree: &Json) -> Bytes {
    let mut out = Vec::new();
    write_json(&mut out, tree);
    Bytes::from(out)
}

/// The path of a base URL; empty if the service is at the root of its host.
pub(crate) fn base_path(base_url: &str) -> &str {
    let after_scheme = base_url.split_once("://").map_or("", |(_, rest)| rest);
    after_scheme.find('/').and_then(|start| after_scheme.get(start..)).unwrap_or_default()
}
