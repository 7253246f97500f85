//! `GET /groups/{group_id}`: fetch one group.

use http::{Response, StatusCode};

use super::group_id;
use crate::{
    extract::{JSON, negotiate, preconditions, refuse_parameters},
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
    let id = group_id(segment)?;
    let (desk, may) = (face.directory.groups(), call.permit()?);
    let stored = face.pressure.with_admission(Class::Reads, desk.get(may, id)).await?;
    let stored = stored.ok_or_else(|| Problem::new(ProblemCode::GroupNotFound))?;
    one(StatusCode::OK, stored, held)
}
