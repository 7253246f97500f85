//! Authenticates the caller of a request, checks its scope, and charges it to a rate limit.
//!
//! An address with too many failed attempts is locked. Of its requests, only well-formed keys and
//! tokens with a known issuer and key are verified, the tokens at a bounded rate. An authenticated
//! request is charged to its key or subject, any other to its address. This module does not know
//! what a credential consists of.

use std::net::IpAddr;

use axum::body::Body;
use http::{HeaderMap, header::AUTHORIZATION, request::Parts};
use roster_core::{
    Actor, TenantId, TenantName,
    access::{Authority, Scope},
};
use roster_server::{Identity, Peer, limits::RateLimitState};

use crate::{
    access::{Check, bearer, nobody},
    extract::read_nothing,
    limits::admission::identity,
    operation::{Need, Operation},
    problem::{Problem, ProblemCode},
    state::AppState,
    tenancy::{Segment, admitted},
};

/// The caller of a request, if authorized, and the state of its tenant. `state` is set to the
/// caller's rate limit, for the response headers.
pub(crate) async fn authorize(
    app: AppState,
    parts: &Parts,
    address: IpAddr,
    operation: Option<Operation>,
    state: &mut Option<RateLimitState>,
) -> Result<(AppState, Authority), Problem> {
    let segment = parts.extensions.get::<Segment>();
    let needed = match (needed(operation), operation) {
        // Without a credential nobody learns whether the tenant exists.
        (None, Some(operation)) if segment.is_some() => Some((operation, &[][..])),
        (needed, _) => needed,
    };
    let Some((operation, scopes)) = needed else {
        app.admission.charge(&Identity::of_address(address), state)?;
        return Ok((app, Authority::nobody()));
    };
    let authority = authenticate(&app, parts, address).await;
    let actor = authority.as_ref().map_or(&Actor::Anonymous, Authority::actor);
    app.admission.charge(&identity(actor, address), state)?;
    let authority = authority?;
    let app = enter(app, segment, &authority, operation).await?;
    let authority = allow(authority, operation, scopes)?;
    if !operation.is_of_service() {
        app.directory.renew_schema().await?;
    }
    Ok((app, authority))
}

/// The state of the tenant of a request, if the caller may call it.
async fn enter(
    app: AppState,
    segment: Option<&Segment>,
    authority: &Authority,
    operation: Operation,
) -> Result<AppState, Problem> {
    let Some(Segment(name)) = segment else {
        if authority.reach().includes(TenantId::DEFAULT) {
            return Ok(app);
        }
        return Err(Problem::new(ProblemCode::WrongTenant));
    };
    if matches!(authority.actor(), Actor::Anonymous) {
        return Err(nobody());
    }
    let tenant = match TenantName::parse(name) {
        Some(name) => app.tenants.find(&app.directory, &name).await?,
        None => None,
    };
    let tenant = admitted(tenant, authority)?;
    if operation.is_of_service() {
        let detail = "this path is below the base URL of the service alone, not below a tenant's";
        return Err(Problem::saying(ProblemCode::NotFound, detail));
    }
    Ok(app.of_tenant(&tenant).await?)
}

/// Authorizes a request again after its body arrived. The request was charged, and its credential
/// accepted, when its head arrived.
pub(crate) async fn reauthorize(
    app: &AppState,
    parts: &Parts,
    operation: Option<Operation>,
) -> Result<Authority, Problem> {
    let Some((operation, scopes)) = needed(operation) else {
        return Ok(Authority::nobody());
    };
    allow(app.access.authenticate(parts).await?, operation, scopes)
}

/// Reads the body of a request that takes none, then authorizes the request again.
pub(crate) async fn read_nothing_and_reauthorize(
    app: &AppState,
    parts: &Parts,
    operation: Option<Operation>,
    body: Body,
    peer: &Peer,
) -> Result<Authority, Problem> {
    read_nothing(body, peer).await?;
    reauthorize(app, parts, operation).await
}

/// The operation with the scopes that it needs; `None` if it needs no credential.
fn needed(operation: Option<Operation>) -> Option<(Operation, &'static [Scope])> {
    match operation?.needs() {
        Need::Nothing => None,
        Need::Caller => Some((operation?, &[])),
        Need::Scopes(scopes) => Some((operation?, scopes)),
    }
}

/// The permissions of the caller at the operation's interface, if they include the scopes.
fn allow(
    authority: Authority,
    operation: Operation,
    scopes: &'static [Scope],
) -> Result<Authority, Problem> {
    authority.check(scopes)?;
    if operation.is_of_operator() && !authority.is_operator() {
        return Err(Problem::new(ProblemCode::OperatorKeyRequired));
    }
    Ok(if operation.is_scim() { authority.through_scim() } else { authority })
}

/// The caller of a request. A failed attempt counts against its address.
pub(crate) async fn authenticate(
    app: &AppState,
    parts: &Parts,
    address: IpAddr,
) -> Result<Authority, Problem> {
    let Some(credential) = name(&parts.headers) else {
        return app.access.identify(parts).await;
    };
    let Err(wait_s) = app.admission.attempts.may_try(address, credential) else {
        return attempt(app, parts, address, credential).await;
    };
    let refusal = || app.admission.refuse_attempt(wait_s);
    let _permit = match app.access.check_of(&parts.headers) {
        Check::Nothing => return Err(refusal()),
        Check::Digest => None,
        Check::Signature => {
            Some(app.admission.attempts.enter_locked_check(address).await.ok_or_else(refusal)?)
        }
    };
    let attempt = attempt(app, parts, address, credential).await;
    let is_failed = |problem: &Problem| problem.code == ProblemCode::Unauthenticated;
    attempt.map_err(|problem| if is_failed(&problem) { refusal() } else { problem })
}

/// Verifies a credential, and records the outcome for its address.
async fn attempt(
    app: &AppState,
    parts: &Parts,
    address: IpAddr,
    credential: &str,
) -> Result<Authority, Problem> {
    let authority = app.access.identify(parts).await;
    match &authority {
        Ok(_) => app.admission.attempts.succeeded(address, credential),
        Err(problem) if problem.code == ProblemCode::Unauthenticated => {
            app.admission.attempts.failed(address);
        }
        // The store or an issuer does not respond: the credential may be valid.
        Err(_) => {}
    }
    authority
}

/// The credential: only the one that was accepted is exempt at a locked address, no other secret
/// with the same id.
fn name(headers: &HeaderMap) -> Option<&str> {
    headers.get(AUTHORIZATION)?;
    // A credential that cannot be read is never accepted.
    Some(bearer(headers).ok().flatten().unwrap_or_default())
}
