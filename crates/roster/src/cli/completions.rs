//! `roster completions`: prints the script with which a shell completes the command line.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{CommandFactory as _, ValueEnum};

use super::Cli;

/// The shells for which there is a script.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Prints the script.
pub(super) fn run(shell: Shell) -> anyhow::Result<ExitCode> {
    let shell = match shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "roster", &mut script);
    match io::stdout().lock().write_all(&script) {
        // The program after the pipe wants no more.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        Ok(()) | Err(_) => Ok(ExitCode::SUCCESS),
    }
}
