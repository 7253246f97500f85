//! `roster serve`: the life of the service process.
//!
//! Order of the start: settings and certificate are judged, the log is installed, signals are
//! caught, the data directory is opened, the port is opened or taken from a supervisor, the store
//! is opened, the banner is printed. The stop goes backwards. A temporary data directory is removed
//! on every way out but a kill that cannot be caught.

use std::net;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use roster_http::front::Port;
use roster_sqlite::OpenError;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

use super::banner::{self, Listening};
use super::exposure::Callers;
use super::stop::{Drain, StopSignals};
use super::turn::{HANDOVER_WAIT, Tried, Turn};
use super::{exposure, listener, logging, open_files, secured, supervisor, trusted};
use crate::config::{Config, Origin, Report};
use crate::data_dir::DataDir;
use crate::service::Service;
use crate::tls::Tls;

/// Serves until a signal says stop; returns the exit status.
pub(super) fn start((mut config, mut report): (Config, Report)) -> anyhow::Result<ExitCode> {
    let socket = supervisor::socket()?;
    if let Some(socket) = &socket {
        // Where the socket listens is what counts, whatever the settings say.
        config.listen = socket.local_addr().context("the supervisor's socket has no address")?;
        report.overrule("listen", &Origin::Supervisor);
        config.takeover_wait = config.takeover_wait.max(HANDOVER_WAIT);
        // The next process has the same socket: nobody needs time to look for another one.
        config.drain_delay = Duration::ZERO;
    }
    trusted::check(&config, &report)?;
    let tls = secured::open(&config, &report)?;
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
    // Caught before the data directory is opened: from there on there is something to undo.
    let signals = {
        let _entered = runtime.enter();
        StopSignals::catch().context("signals cannot be caught")?
    };
    let data = if config.dev { DataDir::temporary()? } else { DataDir::open(&config.data)? };
    if let DataDir::Kept { open_to_others: true, path } = &data {
        let path = path.display();
        tracing::warn!(%path, "others on this machine may enter the data directory: chmod 700");
    }
    if let Some(path) = tls.as_ref().and_then(Tls::exposed) {
        let path = path.display();
        tracing::warn!(%path, "others on this machine may read the private key: chmod 600");
    }
    let served = signals.watch(|drain| serve(config, report, &data, socket, tls, drain));
    let status = runtime.block_on(served);
    // After a second signal work may still run on other threads; it is not waited for.
    runtime.shutdown_background();
    data.close()?;
    tracing::info!("stopped");
    status
}

/// Opens port and store, says so, and takes connections until the drain begins.
///
/// Who connects while the store is still another process's waits in the socket's queue.
async fn serve(
    config: &Config,
    report: &Report,
    data: &DataDir,
    socket: Option<net::TcpListener>,
    tls: Option<Tls>,
    drain: Drain,
) -> anyhow::Result<()> {
    let secured = tls.as_ref().map(Tls::config);
    // Before anything is waited for: without it the signal would end the process.
    let follow = tls.map(follow).transpose()?;
    let mut turn = Turn::new(config.takeover_wait, drain.clone());
    let listener = match socket {
        Some(socket) => Some(TcpListener::from_std(socket)?),
        None => turn.take(async || listener::bind(config.listen)).await?,
    };
    let Some(listener) = listener else { return Ok(()) };
    let listening = Listening { address: listener.local_addr()?, tls: secured.is_some() };
    let base_url = config.effective_base_url(listening.address);
    let require_key = config.require_key || exposure::is_exposed(config, listening.address);
    let opened = turn.take(async || {
        match Service::open(config, data.path(), &base_url, require_key).await {
            Ok(service) => Ok(Tried::Done(service)),
            Err(error) if is_locked(&error) => Ok(Tried::Taken(error)),
            Err(error) => Err(error),
        }
    });
    let Some(service) = opened.await? else { return Ok(()) };
    exposure::check(config, report, listening.address, service.has_key())?;
    exposure::warn(config, service.has_key());
    let callers = exposure::callers(config, listening.address, service.has_key());
    banner::print(listening, &base_url, data, config.database.as_ref(), &callers);
    let Callers { line, .. } = &callers;
    tracing::info!(listening = %listening.address, %base_url, tls = listening.tls, "listening");
    tracing::info!("{line}");
    supervisor::tell_ready();
    let report = service.serve(Port { listener, tls: secured }, begun(drain)).await;
    if let Some(follow) = follow {
        follow.abort();
    }
    tracing::info!(finished = report.finished, cut = report.cut, "drained");
    Ok(())
}

/// Whether another process serves the data directory.
fn is_locked(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(OpenError::Locked { .. }))
}

/// Keeps the certificate up to date; from here on SIGHUP asks for it and ends nothing.
fn follow(tls: Tls) -> anyhow::Result<JoinHandle<()>> {
    let asked = signal(SignalKind::hangup()).context("signals cannot be caught")?;
    Ok(tokio::spawn(tls.into_follower().follow(asked)))
}

/// Waits for the drain to begin.
async fn begun(mut drain: Drain) {
    drain.begun().await;
    supervisor::tell_stopping();
}

/// The threads that serve requests.
fn runtime(workers: usize) -> anyhow::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    if workers > 0 {
        builder.worker_threads(workers);
    }
    builder.thread_name("roster").enable_all().build().context("threads cannot be started")
}
