//! `POST /users`: create a user.

use http::{HeaderValue, Response, StatusCode, header::LOCATION};
use roster_core::Draft;

use super::{render::written, write::Write};
use crate::{
    extract::BodyKind,
    face::{Call, Face},
    front::Body,
    problem::{Problem, ProblemCode},
};

pub(in crate::rest) async fn create(
    face: &Face,
    call: Call<'_>,
) -> Result<Response<Body>, Problem> {
    let Write { tree, wanted, terms } = Write::read(BodyKind::User, face, call).await?;
    let outcome = face.directory.create(Draft::parse(tree), terms).await?;

    let location = format!("{}/users/{}", face.settings.base_path(), outcome.stored.id);
    let mut response = written(face, outcome, wanted);
    *response.status_mut() = StatusCode::CREATED;
    let location =
        HeaderValue::try_from(location).map_err(|_| Problem::new(ProblemCode::Internal))?;
    response.headers_mut().insert(LOCATION, location);
    Ok(response)
}
