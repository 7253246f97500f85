//! `POST /scim/v2/Users`: create a user (RFC 7644 section 3.3).

use http::{HeaderValue, StatusCode, header::LOCATION};
use roster_core::{Preconditions, access::ReadUsers};
use roster_scim::user::{self, Sent, location};

use crate::{
    face::{Call, Face},
    problem::{Problem, ProblemCode},
    scim::{
        Answered,
        answer::{base, written},
        asked::{Asked, body},
    },
};

pub(in crate::scim) async fn create(face: &Face, call: Call<'_>) -> Answered {
    let (may, may_read) = (call.permit()?, call.permit::<ReadUsers>()?);
    // What does not exist has no version to be held to.
    let asked = Asked { held: Preconditions::default(), ..Asked::read(&call)? };
    let (parts, caller) = (call.parts, call.caller());
    let (tree, bytes) = body(face, call).await?;
    let draft = user::read(tree, asked.profile, Sent::Created)?;
    let terms = asked.terms(parts, caller, &bytes);
    let outcome = asked.carry_out(face, face.directory.create(may, draft, terms)).await?;

    let mut response = written(face, may_read, StatusCode::CREATED, &outcome, &asked).await?;
    let location = HeaderValue::try_from(location(&base(face), outcome.stored.id))
        .map_err(|_| Problem::new(ProblemCode::Internal))?;
    response.headers_mut().insert(LOCATION, location);
    Ok(response)
}
