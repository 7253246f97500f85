//! `POST /users` as `application/x-ndjson`: a user a line in, a verdict a line out.
//!
//! Each line is its own atomic step, in the order of lines, and its verdict follows its commit.
//! What must be known before the first line is judged here; the rest runs on as two tasks, one
//! that takes lines in and one that sends verdicts out, so that neither waits for the other.

use std::sync::Arc;

use http::{
    HeaderName, HeaderValue, Response,
    header::{CACHE_CONTROL, CONTENT_TYPE, EXPECT},
};
use roster_core::Mode;
use tokio::sync::mpsc;

use super::{
    charges::LineCharges,
    import_query::ImportQuery,
    intake::Intake,
    outbox::{Aside, deliver},
    place,
};
use crate::{
    extract::{NDJSON, check_lines, negotiate},
    face::{Face, UnreadCall},
    front::Body,
    problem::{Problem, ProblemCode},
    rest::answer::PRIVATE,
};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const DRY_RUN: HeaderName = HeaderName::from_static("dry-run");

pub(in crate::rest::users) async fn import(
    face: &Face,
    call: UnreadCall<'_>,
) -> Result<Response<Body>, Problem> {
    let headers = &call.parts.headers;
    if headers.contains_key(IDEMPOTENCY_KEY) {
        let detail = "an import takes no Idempotency-Key: after a break, send the stream again \
            with on_conflict=skip";
        return Err(Problem::saying(ProblemCode::InvalidIdempotencyKey, detail));
    }
    let query = ImportQuery::read(call.parts.uri.query())?;
    negotiate(headers, &[NDJSON])?;
    check_lines(headers)?;
    let place = place(face, &call.identity(), &face.bulk.imports, "imports")?;

    let (parts, peer, client) = (call.parts, call.peer, call.client);
    let request_id = call.request_id.to_owned();
    let (mut upload, lease, caller) = call.stream(face)?;
    let charges = LineCharges::new(face, caller.actor.clone(), client);
    // hyper asks for a body that waits to be asked for only as long as no answer has begun.
    let first = if parts.headers.contains_key(EXPECT) { Some(upload.next().await) } else { None };
    let (body, sender) = Body::streamed(peer);
    let (verdicts, parcels) = mpsc::channel(1);
    let aside = Aside {
        directory: face.settings.spill_dir.clone(),
        has_room: face.settings.has_room.clone(),
        memory: Arc::clone(peer.memory()),
    };
    tokio::spawn(async move {
        if let Err(cause) = deliver(parcels, sender, aside).await {
            let cause: &dyn std::error::Error = &cause;
            tracing::error!(request_id, cause, "the verdicts of an import were lost");
        }
    });
    let intake = Intake::new(face, query, (lease, caller, charges), upload, verdicts);
    tokio::spawn(async move {
        intake.run(first).await;
        drop(place);
    });

    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, NDJSON.header());
    headers.insert(CACHE_CONTROL, PRIVATE);
    if query.mode == Mode::DryRun {
        headers.insert(DRY_RUN, HeaderValue::from_static("true"));
    }
    Ok(response)
}
