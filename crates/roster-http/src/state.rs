//! The state that all handlers share: the directory, and values that are made once from the
//! settings.

use std::{
    borrow::Cow,
    ops::Deref,
    sync::{Arc, Mutex},
};

use roster_core::{Actor, Directory, StoreError, Tenant, TenantName};
use roster_scim::walk::Places;
use roster_server::ServerCounters;
use tokio::sync::watch;

use crate::{
    access::Access,
    cursor::{Cursors, List, ListCursors},
    description::base_path,
    documents::Documents,
    extract::JsonParser,
    limits::{admission::Admission, transfers::Transfers},
    metrics::{Metrics, dropped_attributes::DroppedAttributes},
    middleware::{Cors, Hosts},
    readiness::Readiness,
    request_id::RequestIds,
    rest::events::LiveReads,
    session::Sessions,
    settings::HttpSettings,
    tenancy::Tenants,
};

/// The state that every handler may use. Its directory is that of the request's tenant.
#[derive(Clone)]
pub(crate) struct AppState(Arc<OfTenant>);

/// The state for the requests of a tenant.
pub(crate) struct OfTenant {
    shared: Arc<Shared>,
    pub(crate) directory: Directory,
    pub(crate) access: Access,
    /// The base URL of the tenant, without a slash at its end.
    pub(crate) base_url: Arc<str>,
    /// The tenant; `None` for the default one.
    pub(crate) tenant: Option<TenantName>,
}

/// What the states of all requests share.
pub(crate) struct Shared {
    pub(crate) settings: HttpSettings,
    pub(crate) tenants: Arc<Tenants>,
    pub(crate) hosts: Hosts,
    pub(crate) cors: Cors,
    pub(crate) request_ids: RequestIds,
    pub(crate) cursors: Cursors,
    pub(crate) sessions: Sessions,
    pub(crate) metrics: Metrics,
    pub(crate) documents: Documents,
    pub(crate) transfers: Transfers,
    pub(crate) live_reads: LiveReads,
    pub(crate) json: JsonParser,
    /// Where SCIM's pages by index ended, if the store does not keep that.
    pub(crate) walk_places: Mutex<Places>,
    /// The attributes of SCIM requests that no schema has.
    pub(crate) dropped_attributes: DroppedAttributes,
    pub(crate) readiness: Readiness,
    draining: watch::Sender<bool>,
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
        let webhooks = settings.webhooks.metrics();
        let metrics = Metrics::new(server, &admission, housekeeping, webhooks, &dropped_attributes);
        let base_url = settings.base_url.as_str().into();
        let shared = Arc::new(Shared {
            hosts: Hosts::new(hosts, &settings.base_url),
            cors: Cors::new(&settings.cors_origins),
            request_ids: RequestIds::new(),
            cursors: Cursors::new(&directory.secret()),
            sessions: Sessions::new(&directory.secret()),
            metrics,
            dropped_attributes,
            admission,
            documents: Documents::default(),
            transfers: Transfers::new(),
            live_reads: LiveReads::default(),
            json: JsonParser::new(),
            walk_places: Mutex::default(),
            tenants: Arc::default(),
            readiness: Readiness::new(),
            draining: watch::Sender::new(false),
            settings,
        });
        Self(Arc::new(OfTenant { shared, directory, access, base_url, tenant: None }))
    }

    /// The state for requests of a tenant.
    pub(crate) async fn of_tenant(&self, tenant: &Tenant) -> Result<Self, StoreError> {
        let directory = self.directory.of_tenant(tenant.id).await?;
        let name = tenant.name.clone();
        let access = self.access.of_tenant(&directory, name.clone(), Arc::clone(&self.tenants));
        let base_url = format!("{}/tenants/{name}", self.settings.base_url).into();
        let shared = Arc::clone(&self.shared);
        Ok(Self(Arc::new(OfTenant { shared, directory, access, base_url, tenant: Some(name) })))
    }

    /// The path of the tenant's base URL.
    pub(crate) fn base_path(&self) -> &str {
        base_path(&self.base_url)
    }

    /// A path of the router as the caller sees it.
    pub(crate) fn external_path<'p>(&self, path: &'p str) -> Cow<'p, str> {
        match (&self.tenant, path.strip_prefix(self.settings.base_path())) {
            (Some(_), Some(below)) => format!("{}{below}", self.base_path()).into(),
            _ => path.into(),
        }
    }

    /// The cursors of a list for this caller, before the conditions are added.
    pub(crate) fn cursors_of(&self, list: List, caller: &Actor) -> ListCursors<'_> {
        // The name may belong to another tenant later.
        let tenant = self.tenant.as_ref().map(|_| self.directory.tenant_id().number());
        self.cursors.of(list, caller).with("tenant", tenant)
    }

    /// Marks the service as about to stop.
    pub(crate) fn drain(&self) {
        self.draining.send_replace(true);
    }

    /// Whether the service is about to stop.
    pub(crate) fn is_draining(&self) -> bool {
        *self.draining.borrow()
    }

    /// Returns once the service is about to stop.
    pub(crate) async fn drained(&self) {
        // The sender lives as long as this.
        drop(self.draining.subscribe().wait_for(|is_draining| *is_draining).await);
    }
}

impl Deref for AppState {
    type Target = OfTenant;

    fn deref(&self) -> &OfTenant {
        &self.0
    }
}

impl Deref for OfTenant {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}
