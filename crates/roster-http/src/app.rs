//! The way of a request through the faces, in its one order.
//!
//! Request id, metrics and log, problem writer; then host and origin guard, cheap limits and those
//! of the caller, which health passes by; then the route. Every answer leaves through the same
//! door.

use std::{borrow::Cow, net::IpAddr, pin::pin, sync::Arc, time::Instant};

use http::{
    HeaderName, HeaderValue, Method, Request, Response, StatusCode,
    header::{ALLOW, X_CONTENT_TYPE_OPTIONS},
    request::Parts,
};
use hyper::body::Incoming;
use roster_core::{Actor, Directory, StoreError, access::Authority};

use crate::{
    authorization::{authorize, identity},
    face::{Call, Face},
    front::Body,
    front::{FrontCounters, Handle, Peer},
    middleware::{Cors, Hosts, check_direct, check_limits, check_origin},
    patience::in_time,
    pressure::{Reason, Standing, holds_too_much},
    problem::{Problem, ProblemCode},
    request_id::{self, RequestIds, X_REQUEST_ID},
    rest,
    router::{self, Operation, Route},
    scim,
    settings::FaceSettings,
};

const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
const ACCEPT_PATCH: HeaderName = HeaderName::from_static("accept-patch");
const PATCH_TYPES: HeaderValue =
    HeaderValue::from_static("application/merge-patch+json, application/json");
/// The methods of RFC 9110, RFC 5789 and RFC 10008: known, wherever they are not offered.
const KNOWN_METHODS: [&str; 10] =
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "QUERY"];
const EVERY_METHOD: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// The faces over one directory.
pub struct App {
    face: Face,
    hosts: Hosts,
    cors: Cors,
    request_ids: RequestIds,
}

impl App {
    /// The faces over a directory.
    pub fn new(directory: Directory, settings: FaceSettings, front: Arc<FrontCounters>) -> Self {
        let hosts = settings.hosts.iter().cloned().chain(settings.base_host());
        let hosts = Hosts::new(hosts, &settings.base_url);
        let cors = Cors::new(&settings.cors_origins);
        let face = Face::new(directory, settings, front);
        Self { face, hosts, cors, request_ids: RequestIds::new() }
    }

    /// Loads the keys before the first request. Returns whether no key was ever made.
    pub async fn load_keys(&self) -> Result<bool, StoreError> {
        self.face.access.begin().await
    }

    /// Loads the keys after they were changed without this `App`. Returns as [`App::load_keys`].
    pub async fn reload_keys(&self) -> Result<bool, StoreError> {
        self.face.access.keys_changed().await?;
        self.load_keys().await
    }

    /// Whether callers without a credential are admitted: no key was ever made, no issuer is set,
    /// and the settings allow it.
    pub fn is_open(&self) -> bool {
        self.face.access.is_open()
    }

    /// Has the store note which keys were used since this was done last.
    pub async fn note_key_uses(&self) -> Result<(), StoreError> {
        self.face.access.note_uses().await
    }

    /// From here on `/readyz` says that the service is about to stop. It is served all the same.
    pub fn drain(&self) {
        self.face.drain();
    }

    async fn answer(
        &self,
        call: Call<'_>,
        body: Incoming,
        found: Option<(&Route, &str)>,
        operation: Option<Operation>,
        client: Result<IpAddr, Problem>,
        standing: &mut Option<Standing>,
    ) -> Result<Response<Body>, Problem> {
        let parts = call.parts;
        if !operation.is_some_and(Operation::is_health) {
            let tls = call.peer.tls;
            self.hosts.check(parts, tls)?;
            if self.face.access.is_open() {
                check_direct(parts, call.peer.address.ip())?;
            }
            if self.cors.listed(&parts.headers, self.face.access.is_open()).is_none() {
                check_origin(parts, &self.face.settings.base_url, tls, operation)?;
            }
            check_limits(parts, self.face.settings.uri_bytes_max)?;
        }
        let authority = match operation {
            Some(operation) if operation.is_health() => Authority::nobody(),
            operation => {
                let client = client?;
                let authority = authorize(&self.face, parts, client, operation, standing).await?;
                check_memory(&authority, call.peer, client)?;
                authority
            }
        };
        if !KNOWN_METHODS.contains(&parts.method.as_str()) {
            return Err(Problem::new(ProblemCode::MethodNotImplemented));
        }
        if parts.uri.path() == "*" {
            return if parts.method == Method::OPTIONS {
                Ok(allowing(EVERY_METHOD))
            } else {
                let detail = "the target * goes with OPTIONS alone";
                Err(Problem::saying(ProblemCode::InvalidRequest, detail))
            };
        }
        let Some((route, segment)) = found else {
            return Err(if parts.method == Method::CONNECT {
                not_allowed(EVERY_METHOD)
            } else {
                Problem::new(ProblemCode::NotFound)
            });
        };
        if parts.method == Method::OPTIONS {
            let mut response = allowing(route.allow);
            let patched = route.offer(&Method::PATCH);
            if matches!(patched, Some(Operation::PatchUser | Operation::PatchGroup)) {
                response.headers_mut().insert(ACCEPT_PATCH, PATCH_TYPES);
            }
            return Ok(response);
        }
        let Some(operation) = operation else {
            return Err(not_allowed(route.allow));
        };
        let call = Call { authority, ..call };
        let dispatched = pin!(dispatch(&self.face, operation, segment, call, body));
        if parts.method.is_safe() && !operation.answers_always() {
            in_time(self.face.settings.read_wait_max, &parts.headers, dispatched).await
        } else {
            dispatched.await
        }
    }

    /// Counts the body of a response against the memory budget. A caller above its share gets 503
    /// instead of the result of a read; the response to a write is never replaced.
    fn hold(&self, response: &mut Response<Body>, parts: &Parts, peer: &Peer, request_id: &str) {
        if !parts.method.is_safe() || response.body_mut().try_hold(peer.memory()) {
            return;
        }
        let problem = holds_too_much();
        *response = if scim::is_below(self.face.settings.base_path(), parts) {
            scim::from_problem(problem, parts)
        } else {
            self.refuse(problem, request_id)
        };
    }

    /// Counts what is refused for whom it comes from.
    fn count(&self, problem: &Problem) {
        if let Some(reason) = Reason::of(problem.code) {
            self.face.pressure.refused(reason);
        }
    }

    /// Turns a problem into its answer; what failed inside is logged here and only here.
    fn refuse(&self, problem: Problem, request_id: &str) -> Response<Body> {
        log(&problem, request_id);
        problem.into_response(&self.face.settings.base_url, request_id)
    }
}

impl Handle for App {
    async fn handle(&self, request: Request<Incoming>, peer: &Peer) -> Response<Body> {
        let started = Instant::now();
        let (parts, body) = request.into_parts();
        let id = self.request_ids.of(&parts.headers);
        let request_id = request_id::text(&id);
        let found = router::find(self.face.settings.base_path(), parts.uri.path());
        let operation = found.and_then(|(route, _)| route.offer(&parts.method));

        let authority = Authority::nobody();
        let client = self.face.settings.trusted_proxies.client(peer.address.ip(), &parts.headers);
        let address = *client.as_ref().unwrap_or(&peer.address.ip());
        let call = Call { parts: &parts, peer, client: address, request_id, authority };
        let mut standing = None;
        let answered = self.answer(call, body, found, operation, client, &mut standing).await;
        let mut response = match answered {
            Ok(response) => response,
            Err(problem) if scim::is_below(self.face.settings.base_path(), &parts) => {
                self.count(&problem);
                log(&problem, request_id);
                scim::from_problem(problem, &parts)
            }
            Err(problem) => {
                self.count(&problem);
                self.refuse(problem, request_id)
            }
        };

        self.hold(&mut response, &parts, peer, request_id);
        let status = response.status().as_u16();
        let took = started.elapsed();
        self.face.metrics.answered(operation, status, took);
        tracing::debug!(
            request_id,
            client = %address,
            method = parts.method.as_str(),
            operation = operation.map_or("none", Operation::id),
            status,
            micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            "answered"
        );
        self.cors.tell(&parts, self.face.access.is_open(), &mut response);
        let headers = response.headers_mut();
        self.face.pressure.tell(standing, headers);
        headers.insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        headers.insert(X_REQUEST_ID, id);
        response
    }

    fn on_panic(&self) -> Response<Body> {
        let id = self.request_ids.of(&http::HeaderMap::new());
        let request_id = request_id::text(&id);
        tracing::error!(request_id, "a handler panicked");
        let problem = Problem::new(ProblemCode::Internal);
        let mut response = problem.into_response(&self.face.settings.base_url, request_id);
        response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        response.headers_mut().insert(X_REQUEST_ID, id);
        response
    }
}

/// Charges what the connection holds to whoever has authenticated on it, or calls through a
/// trusted proxy, and refuses the request where that is too much.
fn check_memory(authority: &Authority, peer: &Peer, client: IpAddr) -> Result<(), Problem> {
    let actor = authority.actor();
    if !matches!(actor, Actor::Anonymous) || client != peer.address.ip() {
        peer.memory().assign(identity(actor, client));
    }
    if peer.memory().is_over() { Err(holds_too_much()) } else { Ok(()) }
}

/// Hands a request to the face that its operation is of.
async fn dispatch(
    face: &Face,
    operation: Operation,
    segment: &str,
    call: Call<'_>,
    body: Incoming,
) -> Result<Response<Body>, Problem> {
    if let Operation::Scim(operation) = operation {
        return scim::dispatch(face, operation, segment, call, body).await;
    }
    rest::dispatch(face, operation, segment, call, body).await
}

/// Logs what failed inside.
fn log(problem: &Problem, request_id: &str) {
    let code = problem.code.as_str();
    if let Some(cause) = &problem.cause {
        let chain = chain(cause);
        tracing::error!(request_id, code, cause = chain.as_str(), "a request failed");
    }
}

/// The answer to `OPTIONS` (RFC 9110 section 9.3.7).
fn allowing(methods: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}

/// The refusal of a method that is known but not offered here (RFC 9110 section 15.5.6).
fn not_allowed(allow: &'static str) -> Problem {
    Problem::saying(ProblemCode::MethodNotAllowed, format!("this path offers {allow}"))
        .with_header(ALLOW, HeaderValue::from_static(allow))
}

/// An error and its causes, in one line.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let words: Vec<Cow<'_, str>> = causes.map(|cause| cause.to_string().into()).collect();
    words.join(": ")
}
