//! Webhooks: `/webhooks` and `/webhooks/{webhook_id}`, for callers with the scope `webhooks:admin`.
//!
//! A webhook sends what its creator may read, so a caller also needs the scopes to read its events.
//! The progress of a webhook changes without a new version. Its secret is returned only when it is
//! created or rotated.

use axum::{
    extract::{FromRequestParts, State},
    response::{IntoResponse as _, Response},
};
use data_encoding::BASE64;
use http::{
    StatusCode,
    header::{ETAG, LOCATION},
    request::Parts,
};
use roster_core::{
    EventsQuery, Json, Position, Preconditions, SubjectKind, Timestamp, Violation, ViolationCode,
    Violations,
    access::{AuditView, Permit, RunWebhooks, Scope},
    json::{self, JsonFault, write_json},
    limits::{ADMIN_BODY_BYTES_MAX, WEBHOOKS_MAX, WEBHOOKS_OF_STORE_MAX},
    text::Pointer,
    webhook::{
        StoredWebhook, Webhook, WebhookAct, WebhookChange, WebhookDelivery, WebhookDraft,
        WebhookFailure, WebhookId, WebhookRefusal, WebhookSecret, WebhookStatus,
    },
};

use super::{
    list::Envelope,
    respond::{DRY_RUN, TRUE, check_match, insert, uncached},
};
use crate::{
    extract::{
        AcceptsJson, Authorized, BodyKind, PlainJson, ReadOptions, WriteOptions, preconditions,
        refuse_idempotency_key, refuse_if_match,
    },
    limits::admission::Class,
    problem::{Fault, Problem, ProblemCode},
    request::{Call, RequestContext, UnreadCall},
    rest::keys::Overlap,
    state::AppState,
    webhook_client::TestOf,
};

/// The approximate size of a webhook in a response, in bytes.
const WEBHOOK_BYTES: usize = 1024;

/// The approximate size of a delivery in a response, in bytes.
const DELIVERY_BYTES: usize = 256;

/// `{webhook_id}`: the id of a webhook.
pub(crate) struct WebhookPath(WebhookId);

impl FromRequestParts<AppState> for WebhookPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        let context = RequestContext::of(parts)?;
        let [id, _] = context.segments(parts.uri.path());
        WebhookId::parse(id).map(Self).ok_or_else(not_found)
    }
}

/// `GET /webhooks`: returns all webhooks in the order of their creation.
pub(crate) async fn list(
    State(app): State<AppState>,
    Authorized(permit): Authorized<RunWebhooks>,
    _: PlainJson,
    call: Call,
) -> Result<Response, Problem> {
    refuse_if_match(&call.parts.headers, "a list of webhooks has no tag, so no If-Match matches")?;
    let read = app.directory.list_webhooks(permit);
    let mut webhooks = app.admission.with_admission(Class::Reads, read).await?;
    webhooks.retain(|stored| sees(&call, &stored.webhook));
    let shown = async {
        let mut trees = Vec::with_capacity(webhooks.len());
        for stored in &webhooks {
            trees.push(Json::Object(members(&app, stored).await?));
        }
        Ok::<_, Problem>(trees)
    };
    // The log is read for each of them.
    let trees = app.admission.with_admission(Class::Lists, shown).await?;
    whole_list(&trees, WEBHOOK_BYTES)
}

/// The response with all items, each of about `bytes`.
fn whole_list(items: &[Json], bytes: usize) -> Result<Response, Problem> {
    let body = Envelope::default().write(items, items.len() * bytes, |item, out| {
        write_json(out, item);
        Some(())
    })?;
    Ok(uncached(StatusCode::OK, body))
}

/// `GET /webhooks/{webhook_id}`: returns a webhook and how far its events are sent.
pub(crate) async fn get(
    State(app): State<AppState>,
    _: Authorized<RunWebhooks>,
    ReadOptions(preconditions): ReadOptions,
    WebhookPath(id): WebhookPath,
    call: Call,
) -> Result<Response, Problem> {
    let stored = find(&app, &call, id).await?;
    check_match(&preconditions, stored.webhook.version)?;
    respond(&app, StatusCode::OK, &stored, None).await
}

/// `POST /webhooks`: creates a webhook. It begins at the end of the log, unless the body names
/// another position.
pub(crate) async fn create(
    State(app): State<AppState>,
    options: WriteOptions,
    _: AcceptsJson,
    call: UnreadCall,
) -> Result<Response, Problem> {
    let (call, draft) = read_draft(&app, call).await?;
    let secret = app.directory.new_webhook_secret()?;
    let id = app.directory.new_webhook_id();
    let after = draft.after;
    let act = WebhookAct::Create { id, draft, secret };
    check_position(&app, after).await?;
    let terms = Terms::of(&options)?;
    let stored = change(&app, &call, act, terms).await?;
    if options.is_dry_run() {
        return dry_run_response(&app, &stored).await;
    }
    let mut response = respond(&app, StatusCode::CREATED, &stored, Some(secret)).await?;
    let location = format!("{}/webhooks/{id}", app.base_path());
    insert(response.headers_mut(), LOCATION, location)?;
    Ok(response)
}

/// `PUT /webhooks/{webhook_id}`: replaces what a caller may set.
pub(crate) async fn replace(
    State(app): State<AppState>,
    options: WriteOptions,
    WebhookPath(id): WebhookPath,
    _: AcceptsJson,
    call: UnreadCall,
) -> Result<Response, Problem> {
    let (call, draft) = read_draft(&app, call).await?;
    let terms = Terms::of(&options)?;
    let stored = change(&app, &call, WebhookAct::Replace(id, draft), terms).await?;
    write_response(&app, &options, &stored).await
}

/// `PATCH /webhooks/{webhook_id}`: patches a webhook by JSON Merge Patch.
pub(crate) async fn patch(
    State(app): State<AppState>,
    options: WriteOptions,
    WebhookPath(id): WebhookPath,
    _: AcceptsJson,
    call: UnreadCall,
) -> Result<Response, Problem> {
    let (call, patch, _) = call
        .read_and_authorize(&app, BodyKind::MergePatch, ADMIN_BODY_BYTES_MAX, json::read)
        .await?;
    let terms = Terms::of(&options)?;
    let stored = change(&app, &call, WebhookAct::Patch(id, patch), terms).await?;
    write_response(&app, &options, &stored).await
}

/// `DELETE /webhooks/{webhook_id}`: deletes a webhook. A request that is on its way may still
/// arrive.
pub(crate) async fn delete(
    State(app): State<AppState>,
    _: Authorized<RunWebhooks>,
    options: WriteOptions,
    WebhookPath(id): WebhookPath,
    call: Call,
) -> Result<Response, Problem> {
    let stored = change(&app, &call, WebhookAct::Delete(id), Terms::of(&options)?).await?;
    if options.is_dry_run() {
        return dry_run_response(&app, &stored).await;
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// `GET /webhooks/{webhook_id}/deliveries`: returns the last requests, the newest first.
pub(crate) async fn list_deliveries(
    State(app): State<AppState>,
    Authorized(permit): Authorized<RunWebhooks>,
    _: PlainJson,
    WebhookPath(id): WebhookPath,
    call: Call,
) -> Result<Response, Problem> {
    refuse_if_match(&call.parts.headers, "deliveries have no tag, so no If-Match matches")?;
    find(&app, &call, id).await?;
    let read = app.directory.list_webhook_deliveries(permit, id);
    let found = app.admission.with_admission(Class::Reads, read).await?;
    let found = found.ok_or_else(not_found)?;
    let trees: Vec<Json> = found.iter().map(WebhookDelivery::to_json).collect();
    whole_list(&trees, DELIVERY_BYTES)
}

/// `POST /webhooks/{webhook_id}/test`: sends an event that is not in the log, and returns what
/// became of it. The webhook stays as it is.
pub(crate) async fn test(
    State(app): State<AppState>,
    _: Authorized<RunWebhooks>,
    _: PlainJson,
    WebhookPath(id): WebhookPath,
    call: Call,
) -> Result<Response, Problem> {
    let terms = Terms::of_headers(&call)?;
    let stored = find(&app, &call, id).await?;
    let version = stored.webhook.version;
    if !terms.preconditions.allow_write(version) {
        return Err(WebhookFailure::Refused(WebhookRefusal::VersionMismatch(version)).into());
    }
    let place = app.transfers.webhook_tests.take(&call.identity(), &app.admission.refusals).await?;
    let actor = call.authority().actor().to_string();
    let of = TestOf {
        base_url: &app.base_url,
        tenant: app.tenant.as_ref(),
        actor: &actor,
        request_id: call.request_id(),
        id: app.directory.new_webhook_id(),
    };
    let delivery = app.settings.webhooks.send_test(&stored, of, app.directory.now()).await;
    drop(place);
    let (request_id, actor) = (call.request_id(), call.authority().actor().without_subject());
    tracing::info!(request_id, actor, webhook = %id, "a test was sent to a webhook");
    let mut body = Vec::with_capacity(DELIVERY_BYTES);
    write_json(&mut body, &delivery.to_json());
    Ok(uncached(StatusCode::OK, body))
}

/// The webhook with this id, if the caller may know of it.
async fn find(app: &AppState, call: &Call, id: WebhookId) -> Result<StoredWebhook, Problem> {
    let read = app.directory.get_webhook(call.permit()?, id);
    let found = app.admission.with_admission(Class::Reads, read).await?;
    found.filter(|stored| sees(call, &stored.webhook)).ok_or_else(not_found)
}

/// `POST /webhooks/{webhook_id}/replay`: sends the events after a position, some of them again.
pub(crate) async fn replay(
    State(app): State<AppState>,
    WebhookPath(id): WebhookPath,
    _: PlainJson,
    call: UnreadCall,
) -> Result<Response, Problem> {
    let (call, after, _) =
        call.read_and_authorize(&app, BodyKind::Json, ADMIN_BODY_BYTES_MAX, read_after).await?;
    let after = after?;
    check_position(&app, Some(after)).await?;
    let terms = Terms::of_headers(&call)?;
    let stored = change(&app, &call, WebhookAct::Replay(id, after), terms).await?;
    respond(&app, StatusCode::OK, &stored, None).await
}

/// `POST /webhooks/{webhook_id}/rotate`: gives a webhook a new secret. For `overlap_s`, requests
/// have signatures of both.
pub(crate) async fn rotate(
    State(app): State<AppState>,
    _: Authorized<RunWebhooks>,
    Overlap { ms: overlap_ms }: Overlap,
    _: AcceptsJson,
    WebhookPath(id): WebhookPath,
    call: Call,
) -> Result<Response, Problem> {
    let secret = app.directory.new_webhook_secret()?;
    let act = WebhookAct::Rotate { id, secret, overlap_ms };
    let stored = change(&app, &call, act, Terms::of_headers(&call)?).await?;
    respond(&app, StatusCode::OK, &stored, Some(secret)).await
}

/// The preconditions of a write, and whether nothing is stored.
struct Terms {
    preconditions: Preconditions,
    is_dry_run: bool,
}

impl Terms {
    fn of(options: &WriteOptions) -> Result<Self, Problem> {
        options.refuse_idempotency_key()?;
        let preconditions = options.preconditions.clone();
        Ok(Self { preconditions, is_dry_run: options.is_dry_run() })
    }

    /// The terms of an operation that has no dry run.
    fn of_headers(call: &Call) -> Result<Self, Problem> {
        let headers = &call.parts.headers;
        refuse_idempotency_key(headers)?;
        Ok(Self { preconditions: preconditions(headers)?, is_dry_run: false })
    }
}

/// Changes a webhook, and logs the change with its actor.
async fn change(
    app: &AppState,
    call: &Call,
    act: WebhookAct,
    Terms { preconditions, is_dry_run }: Terms,
) -> Result<StoredWebhook, Problem> {
    let permit: Permit<RunWebhooks> = call.permit()?;
    let (id, is_new) = (act.id(), matches!(act, WebhookAct::Create { .. }));
    let before = if is_new { None } else { Some(find(app, call, id).await?.webhook) };
    let is_deletion = matches!(act, WebhookAct::Delete(_));
    // A rotation and a replay change what is not compared.
    let may_pause = matches!(act, WebhookAct::Replace(..) | WebhookAct::Patch(..));
    let authority = call.authority();
    let change = WebhookChange {
        act,
        preconditions,
        at: app.directory.now(),
        caller: authority.caller(call.request_id()),
        audit: authority.audit_view(),
        all_tenants: authority.is_operator(),
        is_dry_run: true,
    };
    // What the change leads to decides which scopes it needs.
    let planned = app.directory.change_webhook(permit, change.clone());
    let planned = app.admission.with_admission(Class::Writes, planned).await?;
    let pauses = |before: &Webhook| may_pause && planned.stored.webhook.pauses(before);
    if !is_deletion && !before.as_ref().is_some_and(pauses) {
        admit(app, call, &planned.stored.webhook)?;
    }
    if is_dry_run || !planned.changes {
        return Ok(planned.stored);
    }
    let change = WebhookChange { is_dry_run: false, ..change };
    let done = app.directory.change_webhook(permit, change);
    let decision = app.admission.with_admission(Class::Writes, done).await?;
    let (request_id, actor) = (call.request_id(), authority.actor().without_subject());
    let version = decision.stored.webhook.version;
    tracing::info!(request_id, actor, webhook = %id, version, "a webhook was changed");
    Ok(decision.stored)
}

/// Whether a caller may know of a webhook. Those for all tenants are in the hands of the operator.
fn sees(call: &Call, webhook: &Webhook) -> bool {
    !webhook.all_tenants || call.authority().is_operator()
}

/// Rejects a webhook that would send what its caller may not read, or send to where it may not.
fn admit(app: &AppState, call: &Call, webhook: &Webhook) -> Result<(), Problem> {
    let authority = call.authority();
    authority.check(&[Scope::EventsRead])?;
    if webhook.types.has(SubjectKind::is_audit) {
        authority.check(&[Scope::AuditRead])?;
    }
    let has_tenants = webhook.types.has(|subject| subject == SubjectKind::Tenant);
    let is_of_operator = webhook.all_tenants || has_tenants;
    if webhook.all_tenants && app.tenant.is_some() {
        let detail = "a webhook for all tenants is made at the base URL of the service";
        return Err(Problem::saying(ProblemCode::OperatorKeyRequired, detail));
    }
    if is_of_operator && !authority.is_operator() {
        return Err(Problem::new(ProblemCode::OperatorKeyRequired));
    }
    let violation = if app.tenant.is_some() && webhook.types.has(SubjectKind::is_of_service) {
        let detail = "the events of tenants, policy and settings are in the log of the service: \
                      create the webhook at its base URL";
        Violation::new("/types", ViolationCode::InvalidValue, detail)
    } else if app.settings.webhooks.may_have(&webhook.url) {
        return Ok(());
    } else {
        let detail = "https to the public Internet, or a network of the setting webhook_networks";
        Violation::new("/url", ViolationCode::InvalidValue, detail)
    };
    let violations = Violations::from(violation).map(Fault::from);
    Err(Problem::listing(ProblemCode::InvalidWebhook, "member", violations))
}

/// The position in the body of a replay.
fn read_after(text: &[u8]) -> Result<Result<Position, Problem>, JsonFault> {
    let tree = json::read(text)?;
    let members = if let Json::Object(members) = &tree { members.as_slice() } else { &[] };
    let refused = |violation| {
        let violations = Violations::from(violation).map(Fault::from);
        Problem::listing(ProblemCode::InvalidWebhook, "member", violations)
    };
    if let Some((other, _)) = members.iter().find(|(name, _)| name != "after") {
        let detail = "the only member is after";
        let pointer = Pointer::root().member(other);
        let violation = Violation::new(pointer, ViolationCode::UnknownMember, detail);
        return Ok(Err(refused(violation)));
    }
    let after = if let [(_, Json::Text(text))] = members { Position::parse(text) } else { None };
    Ok(after.ok_or_else(|| {
        let detail = "send {\"after\": position}, with a Roster-Position or the id of an event";
        refused(Violation::new("/after", ViolationCode::InvalidValue, detail))
    }))
}

/// Rejects a position that the log does not have.
async fn check_position(app: &AppState, after: Option<Position>) -> Result<(), Problem> {
    let Some(after) = after else { return Ok(()) };
    // Only where the log begins and ends is read.
    let query = EventsQuery { bytes_max: 0, ..EventsQuery::after(after.number, 1) };
    let log = app.directory.events(Permit::of_the_service(), AuditView::Nothing, query).await?;
    let is_known = after.log == log.log || app.directory.has_former(after).await?;
    if is_known && (log.oldest - 1..=log.head).contains(&after.number) {
        return Ok(());
    }
    let detail = "the log does not have the events after this position";
    Err(Problem::saying(ProblemCode::PositionOutlived, detail))
}

/// The webhook that a body describes.
async fn read_draft(app: &AppState, call: UnreadCall) -> Result<(Call, WebhookDraft), Problem> {
    let parse = |text: &[u8]| json::read(text).map(|tree| WebhookDraft::parse(&tree));
    let (call, draft, _) =
        call.read_and_authorize(app, BodyKind::Json, ADMIN_BODY_BYTES_MAX, parse).await?;
    Ok((call, draft.map_err(WebhookRefusal::Invalid).map_err(WebhookFailure::Refused)?))
}

/// The members of a webhook and of its progress.
async fn members(app: &AppState, stored: &StoredWebhook) -> Result<Vec<(String, Json)>, Problem> {
    let StoredWebhook { webhook, secrets, progress } = stored;
    let time = |moment: Timestamp| Json::Text(moment.to_string());
    let now = app.directory.now();
    let former = secrets.former.map(|(_, until)| until).filter(|until| *until > now);
    let is_failing = progress.attempts > 0;
    let next_attempt = progress.next_attempt_at.filter(|_| webhook.status == WebhookStatus::Active);
    let mut members = webhook.members();
    members.extend(json::present([
        ("position", Some(Json::Text(progress.position.to_string()))),
        ("lag", Some(Json::Int(app.directory.webhook_lag(stored).await?))),
        ("failing_since", progress.failing_since.map(time)),
        ("attempts", is_failing.then_some(Json::Int(progress.attempts))),
        ("next_attempt_at", next_attempt.map(time)),
        ("former_secret_until", former.map(time)),
    ]));
    Ok(members)
}

async fn respond(
    app: &AppState,
    status: StatusCode,
    stored: &StoredWebhook,
    secret: Option<WebhookSecret>,
) -> Result<Response, Problem> {
    let mut members = members(app, stored).await?;
    let shown = secret.map(|secret| format!("whsec_{}", BASE64.encode(&secret.0)));
    members.extend(json::present([("secret", shown.map(Json::Text))]));
    let mut body = Vec::with_capacity(WEBHOOK_BYTES);
    write_json(&mut body, &Json::Object(members));
    let mut response = uncached(status, body);
    insert(response.headers_mut(), ETAG, format!("\"{}\"", stored.webhook.version))?;
    Ok(response)
}

/// The response to a write of a webhook that exists.
async fn write_response(
    app: &AppState,
    options: &WriteOptions,
    stored: &StoredWebhook,
) -> Result<Response, Problem> {
    if options.is_dry_run() {
        return dry_run_response(app, stored).await;
    }
    respond(app, StatusCode::OK, stored, None).await
}

/// The webhook that a write would make. It has no entity tag, because no version with it is stored.
async fn dry_run_response(app: &AppState, stored: &StoredWebhook) -> Result<Response, Problem> {
    let mut response = respond(app, StatusCode::OK, stored, None).await?;
    response.headers_mut().remove(ETAG);
    response.headers_mut().insert(DRY_RUN, TRUE);
    Ok(response)
}

fn not_found() -> Problem {
    Problem::saying(ProblemCode::WebhookNotFound, "no webhook has this id")
}

impl From<WebhookFailure> for Problem {
    fn from(failure: WebhookFailure) -> Self {
        match failure {
            WebhookFailure::Store(error) => error.into(),
            WebhookFailure::Refused(WebhookRefusal::TenantNotFound) => {
                Self::new(ProblemCode::TenantNotFound)
            }
            WebhookFailure::Refused(WebhookRefusal::NotFound) => not_found(),
            WebhookFailure::Refused(WebhookRefusal::TooMany) => Self::saying(
                ProblemCode::TooManyWebhooks,
                format!(
                    "a tenant has at most {WEBHOOKS_MAX} webhooks, and all together at most \
                     {WEBHOOKS_OF_STORE_MAX}"
                ),
            ),
            WebhookFailure::Refused(WebhookRefusal::Stale) => Self::new(ProblemCode::WebhookStale),
            WebhookFailure::Refused(WebhookRefusal::VersionMismatch(current)) => Self::saying(
                ProblemCode::VersionMismatch,
                format!(
                    "the webhook is at version {current}; fetch it and apply your change to that"
                ),
            ),
            WebhookFailure::Refused(WebhookRefusal::Invalid(violations)) => {
                Self::listing(ProblemCode::InvalidWebhook, "member", violations.map(Fault::from))
            }
        }
    }
}
