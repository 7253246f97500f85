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

use roster_core::{Directory, Rules, Store, UserSchema, access::Scope, store::Secret};
use roster_http::{
    AdmissionSettings, App, HousekeepingMetrics, HttpSettings, READ_WAIT_MAX, URI_BYTES_MAX,
    description, problem::registry,
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
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::oneshot};

use crate::{
    client::{Reply, Request},
    store::Watched,
};

/// The storage engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Oracle,
    Sqlite,
    Postgres,
}

/// The argument of a case: an engine to open services over, and the ledger.
#[derive(Clone)]
pub(crate) struct Backend {
    engine: Engine,
    pub(crate) seen: Arc<Seen>,
}

/// The parts of the description that occurred.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) ledger: Ledger,
    /// Codes of problems and of single errors.
    pub(crate) codes: Mutex<BTreeSet<String>>,
}

/// The settings of a service.
pub(crate) struct Setup {
    pub(crate) base_url: &'static str,
    pub(crate) rules: Rules,
    /// Whether a SCIM filter in a URL is rejected.
    pub(crate) scim_filter_guard: bool,
    pub(crate) front: ServerSettings,
    pub(crate) pressure: AdmissionSettings,
    /// Origins whose pages may call the service.
    pub(crate) cors_origins: &'static [&'static str],
    /// Whether every request needs a credential.
    pub(crate) require_key: bool,
    /// The trusted issuers of tokens.
    pub(crate) issuers: Vec<TokenIssuer>,
    /// The maximum time of a read.
    pub(crate) read_wait_max: Duration,
    /// The secret of cursors. By default, the store's own.
    pub(crate) secret: Option<Secret>,
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
            issuers: Vec::new(),
            cors_origins: &[],
            read_wait_max: READ_WAIT_MAX,
            secret: None,
        }
    }
}

/// A running service, which stops when this is dropped.
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    pub(crate) host: String,
    pub(crate) base_url: &'static str,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) store: Arc<Watched>,
    pub(crate) app: Arc<App>,
    pub(crate) description: Arc<Description>,
    /// The credential of requests.
    pub(crate) key: Mutex<Option<String>>,
    room: Arc<AtomicBool>,
    seen: Arc<Seen>,
    _stop: oneshot::Sender<()>,
    /// Dropped after the store: its directory or schema.
    _kept: Box<dyn Any + Send + Sync>,
}

impl Backend {
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine, seen: Arc::default() }
    }

    /// Whether the engine is the oracle, whose pages never end early.
    pub(crate) fn is_oracle(&self) -> bool {
        self.engine == Engine::Oracle
    }

    /// A service with default settings.
    pub(crate) async fn open(&self) -> Service {
        self.open_with(Setup::default()).await
    }

    /// A service with these settings.
    pub(crate) async fn open_with(&self, setup: Setup) -> Service {
        let (store, kept) = self.store(setup.rules).await;
        self.serve(setup, store, kept)
    }

    /// Several services over one database, like several processes.
    pub(crate) async fn open_processes(&self, count: usize) -> Vec<Service> {
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
        let Setup { secret, read_wait_max, scim_filter_guard, require_key, .. } = setup;
        let store = Arc::new(Watched::new(store, secret));
        let clock = Arc::new(TestClock::new());
        let room = Arc::new(AtomicBool::new(true));
        let floor = Arc::clone(&room);
        let settings = HttpSettings {
            base_url: base_url.to_owned(),
            hosts: ["directory.example", "port.example:8443"].map(str::to_owned).to_vec(),
            trusted_proxies: TrustedProxies::default(),
            cors_origins: cors_origins.iter().map(|&origin| origin.to_owned()).collect(),
            body_bytes_max: 1024 * 1024,
            uri_bytes_max: URI_BYTES_MAX,
            read_wait_max,
            spill_dir: std::env::temp_dir(),
            deleted_keep: Some(Duration::from_hours(24 * 30)),
            events_keep: Some(Duration::from_hours(24 * 400)),
            scim_filter_guard,
            admission: pressure,
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
        let host = base_url.trim_start_matches("http://").split('/').next().expect("a host");
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
        roster_postgres::Settings { own_connections: 2, write_connections: 1, ..settings }
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

impl Service {
    pub(crate) fn request(&self, method: &str, target: &str) -> Request<'_> {
        Request::new(self, method, target)
    }

    pub(crate) async fn get(&self, target: &str) -> Reply {
        self.request("GET", target).send().await
    }

    pub(crate) async fn delete(&self, target: &str) -> Reply {
        self.request("DELETE", target).send().await
    }

    pub(crate) async fn post(&self, body: Value) -> Reply {
        self.request("POST", "/users").json(&body).send().await
    }

    pub(crate) async fn put(&self, user: &Value, body: Value) -> Reply {
        self.request("PUT", &path(user)).json(&body).send().await
    }

    pub(crate) async fn patch(&self, user: &Value, body: Value) -> Reply {
        self.request("PATCH", &path(user)).json(&body).send().await
    }

    /// Creates a key with these scopes, and returns the response body.
    pub(crate) async fn new_key(&self, scopes: &[&str]) -> Value {
        let body = json!({"name": "of the suite", "scopes": scopes});
        self.request("POST", "/keys").json(&body).send().await.expect(201).json()
    }

    /// Closes the service: creates a key with all scopes, which later requests use.
    pub(crate) async fn close(&self) -> Value {
        let all: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
        let key = self.new_key(&all).await;
        let text = key["key"].as_str().expect("a key").to_owned();
        *self.key.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
        key
    }

    /// Creates a user, which must succeed.
    pub(crate) async fn user(&self, body: Value) -> Value {
        self.post(body).await.expect(201).json()
    }

    /// Creates and deletes a user, and returns it.
    pub(crate) async fn left(&self, body: Value) -> Value {
        let user = self.user(body).await;
        self.delete(&path(&user)).await.expect(204);
        user
    }

    /// Creates a group with this name, which must succeed.
    pub(crate) async fn group(&self, name: &str) -> Value {
        let request = self.request("POST", "/groups").json(&json!({"display_name": name}));
        request.send().await.expect(201).json()
    }

    /// Adds a member to a group.
    pub(crate) async fn join(&self, group: &Value, member: &Value) -> Reply {
        self.request("PUT", &member_path(group, member)).send().await
    }

    /// The current user.
    pub(crate) async fn now(&self, user: &Value) -> Value {
        self.get(&path(user)).await.expect(200).json()
    }

    /// Sets whether the disk has free space.
    pub(crate) fn set_room(&self, room: bool) {
        self.room.store(room, Ordering::Relaxed);
    }

    /// The position of the change log, and the counters.
    pub(crate) async fn head(&self) -> roster_core::Head {
        self.store.head().await.expect("the store answers")
    }

    /// Checks an exchange against the description, and a problem against the registry.
    pub(crate) fn witness(&self, reply: &Reply) {
        let observed = self.description.check(&reply.exchange);
        let observed = observed.unwrap_or_else(|fault| {
            panic!("{fault}\n{:?}\n{}", reply.exchange.response_headers, reply.text())
        });
        self.seen.ledger.record(observed);
        let bare = reply.exchange.response_body.is_empty();
        if !bare {
            assert_eq!(reply.find("x-content-type-options"), Some("nosniff"), "{}", reply.text());
        }
        let by_scim = reply.exchange.path.contains("/scim/v2");
        if reply.status() < 400 || bare || by_scim {
            return;
        }
        let body = reply.json();
        let code = body["code"].as_str().expect("a code");
        let kind = registry::find(code).unwrap_or_else(|| panic!("{code} is registered"));
        assert_eq!(reply.status(), kind.status);
        assert_eq!(body["title"], kind.title);
        assert_eq!(body["type"], format!("{}/problems/{code}", self.base_url));
        assert_eq!(reply.header("cache-control"), "no-store");
        let mut codes = self.seen.codes.lock().unwrap_or_else(PoisonError::into_inner);
        codes.insert(code.to_owned());
        codes.extend(reply.faults().into_iter().map(|(_, code)| code));
    }
}

/// The path of a user at the root of the host.
pub(crate) fn path(user: &Value) -> String {
    format!("/users/{}", user["id"].as_str().expect("an id"))
}

/// The path of a group at the root of the host.
pub(crate) fn group_path(group: &Value) -> String {
    format!("/groups/{}", group["id"].as_str().expect("an id"))
}

/// The path of a member of a group, at the root of the host.
pub(crate) fn member_path(group: &Value, member: &Value) -> String {
    format!("{}/members/{}", group_path(group), member["id"].as_str().expect("an id"))
}

/// The path of a deleted user, at the root of the host.
pub(crate) fn kept(user: &Value) -> String {
    format!("/deleted-users/{}", user["id"].as_str().expect("an id"))
}
