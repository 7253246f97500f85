//! The work before and after every handler, in this order.
//!
//! Before: the guards of host, open mode and origin; cheap limits; the session of the console;
//! authentication, the rate limit and the scope; the memory that the connection holds; the body, if
//! none is taken. Health checks skip all of these. After: problems are logged and written, the
//! response is measured, and the headers that every response has are added.

use std::{net::IpAddr, pin::Pin, sync::Arc, time::Instant};

use axum::{
    body::{Body, HttpBody as _},
    extract::Request,
    handler::Handler,
    response::{IntoResponse, Response},
};
use http::{
    HeaderName, HeaderValue, Method,
    header::{CONTENT_TYPE, VARY, X_CONTENT_TYPE_OPTIONS},
    request::Parts,
};
use prometheus_client::metrics::histogram::Histogram;
use roster_core::{Actor, access::Authority};
use roster_server::{
    AcceptedCoding, Identity, Peer,
    compression::{self, compress},
    length,
    limits::RateLimitState,
};

use crate::{
    authorization::{authorize, read_nothing_and_reauthorize},
    description,
    extract::Media,
    limits::{
        admission::{holds_too_much, identity},
        time_limits::{ReadLimit, in_time},
    },
    middleware::{CorsGrant, check_direct, check_limits, check_origin},
    operation::Operation,
    problem::{Problem, ProblemCode, ProblemExtension},
    request::RequestContext,
    request_id::X_REQUEST_ID,
    rest::events::stated_wait,
    scim,
    state::AppState,
    tenancy::Segment,
};

pub(crate) const NOSNIFF: (HeaderName, HeaderValue) =
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));

/// A handler with the work before and after it.
#[derive(Clone)]
pub(crate) struct Endpoint<H> {
    /// `None` if the route does not offer the method, or there is no route.
    operation: Option<Operation>,
    duration: Option<Histogram>,
    handler: H,
}

impl<H> Endpoint<H> {
    /// The endpoint of an operation.
    pub(crate) fn of(operation: Operation, handler: H, app: &AppState) -> Self {
        let duration = Some(app.metrics.duration_of(operation));
        Self { operation: Some(operation), duration, handler }
    }

    /// The endpoint of requests without an operation.
    pub(crate) const fn of_none(handler: H) -> Self {
        Self { operation: None, duration: None, handler }
    }
}

impl<H, T> Handler<T, AppState> for Endpoint<H>
where
    H: Handler<T, AppState>,
    T: 'static,
{
    type Future = Pin<Box<dyn Future<Output = Response> + Send>>;

    fn call(self, request: Request, app: AppState) -> Self::Future {
        Box::pin(async move {
            let started = Instant::now();
            let (mut parts, body) = request.into_parts();
            let Some(peer) = parts.extensions.remove::<Peer>() else {
                return Problem::new(ProblemCode::Internal).into_response();
            };
            let operation = self.operation;
            let request_id = app.request_ids.of(&parts.headers);
            let client = app.settings.trusted_proxies.client(peer.address.ip(), &parts.headers);
            let client =
                client.map_err(|detail| Problem::saying(ProblemCode::InvalidRequest, detail));
            let address = *client.as_ref().unwrap_or(&peer.address.ip());
            let mut context = Arc::new(RequestContext {
                peer,
                client: address,
                request_id,
                operation,
                authority: Authority::nobody(),
                log: app.directory.log_id(),
            });
            let mut after = After {
                started,
                method: parts.method.clone(),
                scim: scim::is_below(app.settings.base_path(), &parts)
                    .then(|| scim::accepted(&parts.headers)),
                coding: operation
                    .filter(|operation| operation.is_compressible())
                    .map(|_| compression::accepted(&parts.headers)),
                cors: app.cors.grant(&parts, app.access.is_open()),
                rate_limit: None,
            };
            let rate_limit = &mut after.rate_limit;
            let guarded =
                guard(app.clone(), &mut parts, &context.peer, operation, client, rate_limit).await;
            let takes_none = operation.is_some_and(Operation::takes_no_body);
            let (guarded, body) = match guarded {
                // Boxed, because few requests have one.
                Ok((app, _)) if takes_none && !body.is_end_stream() => {
                    let peer = &context.peer;
                    let authority =
                        read_nothing_and_reauthorize(&app, &parts, operation, body, peer);
                    let authority = Box::pin(authority).await;
                    (authority.map(|authority| (app, authority)), Body::empty())
                }
                guarded => (guarded, body),
            };
            let response = match guarded {
                Ok((app, authority)) => {
                    let is_limited = operation.is_some_and(|operation| !operation.is_probe());
                    let limit = (parts.method.is_safe() && is_limited).then(|| {
                        let waits = operation.filter(|operation| operation.may_wait());
                        let waits = waits.map(|_| stated_wait(parts.uri.query()));
                        let most = app.settings.read_wait_max + waits.unwrap_or_default();
                        ReadLimit::of(most, &parts.headers)
                    });
                    Arc::make_mut(&mut context).authority = authority;
                    parts.extensions.insert(Arc::clone(&context));
                    let request = Request::from_parts(parts, body);
                    let handled = self.handler.call(request, app.clone());
                    let handled = app.admission.for_caller(&context.identity(), handled);
                    match limit {
                        Some(limit) => in_time(limit, handled).await.into_response(),
                        None => handled.await,
                    }
                }
                Err(problem) => problem.into_response(),
            };
            after.finish(&app, context, self.duration.as_ref(), response)
        })
    }
}

/// Checks a request before its handler runs. Returns the state of its tenant, and the permissions
/// of the caller.
async fn guard(
    app: AppState,
    parts: &mut Parts,
    peer: &Peer,
    operation: Option<Operation>,
    client: Result<IpAddr, Problem>,
    rate_limit: &mut Option<RateLimitState>,
) -> Result<(AppState, Authority), Problem> {
    let is_below_tenant = parts.extensions.get::<Segment>().is_some();
    if operation.is_some_and(Operation::is_health) && !is_below_tenant {
        return Ok((app, Authority::nobody()));
    }
    app.hosts.check(parts, peer.tls)?;
    let is_open = app.access.is_open();
    if is_open {
        check_direct(parts, peer.address.ip())?;
    }
    if app.cors.listed(&parts.headers, is_open).is_none() {
        check_origin(parts, &app.settings.base_url, peer.tls, operation)?;
    }
    check_limits(parts, app.settings.uri_bytes_max)?;
    let client = client?;
    // SCIM is for programs, and who signs out may have a session that has ended.
    let takes_none = operation.is_some_and(|one| one.is_scim() || one == Operation::DeleteSession);
    if app.settings.console
        && !takes_none
        && let Err(problem) = app.sessions.admit(parts, app.directory.now())
    {
        app.admission.charge(&Identity::of_address(client), rate_limit)?;
        return Err(problem);
    }
    let (app, authority) = authorize(app, parts, client, operation, rate_limit).await?;
    check_memory(&authority, peer, client)?;
    Ok((app, authority))
}

/// Assigns the memory of the connection to the caller that has authenticated on it, or that calls
/// through a trusted proxy. Refuses the request if the caller uses too much memory.
fn check_memory(authority: &Authority, peer: &Peer, client: IpAddr) -> Result<(), Problem> {
    let actor = authority.actor();
    if !matches!(actor, Actor::Anonymous) || client != peer.address.ip() {
        peer.memory().assign(identity(actor, client));
    }
    if peer.memory().is_over() { Err(holds_too_much()) } else { Ok(()) }
}

/// The facts about a request that are needed after its handler has run.
struct After {
    started: Instant,
    method: Method,
    /// The media type of errors, if the path belongs to SCIM.
    scim: Option<Media>,
    /// The coding that the caller accepts, if the response may have one.
    coding: Option<AcceptedCoding>,
    cors: CorsGrant,
    rate_limit: Option<RateLimitState>,
}

impl After {
    fn finish(
        self,
        app: &AppState,
        context: Arc<RequestContext>,
        duration: Option<&Histogram>,
        mut response: Response,
    ) -> Response {
        let problem = response.extensions_mut().remove::<ProblemExtension>();
        if let Some(problem) =
            problem.and_then(|ProblemExtension(problem)| Arc::into_inner(problem))
        {
            let mut problem = problem;
            if let (ProblemCode::InvalidQuery, Some(operation)) = (problem.code, context.operation)
            {
                problem.suggest_parameters(description::query_parameters(operation.id()));
            }
            app.admission.refusals.count_if_about_caller(problem.code);
            if let (Some(error), Some(is_read)) = (&problem.cause, self.reads_store(&context)) {
                app.readiness.failed(is_read, error);
            }
            response = self.write(app, &context, problem);
        }
        // A caller above its share of memory gets 503 instead of the result of a read. The response
        // to a write is never replaced, nor that to a probe.
        let bytes = length(response.body()).unwrap_or(0);
        let is_probe = context.operation.is_some_and(Operation::is_probe);
        if self.method.is_safe() && !is_probe && !context.peer.memory().may_hold(bytes) {
            response = self.write(app, &context, holds_too_much());
        }
        if response.status().is_success()
            && let Some(is_read) = self.reads_store(&context)
        {
            app.readiness.succeeded(is_read);
        }
        if let Some(accepted) = self.coding {
            response = compress(response, accepted);
        }
        self.measure(app, &context, duration, response.status().as_u16());
        let is_error = response.status().is_client_error() || response.status().is_server_error();
        let headers = response.headers_mut();
        if let Some(media) = self.scim {
            // Nothing but the coding is in it yet: CORS adds its own afterwards.
            let is_by_coding = headers.contains_key(VARY);
            let varies = if is_by_coding { "Accept, Accept-Encoding" } else { "Accept" };
            headers.insert(VARY, HeaderValue::from_static(varies));
            if is_error {
                headers.insert(CONTENT_TYPE, media.header());
            }
        }
        self.cors.write_headers(headers);
        app.admission.tell(self.rate_limit, headers);
        headers.insert(NOSNIFF.0, NOSNIFF.1);
        // Usually this is the last reference to the context.
        headers.insert(X_REQUEST_ID, Arc::unwrap_or_clone(context).request_id);
        response
    }

    /// Whether the request only reads the store; `None` if it does not use the store.
    fn reads_store(&self, context: &RequestContext) -> Option<bool> {
        let operation = context.operation.filter(|operation| operation.uses_store())?;
        Some(self.method.is_safe() || operation.is_search())
    }

    /// The response to a problem. Internal errors are logged only here.
    fn write(&self, app: &AppState, context: &RequestContext, problem: Problem) -> Response {
        let request_id = context.request_id();
        problem.log(request_id);
        if self.scim.is_some() {
            scim::from_problem(problem)
        } else {
            problem.write(&app.settings.base_url, request_id)
        }
    }

    fn measure(
        &self,
        app: &AppState,
        context: &RequestContext,
        duration: Option<&Histogram>,
        status: u16,
    ) {
        let took = self.started.elapsed();
        let operation = context.operation.map_or("none", Operation::id);
        app.metrics.answered(operation, status);
        if let Some(duration) = duration {
            duration.observe(took.as_secs_f64());
        }
        tracing::debug!(
            request_id = context.request_id(),
            client = %context.client,
            method = self.method.as_str(),
            operation,
            status,
            micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            "answered"
        );
    }
}
