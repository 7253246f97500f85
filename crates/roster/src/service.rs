//! Builds the service from the configuration: store, directory, HTTP interfaces and server.
//!
//! Every setting is passed on here. The other crates do not know where a value comes from.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use axum::{body::Body, http::Request, response::Response};
use futures_util::future::join;
use roster_core::{
    Directory, Draft, Terms,
    access::{Authority, Permit},
    json,
};
use roster_http::{
    AdmissionSettings, App, HousekeepingMetrics, HttpSettings, URI_BYTES_MAX, WebhookClient,
};
use roster_server::{
    DrainReport, Handle as _, Peer, Port, ServerCounters, ServerSettings, TrustedProxies, serve,
};

use tokio::time::timeout;

use crate::{
    clock::SystemClock,
    config::{BaseUrl, Config, Report},
    engine::Engine,
    first_key,
    housekeeping::{Housekeeping, Retention},
    webhooks::{RunningSender, SenderSettings},
};

/// Sample users for `--dev`.
const SAMPLE_USERS: &[u8] = include_bytes!("../assets/sample-users.json");

/// A service that is ready to accept connections.
pub struct Service {
    app: Arc<App>,
    engine: Engine,
    counters: Arc<ServerCounters>,
    front: ServerSettings,
    housekeeping: Housekeeping,
    directory: Directory,
    webhooks: SenderSettings,
    has_key: bool,
}

/// How long a stop waits, after the drain, until the progress of webhooks and the last uses of keys
/// are written.
const ENDING: Duration = Duration::from_secs(3);

/// Interval at which the last uses of keys are written.
const KEY_USES_INTERVAL: Duration = Duration::from_mins(1);

impl Service {
    /// Opens the store and builds the HTTP interfaces. With `require_key` every request needs a
    /// credential, even if no key exists.
    pub async fn open(
        config: &Config,
        data: &Path,
        base_url: &BaseUrl,
        require_key: bool,
    ) -> anyhow::Result<Self> {
        Self::over(Engine::open(config, data).await?, config, data, base_url, require_key).await
    }

    /// Builds the HTTP interfaces over an open store.
    pub async fn over(
        engine: Engine,
        config: &Config,
        data: &Path,
        base_url: &BaseUrl,
        require_key: bool,
    ) -> anyhow::Result<Self> {
        let directory = Directory::new(engine.store(), Arc::new(SystemClock::default()));
        if config.dev {
            create_sample_users(&directory).await?;
        }
        let keep = Retention { deleted: config.deleted_keep, events: config.events_keep };
        let metrics = HousekeepingMetrics::default();
        let housekeeping = Housekeeping::new(directory.clone(), keep, metrics.clone());
        let counters = Arc::new(ServerCounters::default());
        let base_url = base_url.to_string();
        let networks = config.webhook_networks.clone();
        let webhooks = SenderSettings {
            client: Arc::new(WebhookClient::new(&base_url, networks)),
            events_keep: config.events_keep,
        };
        let settings = HttpSettings {
            base_url,
            hosts: config.hosts.iter().map(ToString::to_string).collect(),
            trusted_proxies: TrustedProxies::new(config.trusted_proxies.clone()),
            webhooks: Arc::clone(&webhooks.client),
            cors_origins: config.cors_origins.iter().map(ToString::to_string).collect(),
            body_bytes_max: usize::try_from(config.body_bytes_max).unwrap_or(usize::MAX),
            uri_bytes_max: URI_BYTES_MAX,
            read_wait_max: config.read_wait_max,
            spill_dir: data.to_owned(),
            deleted_keep: config.deleted_keep,
            events_keep: config.events_keep,
            scim_filter_guard: config.scim_filter_guard,
            admission: admission(config),
            console: config.console,
            require_key,
            issuers: config.issuers(),
            has_room: match &engine {
                Engine::Sqlite(_) => has_room(data.to_owned(), config.disk_floor_bytes),
                // The database uses the disk of another machine.
                Engine::Postgres(_) => Arc::new(|| true),
            },
            housekeeping: metrics,
        };
        let desk = directory.keys();
        let app = Arc::new(App::new(directory.clone(), settings, Arc::clone(&counters)));
        let mut has_no_key = app.load_keys().await?;
        if let Some(file) = config.first_key_file.as_ref().filter(|_| has_no_key) {
            first_key::create(&desk, &SystemClock::default(), file).await?;
            has_no_key = app.reload_keys().await?;
        }
        let front = front(config);
        Ok(Self {
            app,
            engine,
            counters,
            front,
            housekeeping,
            directory,
            webhooks,
            has_key: !has_no_key,
        })
    }

    /// Keeps the settings of this start, and appends an event with the names of those that have
    /// another value than at the last start.
    pub async fn note_settings(&self, report: &Report) {
        let of_the_process = |key: &str| ["listen", "data", "database"].contains(&key);
        let lines = report.lines.iter().filter(|line| !of_the_process(line.key));
        let settings = lines.map(|line| (line.key.to_owned(), line.value.clone())).collect();
        match self.directory.note_settings(settings).await {
            Ok(changed) if changed.is_empty() => {}
            Ok(changed) => {
                let changed = changed.join(" ");
                tracing::info!(changed, "other settings than at the last start");
            }
            // Then the next start compares with an earlier one.
            Err(error) => {
                let error = error.with_causes();
                tracing::warn!(error, "the settings of this start could not be stored");
            }
        }
    }

    /// Whether a key was ever created.
    pub const fn has_key(&self) -> bool {
        self.has_key
    }

    /// Responds to a request of this process.
    pub async fn respond(&self, request: Request<Body>) -> Response {
        self.app.handle(request, &Peer::in_process()).await
    }

    /// Accepts connections until `stop`, then finishes running requests and closes the store.
    pub async fn serve(self, port: Port, stop: impl Future<Output = ()>) -> DrainReport {
        let housekeeping = tokio::spawn(self.housekeeping.run());
        let noting = tokio::spawn(note_key_uses(Arc::clone(&self.app)));
        let webhooks = RunningSender::start(self.directory, self.webhooks);
        let app = Arc::clone(&self.app);
        let draining = Arc::clone(&self.app);
        let stop = async move {
            stop.await;
            draining.drain();
        };
        let report = serve(port, self.app, self.front, self.counters, stop).await;
        // Housekeeping may be aborted between steps. A step that has begun is completed by the
        // store.
        housekeeping.abort();
        noting.abort();
        // A database that does not respond delays the end by this time at most.
        drop(timeout(ENDING, join(webhooks.stop(), note(&app))).await);
        self.engine.close().await;
        report
    }
}

/// Writes the last uses of keys at intervals.
async fn note_key_uses(app: Arc<App>) {
    loop {
        tokio::time::sleep(KEY_USES_INTERVAL).await;
        note(&app).await;
    }
}

async fn note(app: &App) {
    if let Err(error) = app.note_key_uses().await {
        let error = error.with_causes();
        tracing::warn!(error, "the last uses of keys could not be written");
    }
}

fn front(config: &Config) -> ServerSettings {
    let millis = |time: Duration| u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
    let speed = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    ServerSettings {
        header_timeout_ms: millis(config.header_timeout),
        idle_timeout_ms: millis(config.idle_timeout),
        body_floor_bytes_per_s: speed(config.body_floor_bytes_per_s),
        write_floor_bytes_per_s: speed(config.write_floor_bytes_per_s),
        connections_max: config.connections_max,
        drain_delay_ms: millis(config.drain_delay),
        connections_per_address_max: config.connections_per_address_max,
        trusted_proxies: TrustedProxies::new(config.trusted_proxies.clone()),
        drain_timeout_ms: millis(config.drain_timeout),
        ..ServerSettings::default()
    }
}

fn admission(config: &Config) -> AdmissionSettings {
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    AdmissionSettings {
        rate_limit_per_s: number(config.rate_limit_per_s),
        rate_limit_burst: number(config.rate_limit_burst),
        log_bytes_per_hour: config.log_bytes_per_hour,
        failed_auth_per_minute: number(config.failed_auth_per_minute),
        ..AdmissionSettings::default()
    }
}

/// Whether the data directory's file system has at least `floor` bytes free. Also true if that
/// cannot be determined: a write fails if there is no space.
fn has_room(data: PathBuf, floor: u64) -> Arc<dyn Fn() -> bool + Send + Sync> {
    Arc::new(move || {
        rustix::fs::statvfs(&data)
            .map_or(true, |space| space.f_bavail.saturating_mul(space.f_frsize) >= floor)
    })
}

async fn create_sample_users(directory: &Directory) -> anyhow::Result<()> {
    let samples = json::read(SAMPLE_USERS).map_err(|fault| anyhow::anyhow!(fault.detail))?;
    let json::Json::Array(users) = samples else {
        anyhow::bail!("the sample users are not a list")
    };
    for user in users {
        let terms = Terms::of(Authority::of_the_service().caller("sample"));
        let permit = Permit::of_the_service();
        if directory.create(permit, Draft::parse(user), terms).await.is_err() {
            anyhow::bail!("a sample user is not valid");
        }
    }
    Ok(())
}
