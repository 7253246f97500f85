//! `DELETE /keys/{key_id}`: revoke a key, for good. It stays in the list, so that the change log's
//! actors keep their names, until room is needed.

use http::{Response, StatusCode};

use super::{NO_STORE, key_id, note};
use crate::{
    extract::refuse_parameters,
    face::{Call, Face},
    front::Body,
    problem::Problem,
};

pub(in crate::rest) async fn revoke(
    face: &Face,
    segment: &str,
    call: &Call<'_>,
) -> Result<Response<Body>, Problem> {
    let may = call.permit()?;
    refuse_parameters(call.parts.uri.query())?;
    let key = face.access.keys.revoke(may, key_id(segment)?).await?;
    face.access.keys_changed().await?;
    note(call.request_id, &call.authority, "a key was revoked", key.id);
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.headers_mut().insert(http::header::CACHE_CONTROL, NO_STORE);
    Ok(response)
}
