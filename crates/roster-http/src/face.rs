//! What the handlers of all faces work with: the directory and what is made of the settings once,
//! and one request at a time.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use http::request::Parts;
use hyper::body::Incoming;
use roster_core::{
    Caller, Directory,
    access::{Authority, Permit, Right},
};

use crate::{
    access::{Access, Lease},
    admission::identity,
    cursor::Cursors,
    extract::JsonParser,
    front::{FrontCounters, Peer},
    metrics::Metrics,
    pages::Pages,
    pressure::{Alike, Identity, Pressure},
    problem::Problem,
    rest::{Bulk, Rendered},
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
    draining: AtomicBool,
    pub(crate) pressure: Pressure,
    /// The long pages that are waited for.
    pub(crate) long_pages: Alike<Arc<Rendered>>,
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
            metrics: Metrics::new(front, pressure.refusals()),
            pressure,
            pages: Pages::new(&settings),
            long_pages: Alike::default(),
            bulk: Bulk::new(),
            json: JsonParser::new(),
            scim: Scim::default(),
            access: Arc::new(Access::new(
                directory.clone(),
                settings.issuers.clone(),
                settings.require_key,
            )),
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

/// One request on its way to its handler.
pub(crate) struct Call<'a> {
    pub(crate) parts: &'a Parts,
    pub(crate) body: Incoming,
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
