//! The command line: what can be asked of the binary, and its exit status.
//!
//! Each command is a file. Whatever fails is written to stderr once, in words for whoever typed
//! the command: wrong settings end with 78 (`EX_CONFIG`), a wrong command line with 2, everything
//! else with 1. Output that programs read goes to stdout.

mod backup;
mod banner;
mod check;
mod check_config;
mod data_flags;
mod exposure;
mod flags;
mod health;
mod keys;
mod listener;
mod logging;
mod migrate;
mod open_files;
mod policy;
mod prepare;
mod restore;
mod secured;
mod serve;
mod stop;
mod supervisor;
mod trusted;
mod turn;
mod version;
mod whoever;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::config::{EXIT_CONFIG, Faults};
use flags::{ServeFlags, SettingFlags};

/// A user directory in one binary: it keeps a collection of users and serves it over HTTP.
#[derive(Debug, Parser)]
#[command(name = "roster", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the users over HTTP until a signal says stop
    ///
    /// A setting is taken from its flag, else from its environment variable, else from the file
    /// of --config, else from its default. SIGTERM or SIGINT (Ctrl-C) stops: what is under way is
    /// finished first; a second signal ends at once.
    Serve(ServeFlags),
    /// Write all data into one file, while the service runs or not
    ///
    /// The file holds one moment of the store, users, deleted users and change log, and is checked
    /// before it gets its name. A file that is there already is not overwritten. Keep it as safe
    /// as the data: it holds all of it.
    Backup(backup::BackupFlags),
    /// Make a data directory from a backup
    ///
    /// A backup of which any byte has changed is refused, and so is a directory that holds a
    /// database already. The restored change log has a new identity: whoever followed the old one
    /// is told to begin anew.
    Restore(restore::RestoreFlags),
    /// Move all data from a data directory into an empty PostgreSQL database
    ///
    /// Ids, versions, times, deleted users, the change log with its positions, cursors and
    /// requests that may come again: all is kept, and compared in the end. The directory is not
    /// changed; no service may run on it. If it is interrupted, the same command goes on, and
    /// until it is finished the database is not served.
    Migrate(migrate::MigrateFlags),
    /// Create the schema of a PostgreSQL database, or bring it up to this release
    ///
    /// `roster serve` does the same where its role owns the schema. Run this as the owner where
    /// the service has a role of its own, which may only read and write rows (--service-role).
    Prepare(prepare::PrepareFlags),
    /// Make, list, rotate and revoke the keys of callers
    ///
    /// On a data directory that no service runs on, or on a PostgreSQL database, served or not. A
    /// running service does the same over HTTP, at /keys.
    Keys(keys::KeysFlags),
    /// Show or change which values users may share
    ///
    /// The policy belongs to the store: all processes that serve it apply the same one. A
    /// PostgreSQL database may be served meanwhile, and its processes follow within seconds. A
    /// data directory may not.
    Policy(policy::PolicyFlags),
    /// Check all data of a directory, a PostgreSQL database or a backup, served or not
    ///
    /// Compares the counters, the keys, the words and the change log with the records, and prints a
    /// line for each table. Changes nothing. Exit status 1 tells of faults.
    Check(check::CheckFlags),
    /// Print every setting with its value and where the value comes from
    ///
    /// Takes the flags of `roster serve` and reads what it would read, but starts nothing. What is
    /// printed can be kept as a settings file. Wrong settings are all named, with exit status 78.
    CheckConfig(SettingFlags),
    /// Ask the service that runs with these settings whether it is ready
    ///
    /// For the health check of a container, which has no other program to ask with. Exit status 0
    /// says that it is, 1 that it is not or does not answer.
    Health(SettingFlags),
    /// Print the version
    Version,
}

/// Reads the command line, does what it asks and returns the exit status.
pub fn run() -> ExitCode {
    // Any file that a command creates may hold personal data: its owner alone may read it.
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    let outcome = match Cli::parse().command {
        Command::Serve(flags) => flags.load().map_err(anyhow::Error::from).and_then(serve::start),
        Command::Backup(flags) => backup::run(flags),
        Command::Restore(flags) => restore::run(flags),
        Command::Migrate(flags) => migrate::run(&flags),
        Command::Prepare(flags) => prepare::run(flags),
        Command::Keys(flags) => keys::run(flags),
        Command::Policy(flags) => policy::run(flags),
        Command::Check(flags) => check::run(flags),
        Command::CheckConfig(flags) => check_config::run(&flags),
        Command::Health(flags) => health::run(&flags),
        Command::Version => version::run(),
    };
    outcome.unwrap_or_else(|error| {
        say(&format!("error: {error:#}"));
        if error.is::<Faults>() { ExitCode::from(EXIT_CONFIG) } else { ExitCode::FAILURE }
    })
}

/// Writes a line to stderr. Where even that fails, the exit status is all that is left to tell.
fn say(line: &str) {
    writeln!(io::stderr().lock(), "{line}").unwrap_or_default();
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
