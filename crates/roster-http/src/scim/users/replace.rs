//! `PUT /scim/v2/Users/{id}`: replace a user; never creates (RFC 7644 section 3.5.1).

use http::StatusCode;
use roster_core::access::ReadUsers;
use roster_scim::user::{self, Sent};

use super::user_id;
use crate::{
    face::{Call, Face},
    scim::{
        Answered,
        answer::written,
        asked::{Asked, body},
    },
};

pub(in crate::scim) async fn replace(face: &Face, segment: &str, call: Call<'_>) -> Answered {
    let (may, may_read) = (call.permit()?, call.permit::<ReadUsers>()?);
    let asked = Asked::read(&call)?;
    let id = user_id(segment)?;
    let (parts, caller) = (call.parts, call.caller());
    let (tree, bytes) = body(face, call).await?;
    let draft = user::read(tree, asked.profile, Sent::Replaced)?;
    let terms = asked.terms(parts, caller, &bytes);
    let outcome = asked.carry_out(face, face.directory.replace(may, id, draft, terms)).await?;
    written(face, may_read, StatusCode::OK, &outcome, &asked).await
}
