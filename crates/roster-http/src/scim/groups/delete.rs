//! `DELETE /scim/v2/Groups/{id}`: delete a group (RFC 7644 section 3.6).

use roster_scim::schema::GROUP;

use super::{group_id, of_groups};
use crate::{
    face::{Call, Face},
    scim::{Answered, answer::gone, asked::Asked},
};

pub(in crate::scim) async fn delete(face: &Face, segment: &str, call: &Call<'_>) -> Answered {
    let asked = Asked::of(&GROUP, call.parts, call.profile())?;
    let id = group_id(segment)?;
    let terms = asked.terms(call.parts, call.caller(), b"");
    let desk = face.directory.groups();
    let delete = Box::pin(desk.delete(call.permit()?, id, terms));
    let outcome = asked.carry_out(face, of_groups(delete)).await?;
    Ok(gone(&outcome))
}
