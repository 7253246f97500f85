//! `GET /users/{user_id}`: fetch one user.

use http::{Response, StatusCode};

use crate::{
    extract::{JSON, negotiate, preconditions, refuse_parameters, user_id},
    face::{Call, Face},
    front::Body,
    pressure::Class,
    problem::{Problem, ProblemCode},
    rest::answer::one,
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
    let get = face.directory.get(call.permit()?, id);
    let stored = face.pressure.with_admission(Class::Reads, get).await?;
    let stored = stored.ok_or_else(|| Problem::new(ProblemCode::UserNotFound))?;
    one(StatusCode::OK, stored, held)
}
