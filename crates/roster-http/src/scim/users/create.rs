//! `POST /scim/v2/Users`: create a user (RFC 7644 section 3.3).

use axum::extract::State;
use http::{HeaderValue, StatusCode, header::LOCATION};
use roster_core::{Preconditions, access::ReadUsers};
use roster_scim::user::{self, Sent, location};

use crate::{
    problem::{Problem, ProblemCode},
    request::UnreadCall,
    scim::{
        Answered,
        answer::{base, written},
        asked::{Asked, body},
    },
    state::AppState,
};

pub(crate) async fn create(State(app): State<AppState>, call: UnreadCall) -> Answered {
    let app = &app;
    // What does not exist has no version to be held to.
    let asked = Asked {
        preconditions: Preconditions::default(),
        ..Asked::read(&call.parts, call.profile())?
    };
    let profile = asked.profile;
    let read = move |tree| user::read(tree, profile, Sent::Created);
    let (call, draft, bytes) = body(app, call, read).await?;
    let (may, may_read) = (call.permit()?, call.permit::<ReadUsers>()?);
    let draft = draft?;
    let terms = asked.terms(&call.parts, call.caller(), &bytes);
    let outcome = asked.carry_out(app, app.directory.create(may, draft, terms)).await?;

    let mut response = written(app, may_read, StatusCode::CREATED, &outcome, &asked).await?;
    let location = HeaderValue::try_from(location(&base(app), outcome.stored.id))
        .map_err(|_| Problem::new(ProblemCode::Internal))?;
    response.headers_mut().insert(LOCATION, location);
    Ok(response)
}
