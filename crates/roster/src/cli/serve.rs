//! `roster serve`: the life of the service process.
//!
//! Order of the start: the settings are judged, the log is installed, signals are caught, the data
//! directory is opened, the port is opened, the banner is printed. The stop goes backwards. A
//! temporary data directory is removed on every way out but a kill that cannot be caught.

use std::process::ExitCode;

use anyhow::Context;
use tokio::runtime::{Builder, Runtime};

use super::stop::{Drain, StopSignals};
use super::{banner, exposure, listener, logging, open_files};
use crate::config::{Config, Report};
use crate::data_dir::DataDir;
use crate::service::Service;

/// Serves until a signal says stop; returns the exit status.
pub(super) fn run((config, report): (Config, Report)) -> anyhow::Result<ExitCode> {
    let config = &config;
    // Whatever is made from here on holds personal data: its owner alone may read it.
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
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
    let status = runtime.block_on(signals.watch(|drain| serve(config, &report, &data, drain)));
    // After a second signal work may still run on other threads; it is not waited for.
    runtime.shutdown_background();
    data.close()?;
    tracing::info!("stopped");
    status
}

/// Opens the port, says so, and takes connections until the drain begins.
async fn serve(
    config: &Config,
    report: &Report,
    data: &DataDir,
    drain: Drain,
) -> anyhow::Result<()> {
    let listener = listener::bind(config.listen).await?;
    let listening = listener.local_addr()?;
    let base_url = config.effective_base_url(listening);
    let service = Service::open(config, data.path(), &base_url).await?;
    exposure::check(config, report, service.is_open())?;
    banner::print(listening, &base_url, data, config.database.as_ref(), service.is_open());
    tracing::info!(%listening, %base_url, "listening");
    let report = service.serve(listener, begun(drain)).await;
    tracing::info!(finished = report.finished, cut = report.cut, "drained");
    Ok(())
}

/// Waits for the drain to begin.
async fn begun(mut drain: Drain) {
    drain.begun().await;
}

/// The threads that serve requests.
fn runtime(workers: usize) -> anyhow::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    if workers > 0 {
        builder.worker_threads(workers);
    }
    builder.thread_name("roster").enable_all().build().context("threads cannot be started")
}
