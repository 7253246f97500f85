//! `PUT /users/{user_id}`: replace the whole of a user; never creates.

use http::Response;
use roster_core::{Draft, Mode};

use crate::{
    extract::{BodyKind, user_id},
    face::{Face, UnreadCall},
    front::Body,
    problem::Problem,
    rest::{
        answer::{rehearsed, written},
        asked::Asked,
        write::Write,
    },
};

pub(in crate::rest) async fn replace(
    face: &Face,
    segment: &str,
    call: UnreadCall<'_>,
) -> Result<Response<Body>, Problem> {
    let asked = Asked::read(call.parts)?;
    let id = user_id(segment)?;
    let Write { sent, asked, terms, may } =
        Write::read(BodyKind::Object, asked, face, call, Draft::parse).await?;
    let replace = face.directory.replace(may, id, sent, terms);
    let outcome = asked.carry_out(face, replace).await?;
    if asked.mode == Mode::DryRun {
        return rehearsed(face, &outcome);
    }
    Ok(written(face, outcome, asked.wanted))
}
