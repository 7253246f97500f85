//! `DELETE /deleted-users/{user_id}`: forget a deleted user for good.

use http::Response;
use roster_core::Mode;

use crate::{
    extract::user_id,
    face::{Call, Face},
    front::Body,
    problem::Problem,
    rest::{
        answer::{gone, rehearsed},
        asked::Asked,
    },
};

pub(in crate::rest) async fn purge(
    face: &Face,
    segment: &str,
    call: &Call<'_>,
) -> Result<Response<Body>, Problem> {
    let asked = Asked::read(call.parts)?;
    let id = user_id(segment)?;
    let terms = asked.terms(call.parts, call.caller(), b"");
    let outcome = face.directory.purge(id, terms).await?;
    if asked.mode == Mode::DryRun {
        return rehearsed(face, &outcome);
    }
    Ok(gone(face, &outcome))
}
