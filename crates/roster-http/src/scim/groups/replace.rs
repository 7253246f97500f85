//! `PUT /scim/v2/Groups/{id}`: replace a group and its members; never creates (RFC 7644 section
//! 3.5.1).

use axum::extract::State;
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
    request::UnreadCall,
    scim::{
        Answered,
        asked::{Asked, body},
    },
    state::AppState,
};

pub(crate) async fn replace(State(app): State<AppState>, call: UnreadCall) -> Answered {
    let app = &app;
    let segment = &call.segment().to_owned();
    let asked = Asked::of(&GROUP, &call.parts, call.profile())?;
    let id = group_id(segment)?;
    let profile = asked.profile;
    let read = move |tree| group::read(tree, profile);
    let (call, sent, bytes) = body(app, call, read).await?;
    let (may, may_read) = (call.permit()?, call.permit::<ReadUsers>()?);
    let GroupBody { draft, members } = sent?;
    let terms = asked.terms(&call.parts, call.caller(), &bytes);
    let (edit, members) = (GroupEdit::Replace(Box::new(draft)), MembersEdit::All(members));
    let desk = app.directory.groups();
    let change = Box::pin(desk.change(may, id, edit, members, terms));
    let outcome = asked.carry_out(app, of_groups(change)).await?;
    written(app, may_read, StatusCode::OK, outcome, &asked).await
}
