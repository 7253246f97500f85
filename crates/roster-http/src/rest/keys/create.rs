//! `POST /keys`: make a key. The first one ends the open mode for good.

use http::{HeaderValue, Response, StatusCode, header::LOCATION};
use roster_core::access::KeyDraft;

use super::{answer, note, record::revealed};
use crate::{
    extract::{BodyKind, JSON, negotiate, refuse_parameters},
    face::{Face, UnreadCall},
    front::Body,
    problem::{Fault, Problem, ProblemCode},
};

/// Most bytes of a key that is sent.
const BYTES_MAX: usize = 16 * 1024;

pub(in crate::rest) async fn create(
    face: &Face,
    call: UnreadCall<'_>,
) -> Result<Response<Body>, Problem> {
    refuse_parameters(call.parts.uri.query())?;
    negotiate(&call.parts.headers, &[JSON])?;
    let now = face.directory.now();
    let convert = move |tree| KeyDraft::parse(&tree, now);
    let (call, draft, _) = call.read(face, BodyKind::Object, BYTES_MAX, convert).await?;
    let draft = draft.map_err(|violations| {
        Problem::listing(ProblemCode::InvalidKey, "member", violations.map(Fault::from))
    })?;
    let (key, token) = face.access.keys.create(call.permit()?, draft, &call.authority).await?;
    face.access.keys_changed().await?;
    note(call.request_id, &call.authority, "a key was created", key.id);

    let mut response = answer(StatusCode::CREATED, &revealed(&key, &token, face.directory.now()));
    let location = format!("{}/keys/{}", face.settings.base_path(), key.id);
    let location =
        HeaderValue::try_from(location).map_err(|_| Problem::new(ProblemCode::Internal))?;
    response.headers_mut().insert(LOCATION, location);
    Ok(response)
}
