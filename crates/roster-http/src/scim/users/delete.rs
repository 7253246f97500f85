//! `DELETE /scim/v2/Users/{id}`: take a user out of the collection (RFC 7644 section 3.6).

use super::user_id;
use crate::{
    request::Call,
    scim::{Answered, answer::gone, asked::Asked},
    state::AppState,
};
use axum::extract::State;

pub(crate) async fn delete(State(app): State<AppState>, call: Call) -> Answered {
    let app = &app;
    let segment = call.segment();
    let asked = Asked::read(&call.parts, call.profile())?;
    let id = user_id(segment)?;
    let terms = asked.terms(&call.parts, call.caller(), b"");
    let delete = app.directory.delete(call.permit()?, id, terms);
    let outcome = asked.carry_out(app, delete).await?;
    Ok(gone(&outcome))
}
