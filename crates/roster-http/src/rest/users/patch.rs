//! `PATCH /users/{user_id}`: change members of a user by JSON Merge Patch (RFC 7396).

use http::Response;

use super::render::written;
use crate::{
    app::{App, Call},
    body::Body,
    extract::{
        BodyKind, JSON, negotiate, preconditions, preferred_return, read_json, refuse_parameters,
        user_id,
    },
    problem::Problem,
};

pub(in crate::rest) async fn patch(
    app: &App,
    segment: &str,
    call: Call<'_>,
) -> Result<Response<Body>, Problem> {
    let headers = &call.parts.headers;
    refuse_parameters(call.parts.uri.query())?;
    negotiate(headers, &[JSON])?;
    let held = preconditions(headers)?;
    let wanted = preferred_return(headers);
    let id = user_id(segment)?;
    let caller = call.caller();
    let (most, floor) = (app.settings.body_bytes_max, call.peer.body_floor);
    let patch = read_json(BodyKind::MergePatch, headers, call.body, most, &floor).await?;
    let outcome = app.directory.patch(id, patch, held, caller).await?;
    Ok(written(app, outcome, wanted))
}
