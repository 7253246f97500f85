//! The services that run the table: the service over the oracle, in this process, or the built
//! binary over its own store. Both listen on loopback, on a port that the system chooses.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use roster_core::{Directory, Guard, Rules, Sharing};
use roster_http::{
    AdmissionSettings, App, HousekeepingMetrics, HttpSettings, READ_WAIT_MAX, URI_BYTES_MAX,
    WebhookClient,
};
use roster_server::{ServerCounters, ServerSettings, TrustedProxies, serve};
use roster_testkit::{
    Oracle, TestClock,
    process::{Engine, Place, Process},
};
use tokio::{net::TcpListener, runtime::Runtime};

use crate::{client::Client, row::send, run::Words};

/// A running service, which stops when this is dropped.
pub(crate) struct Subject {
    pub(crate) address: SocketAddr,
    _life: Life,
}

enum Life {
    Here { _runtime: Runtime },
    Process { _process: Process, _place: Place },
}

/// Limits that no row reaches by accident.
pub(crate) fn patient() -> ServerSettings {
    ServerSettings::default()
}

/// Limits that a test can wait for.
pub(crate) fn impatient() -> ServerSettings {
    ServerSettings {
        header_timeout_ms: 400,
        idle_timeout_ms: 1_500,
        body_grace_ms: 400,
        write_grace_ms: 400,
        close_timeout_ms: 400,
        ..ServerSettings::default()
    }
}

impl Subject {
    /// The service over the oracle.
    pub(crate) fn over_the_oracle(front: ServerSettings) -> Self {
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let rules = Rules {
            email: Sharing::Unique,
            external_id: Sharing::Shared,
            put: Guard::Off,
            delete: Guard::Off,
        };
        let store = Arc::new(Oracle::new(rules));
        let directory = Directory::new(store, Arc::new(TestClock::new()));
        let settings = HttpSettings {
            base_url: format!("http://{address}"),
            hosts: Vec::new(),
            trusted_proxies: TrustedProxies::default(),
            webhooks: Arc::new(WebhookClient::new(&format!("http://{address}"), Vec::new())),
            cors_origins: Vec::new(),
            body_bytes_max: 1024 * 1024,
            uri_bytes_max: URI_BYTES_MAX,
            read_wait_max: READ_WAIT_MAX,
            spill_dir: std::env::temp_dir(),
            deleted_keep: Some(Duration::from_hours(24 * 30)),
            events_keep: Some(Duration::from_hours(24 * 400)),
            scim_filter_guard: false,
            admission: AdmissionSettings::default(),
            console: true,
            require_key: false,
            issuers: Vec::new(),
            has_room: Arc::new(|| true),
            housekeeping: HousekeepingMetrics::default(),
        };
        let counters = Arc::new(ServerCounters::default());
        let app = Arc::new(App::new(directory, settings, Arc::clone(&counters)));
        runtime.spawn(serve(listener, app, front, counters, std::future::pending()));
        Self { address, _life: Life::Here { _runtime: runtime } }
    }

    /// The built binary, without users.
    pub(crate) fn binary(engine: Engine) -> Self {
        let place = Place::new(engine);
        let process = Process::start(&mut place.serve(env!("CARGO_BIN_EXE_roster")));
        let address = process.address().parse().unwrap();
        Self { address, _life: Life::Process { _process: process, _place: place } }
    }

    /// The placeholder values for one row, with a user created for it.
    pub(crate) fn words(&self, number: usize) -> Words {
        let mut words = Words { host: self.address.to_string(), id: String::new(), number };
        let user = br#"{"username":"of-row-<n>","name":"Ada Lovelace"}"#;
        let lines = "Content-Type: application/json\r\nConnection: close\r\n";
        let mut client = Client::connect(self.address);
        client.send(&words.fill(&send("POST", "/users", lines, user)));
        let created = client.answer(false).unwrap();
        assert_eq!(created.status, 201, "{}", created.text());
        let location = created.header("location").unwrap();
        location.strip_prefix("/users/").unwrap().clone_into(&mut words.id);
        words
    }
}
