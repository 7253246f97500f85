//! The service under test: both interfaces over an engine, on a loopback port, in this process.
//!
//! Its clock changes only when a test changes it, and its base URL is fixed, so that whole
//! responses can be compared. This module does not know what a test is about.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use roster_core::{Directory, Rules, Store, UserSchema, store::Secret};
use roster_http::{
    AdmissionSettings, App, HousekeepingMetrics, HttpSettings, READ_WAIT_MAX, URI_BYTES_MAX,
    WebhookClient, description,
};
use roster_jwt::TokenIssuer;
use roster_postgres::{Connector, Postgres, prepare};
use roster_server::{ServerCounters, ServerSettings, TrustedProxies, serve};
use roster_sqlite::Sqlite;
use roster_testkit::{
    Oracle, TestClock,
    openapi::{Description, Ledger},
    postgres::{Cluster, SERVICE_ROLE, Schema},
};
use serde_json::Value;
use tokio::{net::TcpListener, sync::oneshot};

use crate::store::Watched;

/// A URL to which webhooks may send. Nothing listens there.
pub const CLOSED_URL: &str = "https://127.9.9.9:1024/r";

/// The storage engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Oracle,
    Sqlite,
    Postgres,
}

/// The argument of a case: an engine to open services over, and the ledger.
#[derive(Clone)]
pub struct Backend {
    engine: Engine,
    pub seen: Arc<Seen>,
}

/// The parts of the description that occurred.
#[derive(Default)]
pub struct Seen {
    pub ledger: Ledger,
    /// Codes of problems and of single errors.
    pub codes: Mutex<BTreeSet<String>>,
}

/// The settings of a service.
pub struct Setup {
    pub base_url: &'static str,
    pub rules: Rules,
    /// Whether a SCIM filter in a URL is rejected.
    pub scim_filter_guard: bool,
    pub front: ServerSettings,
    pub pressure: AdmissionSettings,
    /// Origins whose pages may call the service.
    pub cors_origins: &'static [&'static str],
    /// Whether every request needs a credential.
    pub require_key: bool,
    /// Whether the console is served.
    pub console: bool,
    /// The trusted issuers of tokens.
    pub issuers: Vec<TokenIssuer>,
    /// The maximum time of a read.
    pub read_wait_max: Duration,
    /// The secret of cursors. By default, the store's own.
    pub secret: Option<Secret>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            base_url: "http://roster.test",
            rules: Rules::default(),
            scim_filter_guard: false,
            front: ServerSettings::default(),
            pressure: AdmissionSettings::default(),
            require_key: false,
            console: true,
            issuers: Vec::new(),
            cors_origins: &[],
            read_wait_max: READ_WAIT_MAX,
            secret: None,
        }
    }
}

/// A running service, which stops when this is dropped.
pub struct Service {
    pub address: SocketAddr,
    pub host: String,
    pub base_url: &'static str,
    pub clock: Arc<TestClock>,
    pub store: Arc<Watched>,
    pub app: Arc<App>,
    pub description: Arc<Description>,
    /// The credential of requests.
    pub key: Mutex<Option<String>>,
    pub(crate) room: Arc<AtomicBool>,
    pub(crate) seen: Arc<Seen>,
    _stop: oneshot::Sender<()>,
    /// Dropped after the store: its directory or schema.
    _kept: Box<dyn Any + Send + Sync>,
}

impl Backend {
    pub fn new(engine: Engine) -> Self {
        Self { engine, seen: Arc::default() }
    }

    /// Whether the engine is the oracle, whose pages never end early.
    pub fn is_oracle(&self) -> bool {
        self.engine == Engine::Oracle
    }

    /// A service with default settings.
    pub async fn open(&self) -> Service {
        self.open_with(Setup::default()).await
    }

    /// A service with these settings.
    pub async fn open_with(&self, setup: Setup) -> Service {
        let (store, kept) = self.store(setup.rules).await;
        self.serve(setup, store, kept)
    }

    /// Several services over one database, like several processes.
    pub async fn open_processes(&self, count: usize) -> Vec<Service> {
        assert_eq!(self.engine, Engine::Postgres, "the other engines serve one process");
        let (rules, schema) = (Rules::default(), Arc::new(Cluster::shared().schema()));
        let mut services = Vec::new();
        for _ in 0..count {
            let store = postgres(&schema, rules).await;
            services.push(self.serve(Setup::default(), store, Box::new(Arc::clone(&schema))));
        }
        services
    }

    fn serve(
        &self,
        setup: Setup,
        store: Arc<dyn Store>,
        kept: Box<dyn Any + Send + Sync>,
    ) -> Service {
        let Setup { base_url, front, pressure, cors_origins, issuers, .. } = setup;
        let Setup { secret, read_wait_max, scim_filter_guard, require_key, console, .. } = setup;
        let store = Arc::new(Watched::new(store, secret));
        let clock = Arc::new(TestClock::new());
        let room = Arc::new(AtomicBool::new(true));
        let floor = Arc::clone(&room);
        let networks = vec!["127.9.9.0/24".parse().expect("a network")];
        let settings = HttpSettings {
            base_url: base_url.to_owned(),
            hosts: ["directory.example", "port.example:8443"].map(str::to_owned).to_vec(),
            trusted_proxies: TrustedProxies::default(),
            webhooks: Arc::new(WebhookClient::new(base_url, networks)),
            cors_origins: cors_origins.iter().map(|&origin| origin.to_owned()).collect(),
            body_bytes_max: 1024 * 1024,
            uri_bytes_max: URI_BYTES_MAX,
            read_wait_max,
            spill_dir: std::env::temp_dir(),
            deleted_keep: Some(Duration::from_hours(24 * 30)),
            events_keep: Some(Duration::from_hours(24 * 400)),
            scim_filter_guard,
            admission: pressure,
            console,
            require_key,
            issuers,
            has_room: Arc::new(move || floor.load(Ordering::Relaxed)),
            housekeeping: HousekeepingMetrics::default(),
        };
        let counters = Arc::new(ServerCounters::default());
        let users = Directory::new(store.clone(), clock.clone());
        let app = Arc::new(App::new(users, settings, Arc::clone(&counters)));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
        listener.set_nonblocking(true).expect("a socket option");
        let listener = TcpListener::from_std(listener).expect("a listener");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async move { stopped.await.unwrap_or(()) };
        tokio::spawn(serve(listener, Arc::clone(&app), front, counters, stopped));
        let host = base_url
            .trim_start_matches("http://")
            .trim_start_matches("https://")
            .split('/')
            .next()
            .expect("a host");
        Service {
            address,
            host: host.to_owned(),
            base_url,
            clock,
            store,
            app,
            description: description_of(base_url),
            key: Mutex::default(),
            room,
            seen: Arc::clone(&self.seen),
            _stop: stop,
            _kept: kept,
        }
    }

    /// A new store, with its directory or schema.
    async fn store(&self, rules: Rules) -> (Arc<dyn Store>, Box<dyn Any + Send + Sync>) {
        match self.engine {
            Engine::Oracle => (Arc::new(Oracle::new(rules)), Box::new(())),
            Engine::Sqlite => {
                let directory = tempfile::tempdir().expect("a directory");
                let settings = roster_sqlite::Settings::new(directory.path().to_owned(), rules);
                let store = Sqlite::open(settings).expect("the store opens");
                (Arc::new(store), Box::new(directory))
            }
            Engine::Postgres => {
                let schema = Cluster::shared().schema();
                (postgres(&schema, rules).await, Box::new(schema))
            }
        }
    }
}

/// Opens a store with a role that may only read and write rows.
async fn postgres(schema: &Schema, rules: Rules) -> Arc<dyn Store> {
    let settings = |url: &str| {
        let connector = Connector::parse(url).expect("a URL");
        let settings = roster_postgres::Settings::new(connector, rules);
        // Each connection is a process of the server, and most tests need few.
        roster_postgres::Settings {
            own_connections: 2,
            write_connections: 1,
            schema_lease: Duration::ZERO,
            ..settings
        }
    };
    let service = settings(&schema.service_url());
    let prepared = prepare(&settings(&schema.url()), Some(SERVICE_ROLE)).await;
    prepared.expect("the owner prepares the database");
    Arc::new(Postgres::open(service).await.expect("the store opens"))
}

/// The description of a service at this URL, parsed once per process.
fn description_of(base_url: &'static str) -> Arc<Description> {
    static READ: OnceLock<Mutex<BTreeMap<&'static str, Arc<Description>>>> = OnceLock::new();
    let mut read = READ.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    let load = || {
        let document = description::openapi(base_url, &UserSchema::default());
        Arc::new(Description::load(&document).expect("the document is read"))
    };
    Arc::clone(read.entry(base_url).or_insert_with(load))
}

/// The path of a user at the root of the host.
pub fn path(user: &Value) -> String {
    format!("/users/{}", user["id"].as_str().expect("an id"))
}

/// The path of a group at the root of the host.
pub fn group_path(group: &Value) -> String {
    format!("/groups/{}", group["id"].as_str().expect("an id"))
}

/// The path of a member of a group, at the root of the host.
pub fn member_path(group: &Value, member: &Value) -> String {
    format!("{}/members/{}", group_path(group), member["id"].as_str().expect("an id"))
}

/// The path of a deleted user, at the root of the host.
pub fn kept(user: &Value) -> String {
    format!("/deleted-users/{}", user["id"].as_str().expect("an id"))
}
