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
    operation::{Need, Operation},
    pressure::{Identity, Standing},
    problem::{Problem, ProblemCode},
    state::AppState,
};

/// Who sends a request, if they may; `standing` is what every answer to them tells of their limit.
pub(crate) async fn authorize(
    app: &AppState,
    parts: &Parts,
    address: IpAddr,
    operation: Option<Operation>,
    standing: &mut Option<Standing>,
) -> Result<Authority, Problem> {
    let need = operation.map_or(Need::Nothing, Operation::needs);
    let (Some(operation), Need::Scope(scope)) = (operation, need) else {
        app.pressure.charge(&Identity::Address(address), standing)?;
        return Ok(Authority::nobody());
    };
    let authority = authenticate(app, parts, address).await;
    let actor = authority.as_ref().map_or(&Actor::Anonymous, Authority::actor);
    app.pressure.charge(&identity(actor, address), standing)?;
    allow(authority?, operation, scope)
}

/// Who sends a request whose body has come, if they still may. The request was charged when its
/// head came, and its credential was no guess.
pub(crate) async fn reauthorize(
    app: &AppState,
    parts: &Parts,
    operation: Option<Operation>,
) -> Result<Authority, Problem> {
    let need = operation.map_or(Need::Nothing, Operation::needs);
    let (Some(operation), Need::Scope(scope)) = (operation, need) else {
        return Ok(Authority::nobody());
    };
    allow(app.access.authenticate(parts).await?, operation, scope)
}

/// What the caller may do at the interface of the operation, if they have its scope.
fn allow(authority: Authority, operation: Operation, scope: Scope) -> Result<Authority, Problem> {
    if !authority.may(scope) {
        return Err(missing(scope));
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
    let Some(wait_s) = app.pressure.locked_for(address, credential) else {
        return attempt(app, parts, address, credential).await;
    };
    let refusal = || app.pressure.refuse_attempt(wait_s);
    let _turn = match app.access.check_of(&parts.headers) {
        Check::Nothing => return Err(refusal()),
        Check::Digest => None,
        Check::Signature => {
            Some(app.pressure.enter_locked_check(address).await.ok_or_else(refusal)?)
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
        Ok(_) => app.pressure.succeeded(address, credential),
        Err(problem) if problem.code == ProblemCode::Unauthenticated => {
            app.pressure.failed(address);
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
        Actor::Anonymous | Actor::System => Identity::Address(address),
        Actor::Key(id) => Identity::Key(id.as_str()),
        Actor::Subject { issuer, subject } => Identity::Subject { issuer, subject },
    }
}

fn missing(scope: Scope) -> Problem {
    MissingScope(scope).into()
}
