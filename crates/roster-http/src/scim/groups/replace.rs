//! `PUT /scim/v2/Groups/{id}`: replace a group and its members; never creates (RFC 7644 section
//! 3.5.1).

use http::StatusCode;
use roster_core::{
    access::ReadUsers,
    group::{GroupEdit, MembersEdit},
};
use roster_scim::{
    group::{self, GroupBody},
    schema::GROUP,
};

use super::{answer::written, group_id, of_groups};
use crate::{
    face::{Call, Face},
    scim::{
        Answered,
        asked::{Asked, body},
    },
};

pub(in crate::scim) async fn replace(face: &Face, segment: &str, call: Call<'_>) -> Answered {
    let (may, may_read) = (call.permit()?, call.permit::<ReadUsers>()?);
    let asked = Asked::of(&GROUP, &call)?;
    let id = group_id(segment)?;
    let (parts, caller) = (call.parts, call.caller());
    let (tree, bytes) = body(face, call).await?;
    let GroupBody { draft, members } = group::read(tree, asked.profile)?;
    let terms = asked.terms(parts, caller, &bytes);
    let (edit, members) = (GroupEdit::Replace(Box::new(draft)), MembersEdit::All(members));
    let desk = face.directory.groups();
    let change = Box::pin(desk.change(may, id, edit, members, terms));
    let outcome = asked.carry_out(face, of_groups(change)).await?;
    written(face, may_read, StatusCode::OK, outcome, &asked).await
}
