//! The log of the process: lines on stderr, as text or JSON, with times in UTC.
//!
//! A log line never contains personal data. Our code logs none. Other crates might log their input,
//! so they log only warnings and errors. The crates that read what clients send log only errors,
//! except at `debug`: a client could cause a warning with each connection. A panic is logged with
//! its location and without its message.

use std::io::{self, IsTerminal};
use std::panic;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt};

use crate::config::{LogFormat, LogLevel};

/// The prefix of the targets of our crates.
const OURS: &str = "roster";

/// The prefixes of the targets of crates that read what clients send.
const PROTOCOLS: [&str; 3] = ["h2", "hyper", "rustls"];

/// Installs the log of the process, once.
pub(super) fn install(level: LogLevel, format: LogFormat) -> anyhow::Result<()> {
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match format {
        LogFormat::Text => {
            fmt::layer().with_writer(io::stderr).with_ansi(io::stderr().is_terminal()).boxed()
        }
        LogFormat::Json => fmt::layer().json().flatten_event(true).with_writer(io::stderr).boxed(),
    };
    tracing_subscriber::registry().with(lines.with_filter(filter(level))).try_init()?;
    panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(location, "a panic was caught");
    }));
    Ok(())
}

/// Our crates from `level`, others from warnings, those of protocols from errors unless `level` is
/// `debug`.
fn filter(level: LogLevel) -> Targets {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    let others = level.min(LevelFilter::WARN);
    let protocols = if level == LevelFilter::DEBUG { others } else { LevelFilter::ERROR };
    Targets::new()
        .with_default(others)
        .with_targets(PROTOCOLS.map(|target| (target, protocols)))
        .with_target(OURS, level)
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn other_crates_log_only_warnings_and_errors() {
        let debug = filter(LogLevel::Debug);
        assert!(debug.would_enable("roster::cli", &Level::DEBUG));
        assert!(debug.would_enable("roster_server", &Level::DEBUG));
        assert!(debug.would_enable("hyper::proto", &Level::WARN));
        assert!(!debug.would_enable("hyper::proto", &Level::INFO));
        let info = filter(LogLevel::Info);
        assert!(info.would_enable("tokio_postgres", &Level::WARN));
        for protocol in ["h2::proto::streams", "hyper::proto", "hyper_util", "rustls::conn"] {
            assert!(!info.would_enable(protocol, &Level::WARN), "{protocol}");
            assert!(info.would_enable(protocol, &Level::ERROR), "{protocol}");
        }
        let error = filter(LogLevel::Error);
        assert!(!error.would_enable("roster::cli", &Level::WARN));
        assert!(!error.would_enable("hyper::proto", &Level::WARN));
    }
}
