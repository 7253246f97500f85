//! `GET /scim/v2/Groups/{id}`: fetch one group (RFC 7644 section 3.4.1).

use axum::extract::State;
use http::StatusCode;
use roster_core::Refusal;
use roster_scim::{group::refused, schema::GROUP};

use super::{
    answer::{group, not_modified, shown},
    group_id, no_such_group,
};
use crate::{
    extract::weak_preconditions,
    pressure::Class,
    request::Call,
    scim::{
        Answered,
        asked::{media, projection},
    },
    state::AppState,
};

pub(crate) async fn get(State(app): State<AppState>, call: Call) -> Answered {
    let app = &app;
    let segment = call.segment();
    let media = media(&call.parts)?;
    let projection = projection(&GROUP, &call.parts)?;
    let preconditions = weak_preconditions(&call.parts.headers)?;
    let id = group_id(segment)?;
    let _admitted = app.pressure.admit(Class::Reads).await?;
    let shown = shown(app, call.permit()?, id, &projection).await?.ok_or_else(no_such_group)?;
    let version = shown.stored.version;
    if preconditions.if_match.is_some_and(|tags| !tags.hold(version)) {
        return Err(refused(&Refusal::VersionMismatch { current: version }).into());
    }
    // A change of its members is a version of the group: its tag vouches for them too.
    if preconditions.if_none_match.is_some_and(|tags| tags.hold(version)) {
        return Ok(not_modified(app, &shown.stored));
    }
    group(app, StatusCode::OK, &shown, &projection, media)
}
