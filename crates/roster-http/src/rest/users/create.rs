//! `POST /users`: create a user.

use http::{HeaderValue, Response, StatusCode, header::LOCATION};
use roster_core::Draft;

use super::{render::written, write::Write};
use crate::{
    app::{App, Call},
    body::Body,
    extract::BodyKind,
    problem::{Problem, ProblemCode},
};

pub(in crate::rest) async fn create(app: &App, call: Call<'_>) -> Result<Response<Body>, Problem> {
    let Write { tree, wanted, caller } = Write::read(BodyKind::User, app, call).await?;
    let outcome = app.directory.create(Draft::parse(tree), caller).await?;

    let location = format!("{}/users/{}", app.settings.base_path(), outcome.stored.id);
    let mut response = written(app, outcome, wanted);
    *response.status_mut() = StatusCode::CREATED;
    let location =
        HeaderValue::try_from(location).map_err(|_| Problem::new(ProblemCode::Internal))?;
    response.headers_mut().insert(LOCATION, location);
    Ok(response)
}
