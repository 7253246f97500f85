//! `POST /deleted-users/{user_id}/restore`: bring a deleted user back into the collection.

use http::{HeaderValue, Response, header::CONTENT_LOCATION};
use roster_core::Mode;

use super::{deleted_id, refused};
use crate::{
    extract::{JSON, negotiate},
    face::{Call, Face},
    front::Body,
    problem::Problem,
    rest::{
        answer::{rehearsed, written},
        asked::Asked,
    },
};

pub(in crate::rest) async fn restore(
    face: &Face,
    segment: &str,
    call: &Call<'_>,
) -> Result<Response<Body>, Problem> {
    let asked = Asked::read(call.parts)?;
    negotiate(&call.parts.headers, &[JSON])?;
    let id = deleted_id(segment)?;
    let terms = asked.terms(call.parts, call.caller(), b"");
    let may = call.permit()?;
    let restore = async { face.directory.restore(may, id, terms).await.map_err(refused) };
    let outcome = asked.carry_out(face, restore).await?;
    if asked.mode == Mode::DryRun {
        return rehearsed(face, &outcome);
    }
    let mut response = written(face, outcome, asked.wanted);
    // What is sent is the user as it is now found there (RFC 9110 section 8.7).
    let location = format!("{}/users/{id}", face.settings.base_path());
    if let Ok(location) = HeaderValue::try_from(location) {
        response.headers_mut().insert(CONTENT_LOCATION, location);
    }
    Ok(response)
}
