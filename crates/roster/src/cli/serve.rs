//! `roster serve`: starts, runs and stops the service process.
//!
//! Order of the start: check settings and certificate, install the log, install signal handlers,
//! open the port or take it from a supervisor, open the data directory, open the store, print the
//! banner. The stop runs in the opposite order. A start that is refused leaves no data directory. A
//! temporary one is always removed, except after SIGKILL.

use std::cell::OnceCell;
use std::net;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use roster_server::Port;
use roster_sqlite::{OpenError, has_store};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

use super::banner::{self, Listening};
use super::bind_check::Callers;
use super::stop::{Drain, StopSignals};
use super::takeover::{Attempt, HANDOVER_WAIT, Takeover};
use super::{bind_check, jwt_settings, listener, logging, open_files, supervisor, tls_settings};
use crate::config::{Config, Origin, Report};
use crate::data_dir::DataDir;
use crate::first_key;
use crate::service::Service;
use crate::tls::Tls;

/// Serves until a signal; returns the exit status.
pub(super) fn start((mut config, mut report): (Config, Report)) -> anyhow::Result<ExitCode> {
    let socket = supervisor::socket()?;
    if let Some(socket) = &socket {
        // The socket's address takes precedence over the settings.
        config.listen = socket.local_addr().context("the supervisor's socket has no address")?;
        report.overrule("listen", &Origin::Supervisor);
        config.takeover_wait = config.takeover_wait.max(HANDOVER_WAIT);
        // The next process has the same socket, so load balancers need no time to find another one.
        config.drain_delay = Duration::ZERO;
    }
    jwt_settings::check(&config, &report)?;
    let tls = tls_settings::open(&config, &report)?;
    run(&config, &report, socket, tls)
}

fn run(
    config: &Config,
    report: &Report,
    socket: Option<net::TcpListener>,
    tls: Option<Tls>,
) -> anyhow::Result<ExitCode> {
    logging::install(config.log, config.log_format)?;
    open_files::allow(config.connections_max);
    let runtime = runtime(config.workers)?;
    // Before the data directory is opened, because from then on an exit must clean up.
    let signals = {
        let _entered = runtime.enter();
        StopSignals::catch().context("signals cannot be caught")?
    };
    let data = OnceCell::new();
    if let Some(path) = tls.as_ref().and_then(Tls::exposed) {
        let path = path.display();
        tracing::warn!(%path, "others on this machine may read the private key: chmod 600");
    }
    let served = signals.watch(|drain| serve(config, report, &data, socket, tls, drain));
    let status = runtime.block_on(served);
    // After a second signal, work may still run on other threads. Do not wait for it.
    runtime.shutdown_background();
    if let Some(data) = data.into_inner() {
        data.close(status.is_err())?;
    }
    // A start that fails never ran: the error is the last line.
    if status.is_ok() {
        tracing::info!("stopped");
    }
    status
}

/// Opens port and store, prints the banner, and accepts connections until the drain begins.
///
/// While another process still has the store, connections wait in the socket's queue.
async fn serve(
    config: &Config,
    report: &Report,
    data: &OnceCell<DataDir>,
    socket: Option<net::TcpListener>,
    tls: Option<Tls>,
    drain: Drain,
) -> anyhow::Result<()> {
    let tls_config = tls.as_ref().map(Tls::config);
    // Before any wait: SIGHUP ends a process without a handler.
    let follow = follow(tls)?;
    let (mut takeover, mut stopping) =
        (Takeover::new(config.takeover_wait, drain.clone()), drain.clone());
    let listener = match socket {
        Some(socket) => Some(TcpListener::from_std(socket)?),
        None => takeover.wait_for(async || listener::bind(config.listen)).await?,
    };
    let Some(listener) = listener else { return Ok(()) };
    let listening = Listening { address: listener.local_addr()?, tls: tls_config.is_some() };
    let base_url = config.effective_base_url(listening.address);
    let require_key = config.requires_key() || bind_check::is_exposed(config, listening.address);
    refuse_new_store(config, report, listening)?;
    let opened = if config.dev { DataDir::temporary() } else { DataDir::open(&config.data) };
    let opened = opened?;
    let data = data.get_or_init(|| opened);
    if let Some(warning) = data.warning() {
        tracing::warn!("{warning}");
    }
    let opened = takeover.wait_for(async || {
        match Service::open(config, data.path(), &base_url, require_key).await {
            Ok(service) => Ok(Attempt::Done(service)),
            Err(error) if is_locked(&error) => Ok(Attempt::Blocked(error)),
            Err(error) => Err(error),
        }
    });
    // A database may not respond, or another process may change its schema for long.
    let opened = tokio::select! {
        biased;
        opened = opened => opened?,
        () = stopping.begun() => None,
    };
    let Some(service) = opened else { return Ok(()) };
    bind_check::check(config, report, listening.address, service.has_key())?;
    bind_check::warn(config, service.has_key());
    tokio::select! {
        () = service.note_settings(report) => {}
        () = stopping.begun() => {}
    }
    let callers = bind_check::callers(config, listening.address, service.has_key());
    banner::print(listening, &base_url, data, config.database.as_ref(), &callers);
    let Callers { line, .. } = &callers;
    tracing::info!(listening = %listening.address, %base_url, tls = listening.tls, "listening");
    tracing::info!("{line}");
    supervisor::notify_ready();
    let report = service.serve(Port { listener, tls: tls_config }, drain_begun(drain)).await;
    follow.abort();
    tracing::info!(finished = report.finished, cut = report.cut, "drained");
    Ok(())
}

/// Fails if the start would create a store and then be refused.
fn refuse_new_store(config: &Config, report: &Report, listening: Listening) -> anyhow::Result<()> {
    // A directory that cannot be read is an error later.
    let has_store = has_store(&config.data).unwrap_or(true);
    if config.dev || config.database.is_some() || has_store {
        return Ok(());
    }
    if let Some(file) = &config.first_key_file {
        return first_key::refuse_unfit(file, &config.data);
    }
    Ok(bind_check::check(config, report, listening.address, false)?)
}

/// Whether another process serves the data directory.
fn is_locked(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(OpenError::Locked { .. }))
}

/// Keeps the certificate up to date. From here on SIGHUP reloads it. Without TLS it has no effect.
fn follow(tls: Option<Tls>) -> anyhow::Result<JoinHandle<()>> {
    let mut hangup = signal(SignalKind::hangup()).context("signals cannot be caught")?;
    Ok(match tls {
        Some(tls) => tokio::spawn(tls.into_follower().follow(hangup)),
        None => tokio::spawn(async move {
            while hangup.recv().await.is_some() {
                tracing::info!("SIGHUP has no effect: there is no certificate to reload");
            }
        }),
    })
}

/// Waits for the drain to begin.
async fn drain_begun(mut drain: Drain) {
    drain.begun().await;
    supervisor::notify_stopping();
}

/// The threads that serve requests.
fn runtime(workers: usize) -> anyhow::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    if workers > 0 {
        builder.worker_threads(workers);
    }
    builder.thread_name("roster").enable_all().build().context("threads cannot be started")
}
