//! The state that all handlers share: the directory, and values that are made once from the
//! settings.

use std::{
    ops::Deref,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use roster_core::Directory;
use roster_scim::walk::Places;
use roster_server::ServerCounters;

use crate::{
    access::Access,
    cursor::Cursors,
    documents::Documents,
    extract::JsonParser,
    limits::{admission::Admission, transfers::Transfers},
    metrics::{Metrics, dropped_attributes::DroppedAttributes},
    middleware::{Cors, Hosts},
    readiness::Readiness,
    request_id::RequestIds,
    settings::HttpSettings,
};

/// The state that every handler may use.
#[derive(Clone)]
pub(crate) struct AppState(Arc<Shared>);

/// What the clones of an [`AppState`] share.
pub(crate) struct Shared {
    pub(crate) directory: Directory,
    pub(crate) access: Arc<Access>,
    pub(crate) settings: HttpSettings,
    pub(crate) hosts: Hosts,
    pub(crate) cors: Cors,
    pub(crate) request_ids: RequestIds,
    pub(crate) cursors: Cursors,
    pub(crate) metrics: Metrics,
    pub(crate) documents: Documents,
    pub(crate) transfers: Transfers,
    pub(crate) json: JsonParser,
    /// Where SCIM's pages by index ended, if the store does not keep that.
    pub(crate) walk_places: Mutex<Places>,
    /// The attributes of SCIM requests that no schema has.
    pub(crate) dropped_attributes: DroppedAttributes,
    pub(crate) readiness: Readiness,
    draining: AtomicBool,
    pub(crate) admission: Admission,
}

impl AppState {
    pub(crate) fn new(
        directory: Directory,
        settings: HttpSettings,
        server: Arc<ServerCounters>,
    ) -> Self {
        let hosts = settings.hosts.iter().cloned().chain(settings.base_host());
        let admission = Admission::new(&settings.admission);
        let access = Access::new(directory.clone(), settings.issuers.clone(), settings.require_key);
        let dropped_attributes = DroppedAttributes::default();
        let housekeeping = &settings.housekeeping;
        let metrics = Metrics::new(server, &admission, housekeeping, &dropped_attributes);
        Self(Arc::new(Shared {
            hosts: Hosts::new(hosts, &settings.base_url),
            cors: Cors::new(&settings.cors_origins),
            request_ids: RequestIds::new(),
            cursors: Cursors::new(&directory.secret()),
            metrics,
            dropped_attributes,
            admission,
            documents: Documents::default(),
            transfers: Transfers::new(),
            json: JsonParser::new(),
            walk_places: Mutex::default(),
            access: Arc::new(access),
            readiness: Readiness::new(),
            draining: AtomicBool::new(false),
            directory,
            settings,
        }))
    }

    /// Marks the service as about to stop.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Whether the service is about to stop.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}

impl Deref for AppState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}
