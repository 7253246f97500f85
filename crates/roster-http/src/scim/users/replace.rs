//! `PUT /scim/v2/Users/{id}`: replace a user; never creates (RFC 7644 section 3.5.1).

use axum::extract::State;
use http::StatusCode;
use roster_core::access::ReadUsers;
use roster_scim::user::{self, Sent};

use super::user_id;
use crate::{
    request::UnreadCall,
    scim::{
        Answered,
        answer::written,
        asked::{Asked, body},
    },
    state::AppState,
};

pub(crate) async fn replace(State(app): State<AppState>, call: UnreadCall) -> Answered {
    let app = &app;
    let segment = &call.segment().to_owned();
    let asked = Asked::read(&call.parts, call.profile())?;
    let id = user_id(segment)?;
    let profile = asked.profile;
    let read = move |tree| user::read(tree, profile, Sent::Replaced);
    let (call, draft, bytes) = body(app, call, read).await?;
    let (may, may_read) = (call.permit()?, call.permit::<ReadUsers>()?);
    let draft = draft?;
    let terms = asked.terms(&call.parts, call.caller(), &bytes);
    let outcome = asked.carry_out(app, app.directory.replace(may, id, draft, terms)).await?;
    written(app, may_read, StatusCode::OK, &outcome, &asked).await
}
