//! `roster version`: the version of this build, for bug reports.

use std::io::{self, Write};
use std::process::ExitCode;

/// Prints version, processor and system.
pub(super) fn run() -> anyhow::Result<ExitCode> {
    let version = env!("CARGO_PKG_VERSION");
    let (cpu, system) = (std::env::consts::ARCH, std::env::consts::OS);
    writeln!(io::stdout().lock(), "roster {version} ({cpu}-{system})")?;
    Ok(ExitCode::SUCCESS)
}
