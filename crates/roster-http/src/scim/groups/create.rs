//! `POST /scim/v2/Groups`: create a group with its members, in one step (RFC 7644 section 3.3).

use axum::extract::State;
use http::{HeaderValue, StatusCode, header::LOCATION};
use roster_core::{Preconditions, access::ReadUsers};
use roster_scim::{
    group::{self, GroupBody, location},
    schema::GROUP,
};

use super::{answer::written, of_groups};
use crate::{
    problem::{Problem, ProblemCode},
    request::UnreadCall,
    scim::{
        Answered,
        answer::base,
        asked::{Asked, body},
    },
    state::AppState,
};

pub(crate) async fn create(State(app): State<AppState>, call: UnreadCall) -> Answered {
    let app = &app;
    // What does not exist has no version to be held to.
    let asked = Asked {
        preconditions: Preconditions::default(),
        ..Asked::of(&GROUP, &call.parts, call.profile())?
    };
    let profile = asked.profile;
    let read = move |tree| group::read(tree, profile);
    let (call, sent, bytes) = body(app, call, read).await?;
    let (may, may_read) = (call.permit()?, call.permit::<ReadUsers>()?);
    let GroupBody { draft, members } = sent?;
    let terms = asked.terms(&call.parts, call.caller(), &bytes);
    let desk = app.directory.groups();
    let create = Box::pin(desk.create(may, draft, members, terms));
    let outcome = asked.carry_out(app, of_groups(create)).await?;
    let location = HeaderValue::try_from(location(&base(app), outcome.stored.id))
        .map_err(|_| Problem::new(ProblemCode::Internal))?;
    let mut response = written(app, may_read, StatusCode::CREATED, outcome, &asked).await?;
    response.headers_mut().insert(LOCATION, location);
    Ok(response)
}
