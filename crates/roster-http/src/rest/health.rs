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

/// How long the store is waited for before it counts as not ready: longer than it takes to find
/// another way to a database, and shorter than those who ask would wait.
const READY_WAIT_MAX: Duration = Duration::from_millis(4_500);
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
    // Whatever the store reports, the answer to this question is that it is not ready.
    let not_ready = |cause| Problem::new(ProblemCode::Unavailable).because(cause);
    let health = timeout(READY_WAIT_MAX, face.directory.health()).await;
    health.unwrap_or(Err(StoreError::TimedOut)).map_err(not_ready)?;
    if !(face.settings.has_room)() {
        return Err(not_ready(StoreError::Unavailable("the disk is below its floor".into())));
    }
    Ok(answer(JSON.header(), "{\"status\":\"ok\"}"))
}

/// The measurements, with the counters of the store.
pub(super) async fn get_metrics(face: &Face, call: &Call<'_>) -> Result<Response<Body>, Problem> {
    let _may: Permit<ReadMetrics> = call.permit()?;
    refuse_parameters(call.parts.uri.query())?;
    let media = negotiate(&call.parts.headers, &[OPENMETRICS])?;
    let head = timeout(COUNTERS_WAIT_MAX, face.directory.head()).await.ok().and_then(Result::ok);
    let page = face.metrics.page(head).ok_or_else(|| Problem::new(ProblemCode::Internal))?;
    Ok(answer(media.header(), page))
}

fn answer(content_type: HeaderValue, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response.headers_mut().insert(CACHE_CONTROL, NO_STORE);
    response
}
