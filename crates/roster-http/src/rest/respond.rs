//! Responses about one record. The bytes of the record are sent as they are stored.

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, LOCATION},
};
use roster_core::{
    Effect, Mode, Outcome, Position, Preconditions, Stored, UserId, project::Members,
};

use crate::{
    extract::{Fields, JSON, ReturnPreference, WriteOptions},
    problem::{NO_STORE, Problem, ProblemCode},
    state::AppState,
};

pub(super) const PRIVATE: HeaderValue = HeaderValue::from_static("private, no-cache");
const ROSTER_POSITION: HeaderName = HeaderName::from_static("roster-position");
/// The members of the body of a create that were not used.
const ROSTER_IGNORED: HeaderName = HeaderName::from_static("roster-ignored");
pub(super) const DRY_RUN: HeaderName = HeaderName::from_static("dry-run");
pub(super) const TRUE: HeaderValue = HeaderValue::from_static("true");
const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// The response to a read of one record, or 304 if the client has it already. `If-Match` is
/// evaluated first, then `If-None-Match` (RFC 9110 section 13.2.2).
pub(super) fn read_response(
    stored: Stored,
    preconditions: Preconditions,
) -> Result<Response, Problem> {
    check_match(&preconditions, stored.version)?;
    if preconditions.if_none_match.is_some_and(|tags| tags.hold(stored.version)) {
        return Ok(without_content(StatusCode::NOT_MODIFIED, stored.version));
    }
    Ok(record(stored))
}

/// Rejects a read of a record at this version if `If-Match` excludes it.
pub(super) fn check_match(preconditions: &Preconditions, version: i64) -> Result<(), Problem> {
    if preconditions.if_match.as_ref().is_none_or(|tags| tags.hold(version)) {
        return Ok(());
    }
    let detail = format!("it is at version {version}");
    Err(Problem::saying(ProblemCode::VersionMismatch, detail))
}

/// Appends a record with its selected members; `None` if it cannot be read.
pub(super) fn write_record(
    stored: &Stored,
    members: Option<&Members>,
    out: &mut Vec<u8>,
) -> Option<()> {
    match members {
        None => {
            out.extend_from_slice(&stored.record);
            Some(())
        }
        Some(members) => members.project(&stored.record, out),
    }
}

/// A record with its selected members.
pub(super) fn shown(stored: Stored, fields: &Fields) -> Result<Stored, Problem> {
    let Some(members) = fields.members() else { return Ok(stored) };
    let mut record = Vec::new();
    let shown = members.project(&stored.record, &mut record);
    shown.ok_or_else(|| Problem::new(ProblemCode::Internal))?;
    Ok(Stored { record: record.into(), ..stored })
}

/// A record with its entity tag.
fn record(stored: Stored) -> Response {
    let mut response = Response::new(Body::from(stored.record));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, JSON.header());
    headers.insert(CACHE_CONTROL, PRIVATE);
    entity_tag(headers, stored.version);
    response
}

/// A response without content about a record.
fn without_content(status: StatusCode, version: i64) -> Response {
    let mut response = status.into_response();
    response.headers_mut().insert(CACHE_CONTROL, PRIVATE);
    entity_tag(response.headers_mut(), version);
    response
}

/// The response to a write: the record, nothing if the caller prefers that (RFC 7240), or the
/// record that a dry run would have made. A caller that may not see the record gets
/// [`unseen_response`].
pub(super) fn write_response(options: &WriteOptions, outcome: Outcome) -> Response {
    if !options.shows(outcome.effect) {
        return unseen_response(options, &outcome);
    }
    if options.mode == Mode::DryRun {
        return dry_run_response(options, outcome);
    }
    let (replayed, number) = (outcome.replayed, outcome.position);
    let mut response = if options.preferred_return == Some(ReturnPreference::Minimal) {
        without_content(StatusCode::NO_CONTENT, outcome.stored.version)
    } else {
        record(outcome.stored)
    };
    let headers = response.headers_mut();
    position(headers, options.position(number));
    mark_replayed(headers, replayed);
    if let Some(preferred) = options.preferred_return {
        headers.insert(PREFERENCE_APPLIED, HeaderValue::from_static(preferred.applied()));
    }
    response
}

/// The response to a write that creates a record of this collection.
pub(super) fn create_response(
    app: &AppState,
    options: &WriteOptions,
    outcome: Outcome,
    collection: &str,
) -> Result<Response, Problem> {
    let location = format!("{}/{collection}/{}", app.base_path(), outcome.stored.id);
    let mut response = write_response(options, outcome);
    if options.mode == Mode::Write {
        *response.status_mut() = StatusCode::CREATED;
        insert(response.headers_mut(), LOCATION, location)?;
    }
    Ok(response)
}

/// Says in the response that the `id` of a body was not used, if it is not that of the record.
pub(super) fn tell_ignored_id(response: &mut Response, sent: Option<&str>, stored: UserId) {
    if ignores_id(sent, stored) {
        response.headers_mut().insert(ROSTER_IGNORED, HeaderValue::from_static("id"));
    }
}

/// The response to a write that leaves no record.
pub(super) fn delete_response(options: &WriteOptions, outcome: Outcome) -> Response {
    if !options.shows(outcome.effect) {
        return unseen_response(options, &outcome);
    }
    if options.mode == Mode::DryRun {
        return dry_run_response(options, outcome);
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    position(headers, options.position(outcome.position));
    mark_replayed(headers, outcome.replayed);
    response
}

/// The response to a write of a record that the caller may not read. It is the same whether the
/// record changed or had the requested state already, except that only a change has a position.
fn unseen_response(options: &WriteOptions, outcome: &Outcome) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, PRIVATE);
    if options.mode == Mode::DryRun {
        headers.insert(DRY_RUN, TRUE);
    } else if let Effect::Changed(_) = outcome.effect {
        position(headers, options.position(outcome.position));
    }
    mark_replayed(headers, outcome.replayed);
    if let Some(ReturnPreference::Minimal) = options.preferred_return {
        let applied = ReturnPreference::Minimal.applied();
        headers.insert(PREFERENCE_APPLIED, HeaderValue::from_static(applied));
    }
    response
}

/// The record that a write would make. It has no entity tag, because no version with it is stored.
fn dry_run_response(options: &WriteOptions, outcome: Outcome) -> Response {
    let headers = [(CONTENT_TYPE, JSON.header()), (CACHE_CONTROL, PRIVATE), (DRY_RUN, TRUE)];
    let mut response = (headers, outcome.stored.record).into_response();
    position(response.headers_mut(), options.position(outcome.position));
    response
}

/// A response that no cache may store.
pub(super) fn uncached(status: StatusCode, body: Vec<u8>) -> Response {
    let headers = [(CONTENT_TYPE, JSON.header()), (CACHE_CONTROL, NO_STORE)];
    (status, headers, body).into_response()
}

/// Inserts a header whose value is made of ids and of the base path.
pub(super) fn insert(
    headers: &mut HeaderMap,
    name: HeaderName,
    value: String,
) -> Result<(), Problem> {
    let value = HeaderValue::try_from(value).map_err(|_| Problem::new(ProblemCode::Internal))?;
    headers.insert(name, value);
    Ok(())
}

fn mark_replayed(headers: &mut HeaderMap, replayed: bool) {
    if replayed {
        headers.insert(IDEMPOTENT_REPLAYED, TRUE);
    }
}

/// The position in the change log that the response reflects.
pub(super) fn position(headers: &mut HeaderMap, position: Position) {
    if let Ok(value) = HeaderValue::try_from(position.to_string()) {
        headers.insert(ROSTER_POSITION, value);
    }
}

/// A strong tag: the version, the same on every node.
fn entity_tag(headers: &mut HeaderMap, version: i64) {
    if let Ok(value) = HeaderValue::try_from(format!("\"{version}\"")) {
        headers.insert(ETAG, value);
    }
}

/// Whether a create sent another id than that of the user that it came to.
pub(super) fn ignores_id(sent: Option<&str>, stored: UserId) -> bool {
    sent.is_some_and(|sent| UserId::parse(sent) != Some(stored))
}
