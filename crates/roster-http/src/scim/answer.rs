//! From stored records to answers of the face.
//!
//! An entity tag is weak, `W/"<version>"`: one version may be shown in many ways.

use axum::{body::Body, response::Response};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_LOCATION, CONTENT_TYPE, ETAG},
};
use roster_core::{
    Json, Outcome, Stored, UserId,
    access::{Permit, ReadUsers},
    group::GroupsOf,
    json::write_json,
};
use roster_scim::{
    Projection,
    user::{UserWriter, location, shows_groups},
};

use super::{Refused, asked::Asked};
use crate::{
    extract::{Media, Return},
    problem::{Problem, ProblemCode},
    state::AppState,
};

pub(super) const PRIVATE: HeaderValue = HeaderValue::from_static("private, no-cache");
pub(super) const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
pub(super) const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// The absolute URL that the face is below.
pub(super) fn base(app: &AppState) -> String {
    format!("{}/scim/v2", app.settings.base_url)
}

/// The direct groups of users, where they are shown: one question for all of them.
pub(super) async fn groups_of(
    app: &AppState,
    may: Permit<ReadUsers>,
    users: Vec<UserId>,
    projection: &Projection,
) -> Result<GroupsOf, Refused> {
    if users.is_empty() || !shows_groups(projection) {
        return Ok(GroupsOf::new());
    }
    Ok(app.directory.groups().groups_of(may, users).await?)
}

/// A user.
pub(super) async fn user(
    app: &AppState,
    may: Permit<ReadUsers>,
    status: StatusCode,
    stored: &Stored,
    projection: &Projection,
    media: Media,
) -> Result<Response, Refused> {
    let mut groups = groups_of(app, may, vec![stored.id], projection).await?;
    let groups = groups.remove(&stored.id).unwrap_or_default();
    let base = base(app);
    let mut body = Vec::with_capacity(stored.record.len() + 640);
    let writer = UserWriter::new(&base, projection);
    let written = writer.write(&stored.record, &groups, &mut body);
    written.ok_or_else(|| Problem::new(ProblemCode::Internal))?;
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, media.header());
    describe(headers, &base, stored);
    Ok(response)
}

/// What a write came to.
pub(super) async fn written(
    app: &AppState,
    may: Permit<ReadUsers>,
    status: StatusCode,
    outcome: &Outcome,
    asked: &Asked,
) -> Result<Response, Refused> {
    let mut response = if asked.wanted == Some(Return::Minimal) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() =
            if status == StatusCode::OK { StatusCode::NO_CONTENT } else { status };
        describe(response.headers_mut(), &base(app), &outcome.stored);
        response
    } else {
        user(app, may, status, &outcome.stored, &asked.projection, asked.media).await?
    };
    let headers = response.headers_mut();
    if outcome.replayed {
        headers.insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
    }
    if let Some(wanted) = asked.wanted {
        headers.insert(PREFERENCE_APPLIED, HeaderValue::from_static(wanted.applied()));
    }
    Ok(response)
}

/// The user is as the caller knows it.
pub(super) fn not_modified(app: &AppState, stored: &Stored) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    describe(response.headers_mut(), &base(app), stored);
    response
}

/// What became of a user that is gone.
pub(super) fn gone(outcome: &Outcome) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    if outcome.replayed {
        let replayed = HeaderValue::from_static("true");
        response.headers_mut().insert(IDEMPOTENT_REPLAYED, replayed);
    }
    response
}

/// A JSON text that is no user.
pub(super) fn text(body: Vec<u8>, media: Media) -> Response {
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, media.header());
    headers.insert(CACHE_CONTROL, PRIVATE);
    response
}

/// A tree as an answer.
pub(super) fn tree(tree: &Json, media: Media) -> Response {
    let mut body = Vec::with_capacity(4096);
    write_json(&mut body, tree);
    text(body, media)
}

/// Tag and place of a user (RFC 7643 section 3.1: both as in `meta`).
fn describe(headers: &mut HeaderMap, base: &str, stored: &Stored) {
    headers.insert(CACHE_CONTROL, PRIVATE);
    if let Ok(tag) = HeaderValue::try_from(format!("W/\"{}\"", stored.version)) {
        headers.insert(ETAG, tag);
    }
    if let Ok(place) = HeaderValue::try_from(location(base, stored.id)) {
        headers.insert(CONTENT_LOCATION, place);
    }
}
