//! `PATCH /users/{user_id}`: change members of a user by JSON Merge Patch (RFC 7396).

use http::Response;

use super::{render::written, write::Write};
use crate::{
    extract::{BodyKind, preconditions, user_id},
    face::{Call, Face},
    front::Body,
    problem::Problem,
};

pub(in crate::rest) async fn patch(
    face: &Face,
    segment: &str,
    call: Call<'_>,
) -> Result<Response<Body>, Problem> {
    let held = preconditions(&call.parts.headers)?;
    let id = user_id(segment)?;
    let Write { tree, wanted, mut terms } = Write::read(BodyKind::MergePatch, face, call).await?;
    terms.held = held;
    let outcome = face.directory.patch(id, tree, terms).await?;
    Ok(written(face, outcome, wanted))
}
