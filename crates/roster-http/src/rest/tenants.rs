//! Tenants: `/tenants` and `/tenants/{tenant}`, and deleted ones, for the operator.
//!
//! A tenant has a base URL, below which the whole interface is. Its counters change without a new
//! version, so its entity tag goes with the members that a caller may set. Nobody can call a
//! deleted tenant. It can be restored or purged.

use axum::{
    extract::{FromRequestParts, State},
    response::{IntoResponse as _, Response},
};
use http::{
    StatusCode,
    header::{CONTENT_LOCATION, ETAG, LINK, LOCATION},
    request::Parts,
};
use roster_core::{
    Json, Tenant, TenantName, UserId,
    access::RunTenants,
    json::{self, write_json},
    limits::{ADMIN_BODY_BYTES_MAX, TENANTS_MAX},
    list::{PageKey, SortKey},
    tenant::{
        TenantAct, TenantCounts, TenantDraft, TenantFailure, TenantPage, TenantQuery,
        TenantRefusal, TenantSelection,
    },
};

use super::{
    deleted_users::purge_at as purge_at_of,
    list::{Envelope, ListQuery, link},
    respond::{DRY_RUN, TRUE, check_match, insert, uncached},
};
use crate::{
    cursor::List,
    extract::{
        AcceptsJson, Authorized, BodyKind, ReadOptions, WriteOptions, read_each, refuse_if_match,
        target, text, unknown,
    },
    limits::admission::Class,
    problem::{Fault, Problem, ProblemCode},
    request::{Call, RequestContext, UnreadCall},
    state::AppState,
};

/// The approximate size of a tenant in a response, in bytes.
const TENANT_BYTES: usize = 512;

/// `{tenant}`: the name of a tenant.
pub(crate) struct TenantPath(TenantName);

impl FromRequestParts<AppState> for TenantPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        let context = RequestContext::of(parts)?;
        let [name, _] = context.segments(parts.uri.path());
        let is_of_deleted = context.operation.is_some_and(|one| one.path().starts_with("/deleted"));
        let missing = if is_of_deleted { deleted_not_found } else { not_found };
        TenantName::parse(name).map(Self).ok_or_else(missing)
    }
}

/// `GET /tenants`: returns tenants in the order of their names.
pub(crate) async fn list(
    State(app): State<AppState>,
    _: Authorized<RunTenants>,
    _: AcceptsJson,
    call: Call,
) -> Result<Response, Problem> {
    page(&app, &call, false).await
}

/// `GET /deleted-tenants`: returns deleted tenants in the order of their names.
pub(crate) async fn list_deleted(
    State(app): State<AppState>,
    _: Authorized<RunTenants>,
    _: AcceptsJson,
    call: Call,
) -> Result<Response, Problem> {
    page(&app, &call, true).await
}

async fn page(app: &AppState, call: &Call, are_deleted: bool) -> Result<Response, Problem> {
    refuse_if_match(&call.parts.headers, "a list of tenants has no tag, so no If-Match matches")?;
    let (mut query, mut external_id) = (ListQuery::default(), None);
    query.given = read_each(call.parts.uri.query(), |parameter| {
        match parameter.name.as_ref() {
            "external_id" if !are_deleted => {
                external_id = Some(text(&parameter.value())?);
            }
            // Tenants are not counted.
            "count" => return Err(unknown()),
            _ if query.take(parameter)? => {}
            _ => return Err(unknown()),
        }
        Ok(())
    })?;
    let which = if are_deleted { List::DeletedTenants } else { List::Tenants };
    let cursors = app.cursors_of(which, call.authority().actor());
    let cursors = cursors.with("external_id", external_id.as_ref());
    let name_of = |after: &PageKey| match &after.key {
        SortKey::Text(Some(name)) => TenantName::parse(name),
        SortKey::Text(None) | SortKey::Id | SortKey::Time(_) => None,
    };
    let after = query.after(&cursors, name_of)?;
    let selection = match external_id {
        Some(id) => TenantSelection::ExternalId(id),
        None if are_deleted => TenantSelection::Deleted,
        None => TenantSelection::Live,
    };
    let page = TenantQuery { selection, after, limit: query.limit };
    let read = app.directory.list_tenants(call.permit()?, page);
    let TenantPage { items, has_more } = app.admission.with_admission(Class::Reads, read).await?;
    let page_key = |(tenant, _): &(Tenant, TenantCounts)| PageKey {
        key: SortKey::Text(Some(tenant.name.to_string())),
        id: UserId::from_bytes([0; 16]),
    };
    let last = items.last().filter(|_| has_more);
    let next = last.map(|last| cursors.seal_stored(&page_key(last))).transpose()?;
    let envelope = Envelope { next_cursor: next.as_deref(), ..Envelope::default() };
    let body = envelope.write(&items, items.len() * TENANT_BYTES, |(tenant, counts), out| {
        write_json(out, &record(app, tenant, Some(counts)));
        Some(())
    })?;
    let mut response = uncached(StatusCode::OK, body);
    let target = next.map(|cursor| target(call.parts.uri.path(), &query.given, &cursor));
    if let Some(link) = target.as_deref().and_then(link) {
        response.headers_mut().insert(LINK, link);
    }
    Ok(response)
}

/// `GET /tenants/{tenant}`: returns a tenant.
pub(crate) async fn get(
    State(app): State<AppState>,
    _: Authorized<RunTenants>,
    ReadOptions(preconditions): ReadOptions,
    TenantPath(name): TenantPath,
) -> Result<Response, Problem> {
    let read = app.admission.with_admission(Class::Reads, app.directory.tenant(name)).await?;
    let live = read.filter(|(tenant, _)| tenant.deleted_at.is_none());
    let (tenant, counts) = live.ok_or_else(not_found)?;
    check_match(&preconditions, tenant.version)?;
    respond(&app, StatusCode::OK, &tenant, Some(&counts))
}

/// `GET /deleted-tenants/{tenant}`: returns a deleted tenant.
pub(crate) async fn get_deleted(
    State(app): State<AppState>,
    _: Authorized<RunTenants>,
    ReadOptions(preconditions): ReadOptions,
    TenantPath(name): TenantPath,
) -> Result<Response, Problem> {
    let read = app.admission.with_admission(Class::Reads, app.directory.tenant(name)).await?;
    let deleted = read.filter(|(tenant, _)| tenant.deleted_at.is_some());
    let (tenant, counts) = deleted.ok_or_else(deleted_not_found)?;
    check_match(&preconditions, tenant.version)?;
    respond(&app, StatusCode::OK, &tenant, Some(&counts))
}

/// `POST /tenants`: creates a tenant.
pub(crate) async fn create(
    State(app): State<AppState>,
    options: WriteOptions,
    _: AcceptsJson,
    call: UnreadCall,
) -> Result<Response, Problem> {
    let (call, draft) = read_draft(&app, call).await?;
    let tenant = change(&app, &options, &call, TenantAct::Create(draft)).await?;
    if options.is_dry_run() {
        return Ok(dry_run_response(&app, &tenant));
    }
    let mut response = respond(&app, StatusCode::CREATED, &tenant, None)?;
    let location = format!("{}/tenants/{}", app.base_path(), tenant.name);
    insert(response.headers_mut(), LOCATION, location)?;
    Ok(response)
}

/// `PUT /tenants/{tenant}`: replaces what a caller may set.
pub(crate) async fn replace(
    State(app): State<AppState>,
    options: WriteOptions,
    TenantPath(name): TenantPath,
    _: AcceptsJson,
    call: UnreadCall,
) -> Result<Response, Problem> {
    let (call, draft) = read_draft(&app, call).await?;
    let tenant = change(&app, &options, &call, TenantAct::Replace(name, draft)).await?;
    write_response(&app, &options, &tenant)
}

/// `PATCH /tenants/{tenant}`: patches a tenant by JSON Merge Patch.
pub(crate) async fn patch(
    State(app): State<AppState>,
    options: WriteOptions,
    TenantPath(name): TenantPath,
    _: AcceptsJson,
    call: UnreadCall,
) -> Result<Response, Problem> {
    let (call, patch, _) = call
        .read_and_authorize(&app, BodyKind::MergePatch, ADMIN_BODY_BYTES_MAX, json::read)
        .await?;
    let tenant = change(&app, &options, &call, TenantAct::Patch(name, patch)).await?;
    write_response(&app, &options, &tenant)
}

/// `DELETE /tenants/{tenant}`: deletes a tenant, which is kept for some time.
pub(crate) async fn delete(
    State(app): State<AppState>,
    _: Authorized<RunTenants>,
    options: WriteOptions,
    TenantPath(name): TenantPath,
    call: Call,
) -> Result<Response, Problem> {
    let tenant = change(&app, &options, &call, TenantAct::Delete(name)).await?;
    Ok(delete_response(&app, &options, &tenant))
}

/// `DELETE /deleted-tenants/{tenant}`: purges a deleted tenant permanently. Everything in it is
/// erased in steps.
pub(crate) async fn purge(
    State(app): State<AppState>,
    _: Authorized<RunTenants>,
    options: WriteOptions,
    TenantPath(name): TenantPath,
    call: Call,
) -> Result<Response, Problem> {
    let tenant = change(&app, &options, &call, TenantAct::Purge(name)).await?;
    // The purge has revoked its keys. The next read in the background sees it if this one fails.
    drop(app.access.keys_changed().await);
    Ok(delete_response(&app, &options, &tenant))
}

/// `POST /deleted-tenants/{tenant}/restore`: makes a deleted tenant a tenant again.
pub(crate) async fn restore(
    State(app): State<AppState>,
    _: Authorized<RunTenants>,
    options: WriteOptions,
    _: AcceptsJson,
    TenantPath(name): TenantPath,
    call: Call,
) -> Result<Response, Problem> {
    let location = format!("{}/tenants/{name}", app.base_path());
    let tenant = change(&app, &options, &call, TenantAct::Restore(name)).await?;
    let mut response = write_response(&app, &options, &tenant)?;
    if !options.is_dry_run() {
        // The content is the tenant at its own URL (RFC 9110 section 8.7).
        insert(response.headers_mut(), CONTENT_LOCATION, location)?;
    }
    Ok(response)
}

/// The tenant that a body describes.
async fn read_draft(app: &AppState, call: UnreadCall) -> Result<(Call, TenantDraft), Problem> {
    let parse = |text: &[u8]| json::read(text).map(|tree| TenantDraft::parse(&tree));
    let (call, draft, _) =
        call.read_and_authorize(app, BodyKind::Json, ADMIN_BODY_BYTES_MAX, parse).await?;
    Ok((call, draft.map_err(TenantRefusal::Invalid).map_err(TenantFailure::Refused)?))
}

/// Changes a tenant, and logs the change with its actor.
async fn change(
    app: &AppState,
    options: &WriteOptions,
    call: &Call,
    act: TenantAct,
) -> Result<Tenant, Problem> {
    options.refuse_idempotency_key()?;
    let preconditions = options.preconditions.clone();
    let is_of_deleted = matches!(act, TenantAct::Restore(_) | TenantAct::Purge(_));
    let done = match &act {
        TenantAct::Create(_) => "created",
        TenantAct::Replace(..) | TenantAct::Patch(..) => "changed",
        TenantAct::Delete(_) => "deleted",
        TenantAct::Restore(_) => "restored",
        TenantAct::Purge(_) => "purged",
    };
    let caller = call.authority().caller(call.request_id());
    let permit = call.permit()?;
    let change = app.directory.change_tenant(permit, act, preconditions, options.mode, caller);
    let change = async {
        change.await.map_err(|failure| match failure {
            TenantFailure::Refused(TenantRefusal::NotFound) if is_of_deleted => deleted_not_found(),
            TenantFailure::Refused(_) | TenantFailure::Store(_) => failure.into(),
        })
    };
    let decision = app.admission.with_admission(Class::Writes, change).await?;
    if decision.changes && !options.is_dry_run() {
        app.tenants.changed();
        let (request_id, actor) = (call.request_id(), call.authority().actor().without_subject());
        let (tenant, version) = (decision.tenant.name.as_str(), decision.tenant.version);
        tracing::info!(request_id, actor, tenant, version, "a tenant was {done}");
    }
    Ok(decision.tenant)
}

/// The response to a write of a tenant that exists.
fn write_response(
    app: &AppState,
    options: &WriteOptions,
    tenant: &Tenant,
) -> Result<Response, Problem> {
    if options.is_dry_run() {
        return Ok(dry_run_response(app, tenant));
    }
    respond(app, StatusCode::OK, tenant, None)
}

/// The response to a deletion: nothing, or what a dry run would delete.
fn delete_response(app: &AppState, options: &WriteOptions, tenant: &Tenant) -> Response {
    if options.is_dry_run() {
        return dry_run_response(app, tenant);
    }
    StatusCode::NO_CONTENT.into_response()
}

/// The tenant that a write would make. It has no entity tag, because no version with it is stored.
fn dry_run_response(app: &AppState, tenant: &Tenant) -> Response {
    let mut body = Vec::with_capacity(TENANT_BYTES);
    write_json(&mut body, &record(app, tenant, None));
    let mut response = uncached(StatusCode::OK, body);
    response.headers_mut().insert(DRY_RUN, TRUE);
    response
}

fn respond(
    app: &AppState,
    status: StatusCode,
    tenant: &Tenant,
    counts: Option<&TenantCounts>,
) -> Result<Response, Problem> {
    let mut body = Vec::with_capacity(TENANT_BYTES);
    write_json(&mut body, &record(app, tenant, counts));
    let mut response = uncached(status, body);
    insert(response.headers_mut(), ETAG, format!("\"{}\"", tenant.version))?;
    Ok(response)
}

/// A tenant as JSON. Members without a value are left out, and so are the counters after a write,
/// which does not read them.
fn record(app: &AppState, tenant: &Tenant, counts: Option<&TenantCounts>) -> Json {
    let purge_at = tenant.deleted_at.zip(app.settings.deleted_keep);
    let purge_at = purge_at.map(|(deleted_at, keep)| purge_at_of(deleted_at, keep));
    let number = |count: fn(&TenantCounts) -> i64| counts.map(count).map(Json::Int);
    let mut members = tenant.members();
    let of_service = [
        ("base_url", Some(Json::Text(format!("{}/tenants/{}", app.base_url, tenant.name)))),
        ("users", number(|counts| counts.users)),
        ("deleted_users", number(|counts| counts.deleted_users)),
        ("groups", number(|counts| counts.groups)),
    ];
    let end = members.iter().position(|(name, _)| name == "created_at");
    members.splice(end.unwrap_or(0)..end.unwrap_or(0), json::present(of_service));
    members.extend(json::present([("purge_at", purge_at.map(|at| Json::Text(at.to_string())))]));
    Json::Object(members)
}

fn not_found() -> Problem {
    Problem::saying(ProblemCode::TenantNotFound, "no tenant has this name")
}

fn deleted_not_found() -> Problem {
    Problem::saying(ProblemCode::TenantNotFound, "no deleted tenant has this name")
}

impl From<TenantFailure> for Problem {
    fn from(failure: TenantFailure) -> Self {
        match failure {
            TenantFailure::Store(error) => error.into(),
            TenantFailure::Refused(TenantRefusal::NotFound) => not_found(),
            TenantFailure::Refused(TenantRefusal::PreconditionRequired) => Self::saying(
                ProblemCode::PreconditionRequired,
                "send If-Match with the version of the tenant that you mean",
            ),
            TenantFailure::Refused(TenantRefusal::NameTaken { is_deleted: false }) => {
                Self::new(ProblemCode::TenantNameTaken)
            }
            TenantFailure::Refused(TenantRefusal::NameTaken { is_deleted: true }) => Self::saying(
                ProblemCode::TenantNameTaken,
                "a deleted tenant has this name; restore or purge it",
            ),
            TenantFailure::Refused(TenantRefusal::TooMany) => Self::saying(
                ProblemCode::TooManyTenants,
                format!("there can be {TENANTS_MAX} tenants"),
            ),
            TenantFailure::Refused(TenantRefusal::VersionMismatch(current)) => Self::saying(
                ProblemCode::VersionMismatch,
                format!(
                    "the tenant is at version {current}; fetch it and apply your change to that"
                ),
            ),
            TenantFailure::Refused(TenantRefusal::Invalid(violations)) => {
                Self::listing(ProblemCode::InvalidTenant, "member", violations.map(Fault::from))
            }
        }
    }
}
