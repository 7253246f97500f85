//! `DELETE /scim/v2/Users/{id}`: take a user out of the collection (RFC 7644 section 3.6).

use super::user_id;
use crate::{
    face::{Call, Face},
    scim::{Answered, answer::gone, asked::Asked},
};

pub(in crate::scim) async fn delete(face: &Face, segment: &str, call: &Call<'_>) -> Answered {
    let asked = Asked::read(call.parts, call.profile())?;
    let id = user_id(segment)?;
    let terms = asked.terms(call.parts, call.caller(), b"");
    let delete = face.directory.delete(call.permit()?, id, terms);
    let outcome = asked.carry_out(face, delete).await?;
    Ok(gone(&outcome))
}
