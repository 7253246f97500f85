//! `PUT /users/{user_id}`: replace the whole of a user; never creates.

use http::Response;
use roster_core::Draft;

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

pub(in crate::rest) async fn replace(
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
    let tree = read_json(BodyKind::User, headers, call.body, most, &floor).await?;
    let outcome = app.directory.replace(id, Draft::parse(tree), held, caller).await?;
    Ok(written(app, outcome, wanted))
}
