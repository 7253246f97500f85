//! `GET /users/{user_id}`: fetch one user.

use http::{Response, StatusCode};

use super::render::{not_modified, record};
use crate::{
    extract::{JSON, negotiate, preconditions, refuse_parameters, user_id},
    face::{Call, Face},
    front::Body,
    problem::{Problem, ProblemCode},
};

pub(in crate::rest) async fn get(
    face: &Face,
    segment: &str,
    call: &Call<'_>,
) -> Result<Response<Body>, Problem> {
    let headers = &call.parts.headers;
    refuse_parameters(call.parts.uri.query())?;
    negotiate(headers, &[JSON])?;
    let held = preconditions(headers)?;
    let id = user_id(segment)?;
    let stored = face.directory.get(id).await?;
    let stored = stored.ok_or_else(|| Problem::new(ProblemCode::UserNotFound))?;
    // RFC 9110 section 13.2.2: If-Match first, then If-None-Match.
    if held.if_match.is_some_and(|tags| !tags.hold(stored.version)) {
        let detail = format!("the user is at version {}", stored.version);
        return Err(Problem::saying(ProblemCode::VersionMismatch, detail));
    }
    if held.if_none_match.is_some_and(|tags| tags.hold(stored.version)) {
        return Ok(not_modified(stored.version));
    }
    Ok(record(StatusCode::OK, stored))
}
