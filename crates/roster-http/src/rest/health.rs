//! Health checks and metrics.
//!
//! They respond in every state of the store, because they wait for it only a short time.

use std::time::Duration;

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use http::{
    HeaderValue,
    header::{CACHE_CONTROL, CONTENT_TYPE, VARY},
};
use roster_core::{StoreError, access::ReadMetrics};
use tokio::time::timeout;

use crate::{
    extract::{Authorized, JSON, NoParameters, OPENMETRICS, PROMETHEUS_TEXT, negotiate},
    metrics,
    problem::{NO_STORE, Problem, ProblemCode},
    request::Call,
    state::AppState,
};

/// How long to wait for the counters of the store. After that, the other metrics are returned
/// without them.
const COUNTERS_WAIT_MAX: Duration = Duration::from_secs(1);

/// `GET /livez`: the process runs.
pub(crate) async fn get_liveness() -> Response {
    answer(JSON.header(), "{\"status\":\"ok\"}")
}

/// `GET /readyz`: the service is not about to stop, the last commit succeeded and there is room to
/// write.
pub(crate) async fn get_readiness(State(app): State<AppState>) -> Result<Response, Problem> {
    if app.is_draining() {
        return Err(Problem::new(ProblemCode::Draining));
    }
    app.readiness.check(&app.directory).await?;
    if !(app.settings.has_room)() {
        let cause = StoreError::Unavailable("the disk is below its floor".into());
        return Err(Problem::new(ProblemCode::Unavailable).because(cause));
    }
    Ok(answer(JSON.header(), "{\"status\":\"ok\"}"))
}

/// `GET /metrics`: returns the measurements, with the counters of the store.
pub(crate) async fn get_metrics(
    State(app): State<AppState>,
    _: Authorized<ReadMetrics>,
    _: NoParameters,
    call: Call,
) -> Result<Response, Problem> {
    let media = negotiate(&call.parts.headers, &[OPENMETRICS, PROMETHEUS_TEXT])?;
    let head = timeout(COUNTERS_WAIT_MAX, app.directory.totals()).await.ok().and_then(Result::ok);
    let store = &app.directory;
    let (wal_bytes, failed_reads) = (store.wal_bytes(), store.failed_reads());
    app.settings.webhooks.metrics().set_lags(app.directory.now());
    let page = app.metrics.page(&app.transfers, head, wal_bytes, failed_reads, store.faults());
    let page = page.ok_or_else(|| Problem::new(ProblemCode::Internal))?;
    let page = if media == PROMETHEUS_TEXT { metrics::as_prometheus_text(&page) } else { page };
    let mut response = answer(media.header(), page);
    response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
    Ok(response)
}

fn answer(content_type: HeaderValue, body: impl IntoResponse) -> Response {
    ([(CONTENT_TYPE, content_type), (CACHE_CONTROL, NO_STORE)], body).into_response()
}
