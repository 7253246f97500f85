//! `GET /keys`: all keys, in the order of their making. There are few: they come in one answer.

use http::{Response, StatusCode};
use roster_core::Json;

use super::{answer, record::record};
use crate::{
    extract::{JSON, negotiate, refuse_parameters},
    face::{Call, Face},
    front::Body,
    problem::Problem,
};

pub(in crate::rest) async fn list(face: &Face, call: &Call<'_>) -> Result<Response<Body>, Problem> {
    let may = call.permit()?;
    refuse_parameters(call.parts.uri.query())?;
    negotiate(&call.parts.headers, &[JSON])?;
    let keys = face.access.keys.list(may).await?;
    let now = face.directory.now();
    let keys = keys.iter().map(|key| record(key, now)).collect();
    let body = Json::Object(vec![("items".to_owned(), Json::Array(keys))]);
    Ok(answer(StatusCode::OK, &body))
}
