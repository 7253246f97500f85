//! `PUT /users/{user_id}`: replace the whole of a user; never creates.

use http::Response;
use roster_core::Draft;

use super::{render::written, write::Write};
use crate::{
    extract::{BodyKind, preconditions, user_id},
    face::{Call, Face},
    front::Body,
    problem::Problem,
};

pub(in crate::rest) async fn replace(
    face: &Face,
    segment: &str,
    call: Call<'_>,
) -> Result<Response<Body>, Problem> {
    let held = preconditions(&call.parts.headers)?;
    let id = user_id(segment)?;
    let Write { tree, wanted, mut terms } = Write::read(BodyKind::User, face, call).await?;
    terms.held = held;
    let outcome = face.directory.replace(id, Draft::parse(tree), terms).await?;
    Ok(written(face, outcome, wanted))
}
