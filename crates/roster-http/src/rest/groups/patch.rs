//! `PATCH /groups/{group_id}`: change the record of a group by JSON Merge Patch (RFC 7396).

use http::Response;
use roster_core::{
    Mode,
    group::{GroupEdit, MembersEdit},
};

use super::{group_id, pass};
use crate::{
    extract::BodyKind,
    face::{Call, Face},
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
    call: Call<'_>,
) -> Result<Response<Body>, Problem> {
    let may = call.permit()?;
    let asked = Asked::read(call.parts)?;
    let id = group_id(segment)?;
    let Write { tree, asked, terms } = Write::read(BodyKind::MergePatch, asked, face, call).await?;
    let edit = GroupEdit::Patch(Box::new(tree));
    let desk = face.directory.groups();
    let outcome = pass(face, &asked, desk.change(may, id, edit, MembersEdit::Keep, terms)).await?;
    if asked.mode == Mode::DryRun {
        return rehearsed(face, &outcome);
    }
    Ok(written(face, outcome, asked.wanted))
}
