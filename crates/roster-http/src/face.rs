//! What the handlers of all faces work with: the directory and what is made of the settings once,
//! and one request at a time.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use http::request::Parts;
use hyper::body::Incoming;
use roster_core::{
    Caller, Directory, Json,
    access::{Authority, Permit, Right, Scope},
};

use crate::{
    access::{Access, Lease},
    authorization::{identity, reauthorize},
    cursor::Cursors,
    extract::{BodyKind, JsonParser, read_bytes},
    front::{FrontCounters, Peer, Upload},
    metrics::Metrics,
    pages::Pages,
    pressure::{Identity, Pressure},
    problem::Problem,
    readiness::Readiness,
    rest::Bulk,
    router::Operation,
    scim::Scim,
    settings::FaceSettings,
};

/// What every handler may use.
pub(crate) struct Face {
    pub(crate) directory: Directory,
    pub(crate) access: Arc<Access>,
    pub(crate) settings: FaceSettings,
    pub(crate) cursors: Cursors,
    pub(crate) metrics: Metrics,
    pub(crate) pages: Pages,
    pub(crate) bulk: Bulk,
    pub(crate) json: JsonParser,
    pub(crate) scim: Scim,
    pub(crate) readiness: Readiness,
    draining: AtomicBool,
    pub(crate) pressure: Pressure,
}

impl Face {
    pub(crate) fn new(
        directory: Directory,
        settings: FaceSettings,
        front: Arc<FrontCounters>,
    ) -> Self {
        let pressure = Pressure::new(&settings.pressure);
        Self {
            cursors: Cursors::new(&directory.secret()),
            metrics: Metrics::new(front, pressure.refusals(), &settings.housekeeping),
            pressure,
            pages: Pages::new(&settings),
            bulk: Bulk::new(),
            json: JsonParser::new(),
            scim: Scim::default(),
            access: Arc::new(Access::new(
                directory.clone(),
                settings.issuers.clone(),
                settings.require_key,
            )),
            readiness: Readiness::default(),
            draining: AtomicBool::new(false),
            directory,
            settings,
        }
    }

    /// From here on the service says that it is about to stop.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Whether the service is about to stop.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}

/// One request on its way to its handler. Its body was read, or is not wanted: what its caller may
/// do is known, and no more of the request is waited for.
pub(crate) struct Call<'a> {
    pub(crate) parts: &'a Parts,
    pub(crate) peer: &'a Peer,
    /// The address that the request comes from: the peer's, or what a trusted proxy says.
    pub(crate) client: IpAddr,
    pub(crate) request_id: &'a str,
    /// Who asks, and what they may do.
    pub(crate) authority: Authority,
}

impl Face {
    /// The leave for work of this request that runs on after its answer has begun.
    pub(crate) fn lease<R: Right>(&self, parts: &Parts) -> Result<Lease<R>, Problem> {
        Lease::new(&self.access, &parts.headers)
    }
}

/// One request whose body is to be read. It gives no permit, since a body may take long to come:
/// what the caller may do is decided after the last byte.
pub(crate) struct UnreadCall<'a> {
    pub(crate) parts: &'a Parts,
    pub(crate) peer: &'a Peer,
    pub(crate) client: IpAddr,
    pub(crate) request_id: &'a str,
    operation: Operation,
    /// What the caller was allowed when the head came.
    authority: Authority,
    body: Incoming,
}

impl<'a> UnreadCall<'a> {
    /// A request with its body, for an operation that reads it.
    pub(crate) fn new(operation: Operation, call: Call<'a>, body: Incoming) -> Self {
        let Call { parts, peer, client, request_id, authority } = call;
        Self { parts, peer, client, request_id, operation, authority, body }
    }

    /// Whether the caller had a scope when the head came.
    pub(crate) const fn had(&self, scope: Scope) -> bool {
        self.authority.may(scope)
    }

    /// Who the request is charged to.
    pub(crate) fn identity(&self) -> Identity<'_> {
        identity(self.authority.actor(), self.client)
    }

    /// Reads the whole body as JSON and converts it, then authenticates and authorizes the caller
    /// again. A long body is parsed and converted on a thread that serves no requests.
    pub(crate) async fn read<T: Send + 'static>(
        self,
        face: &Face,
        kind: BodyKind,
        bytes_max: usize,
        convert: impl FnOnce(Json) -> T + Send + 'static,
    ) -> Result<(Call<'a>, T, Bytes), Problem> {
        let Self { parts, peer, client, request_id, operation, body, .. } = self;
        let bytes = read_bytes(kind, &parts.headers, body, bytes_max, peer).await?;
        let converted = face.json.parse(&bytes, convert).await?;
        let authority = reauthorize(face, parts, operation).await?;
        Ok((Call { parts, peer, client, request_id, authority }, converted, bytes))
    }

    /// The body piece by piece. The lease authorizes each step that is taken with a piece.
    pub(crate) fn stream<R: Right>(
        self,
        face: &Face,
    ) -> Result<(Upload, Lease<R>, Caller), Problem> {
        let lease = face.lease(self.parts)?;
        let caller = self.authority.caller(self.request_id);
        Ok((Upload::new(self.body, self.peer), lease, caller))
    }
}

impl Call<'_> {
    /// Who asks, for the change log.
    pub(crate) fn caller(&self) -> Caller {
        self.authority.caller(self.request_id)
    }

    /// Who the request is charged to.
    pub(crate) fn identity(&self) -> Identity<'_> {
        identity(self.authority.actor(), self.client)
    }

    /// The proof that the caller may do what is asked for.
    pub(crate) fn permit<R: Right>(&self) -> Result<Permit<R>, Problem> {
        Ok(self.authority.permit()?)
    }
}
