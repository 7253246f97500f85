//! `PUT /groups/{group_id}`: replace the whole record of a group; its members stay.

use http::Response;
use roster_core::{
    Mode,
    group::{GroupDraft, GroupEdit, MembersEdit},
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

pub(in crate::rest) async fn replace(
    face: &Face,
    segment: &str,
    call: UnreadCall<'_>,
) -> Result<Response<Body>, Problem> {
    let asked = Asked::read(call.parts)?;
    let id = group_id(segment)?;
    let Write { sent, asked, terms, may } =
        Write::read(BodyKind::Object, asked, face, call, GroupDraft::parse).await?;
    let edit = GroupEdit::Replace(Box::new(sent));
    let desk = face.directory.groups();
    let outcome = pass(face, &asked, desk.change(may, id, edit, MembersEdit::Keep, terms)).await?;
    if asked.mode == Mode::DryRun {
        return rehearsed(face, &outcome);
    }
    Ok(written(face, outcome, asked.wanted))
}
