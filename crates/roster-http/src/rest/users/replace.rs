//! `PUT /users/{user_id}`: replace the whole of a user; never creates.

use http::Response;
use roster_core::Draft;

use super::{render::written, write::Write};
use crate::{
    app::{App, Call},
    body::Body,
    extract::{BodyKind, preconditions, user_id},
    problem::Problem,
};

pub(in crate::rest) async fn replace(
    app: &App,
    segment: &str,
    call: Call<'_>,
) -> Result<Response<Body>, Problem> {
    let held = preconditions(&call.parts.headers)?;
    let id = user_id(segment)?;
    let Write { tree, wanted, caller } = Write::read(BodyKind::User, app, call).await?;
    let outcome = app.directory.replace(id, Draft::parse(tree), held, caller).await?;
    Ok(written(app, outcome, wanted))
}
