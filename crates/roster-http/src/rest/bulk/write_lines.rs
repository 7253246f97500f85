//! `POST`, `PATCH` and `DELETE /bulk/users` as `application/x-ndjson`: one write per line in, one
//! result per line out.
//!
//! Each line is one atomic write. The lines are executed in order, and the result of a line is sent
//! after its commit. This module checks the request before the first line. Then two tasks run, one
//! for lines and one for results, so that neither waits for the other.

use std::sync::Arc;

use axum::response::{IntoResponse as _, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, EXPECT};
use roster_core::{
    Mode, OnConflict,
    access::{RestoreIds, Scope},
};
use roster_server::StreamedBody;
use tokio::sync::mpsc;

use super::{
    bulk_query::{BulkQuery, LineKind},
    intake::Intake,
    matching::check_preconditions,
    outbox::{Aside, deliver},
};
use crate::{
    extract::{IDEMPOTENCY_KEY, NDJSON, check_lines, negotiate, refuse_preconditions},
    problem::{Problem, ProblemCode},
    request::UnreadCall,
    rest::respond::{DRY_RUN, PRIVATE, TRUE},
    state::AppState,
};

pub(crate) async fn write_lines(
    app: &AppState,
    call: UnreadCall,
    kind: LineKind,
) -> Result<Response, Problem> {
    let headers = &call.parts.headers;
    if headers.contains_key(IDEMPOTENCY_KEY) {
        let detail = match kind {
            LineKind::Create(_) => {
                "an import takes no Idempotency-Key: after a break, send the stream again with \
                 on_conflict=skip"
            }
            LineKind::Patch | LineKind::Delete => {
                "lines take no Idempotency-Key: after a break, send those without a result again"
            }
        };
        return Err(Problem::saying(ProblemCode::InvalidIdempotencyKey, detail));
    }
    let may_read = call.context().authority.may(Scope::UsersRead);
    let query = BulkQuery::read(call.parts.uri.query(), kind, may_read)?;
    let keep = query.keeps_ids.then(|| call.context().authority.permit::<RestoreIds>());
    let keep = keep.transpose()?;
    match query.kind {
        LineKind::Create(upsert) if upsert.on_conflict == OnConflict::Fail => {}
        LineKind::Create(_) => refuse_preconditions(headers)?,
        LineKind::Patch | LineKind::Delete => check_preconditions(headers)?,
    }
    negotiate(headers, &[NDJSON])?;
    check_lines(headers)?;
    let place = app.transfers.imports.take(&call.identity(), &app.admission.refusals).await?;

    let (peer, client) = (call.context().peer.clone(), call.context().client);
    let request_id = call.context().request_id().to_owned();
    let expects_continue = headers.contains_key(EXPECT);
    let (mut upload, lease, caller) = call.stream(app, place)?;
    // hyper sends `100 Continue` only while no response has begun.
    let first = if expects_continue { Some(upload.next().await) } else { None };
    let (body, sender) = StreamedBody::new(&peer);
    let (results, parcels) = mpsc::channel(1);
    let aside = Aside {
        directory: app.settings.spill_dir.clone(),
        has_room: app.settings.has_room.clone(),
        memory: Arc::clone(peer.memory()),
    };
    tokio::spawn(async move {
        if let Err(cause) = deliver(parcels, sender, aside).await {
            let cause: &dyn std::error::Error = &cause;
            tracing::error!(request_id, cause, "the results of an import were lost");
        }
    });
    let intake = Intake::new(app, (query, keep), (lease, caller, client), upload, results);
    tokio::spawn(intake.run(first));

    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, NDJSON.header());
    headers.insert(CACHE_CONTROL, PRIVATE);
    if query.mode == Mode::DryRun {
        headers.insert(DRY_RUN, TRUE);
    }
    Ok(response)
}
