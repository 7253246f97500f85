//! `PUT /scim/v2/Users/{id}`: replace a user; never creates (RFC 7644 section 3.5.1).

use http::StatusCode;
use roster_core::access::ReadUsers;
use roster_scim::user::{self, Sent};

use super::user_id;
use crate::{
    face::{Face, UnreadCall},
    scim::{
        Answered,
        answer::written,
        asked::{Asked, body},
    },
};

pub(in crate::scim) async fn replace(face: &Face, segment: &str, call: UnreadCall<'_>) -> Answered {
    let asked = Asked::read(call.parts, call.profile())?;
    let id = user_id(segment)?;
    let profile = asked.profile;
    let read = move |tree| user::read(tree, profile, Sent::Replaced);
    let (call, draft, bytes) = body(face, call, read).await?;
    let (may, may_read) = (call.permit()?, call.permit::<ReadUsers>()?);
    let draft = draft?;
    let terms = asked.terms(call.parts, call.caller(), &bytes);
    let outcome = asked.carry_out(face, face.directory.replace(may, id, draft, terms)).await?;
    written(face, may_read, StatusCode::OK, &outcome, &asked).await
}
