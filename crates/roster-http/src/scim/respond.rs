//! Responses of SCIM.
//!
//! An entity tag is weak, `W/"<version>"`, because one version may have several representations.
//! The tag of a user with groups has a digest of these too.

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_LOCATION, CONTENT_TYPE, ETAG, LOCATION},
};
use roster_core::{Json, Outcome, json::write_json};
use roster_scim::user::entity_tag;

use super::{ScimProblem, extract::ScimWrite};
use crate::{
    extract::{Media, ReturnPreference},
    problem::{Problem, ProblemCode},
    state::AppState,
};

const PRIVATE: HeaderValue = HeaderValue::from_static("private, no-cache");
const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// The absolute base URL of all resources.
pub(super) fn base(app: &AppState) -> String {
    format!("{}/scim/v2", app.base_url)
}

/// A resource with its entity tag and its URL (RFC 7643 section 3.1: both as in `meta`).
pub(super) fn resource(body: Vec<u8>, media: Media, tag: &str, location: &str) -> Response {
    let mut response = json_text(body, media);
    describe(response.headers_mut(), tag, location);
    response
}

/// The response if the client has the resource already.
pub(super) fn not_modified(tag: &str, location: &str) -> Response {
    let mut response = StatusCode::NOT_MODIFIED.into_response();
    describe(response.headers_mut(), tag, location);
    response
}

/// The response to a write. `body` makes the resource and its entity tag, unless the caller prefers
/// none.
pub(super) async fn write_response(
    write: &ScimWrite,
    status: StatusCode,
    outcome: &Outcome,
    location: &str,
    body: impl Future<Output = Result<(Vec<u8>, String), ScimProblem>>,
) -> Result<Response, ScimProblem> {
    let prefers_none = write.options.preferred_return == Some(ReturnPreference::Minimal);
    let mut response = if prefers_none || status == StatusCode::NO_CONTENT {
        let empty = if status == StatusCode::OK { StatusCode::NO_CONTENT } else { status };
        let mut response = empty.into_response();
        let tag = entity_tag(outcome.stored.version, &[]);
        describe(response.headers_mut(), &tag, location);
        response
    } else {
        let (body, tag) = body.await?;
        let mut response = resource(body, write.presentation.media, &tag, location);
        *response.status_mut() = status;
        response
    };
    let headers = response.headers_mut();
    if status == StatusCode::CREATED {
        let location = HeaderValue::try_from(location);
        headers.insert(LOCATION, location.map_err(|_| Problem::new(ProblemCode::Internal))?);
    }
    mark_replayed(headers, outcome);
    if let Some(preferred) = write.options.preferred_return {
        headers.insert(PREFERENCE_APPLIED, HeaderValue::from_static(preferred.applied()));
    }
    Ok(response)
}

/// The response to a delete.
pub(super) fn delete_response(outcome: &Outcome) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    mark_replayed(response.headers_mut(), outcome);
    response
}

/// A JSON text.
pub(super) fn json_text(body: Vec<u8>, media: Media) -> Response {
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, media.header());
    headers.insert(CACHE_CONTROL, PRIVATE);
    response
}

/// A JSON tree.
pub(super) fn json(tree: &Json, media: Media) -> Response {
    let mut body = Vec::with_capacity(4096);
    write_json(&mut body, tree);
    json_text(body, media)
}

fn mark_replayed(headers: &mut HeaderMap, outcome: &Outcome) {
    if outcome.replayed {
        headers.insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
    }
}

fn describe(headers: &mut HeaderMap, tag: &str, location: &str) {
    headers.insert(CACHE_CONTROL, PRIVATE);
    if let Ok(tag) = HeaderValue::try_from(tag) {
        headers.insert(ETAG, tag);
    }
    if let Ok(location) = HeaderValue::try_from(location) {
        headers.insert(CONTENT_LOCATION, location);
    }
}
