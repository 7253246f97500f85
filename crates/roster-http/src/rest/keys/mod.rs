//! API keys: `/keys` and `/keys/{key_id}`, for callers with the scope `keys:admin`.
//!
//! The text of a key is returned only when the key is created or rotated. Each change is logged,
//! with its actor and without any secret.

mod record;

use axum::{
    extract::{FromRequestParts, State},
    response::{IntoResponse as _, Response},
};
use http::{
    HeaderMap, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH, LINK, LOCATION},
    request::Parts,
};
use roster_core::{
    Json, UserId,
    access::{ApiKey, KeyDraft, KeyFailure, KeyId, KeyRefusal, RunKeys},
    json::{self, write_json},
    limits::{ADMIN_BODY_BYTES_MAX, KEY_OVERLAP_DEFAULT_MS, KEY_OVERLAP_MAX_MS},
    list::{PageKey, SortKey, Total},
};
use sha2::{Digest as _, Sha256};

use self::record::{record, revealed};
use super::{
    list::{Envelope, ListQuery, link},
    respond::{insert, uncached},
};
use crate::{
    access::nobody,
    cursor::List,
    extract::{
        AcceptsJson, Authorized, BodyKind, JSON, KeyIdPath, NoParameters, PlainJson, read_each,
        refuse_idempotency_key, refuse_preconditions, tags, target, unknown,
    },
    problem::{Fault, NO_STORE, Problem, ProblemCode},
    request::{Call, UnreadCall},
    state::AppState,
};

/// The approximate size of a key in a response, in bytes.
const KEY_BYTES: usize = 512;

/// `GET /keys`: returns the keys in the order of their creation: all of them, or with `limit` a
/// page.
pub(crate) async fn list(
    State(app): State<AppState>,
    Authorized(permit): Authorized<RunKeys>,
    _: AcceptsJson,
    call: Call,
) -> Result<Response, Problem> {
    let query = ListQuery::read(call.parts.uri.query(), |_| Err(unknown()))?;
    let cursors = app.cursors_of(List::Keys, call.authority().actor());
    let place = |after: &PageKey| match after.key {
        SortKey::Time(at) => Some((at, after.id)),
        SortKey::Id | SortKey::Text(_) => None,
    };
    let after = query.after(&cursors, place)?;
    let mut keys = app.access.keys.list(permit, call.authority()).await?;
    let total = u64::try_from(keys.len()).unwrap_or(u64::MAX);
    let total = query.count.then_some(Total::Exactly(total));
    keys.retain(|key| after.is_none_or(|after| place(&page_key(key)) > Some(after)));
    let limit = if query.has("limit") { query.limit } else { usize::MAX };
    let has_more = keys.len() > limit;
    keys.truncate(limit);
    let last = keys.last().filter(|_| has_more);
    let next = last.map(|last| cursors.seal_stored(&page_key(last))).transpose()?;
    let envelope = Envelope { next_cursor: next.as_deref(), total, ..Envelope::default() };
    let now = app.directory.now();
    let body = envelope.write(&keys, keys.len() * KEY_BYTES, |key, out| {
        write_json(out, &record(key, now));
        Some(())
    })?;
    let mut response = read_response(&call.parts.headers, body)?;
    let target = next.map(|cursor| {
        let path = app.external_path(call.parts.uri.path());
        target(&path, &query.given, &cursor)
    });
    if let Some(link) = target.as_deref().and_then(link) {
        response.headers_mut().insert(LINK, link);
    }
    Ok(response)
}

/// The position of a key in the order of creation. The first bytes of the id in the `PageKey` are
/// the id of the key.
fn page_key(key: &ApiKey) -> PageKey {
    let mut id = [0; 16];
    id.iter_mut().zip(key.id.as_str().bytes()).for_each(|(to, from)| *to = from);
    PageKey { key: SortKey::Time(key.created_at), id: UserId::from_bytes(id) }
}

/// `POST /keys`: creates a key. The first key ends the open mode permanently.
pub(crate) async fn create(
    State(app): State<AppState>,
    _: PlainJson,
    call: UnreadCall,
) -> Result<Response, Problem> {
    check_headers(&call.parts.headers)?;
    let now = app.directory.now();
    let parse = move |text: &[u8]| json::read(text).map(|json| KeyDraft::parse(&json, now));
    let (call, draft, _) =
        call.read_and_authorize(&app, BodyKind::Json, ADMIN_BODY_BYTES_MAX, parse).await?;
    let draft = draft.map_err(|violations| {
        Problem::listing(ProblemCode::InvalidKey, "member", violations.map(Fault::from))
    })?;
    if draft.has_all_tenants && app.tenant.is_some() {
        let detail = "a key of the operator is created at `/keys` of the service, not of a tenant";
        return Err(Problem::saying(ProblemCode::OperatorKeyRequired, detail));
    }
    let (key, token) =
        app.access.keys.create(call.permit()?, draft, call.authority(), call.request_id()).await?;
    app.access.keys_changed().await?;
    note(&call, "a key was created", key.id);
    let mut response = answer(StatusCode::CREATED, &revealed(&key, &token, app.directory.now()));
    let location = format!("{}/keys/{}", app.base_path(), key.id);
    insert(response.headers_mut(), LOCATION, location)?;
    Ok(response)
}

/// `GET /keys/{key_id}`: returns a key without its secret.
pub(crate) async fn get(
    State(app): State<AppState>,
    Authorized(permit): Authorized<RunKeys>,
    _: PlainJson,
    KeyIdPath(id): KeyIdPath,
    call: Call,
) -> Result<Response, Problem> {
    let key = app.access.keys.get(permit, id, call.authority()).await?;
    let key = key.ok_or_else(|| Problem::new(ProblemCode::KeyNotFound))?;
    let mut body = Vec::with_capacity(KEY_BYTES);
    write_json(&mut body, &record(&key, app.directory.now()));
    read_response(&call.parts.headers, body)
}

/// `DELETE /keys/{key_id}`: revokes a key permanently. The key stays in the list until its place is
/// needed, so that the actors in the change log keep their names.
pub(crate) async fn revoke(
    State(app): State<AppState>,
    Authorized(permit): Authorized<RunKeys>,
    _: NoParameters,
    KeyIdPath(id): KeyIdPath,
    call: Call,
) -> Result<Response, Problem> {
    check_headers(&call.parts.headers)?;
    let (key, is_revoked_now) =
        app.access.keys.revoke(permit, id, call.authority(), call.request_id()).await?;
    app.access.keys_changed().await?;
    if is_revoked_now {
        note(&call, "a key was revoked", key.id);
    }
    Ok((StatusCode::NO_CONTENT, [(CACHE_CONTROL, NO_STORE)]).into_response())
}

/// `POST /keys/{key_id}/rotate`: gives a key a new secret. The former secret is accepted for
/// `overlap_s`, so that clients can switch to the new one without an interruption.
pub(crate) async fn rotate(
    State(app): State<AppState>,
    Authorized(permit): Authorized<RunKeys>,
    Overlap { ms: overlap_ms }: Overlap,
    _: AcceptsJson,
    KeyIdPath(id): KeyIdPath,
    call: Call,
) -> Result<Response, Problem> {
    check_headers(&call.parts.headers)?;
    let (key, token) =
        app.access.keys.rotate(permit, id, overlap_ms, call.authority(), call.request_id()).await?;
    app.access.keys_changed().await?;
    note(&call, "a key was rotated", key.id);
    Ok(answer(StatusCode::OK, &revealed(&key, &token, app.directory.now())))
}

/// Refuses what the caller would rely on: keys have no versions, and no response with a secret is
/// stored.
fn check_headers(headers: &HeaderMap) -> Result<(), Problem> {
    refuse_idempotency_key(headers)?;
    refuse_preconditions(headers, "a key has no versions: send no If-Match and no If-None-Match")
}

/// `overlap_s`: the number of seconds for which the former secret is still accepted. 0 means not at
/// all.
pub(crate) struct Overlap {
    pub(crate) ms: i64,
}

impl FromRequestParts<AppState> for Overlap {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        let mut ms = KEY_OVERLAP_DEFAULT_MS;
        read_each(parts.uri.query(), |parameter| {
            if parameter.name != "overlap_s" {
                return Err(("unknown-parameter", "a rotation takes overlap_s alone".to_owned()));
            }
            let text = parameter.value();
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
            let seconds: Option<i64> = text.parse().ok().filter(|_| is_plain);
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

/// The response to a read of keys, or 304 if the client has it already. A key has no version, and
/// each use changes `last_used_at`. So the strong tag is a digest of the content.
fn read_response(headers: &HeaderMap, body: Vec<u8>) -> Result<Response, Problem> {
    let digest = Sha256::digest(&body);
    let tag = data_encoding::HEXLOWER.encode(digest.first_chunk::<16>().unwrap_or(&[0; 16]));
    if tags(headers, &IF_MATCH)?.is_some_and(|tags| !tags.hold_strongly(&tag)) {
        return Err(Problem::saying(ProblemCode::VersionMismatch, "the keys have another tag"));
    }
    let is_known = tags(headers, &IF_NONE_MATCH)?.is_some_and(|tags| tags.hold_weakly(&tag));
    let mut response = if is_known {
        (StatusCode::NOT_MODIFIED, [(CACHE_CONTROL, NO_STORE)]).into_response()
    } else {
        ([(CONTENT_TYPE, JSON.header()), (CACHE_CONTROL, NO_STORE)], body).into_response()
    };
    insert(response.headers_mut(), ETAG, format!("\"{tag}\""))?;
    Ok(response)
}

/// A response about keys, which no cache may store.
fn answer(status: StatusCode, body: &Json) -> Response {
    let mut out = Vec::with_capacity(512);
    write_json(&mut out, body);
    uncached(status, out)
}

/// Logs a change.
fn note(call: &Call, what: &str, key: KeyId) {
    let (request_id, actor) = (call.request_id(), call.authority().actor().without_subject());
    tracing::info!(request_id, actor, key = key.as_str(), "{what}");
}

impl From<KeyFailure> for Problem {
    fn from(failure: KeyFailure) -> Self {
        match failure {
            KeyFailure::Store(error) => error.into(),
            KeyFailure::Refused(KeyRefusal::NotFound) => Self::new(ProblemCode::KeyNotFound),
            KeyFailure::Refused(KeyRefusal::Closed) => nobody(),
            KeyFailure::Refused(KeyRefusal::TenantNotFound) => {
                Self::new(ProblemCode::TenantNotFound)
            }
            KeyFailure::Refused(KeyRefusal::Ended) => Self::new(ProblemCode::KeyEnded),
            KeyFailure::Refused(KeyRefusal::TooMany) => Self::new(ProblemCode::TooManyKeys),
            KeyFailure::Refused(KeyRefusal::NotOperator) => {
                Self::new(ProblemCode::OperatorKeyRequired)
            }
            // Does not occur: the directory generates another id if one is taken.
            KeyFailure::Refused(KeyRefusal::IdTaken) => Self::new(ProblemCode::Internal),
        }
    }
}
