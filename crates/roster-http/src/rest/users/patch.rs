//! `PATCH /users/{user_id}`: change members of a user by JSON Merge Patch (RFC 7396).

use http::Response;

use super::{render::written, write::Write};
use crate::{
    app::{App, Call},
    body::Body,
    extract::{BodyKind, preconditions, user_id},
    problem::Problem,
};

pub(in crate::rest) async fn patch(
    app: &App,
    segment: &str,
    call: Call<'_>,
) -> Result<Response<Body>, Problem> {
    let held = preconditions(&call.parts.headers)?;
    let id = user_id(segment)?;
    let Write { tree, wanted, caller } = Write::read(BodyKind::MergePatch, app, call).await?;
    let outcome = app.directory.patch(id, tree, held, caller).await?;
    Ok(written(app, outcome, wanted))
}
