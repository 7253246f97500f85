//! `DELETE /users/{user_id}`: take a user out of the collection at once.

use http::Response;
use roster_core::Mode;

use crate::rest::answer::{gone, rehearsed};
use crate::{
    extract::user_id,
    face::{Call, Face},
    front::Body,
    problem::Problem,
    rest::asked::Asked,
};

pub(in crate::rest) async fn delete(
    face: &Face,
    segment: &str,
    call: &Call<'_>,
) -> Result<Response<Body>, Problem> {
    let asked = Asked::read(call.parts)?;
    let id = user_id(segment)?;
    let terms = asked.terms(call.parts, call.caller(), b"");
    let delete = face.directory.delete(call.permit()?, id, terms);
    let outcome = asked.carry_out(face, delete).await?;
    if asked.mode == Mode::DryRun {
        return rehearsed(face, &outcome);
    }
    Ok(gone(face, &outcome))
}
