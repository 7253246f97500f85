//! `POST /scim/v2/Groups`: create a group with its members, in one step (RFC 7644 section 3.3).

use http::{HeaderValue, StatusCode, header::LOCATION};
use roster_core::{Preconditions, access::ReadUsers};
use roster_scim::{
    group::{self, GroupBody, location},
    schema::GROUP,
};

use super::{answer::written, of_groups};
use crate::{
    face::{Face, UnreadCall},
    problem::{Problem, ProblemCode},
    scim::{
        Answered,
        answer::base,
        asked::{Asked, body},
    },
};

pub(in crate::scim) async fn create(face: &Face, call: UnreadCall<'_>) -> Answered {
    // What does not exist has no version to be held to.
    let asked = Asked {
        preconditions: Preconditions::default(),
        ..Asked::of(&GROUP, call.parts, call.profile())?
    };
    let profile = asked.profile;
    let read = move |tree| group::read(tree, profile);
    let (call, sent, bytes) = body(face, call, read).await?;
    let (may, may_read) = (call.permit()?, call.permit::<ReadUsers>()?);
    let GroupBody { draft, members } = sent?;
    let terms = asked.terms(call.parts, call.caller(), &bytes);
    let desk = face.directory.groups();
    let create = Box::pin(desk.create(may, draft, members, terms));
    let outcome = asked.carry_out(face, of_groups(create)).await?;
    let location = HeaderValue::try_from(location(&base(face), outcome.stored.id))
        .map_err(|_| Problem::new(ProblemCode::Internal))?;
    let mut response = written(face, may_read, StatusCode::CREATED, outcome, &asked).await?;
    response.headers_mut().insert(LOCATION, location);
    Ok(response)
}
