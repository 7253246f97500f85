//! What the machines that run the service ask.
//!
//! They are answered whatever the store does: it is waited for a moment, and no longer.

use std::time::Duration;

use http::{
    HeaderValue, Response,
    header::{CACHE_CONTROL, CONTENT_TYPE},
};
use roster_core::{
    StoreError,
    access::{Permit, ReadMetrics},
};
use tokio::time::timeout;

use crate::{
    extract::{JSON, OPENMETRICS, negotiate, refuse_parameters},
    face::{Call, Face},
    front::Body,
    problem::{Problem, ProblemCode},
};

/// How long the counters of the store are waited for; the rest is told without them.
const COUNTERS_WAIT_MAX: Duration = Duration::from_secs(1);
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// The process runs: it answers.
pub(super) fn get_liveness() -> Response<Body> {
    answer(JSON.header(), "{\"status\":\"ok\"}")
}

/// The service is not about to stop, the last commit succeeded and there is room to write.
pub(super) async fn get_readiness(face: &Face) -> Result<Response<Body>, Problem> {
    if face.is_draining() {
        return Err(Problem::new(ProblemCode::Draining));
    }
    face.readiness.check(&face.directory).await?;
    if !(face.settings.has_room)() {
        let cause = StoreError::Unavailable("the disk is below its floor".into());
        return Err(Problem::new(ProblemCode::Unavailable).because(cause));
    }
    Ok(answer(JSON.header(), "{\"status\":\"ok\"}"))
}

/// The measurements, with the counters of the store.
pub(super) async fn get_metrics(face: &Face, call: &Call<'_>) -> Result<Response<Body>, Problem> {
    let _may: Permit<ReadMetrics> = call.permit()?;
    refuse_parameters(call.parts.uri.query())?;
    let media = negotiate(&call.parts.headers, &[OPENMETRICS])?;
    let head = timeout(COUNTERS_WAIT_MAX, face.directory.head()).await.ok().and_then(Result::ok);
    let page = face.metrics.page(head, face.directory.wal_bytes());
    let page = page.ok_or_else(|| Problem::new(ProblemCode::Internal))?;
    Ok(answer(media.header(), page))
}

fn answer(content_type: HeaderValue, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response.headers_mut().insert(CACHE_CONTROL, NO_STORE);
    response
}
