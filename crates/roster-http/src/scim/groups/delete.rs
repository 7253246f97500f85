//! `DELETE /scim/v2/Groups/{id}`: delete a group (RFC 7644 section 3.6).

use axum::extract::State;
use roster_scim::schema::GROUP;

use super::{group_id, of_groups};
use crate::{
    request::Call,
    scim::{Answered, answer::gone, asked::Asked},
    state::AppState,
};

pub(crate) async fn delete(State(app): State<AppState>, call: Call) -> Answered {
    let app = &app;
    let segment = call.segment();
    let asked = Asked::of(&GROUP, &call.parts, call.profile())?;
    let id = group_id(segment)?;
    let terms = asked.terms(&call.parts, call.caller(), b"");
    let desk = app.directory.groups();
    let delete = Box::pin(desk.delete(call.permit()?, id, terms));
    let outcome = asked.carry_out(app, of_groups(delete)).await?;
    Ok(gone(&outcome))
}
