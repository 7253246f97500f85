//! The wiring: from settings to a store, a directory, the faces and the front.
//!
//! Every value of the configuration is handed on here, once; nothing further in knows where it
//! came from.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use roster_core::{
    Directory, Draft, Guard, Rules, Sharing, Terms,
    command::{Actor, Caller},
    json,
};
use roster_http::{
    App, FaceSettings, URI_BYTES_MAX,
    front::{DrainReport, FrontCounters, FrontSettings, serve},
};
use tokio::net::TcpListener;

use crate::{
    clock::SystemClock,
    config::{BaseUrl, Config, EmailUniqueness},
    engine::Engine,
    housekeeping::{Housekeeping, Keep},
};

/// Users to look at, for `--dev`.
const SAMPLE_USERS: &[u8] = include_bytes!("../assets/sample-users.json");

/// A service that is ready to take connections.
pub struct Service {
    app: Arc<App>,
    engine: Engine,
    counters: Arc<FrontCounters>,
    front: FrontSettings,
    housekeeping: Housekeeping,
}

impl Service {
    /// Opens the store in a data directory and puts the faces before it.
    pub async fn open(config: &Config, data: &Path, base_url: &BaseUrl) -> anyhow::Result<Self> {
        let rules = rules(config);
        let engine = Engine::open(config, data, rules).await?;
        let directory = Directory::new(engine.store(), Arc::new(SystemClock::default()));
        if config.dev {
            create_sample_users(&directory).await?;
        }
        let keep = Keep { deleted: config.deleted_keep, events: config.events_keep };
        let housekeeping = Housekeeping::new(directory.clone(), keep);
        let counters = Arc::new(FrontCounters::default());
        let face = FaceSettings {
            base_url: base_url.to_string(),
            hosts: config.hosts.iter().map(ToString::to_string).collect(),
            body_bytes_max: usize::try_from(config.body_bytes_max).unwrap_or(usize::MAX),
            uri_bytes_max: URI_BYTES_MAX,
            spill_dir: data.to_owned(),
            deleted_keep: config.deleted_keep,
            events_keep: config.events_keep,
            rules,
            has_room: match &engine {
                Engine::Sqlite(_) => has_room(data.to_owned(), config.disk_floor_bytes),
                // The disk that fills up is another machine's.
                Engine::Postgres(_) => Arc::new(|| true),
            },
        };
        let app = Arc::new(App::new(directory, face, Arc::clone(&counters)));
        Ok(Self { app, engine, counters, front: front(config), housekeeping })
    }

    /// Takes connections until `stop`, then lets what runs finish and closes the store.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()>) -> DrainReport {
        let housekeeping = tokio::spawn(self.housekeeping.run());
        let report = serve(listener, self.app, self.front, self.counters, stop).await;
        // Between two of its steps, or waiting for one that the store carries out all the same.
        housekeeping.abort();
        self.engine.close().await;
        report
    }
}

fn rules(config: &Config) -> Rules {
    let guard = |on| if on { Guard::On } else { Guard::Off };
    Rules {
        email: match config.email_uniqueness {
            EmailUniqueness::Primary => Sharing::Unique,
            EmailUniqueness::None => Sharing::Shared,
        },
        external_id: if config.unique_external_id { Sharing::Unique } else { Sharing::Shared },
        put: guard(config.put_guard),
        delete: guard(config.delete_guard),
    }
}

fn front(config: &Config) -> FrontSettings {
    let millis = |time: Duration| u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
    let speed = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    FrontSettings {
        header_timeout_ms: millis(config.header_timeout),
        idle_timeout_ms: millis(config.idle_timeout),
        body_floor_bytes_per_s: speed(config.body_floor_bytes_per_s),
        write_floor_bytes_per_s: speed(config.write_floor_bytes_per_s),
        connections_max: config.connections_max,
        drain_timeout_ms: millis(config.drain_timeout),
        ..FrontSettings::default()
    }
}

/// Whether the data directory's file system has more than the floor to spare. Where it cannot
/// tell, writes will.
fn has_room(data: PathBuf, floor: u64) -> Arc<dyn Fn() -> bool + Send + Sync> {
    Arc::new(move || {
        rustix::fs::statvfs(&data)
            .map_or(true, |space| space.f_bavail.saturating_mul(space.f_frsize) >= floor)
    })
}

async fn create_sample_users(directory: &Directory) -> anyhow::Result<()> {
    let samples = json::read(SAMPLE_USERS).map_err(|fault| anyhow::anyhow!(fault.detail))?;
    let json::Json::Array(users) = samples else { anyhow::bail!("the sample users are no list") };
    for user in users {
        let caller = Caller { actor: Actor::System, request_id: "sample".to_owned() };
        if directory.create(Draft::parse(user), Terms::of(caller)).await.is_err() {
            anyhow::bail!("a sample user was refused");
        }
    }
    Ok(())
}
