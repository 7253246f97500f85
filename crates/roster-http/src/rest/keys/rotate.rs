//! `POST /keys/{key_id}/rotate`: make the secret of a key anew. The former one opens for a while
//! longer, so that its holders can change over without a gap.

use http::{Response, StatusCode};
use roster_core::limits::{KEY_OVERLAP_DEFAULT_MS, KEY_OVERLAP_MAX_MS};

use super::{answer, key_id, note, record::revealed};
use crate::{
    extract::{JSON, negotiate},
    face::{Call, Face},
    front::Body,
    problem::Problem,
    rest::query::read_each,
};

pub(in crate::rest) async fn rotate(
    face: &Face,
    segment: &str,
    call: &Call<'_>,
) -> Result<Response<Body>, Problem> {
    let may = call.permit()?;
    let overlap_ms = overlap_ms(call.parts.uri.query())?;
    negotiate(&call.parts.headers, &[JSON])?;
    let (key, token) = face.access.keys.rotate(may, key_id(segment)?, overlap_ms).await?;
    face.access.keys_changed().await?;
    note(call.request_id, &call.authority, "a key was rotated", key.id);
    Ok(answer(StatusCode::OK, &revealed(&key, &token, face.directory.now())))
}

/// `overlap_s`: for how many seconds the former secret still opens; 0 ends it at once.
fn overlap_ms(query: Option<&str>) -> Result<i64, Problem> {
    let mut overlap_ms = KEY_OVERLAP_DEFAULT_MS;
    read_each(query, |parameter| {
        if parameter.name != "overlap_s" {
            return Err(("unknown-parameter", "a rotation takes overlap_s alone".to_owned()));
        }
        let seconds: Option<i64> = parameter.value().parse().ok();
        let millis = seconds.and_then(|seconds| seconds.checked_mul(1000));
        let most_s = KEY_OVERLAP_MAX_MS / 1000;
        overlap_ms = millis
            .filter(|millis| (0..=KEY_OVERLAP_MAX_MS).contains(millis))
            .ok_or_else(|| ("invalid-value", format!("a number of seconds from 0 to {most_s}")))?;
        Ok(())
    })?;
    Ok(overlap_ms)
}
