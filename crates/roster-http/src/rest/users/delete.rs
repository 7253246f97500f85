//! `DELETE /users/{user_id}`: take a user out of the collection at once.

use http::{Response, StatusCode};

use roster_core::Terms;

use super::render::position;
use crate::{
    extract::{preconditions, refuse_parameters, user_id},
    face::{Call, Face},
    front::Body,
    problem::Problem,
};

pub(in crate::rest) async fn delete(
    face: &Face,
    segment: &str,
    call: &Call<'_>,
) -> Result<Response<Body>, Problem> {
    refuse_parameters(call.parts.uri.query())?;
    let held = preconditions(&call.parts.headers)?;
    let id = user_id(segment)?;
    let terms = Terms { held, ..Terms::of(call.caller()) };
    let outcome = face.directory.delete(id, terms).await?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    position(response.headers_mut(), face.directory.log_id(), outcome.position);
    Ok(response)
}
