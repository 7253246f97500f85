//! `roster check`: the deep check of a store, served or not, or of a backup.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use roster_sqlite::{Findings, Sealed, check};

use super::data_flags::DataFlags;

/// The flags of `roster check`.
#[derive(Debug, Args)]
pub(super) struct CheckFlags {
    #[command(flatten)]
    data: DataFlags,

    /// Check this file of `roster backup`, not a data directory
    #[arg(long, value_name = "FILE", conflicts_with = "data")]
    backup: Option<PathBuf>,
}

/// Checks, and tells a line for each thing that was looked at.
pub(super) fn run(flags: CheckFlags) -> anyhow::Result<ExitCode> {
    let data = flags.data.load()?;
    let findings = match flags.backup {
        Some(file) => Sealed::open(&file)?.check()?,
        None => check(&data)?,
    };
    let mut out = io::stdout().lock();
    for line in &findings.lines {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "{}", verdict(&findings))?;
    Ok(if findings.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn verdict(findings: &Findings) -> String {
    match findings.lines.iter().map(|line| line.faults).sum::<u64>() {
        0 => "all is well".to_owned(),
        1 => "1 fault was found".to_owned(),
        faults => format!("{faults} faults were found"),
    }
}
