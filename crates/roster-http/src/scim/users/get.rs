//! `GET /scim/v2/Users/{id}`: fetch one user (RFC 7644 section 3.4.1).

use axum::extract::State;
use http::StatusCode;

use super::{no_such_user, user_id};
use crate::{
    extract::weak_preconditions,
    pressure::Class,
    request::Call,
    scim::{
        Answered,
        answer::{not_modified, user},
        asked::{media, projection},
    },
    state::AppState,
};
use roster_core::Refusal;
use roster_scim::{schema::USER, user::shows_groups};

pub(crate) async fn get(State(app): State<AppState>, call: Call) -> Answered {
    let app = &app;
    let segment = call.segment();
    let media = media(&call.parts)?;
    let projection = projection(&USER, &call.parts)?;
    let preconditions = weak_preconditions(&call.parts.headers)?;
    let id = user_id(segment)?;
    let may = call.permit()?;
    let get = app.directory.get(may, id);
    let stored = app.pressure.with_admission(Class::Reads, get).await?.ok_or_else(no_such_user)?;
    if preconditions.if_match.is_some_and(|tags| !tags.hold(stored.version)) {
        let refusal = Refusal::VersionMismatch { current: stored.version };
        return Err(roster_scim::user::refused(&refusal).into());
    }
    // The tag vouches for the user's own attributes: groups change by the group alone.
    let vouches = !shows_groups(&projection);
    if vouches && preconditions.if_none_match.is_some_and(|tags| tags.hold(stored.version)) {
        return Ok(not_modified(app, &stored));
    }
    user(app, may, StatusCode::OK, &stored, &projection, media).await
}
