//! `POST /keys`: make a key. The first one ends the open mode for good.

use http::{HeaderValue, Response, StatusCode, header::LOCATION};
use roster_core::access::KeyDraft;

use super::{answer, note, record::revealed};
use crate::{
    extract::{BodyKind, JSON, negotiate, read_bytes, refuse_parameters},
    face::{Call, Face},
    front::Body,
    problem::{Fault, Problem, ProblemCode},
};

/// Most bytes of a key that is sent.
const BYTES_MAX: usize = 16 * 1024;

pub(in crate::rest) async fn create(
    face: &Face,
    call: Call<'_>,
) -> Result<Response<Body>, Problem> {
    let may = call.permit()?;
    let headers = &call.parts.headers;
    refuse_parameters(call.parts.uri.query())?;
    negotiate(headers, &[JSON])?;
    let bytes = read_bytes(BodyKind::Object, headers, call.body, BYTES_MAX, call.peer).await?;
    let draft = KeyDraft::parse(&face.json.parse(&bytes).await?, face.directory.now());
    let draft = draft.map_err(|violations| {
        Problem::listing(ProblemCode::InvalidKey, "member", violations.map(Fault::from))
    })?;
    let (key, token) = face.access.keys.create(may, draft, &call.authority).await?;
    face.access.keys_changed().await?;
    note(call.request_id, &call.authority, "a key was created", key.id);

    let mut response = answer(StatusCode::CREATED, &revealed(&key, &token, face.directory.now()));
    let location = format!("{}/keys/{}", face.settings.base_path(), key.id);
    let location =
        HeaderValue::try_from(location).map_err(|_| Problem::new(ProblemCode::Internal))?;
    response.headers_mut().insert(LOCATION, location);
    Ok(response)
}
