//! `PATCH /groups/{group_id}`: change the record of a group by JSON Merge Patch (RFC 7396).

use http::Response;
use roster_core::{
    Mode,
    group::{GroupEdit, MembersEdit},
};

use super::{group_id, pass};
use crate::{
    extract::BodyKind,
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
    let id = group_id(segment)?;
    let Write { sent, asked, terms, may } =
        Write::read(BodyKind::MergePatch, asked, face, call, |tree| tree).await?;
    let edit = GroupEdit::Patch(Box::new(sent));
    let desk = face.directory.groups();
    let outcome = pass(face, &asked, desk.change(may, id, edit, MembersEdit::Keep, terms)).await?;
    if asked.mode == Mode::DryRun {
        return rehearsed(face, &outcome);
    }
    Ok(written(face, outcome, asked.wanted))
}
