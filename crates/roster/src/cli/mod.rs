//! The command line: the commands of the binary and their exit status.
//!
//! Each command is a module. An error is written to stderr once. Invalid settings exit with 78
//! (`EX_CONFIG`), an invalid command line with 2, any other error with 1. Output for programs goes
//! to stdout.

mod backup;
mod banner;
mod bind_check;
mod check;
mod check_config;
mod completions;
mod data_flags;
mod flags;
mod groups;
mod health;
mod import;
mod jwt_settings;
mod keys;
mod listener;
mod logging;
mod man;
mod migrate;
mod open_files;
mod policy;
mod prepare;
mod restore;
mod serve;
mod stop;
mod supervisor;
mod takeover;
mod tips;
mod tls_settings;
mod unverified_tls;
mod version;

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use roster_cli::{print, say};

use crate::config::{Config, EXIT_CONFIG, Faults};
use crate::data_dir::DataDir;
use flags::{ServeFlags, SettingFlags};

/// What to try first.
const EXAMPLES: &str = "\
Examples:
  roster serve --dev             Start a service with sample users on this machine
  roster users list              List the users of the service at 127.0.0.1:8080
  roster login URL               Store the URL and the key of another service
  roster users list --help       Show what a command does, and its flags";

/// A user directory in one binary: stores users and serves them over HTTP.
#[derive(Debug, Parser)]
#[command(name = "roster", bin_name = "roster", version)]
#[command(help_template = groups::template(), after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the users over HTTP
    ///
    /// A setting comes from its flag, else from its environment variable, else from the file of
    /// --config, else from its default. SIGTERM or SIGINT (Ctrl-C) stops the service after running
    /// requests are finished. A second signal ends it immediately.
    Serve(ServeFlags),
    /// Write all data into one file, also while the service runs
    ///
    /// The file contains the users, deleted users and change log of one point in time, and is
    /// checked before it gets its name. An existing file is not overwritten. Protect it like the
    /// data: it contains all of it.
    Backup(backup::BackupFlags),
    /// Create a data directory from a backup
    ///
    /// A backup that was changed is rejected, and so is a directory that contains a database. The
    /// restored change log has a new identity: readers that have read more than the backup has must
    /// start again.
    Restore(restore::RestoreFlags),
    /// Import a file of users into a service, or into a new data directory
    ///
    /// The file has a JSON object in each line, or rows of CSV. Without --data a running service is
    /// asked: lines that fail are written to a CSV file with the reasons, and an import that was
    /// interrupted goes on with --resume.
    ///
    /// With --data no service is asked: a new data directory is created from the file, in about
    /// half the time. If that is interrupted, there is no database. The results of refused lines go
    /// to stdout.
    ///
    /// Exits with 7 if lines failed.
    Import(import::Flags),
    /// Copy all data from a data directory into an empty PostgreSQL database
    ///
    /// Copies everything: ids, versions, times, deleted users, the change log with its positions,
    /// cursors and idempotency records. Compares both stores at the end. The directory is not
    /// changed, and no service may run on it. If the command is interrupted, run it again: it
    /// continues. The database cannot be served before it is complete.
    Migrate(migrate::MigrateFlags),
    /// Create or update the schema of a PostgreSQL database
    ///
    /// `roster serve` does the same if its role owns the schema. Run this as the owner if the
    /// service has its own role, which may only read and write rows (--service-role).
    Prepare(prepare::PrepareFlags),
    /// Create, list, rotate and revoke API keys, of a running service or in a store
    ///
    /// A running service is asked if one is named: by --url, --profile, --key-file, ROSTER_URL or
    /// ROSTER_PROFILE, or by `roster login`. Its first key needs no key, all else a key with
    /// keys:admin.
    ///
    /// The store itself is opened if --data, --database or --config is given, or if no service is
    /// named. A PostgreSQL database may be served meanwhile. A data directory that is served can be
    /// listed, not changed.
    ///
    /// The first line on stderr says which one it was.
    #[command(alias = "key", subcommand_required = true, arg_required_else_help = true)]
    Keys(keys::KeysCommand),
    /// Print or change which values users may share
    ///
    /// The policy belongs to the store: all processes that serve it apply the same one. The store
    /// may be served at the same time: the next write applies a change to a data directory, and
    /// processes over PostgreSQL apply it within seconds.
    Policy(policy::PolicyFlags),
    /// Check all data of a directory, a PostgreSQL database or a backup
    ///
    /// Compares the counters, keys, words and change log with the records, and prints a line for
    /// each table. Changes nothing, and also works while the store is served. Exits with 1 if there
    /// are faults.
    Check(check::CheckFlags),
    /// Print every setting with its value and origin
    ///
    /// Accepts the flags of `roster serve` and reads the same sources, but starts nothing. The
    /// output can be used as a settings file. Reports all invalid settings, with exit status 78.
    CheckConfig(SettingFlags),
    /// Check whether the service with these settings is ready
    ///
    /// For the health check of a container without another HTTP client. Exits with 0 if the service
    /// is ready, and with 1 if it is not or does not respond.
    Health(SettingFlags),
    #[command(flatten)]
    Client(roster_cli::Command),
    #[command(flatten)]
    Other(Other),
}

/// The commands that need no store and no service.
#[derive(Debug, Subcommand)]
enum Other {
    /// Print the version
    Version,
    /// Print the script with which a shell completes commands and flags
    ///
    /// For this shell only: `source <(roster completions bash)`, the same for zsh, or `roster
    /// completions fish | source`. The Debian package installs these scripts for all users.
    #[command(alias = "completion")]
    Completions {
        /// The shell
        shell: completions::Shell,
    },
    /// Write the man pages into a directory
    ///
    /// One page for the program and one for each command, such as roster-users-list.1. `man -l`
    /// shows such a file; below a directory of MANPATH they belong into `man1`.
    Man {
        /// The directory, which is created if it is missing
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

/// Runs the command and returns the exit status.
pub fn run() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| tips::with_tip(error).exit());
    if !matches!(cli.command, Command::Other(_)) {
        // The files of all others may contain personal data, so only their owner may read them.
        rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    }
    let outcome = match cli.command {
        Command::Serve(flags) => flags.load().map_err(anyhow::Error::from).and_then(serve::start),
        Command::Backup(flags) => backup::run(flags),
        Command::Restore(flags) => restore::run(flags),
        Command::Import(flags) => import::run(flags),
        Command::Migrate(flags) => migrate::run(&flags),
        Command::Prepare(flags) => prepare::run(flags),
        Command::Keys(flags) => asking(|| keys::run(flags)),
        Command::Policy(flags) => policy::run(flags),
        Command::Check(flags) => check::run(flags),
        Command::CheckConfig(flags) => check_config::run(&flags),
        Command::Health(flags) => health::run(&flags),
        Command::Client(command) => asking(|| roster_cli::run(command)),
        Command::Other(Other::Version) => version::run(),
        Command::Other(Other::Completions { shell }) => completions::run(shell),
        Command::Other(Other::Man { directory }) => man::run(&directory),
    };
    outcome.unwrap_or_else(|error| {
        say(&format!("error: {error:#}"));
        if error.is::<Faults>() || contradicts_store(&error) {
            ExitCode::from(EXIT_CONFIG)
        } else if error.is::<Usage>() {
            ExitCode::from(roster_cli::exit::USAGE)
        } else {
            ExitCode::FAILURE
        }
    })
}

/// Whether a setting states another policy than the store has.
fn contradicts_store(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        matches!(cause.downcast_ref(), Some(roster_sqlite::OpenError::PolicyMismatch(_)))
            || matches!(cause.downcast_ref(), Some(roster_postgres::OpenError::PolicyMismatch(_)))
    })
}

/// Runs a command that may ask a service. A misspelled variable is an error, as for `roster serve`:
/// without it another tenant or service would be asked.
fn asking(command: impl FnOnce() -> ExitCode) -> anyhow::Result<ExitCode> {
    Config::check_environment()?;
    Ok(command())
}

/// What is wrong with a command line that the parser accepts.
#[derive(Debug)]
struct Usage(String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Usage {}

/// An error of the command line.
fn usage(text: impl Into<String>) -> anyhow::Error {
    anyhow::Error::new(Usage(text.into()))
}

/// Warns if other users may enter or change the data directory.
fn warn_of_others(directory: &DataDir) {
    if let Some(warning) = directory.warning() {
        say(&format!("warning: {warning}"));
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
