//! Whether a request may go on: who calls, whether they may do this, and what it is charged to.
//!
//! An address that has failed too often is locked: of what it sends only well-formed keys, and
//! tokens that name a known issuer and key, are verified, and the latter at a bounded rate. Whoever
//! is let in is charged by their key or subject, everybody else by their address. It must not know
//! what a credential is made of.

use std::net::IpAddr;

use http::{HeaderMap, header::AUTHORIZATION, request::Parts};
use roster_core::{
    Actor,
    access::{Authority, MissingScope, Scope},
};

use crate::{
    access::Check,
    admission::{Identity, RateLimitState},
    operation::{Need, Operation},
    problem::{Problem, ProblemCode},
    state::AppState,
};

/// The caller of a request, if authorized; `state` is their rate limit, for the response headers.
pub(crate) async fn authorize(
    app: &AppState,
    parts: &Parts,
    address: IpAddr,
    operation: Option<Operation>,
    state: &mut Option<RateLimitState>,
) -> Result<Authority, Problem> {
    let Some((operation, scope)) = needed(operation) else {
        app.admission.charge(&Identity::of_address(address), state)?;
        return Ok(Authority::nobody());
    };
    let authority = authenticate(app, parts, address).await;
    let actor = authority.as_ref().map_or(&Actor::Anonymous, Authority::actor);
    app.admission.charge(&identity(actor, address), state)?;
    allow(authority?, operation, scope)
}

/// Who sends a request whose body has come, if they still may. The request was charged when its
/// head came, and its credential was no guess.
pub(crate) async fn reauthorize(
    app: &AppState,
    parts: &Parts,
    operation: Option<Operation>,
) -> Result<Authority, Problem> {
    let Some((operation, scope)) = needed(operation) else {
        return Ok(Authority::nobody());
    };
    allow(app.access.authenticate(parts).await?, operation, scope)
}

/// The operation with the scope that it needs; `None` if it needs none.
fn needed(operation: Option<Operation>) -> Option<(Operation, Scope)> {
    match operation?.needs() {
        Need::Nothing => None,
        Need::Scope(scope) => Some((operation?, scope)),
    }
}

/// What the caller may do at the interface of the operation, if they have its scope.
fn allow(authority: Authority, operation: Operation, scope: Scope) -> Result<Authority, Problem> {
    if !authority.may(scope) {
        return Err(MissingScope(scope).into());
    }
    Ok(if operation.is_scim() { authority.through_scim() } else { authority })
}

async fn authenticate(
    app: &AppState,
    parts: &Parts,
    address: IpAddr,
) -> Result<Authority, Problem> {
    let Some(credential) = name(&parts.headers) else {
        return app.access.authenticate(parts).await;
    };
    let Err(wait_s) = app.admission.attempts.may_try(address, credential) else {
        return attempt(app, parts, address, credential).await;
    };
    let refusal = || app.admission.refuse_attempt(wait_s);
    let _turn = match app.access.check_of(&parts.headers) {
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

/// Verifies a credential, and keeps count of the outcome for its address.
async fn attempt(
    app: &AppState,
    parts: &Parts,
    address: IpAddr,
    credential: &str,
) -> Result<Authority, Problem> {
    let authority = app.access.authenticate(parts).await;
    match &authority {
        Ok(_) => app.admission.attempts.succeeded(address, credential),
        Err(problem) if problem.code == ProblemCode::Unauthenticated => {
            app.admission.attempts.failed(address);
        }
        // The store, or an issuer, does not answer: the credential may be good.
        Err(_) => {}
    }
    authority
}

/// What of a credential tells it apart before it is looked at: the id of a key, or all of it.
fn name(headers: &HeaderMap) -> Option<&str> {
    let line = headers.get(AUTHORIZATION)?.to_str().unwrap_or_default();
    let token = line.rsplit(' ').next().unwrap_or_default();
    let id = token.strip_prefix("rst_").and_then(|rest| rest.split('_').next());
    Some(id.unwrap_or(token))
}

/// Who a request of this actor, from this address, is charged to.
pub(crate) fn identity(actor: &Actor, address: IpAddr) -> Identity<'_> {
    match actor {
        Actor::Anonymous | Actor::System => Identity::of_address(address),
        Actor::Key(id) => Identity::Key(id.as_str()),
        Actor::Subject { issuer, subject } => Identity::Subject { issuer, subject },
    }
}
