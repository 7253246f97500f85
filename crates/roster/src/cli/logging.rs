//! The process's log: lines on stderr, for people or as JSON, with times in UTC.
//!
//! A log line never holds personal data. Our own code writes none; other crates might repeat what
//! they were given, so they are heard from warnings up only, and a panic is logged by its place
//! without its message.

use std::io::{self, IsTerminal};
use std::panic;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt};

use crate::config::{LogFormat, LogLevel};

/// What the targets of our own crates start with.
const OURS: &str = "roster";

/// Installs the log of the process; it can be done once.
pub(super) fn install(level: LogLevel, format: LogFormat) -> anyhow::Result<()> {
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match format {
        LogFormat::Text => {
            fmt::layer().with_writer(io::stderr).with_ansi(io::stderr().is_terminal()).boxed()
        }
        LogFormat::Json => fmt::layer().json().flatten_event(true).with_writer(io::stderr).boxed(),
    };
    tracing_subscriber::registry().with(lines.with_filter(filter(level))).try_init()?;
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "a fault in the program was caught");
    }));
    Ok(())
}

/// Ours from `level` up, others from warnings up.
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
    fn other_crates_are_heard_from_warnings_up_only() {
        let debug = filter(LogLevel::Debug);
        assert!(debug.would_enable("roster::cli", &Level::DEBUG));
        assert!(debug.would_enable("roster_http::front", &Level::DEBUG));
        assert!(debug.would_enable("hyper::proto", &Level::WARN));
        assert!(!debug.would_enable("hyper::proto", &Level::INFO));
        let error = filter(LogLevel::Error);
        assert!(!error.would_enable("roster::cli", &Level::WARN));
        assert!(!error.would_enable("hyper::proto", &Level::WARN));
    }
}
