//! A request before its handler runs, and the extractors that take the whole request.

use std::{net::IpAddr, sync::Arc};

use axum::{
    body::Body,
    extract::{FromRequest, Request},
};
use http::{HeaderValue, request::Parts};
use roster_core::{
    Caller, LogId, Position, Timestamp,
    access::{Authority, Permit, Right},
    json::JsonFault,
};
use roster_server::{Identity, Peer, Upload};

use crate::{
    access::Lease,
    authorization::{read_nothing_and_reauthorize, reauthorize},
    extract::{BodyKind, Fingerprint, read_bytes},
    limits::{admission::identity, transfers::Place},
    operation::Operation,
    problem::{Problem, ProblemCode},
    request_id,
    session::Session,
    state::AppState,
};

/// The facts about a request that are known before its handler runs. An `Arc` of them is among the
/// extensions of the request.
#[derive(Clone)]
pub(crate) struct RequestContext {
    pub(crate) peer: Peer,
    /// The address that the request comes from: the address of the peer, or the one that a trusted
    /// proxy names.
    pub(crate) client: IpAddr,
    pub(crate) request_id: HeaderValue,
    /// `None` if the route does not offer the method, or there is no route.
    pub(crate) operation: Option<Operation>,
    /// The caller and its permissions.
    pub(crate) authority: Authority,
    /// The log as it was known before the request read the store. The response gives positions as
    /// those of this log. If another log has continued it meanwhile, they are after its end, so
    /// they are rejected later, and never stand for other events.
    pub(crate) log: LogId,
}

impl RequestContext {
    /// The context of a request.
    pub(crate) fn of(parts: &Parts) -> Result<&Self, Problem> {
        let context = parts.extensions.get::<Arc<Self>>();
        context.map(|context| &**context).ok_or_else(|| Problem::new(ProblemCode::Internal))
    }

    pub(crate) fn request_id(&self) -> &str {
        request_id::text(&self.request_id)
    }

    /// Who the request is charged to.
    pub(crate) fn identity(&self) -> Identity<'_> {
        identity(self.authority.actor(), self.client)
    }

    /// The segments of a path that the route names, as they were sent.
    pub(crate) fn segments<'p>(&self, path: &'p str) -> [&'p str; 2] {
        segments(self.operation.map_or("", Operation::path), path)
    }
}

/// A request without its body. As an extractor it consumes the body, so it must come last.
pub(crate) struct Call {
    pub(crate) parts: Parts,
    context: Arc<RequestContext>,
}

impl FromRequest<AppState> for Call {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &AppState) -> Result<Self, Problem> {
        Self::of(request.into_parts().0)
    }
}

impl Call {
    fn of(mut parts: Parts) -> Result<Self, Problem> {
        let context = parts.extensions.remove::<Arc<RequestContext>>();
        let context = context.ok_or_else(|| Problem::new(ProblemCode::Internal))?;
        Ok(Self { parts, context })
    }

    /// What is known of the request.
    pub(crate) fn context(&self) -> &RequestContext {
        &self.context
    }

    pub(crate) fn peer(&self) -> &Peer {
        &self.context.peer
    }

    pub(crate) fn client(&self) -> IpAddr {
        self.context.client
    }

    pub(crate) fn request_id(&self) -> &str {
        self.context.request_id()
    }

    pub(crate) fn authority(&self) -> &Authority {
        &self.context.authority
    }

    /// The first segment of the path that the route names, as it was sent.
    pub(crate) fn segment(&self) -> &str {
        self.context.segments(self.parts.uri.path())[0]
    }

    /// Who calls, for the change log.
    pub(crate) fn caller(&self) -> Caller {
        self.context.authority.caller(self.request_id())
    }

    /// Who the request is charged to.
    pub(crate) fn identity(&self) -> Identity<'_> {
        self.context.identity()
    }

    /// A position that the request has read.
    pub(crate) fn position(&self, number: i64) -> Position {
        Position { log: self.context.log, number }
    }

    /// The proof that the caller may do what the operation does.
    pub(crate) fn permit<R: Right>(&self) -> Result<Permit<R>, Problem> {
        Ok(self.context.authority.permit()?)
    }

    /// The permission for work of this request that continues after its response has begun.
    pub(crate) fn lease<R: Right>(
        &self,
        app: &AppState,
        place: Place,
    ) -> Result<Lease<R>, Problem> {
        Lease::new(&app.access, &self.parts.headers, session_end(&self.parts), place)
    }
}

/// When the session ends that a request has shown, if it is renewed until then.
fn session_end(parts: &Parts) -> Option<Timestamp> {
    parts.extensions.get::<Session>().map(Session::end)
}

/// The segments of a path at the placeholders of a pattern, of which there are at most two. They
/// are found from the end, because a path may begin with a base path.
fn segments<'p>(pattern: &'static str, path: &'p str) -> [&'p str; 2] {
    let path = if pattern == "/" { path } else { path.strip_suffix('/').unwrap_or(path) };
    let mut found = [""; 2];
    for (name, segment) in pattern.rsplit('/').zip(path.rsplit('/')) {
        if name.starts_with('{') {
            found = [segment, found[0]];
        }
    }
    found
}

/// What is kept of a body that was parsed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyFacts {
    /// Its length.
    pub(crate) bytes: usize,
    /// The fingerprint of the request, if it has an `Idempotency-Key`.
    pub(crate) fingerprint: Option<[u8; 32]>,
}

/// A request whose body has not been read. It gives no permit, because a body may arrive slowly:
/// the caller is authorized after the last byte.
pub(crate) struct UnreadCall {
    pub(crate) parts: Parts,
    context: Arc<RequestContext>,
    body: Body,
}

impl FromRequest<AppState> for UnreadCall {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &AppState) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let Call { parts, context } = Call::of(parts)?;
        Ok(Self { parts, context, body })
    }
}

impl UnreadCall {
    /// What is known of the request.
    pub(crate) fn context(&self) -> &RequestContext {
        &self.context
    }

    /// Who the request is charged to.
    pub(crate) fn identity(&self) -> Identity<'_> {
        self.context.identity()
    }

    /// The call, for an operation that takes no body.
    pub(crate) async fn without_body(self, app: &AppState) -> Result<Call, Problem> {
        let Self { parts, mut context, body } = self;
        let (operation, peer) = (context.operation, &context.peer);
        let authority = read_nothing_and_reauthorize(app, &parts, operation, body, peer).await?;
        Arc::make_mut(&mut context).authority = authority;
        Ok(Call { parts, context })
    }

    /// Reads the whole body as JSON with the given function, then authenticates and authorizes the
    /// caller again. A long body is parsed on a thread that serves no requests, and is dropped.
    pub(crate) async fn read_and_authorize<T: Send + 'static>(
        self,
        app: &AppState,
        kind: BodyKind,
        bytes_max: usize,
        parse: impl FnOnce(&[u8]) -> Result<T, JsonFault> + Send + 'static,
    ) -> Result<(Call, T, BodyFacts), Problem> {
        let Self { parts, mut context, body } = self;
        let bytes = read_bytes(kind, &parts.headers, body, bytes_max, &context.peer).await?;
        let fingerprint = Fingerprint::of_retriable(&parts);
        let parse = move |text: &[u8]| {
            let parsed = parse(text)?;
            let fingerprint = fingerprint.map(|fingerprint| fingerprint.of_body(text));
            Ok((parsed, BodyFacts { bytes: text.len(), fingerprint }))
        };
        let (converted, facts) = app.json.parse(&bytes, parse).await?;
        drop(bytes);
        let authority = reauthorize(app, &parts, context.operation).await?;
        Arc::make_mut(&mut context).authority = authority;
        Ok((Call { parts, context }, converted, facts))
    }

    /// The body piece by piece. The lease authorizes each step that is taken with a piece.
    pub(crate) fn stream<R: Right>(
        self,
        app: &AppState,
        place: Place,
    ) -> Result<(Upload, Lease<R>, Caller), Problem> {
        let session_end = session_end(&self.parts);
        let lease = Lease::new(&app.access, &self.parts.headers, session_end, place)?;
        let caller = self.context.authority.caller(self.context.request_id());
        Ok((Upload::new(self.body, &self.context.peer), lease, caller))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_those_that_the_route_names() {
        assert_eq!(segments("/users/{user_id}", "/users/x%2Fy"), ["x%2Fy", ""]);
        assert_eq!(segments("/users/{user_id}", "/users/x/"), ["x", ""]);
        assert_eq!(segments("/users/{user_id}/events", "/v1/users/x/events"), ["x", ""]);
        let member = "/groups/{group_id}/members/{member_id}";
        assert_eq!(segments(member, "/a/b/groups/x/members/y"), ["x", "y"]);
        assert_eq!(segments("/users", "/users"), ["", ""]);
    }
}
