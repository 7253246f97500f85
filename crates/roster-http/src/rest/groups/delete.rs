//! `DELETE /groups/{group_id}`: delete a group for good; who belonged to it stays.

use http::Response;
use roster_core::Mode;

use super::{group_id, pass};
use crate::{
    face::{Call, Face},
    front::Body,
    problem::Problem,
    rest::{
        answer::{gone, rehearsed},
        asked::Asked,
    },
};

pub(in crate::rest) async fn delete(
    face: &Face,
    segment: &str,
    call: &Call<'_>,
) -> Result<Response<Body>, Problem> {
    let asked = Asked::read(call.parts)?;
    let id = group_id(segment)?;
    let terms = asked.terms(call.parts, call.caller(), b"");
    let desk = face.directory.groups();
    let outcome = pass(face, &asked, desk.delete(call.permit()?, id, terms)).await?;
    if asked.mode == Mode::DryRun {
        return rehearsed(face, &outcome);
    }
    Ok(gone(face, &outcome))
}
