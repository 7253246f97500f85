//! `POST /users`: create a user.

use http::{HeaderValue, Response, StatusCode, header::LOCATION};
use roster_core::Draft;

use super::render::written;
use crate::{
    app::{App, Call},
    body::Body,
    extract::{BodyKind, JSON, negotiate, preferred_return, read_json, refuse_parameters},
    problem::{Problem, ProblemCode},
};

pub(in crate::rest) async fn create(app: &App, call: Call<'_>) -> Result<Response<Body>, Problem> {
    let headers = &call.parts.headers;
    refuse_parameters(call.parts.uri.query())?;
    negotiate(headers, &[JSON])?;
    let wanted = preferred_return(headers);
    let caller = call.caller();
    let (most, floor) = (app.settings.body_bytes_max, call.peer.body_floor);
    let tree = read_json(BodyKind::User, headers, call.body, most, &floor).await?;
    let outcome = app.directory.create(Draft::parse(tree), caller).await?;

    let location = format!("{}/users/{}", app.settings.base_path(), outcome.stored.id);
    let mut response = written(app, outcome, wanted);
    *response.status_mut() = StatusCode::CREATED;
    let location =
        HeaderValue::try_from(location).map_err(|_| Problem::new(ProblemCode::Internal))?;
    response.headers_mut().insert(LOCATION, location);
    Ok(response)
}
