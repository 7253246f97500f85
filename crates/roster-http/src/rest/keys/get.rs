//! `GET /keys/{key_id}`: fetch one key, without its secret.

use http::{Response, StatusCode};

use super::{absent, answer, key_id, record::record};
use crate::{
    extract::{JSON, negotiate, refuse_parameters},
    face::{Call, Face},
    front::Body,
    problem::Problem,
};

pub(in crate::rest) async fn get(
    face: &Face,
    segment: &str,
    call: &Call<'_>,
) -> Result<Response<Body>, Problem> {
    let may = call.permit()?;
    refuse_parameters(call.parts.uri.query())?;
    negotiate(&call.parts.headers, &[JSON])?;
    let key = face.access.keys.get(may, key_id(segment)?).await?.ok_or_else(absent)?;
    Ok(answer(StatusCode::OK, &record(&key, face.directory.now())))
}
