//! `PATCH /users/{user_id}`: change members of a user by JSON Merge Patch (RFC 7396).

use http::Response;
use roster_core::Mode;

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

pub(in crate::rest) async fn patch(
    face: &Face,
    segment: &str,
    call: UnreadCall<'_>,
) -> Result<Response<Body>, Problem> {
    let asked = Asked::read(call.parts)?;
    let id = user_id(segment)?;
    let Write { sent, asked, terms, may } =
        Write::read(BodyKind::MergePatch, asked, face, call, |tree| tree).await?;
    let patch = face.directory.patch(may, id, sent, terms);
    let outcome = asked.carry_out(face, patch).await?;
    if asked.mode == Mode::DryRun {
        return rehearsed(face, &outcome);
    }
    Ok(written(face, outcome, asked.wanted))
}
