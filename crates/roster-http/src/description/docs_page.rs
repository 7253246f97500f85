//! The reference page: the OpenAPI document and the problem codes, for people.

use bytes::Bytes;
use roster_core::{Json, UserSchema};

use super::{document, page::render, problem_page::explanations};

/// The reference page of a service at this base URL (no slash at its end), as HTML.
///
/// Each call renders the page again, so the caller should keep the bytes.
pub fn docs_page(base_url: &str) -> Bytes {
    let Json::Object(mut facts) = explanations(base_url) else { return Bytes::new() };
    facts.push(("document".to_owned(), document(base_url, &UserSchema::default())));
    render("docs.html", base_url, &Json::Object(facts))
}
