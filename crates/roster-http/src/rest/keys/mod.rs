//! API keys: `/keys` and `/keys/{key_id}`, for callers with the scope `keys:admin`.
//!
//! The text of a key is in the response that created it and nowhere else. Each change is logged,
//! with its actor and without any secret.

mod record;

use axum::{
    extract::{FromRequestParts, State},
    response::{IntoResponse as _, Response},
};
use http::{
    StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION},
    request::Parts,
};
use roster_core::{
    Json,
    access::{KeyDraft, KeyFailure, KeyId, KeyRefusal, RunKeys},
    json::write_json,
    limits::{KEY_OVERLAP_DEFAULT_MS, KEY_OVERLAP_MAX_MS},
};

use self::record::{record, revealed};
use super::respond::insert;
use crate::{
    extract::{
        AcceptsJson, Authorized, BodyKind, JSON, KeyIdPath, NoParameters, PlainJson, read_each,
    },
    problem::{Fault, NO_STORE, Problem, ProblemCode},
    request::{Call, UnreadCall},
    state::AppState,
};

/// The maximum number of bytes of a key in a request.
const BYTES_MAX: usize = 16 * 1024;

/// `GET /keys`: returns all keys, in the order of their creation. There are few.
pub(crate) async fn list(
    State(app): State<AppState>,
    Authorized(permit): Authorized<RunKeys>,
    _: PlainJson,
) -> Result<Response, Problem> {
    let keys = app.access.keys.list(permit).await?;
    let now = app.directory.now();
    let keys = keys.iter().map(|key| record(key, now)).collect();
    let body = Json::Object(vec![("items".to_owned(), Json::Array(keys))]);
    Ok(answer(StatusCode::OK, &body))
}

/// `POST /keys`: creates a key. The first one ends the open mode for good.
pub(crate) async fn create(
    State(app): State<AppState>,
    _: PlainJson,
    call: UnreadCall,
) -> Result<Response, Problem> {
    let now = app.directory.now();
    let convert = move |json| KeyDraft::parse(&json, now);
    let (call, draft, _) =
        call.read_and_authorize(&app, BodyKind::Object, BYTES_MAX, convert).await?;
    let draft = draft.map_err(|violations| {
        Problem::listing(ProblemCode::InvalidKey, "member", violations.map(Fault::from))
    })?;
    let (key, token) = app.access.keys.create(call.permit()?, draft, call.authority()).await?;
    app.access.keys_changed().await?;
    note(&call, "a key was created", key.id);
    let mut response = answer(StatusCode::CREATED, &revealed(&key, &token, app.directory.now()));
    let location = format!("{}/keys/{}", app.settings.base_path(), key.id);
    insert(response.headers_mut(), LOCATION, location)?;
    Ok(response)
}

/// `GET /keys/{key_id}`: returns a key without its secret.
pub(crate) async fn get(
    State(app): State<AppState>,
    Authorized(permit): Authorized<RunKeys>,
    _: PlainJson,
    KeyIdPath(id): KeyIdPath,
) -> Result<Response, Problem> {
    let key = app.access.keys.get(permit, id).await?;
    let key = key.ok_or_else(|| Problem::new(ProblemCode::KeyNotFound))?;
    Ok(answer(StatusCode::OK, &record(&key, app.directory.now())))
}

/// `DELETE /keys/{key_id}`: revokes a key for good. It stays in the list, so that actors of the
/// change log keep their names, until room is needed.
pub(crate) async fn revoke(
    State(app): State<AppState>,
    Authorized(permit): Authorized<RunKeys>,
    _: NoParameters,
    KeyIdPath(id): KeyIdPath,
    call: Call,
) -> Result<Response, Problem> {
    let (key, is_revoked_now) = app.access.keys.revoke(permit, id).await?;
    app.access.keys_changed().await?;
    if is_revoked_now {
        note(&call, "a key was revoked", key.id);
    }
    Ok((StatusCode::NO_CONTENT, [(CACHE_CONTROL, NO_STORE)]).into_response())
}

/// `POST /keys/{key_id}/rotate`: gives a key a new secret. The former one is accepted for a while,
/// so that its holders can change over without a gap.
pub(crate) async fn rotate(
    State(app): State<AppState>,
    Authorized(permit): Authorized<RunKeys>,
    Overlap { ms: overlap_ms }: Overlap,
    _: AcceptsJson,
    KeyIdPath(id): KeyIdPath,
    call: Call,
) -> Result<Response, Problem> {
    let (key, token) = app.access.keys.rotate(permit, id, overlap_ms).await?;
    app.access.keys_changed().await?;
    note(&call, "a key was rotated", key.id);
    Ok(answer(StatusCode::OK, &revealed(&key, &token, app.directory.now())))
}

/// `overlap_s`: for how many seconds the former secret is accepted; 0 ends it at once.
pub(crate) struct Overlap {
    ms: i64,
}

impl FromRequestParts<AppState> for Overlap {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        let mut ms = KEY_OVERLAP_DEFAULT_MS;
        read_each(parts.uri.query(), |parameter| {
            if parameter.name != "overlap_s" {
                return Err(("unknown-parameter", "a rotation takes overlap_s alone".to_owned()));
            }
            let seconds: Option<i64> = parameter.value().parse().ok();
            let given = seconds.and_then(|seconds| seconds.checked_mul(1000));
            let most_s = KEY_OVERLAP_MAX_MS / 1000;
            let detail = || ("invalid-value", format!("a number of seconds from 0 to {most_s}"));
            let given = given.filter(|given| (0..=KEY_OVERLAP_MAX_MS).contains(given));
            ms = given.ok_or_else(detail)?;
            Ok(())
        })?;
        Ok(Self { ms })
    }
}

/// A response about keys, which no cache may store.
fn answer(status: StatusCode, body: &Json) -> Response {
    let mut out = Vec::with_capacity(512);
    write_json(&mut out, body);
    let headers = [(CONTENT_TYPE, JSON.header()), (CACHE_CONTROL, NO_STORE)];
    (status, headers, out).into_response()
}

/// Logs a change.
fn note(call: &Call, what: &str, key: KeyId) {
    let (request_id, actor) = (call.request_id(), call.authority().actor().to_string());
    tracing::info!(request_id, actor, key = key.as_str(), "{what}");
}

impl From<KeyFailure> for Problem {
    fn from(failure: KeyFailure) -> Self {
        match failure {
            KeyFailure::Store(error) => error.into(),
            KeyFailure::Refused(KeyRefusal::NotFound) => Self::new(ProblemCode::KeyNotFound),
            KeyFailure::Refused(KeyRefusal::Ended) => Self::new(ProblemCode::KeyEnded),
            KeyFailure::Refused(KeyRefusal::TooMany) => Self::new(ProblemCode::TooManyKeys),
            // The directory throws the dice again for as long as it takes.
            KeyFailure::Refused(KeyRefusal::IdTaken) => Self::new(ProblemCode::Internal),
        }
    }
}
