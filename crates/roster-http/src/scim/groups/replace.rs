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
    face::{Face, UnreadCall},
    scim::{
        Answered,
        asked::{Asked, body},
    },
};

pub(in crate::scim) async fn replace(face: &Face, segment: &str, call: UnreadCall<'_>) -> Answered {
    let asked = Asked::of(&GROUP, call.parts, call.profile())?;
    let id = group_id(segment)?;
    let profile = asked.profile;
    let read = move |tree| group::read(tree, profile);
    let (call, sent, bytes) = body(face, call, read).await?;
    let (may, may_read) = (call.permit()?, call.permit::<ReadUsers>()?);
    let GroupBody { draft, members } = sent?;
    let terms = asked.terms(call.parts, call.caller(), &bytes);
    let (edit, members) = (GroupEdit::Replace(Box::new(draft)), MembersEdit::All(members));
    let desk = face.directory.groups();
    let change = Box::pin(desk.change(may, id, edit, members, terms));
    let outcome = asked.carry_out(face, of_groups(change)).await?;
    written(face, may_read, StatusCode::OK, outcome, &asked).await
}
