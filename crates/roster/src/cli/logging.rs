//! The log of the process: lines on stderr, as text or JSON, with times in UTC.
//!
//! A log line never contains personal data. Our code logs none. Other crates might log their input,
//! so they log only warnings and errors. A panic is logged with its location and without its
//! message.

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

/// Our crates from `level`, others from warnings.
fn filter(level: LogLevel) -> Targets {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    Targets::new().with_default(level.min(LevelFilter::WARN)).with_target(OURS, level)
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
        let error = filter(LogLevel::Error);
        assert!(!error.would_enable("roster::cli", &Level::WARN));
        assert!(!error.would_enable("hyper::proto", &Level::WARN));
    }
}
