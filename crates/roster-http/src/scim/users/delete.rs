//! `DELETE /scim/v2/Users/{id}`: take a user out of the collection (RFC 7644 section 3.6).

use super::user_id;
use crate::{
    face::{Call, Face},
    pressure::Class,
    scim::{Answered, answer::gone, asked::Asked},
};

pub(in crate::scim) async fn delete(face: &Face, segment: &str, call: &Call<'_>) -> Answered {
    let asked = Asked::read(call)?;
    let id = user_id(segment)?;
    let terms = asked.terms(call.parts, call.caller(), b"");
    let entered = face.pressure.enter(Class::Writes).await?;
    let outcome = face.directory.delete(call.permit()?, id, terms).await?;
    drop(entered);
    Ok(gone(&outcome))
}
