//! What the handlers of all faces work with: the directory and what is made of the settings once,
//! and one request at a time.

use std::sync::Arc;

use http::request::Parts;
use hyper::body::Incoming;
use roster_core::{Caller, Directory, command::Actor};

use crate::{
    cursor::Cursors,
    front::{FrontCounters, Peer},
    metrics::Metrics,
    pages::Pages,
    rest::Bulk,
    settings::FaceSettings,
};

/// What every handler may use.
pub(crate) struct Face {
    pub(crate) directory: Directory,
    pub(crate) settings: FaceSettings,
    pub(crate) cursors: Cursors,
    pub(crate) metrics: Metrics,
    pub(crate) pages: Pages,
    pub(crate) bulk: Bulk,
}

impl Face {
    pub(crate) fn new(
        directory: Directory,
        settings: FaceSettings,
        front: Arc<FrontCounters>,
    ) -> Self {
        Self {
            cursors: Cursors::new(&directory.secret()),
            metrics: Metrics::new(front),
            pages: Pages::new(&settings),
            bulk: Bulk::new(),
            directory,
            settings,
        }
    }
}

/// One request on its way to its handler.
pub(crate) struct Call<'a> {
    pub(crate) parts: &'a Parts,
    pub(crate) body: Incoming,
    pub(crate) peer: &'a Peer,
    pub(crate) request_id: &'a str,
}

impl Call<'_> {
    /// Who asks, for the change log.
    pub(crate) fn caller(&self) -> Caller {
        Caller { actor: Actor::Anonymous, request_id: self.request_id.to_owned() }
    }
}
