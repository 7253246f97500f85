//! `POST`, `PATCH` and `DELETE /bulk/users` with lines or rows: one write for each, and one result.
//!
//! Each line is one atomic write. The lines are executed in order, and the result of a line is sent
//! after its commit. This module checks the request before the first line. Then two tasks run, one
//! for lines and one for results, so that neither waits for the other.

use std::sync::Arc;

use axum::response::{IntoResponse as _, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, EXPECT};
use roster_core::{
    Mode, OnConflict, Upsert, UserSchema,
    access::{RestoreIds, Scope},
    limits::USER_BYTES_MAX,
};
use roster_server::StreamedBody;
use tokio::sync::mpsc;

use super::{
    bulk_query::{BulkQuery, LineKind},
    csv::{self, Beginning, Mapping},
    intake::{Body, Intake},
    lines::Lines,
    matching::check_preconditions,
    outbox::{Aside, deliver},
    splitter::{Format, Splitter},
};
use crate::{
    extract::{
        CSV, Media, NDJSON, NOT_FOR_UPSERTS, check_lines, idempotency_key, lines_type, negotiate,
        refuse_preconditions,
    },
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
    let may_read = call.context().authority.may(Scope::UsersRead);
    let is_of_groups = matches!(kind, LineKind::Group(_));
    let sent = lines_type(headers).filter(|media| !is_of_groups || *media != CSV);
    let mut mapping = (sent == Some(CSV)).then(Mapping::default);
    let given = call.parts.uri.query();
    let query = BulkQuery::read(given, &app.directory, kind, may_read, mapping.as_mut())?;
    let key = idempotency_key(headers)?;
    if key.is_some() {
        check_takes_key(query.kind)?;
    }
    let keep = query.keeps_ids.then(|| call.context().authority.permit::<RestoreIds>());
    let keep = keep.transpose()?;
    match query.kind {
        LineKind::Create(Upsert { on_conflict: OnConflict::Fail, .. })
        | LineKind::Group(OnConflict::Fail) => {}
        LineKind::Create(_) | LineKind::Group(_) => refuse_preconditions(headers, NOT_FOR_UPSERTS)?,
        LineKind::Patch | LineKind::Delete => check_preconditions(headers)?,
    }
    let offered: &[Media] = if mapping.is_some() { &[NDJSON, CSV] } else { &[NDJSON] };
    let media = negotiate(headers, offered)?;
    check_lines(headers, is_of_groups)?;
    let place = app.transfers.imports.take(&call.identity(), &app.admission.refusals).await?;

    let (peer, client) = (call.context().peer.clone(), call.context().client);
    let request_id = call.context().request_id().to_owned();
    let expects_continue = headers.contains_key(EXPECT);
    let (mut upload, lease, caller) = call.stream(app, place)?;
    let (lines, format, number, first) = if let Some(mapping) = &mapping {
        let beginning =
            csv::begin(&mut upload, mapping, UserSchema::clone(&app.directory.schema()));
        let Beginning { columns, rows, lines, is_whole } = beginning.await?;
        let first = is_whole.then_some(Ok(None));
        (Splitter::Rows(rows), Format::Csv(Arc::new(columns)), lines, first)
    } else {
        // hyper sends `100 Continue` only while no response has begun.
        let first = if expects_continue { Some(upload.next().await) } else { None };
        (Splitter::Lines(Lines::new(USER_BYTES_MAX)), Format::Json, 0, first)
    };
    let table = match &format {
        Format::Csv(columns) if media == CSV => Some(Arc::clone(columns)),
        Format::Csv(_) | Format::Json => None,
    };
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
    let body_of_call = Body { upload, lines, format, table, number, key };
    let intake = Intake::new(app, (query, keep), (lease, caller, client), body_of_call, results);
    tokio::spawn(intake.run(first));

    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, media.header());
    headers.insert(CACHE_CONTROL, PRIVATE);
    if query.mode == Mode::DryRun {
        headers.insert(DRY_RUN, TRUE);
    }
    Ok(response)
}

/// Rejects an `Idempotency-Key` on lines that are safe to send again without one.
fn check_takes_key(kind: LineKind) -> Result<(), Problem> {
    let detail = match kind {
        LineKind::Create(Upsert { on_conflict: OnConflict::Fail | OnConflict::Skip, .. }) => {
            return Ok(());
        }
        LineKind::Create(_) => {
            "with on_conflict=replace or merge, an import takes no Idempotency-Key: after a break, \
             send it again; a line that changes nothing writes nothing"
        }
        LineKind::Group(_) => {
            "an import of groups takes no Idempotency-Key: after a break, send it again with \
             on_conflict=merge"
        }
        LineKind::Patch | LineKind::Delete => {
            "lines take no Idempotency-Key: after a break, send those without a result again"
        }
    };
    Err(Problem::saying(ProblemCode::InvalidIdempotencyKey, detail))
}
