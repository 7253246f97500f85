//! From stored records to answers. The record's bytes go out as they are kept.

use http::{
    HeaderMap, HeaderName, HeaderValue, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG},
};
use roster_core::{
    Attribute, Json, LogId, Outcome, Position, Preconditions, Stored,
    attribute::Kind,
    json::{self, write_json},
};

use crate::{
    extract::{JSON, Return},
    face::Face,
    front::Body,
    problem::{Problem, ProblemCode},
};

pub(super) const PRIVATE: HeaderValue = HeaderValue::from_static("private, no-cache");
const ROSTER_POSITION: HeaderName = HeaderName::from_static("roster-position");
const DRY_RUN: HeaderName = HeaderName::from_static("dry-run");
const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// What a fetch came to: the record, or that the caller knows it (RFC 9110 section 13.2.2:
/// `If-Match` first, then `If-None-Match`).
pub(super) fn one(
    status: StatusCode,
    stored: Stored,
    preconditions: Preconditions,
) -> Result<Response<Body>, Problem> {
    if preconditions.if_match.is_some_and(|tags| !tags.hold(stored.version)) {
        let detail = format!("it is at version {}", stored.version);
        return Err(Problem::saying(ProblemCode::VersionMismatch, detail));
    }
    if preconditions.if_none_match.is_some_and(|tags| tags.hold(stored.version)) {
        return Ok(not_modified(stored.version));
    }
    Ok(record(status, stored))
}

/// A record with its entity tag.
fn record(status: StatusCode, stored: Stored) -> Response<Body> {
    let mut response = Response::new(Body::full(stored.record));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, JSON.header());
    headers.insert(CACHE_CONTROL, PRIVATE);
    entity_tag(headers, stored.version);
    response
}

/// The record is as the caller knows it.
fn not_modified(version: i64) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    response.headers_mut().insert(CACHE_CONTROL, PRIVATE);
    entity_tag(response.headers_mut(), version);
    response
}

/// What a write came to: the record, or without it as the caller preferred (RFC 7240).
pub(super) fn written(face: &Face, outcome: Outcome, wanted: Option<Return>) -> Response<Body> {
    let mut marks = HeaderMap::new();
    replayed(&mut marks, &outcome);
    let number = outcome.position;
    let mut response = if wanted == Some(Return::Minimal) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        response.headers_mut().insert(CACHE_CONTROL, PRIVATE);
        entity_tag(response.headers_mut(), outcome.stored.version);
        response
    } else {
        record(StatusCode::OK, outcome.stored)
    };
    let headers = response.headers_mut();
    position(headers, face.directory.log_id(), number);
    headers.extend(marks);
    if let Some(wanted) = wanted {
        headers.insert(PREFERENCE_APPLIED, HeaderValue::from_static(wanted.applied()));
    }
    response
}

/// What became of a user that is gone.
pub(super) fn gone(face: &Face, outcome: &Outcome) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    position(headers, face.directory.log_id(), outcome.position);
    replayed(headers, outcome);
    response
}

/// What a write would come to: the record without what only the write itself would make.
pub(super) fn rehearsed(face: &Face, outcome: &Outcome) -> Result<Response<Body>, Problem> {
    let record = json::read(&outcome.stored.record).ok();
    let Some(Json::Object(mut members)) = record else {
        return Err(Problem::new(ProblemCode::Internal));
    };
    members.retain(|(name, _)| {
        let attribute = Attribute::from_name(name);
        !attribute.is_some_and(|attribute| matches!(attribute.kind(), Kind::ServerMade))
    });
    let mut out = Vec::with_capacity(outcome.stored.record.len());
    write_json(&mut out, &Json::Object(members));
    let mut response = Response::new(Body::from(out));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, JSON.header());
    headers.insert(CACHE_CONTROL, PRIVATE);
    headers.insert(DRY_RUN, HeaderValue::from_static("true"));
    position(headers, face.directory.log_id(), outcome.position);
    Ok(response)
}

fn replayed(headers: &mut HeaderMap, outcome: &Outcome) {
    if outcome.replayed {
        headers.insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
    }
}

/// The place in the change log that an answer reflects.
pub(super) fn position(headers: &mut HeaderMap, log: LogId, number: i64) {
    if let Ok(value) = HeaderValue::try_from(Position { log, number }.to_string()) {
        headers.insert(ROSTER_POSITION, value);
    }
}

/// A strong tag: the version, the same on every node.
fn entity_tag(headers: &mut HeaderMap, version: i64) {
    if let Ok(value) = HeaderValue::try_from(format!("\"{version}\"")) {
        headers.insert(ETAG, value);
    }
}
