//! `roster check-config`: prints each setting with its value and origin.
//!
//! The output is a settings file: keys and values in TOML, origins as comments. All invalid
//! settings are reported. What only a start can detect, such as a port in use, is not checked.

use std::io::{self, Write};
use std::process::ExitCode;

use super::flags::SettingFlags;
use super::{jwt_settings, tls_settings};
use crate::config::Report;

/// Prints the settings, or fails with all their faults.
pub(super) fn run(flags: &SettingFlags) -> anyhow::Result<ExitCode> {
    let (config, report) = flags.load()?;
    jwt_settings::check(&config, &report)?;
    tls_settings::open(&config, &report)?;
    io::stdout().lock().write_all(text(&report).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// One line for each setting, with the comments in one column.
fn text(report: &Report) -> String {
    let settings: Vec<_> = report
        .lines
        .iter()
        .map(|line| (format!("{} = {}", line.key, line.value), &line.origin))
        .collect();
    let width = settings.iter().map(|(setting, _)| setting.chars().count()).max().unwrap_or(0);
    let lines: Vec<_> = settings
        .iter()
        .map(|(setting, origin)| format!("{setting:width$}  # {origin}\n"))
        .collect();
    lines.concat()
}
