//! `roster check`: checks a store, also while it is served, or a backup.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use roster_postgres::Connector;
use roster_sqlite::{Findings, Sealed};

use super::data_flags::StoreFlags;
use super::print;
use crate::config::DatabaseUrl;

/// The flags of `roster check`.
#[derive(Debug, Args)]
pub(super) struct CheckFlags {
    #[command(flatten)]
    store: StoreFlags,

    /// Check this file of `roster backup` instead of a store
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "database"])]
    backup: Option<PathBuf>,
}

/// Checks, and prints a line for each kind of data.
pub(super) fn run(flags: CheckFlags) -> anyhow::Result<ExitCode> {
    let findings = if let Some(file) = flags.backup {
        Sealed::open(&file)?.check()?
    } else {
        let config = flags.store.load()?;
        match config.database {
            Some(database) => check_database(&database)?,
            None => roster_sqlite::check(&config.data)?,
        }
    };
    print(&format!("{findings}{}", verdict(&findings)))?;
    Ok(if findings.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn check_database(database: &DatabaseUrl) -> anyhow::Result<Findings> {
    let connector = Connector::parse(database.as_str())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("threads cannot be started")?;
    let findings = runtime.block_on(roster_postgres::check(&connector));
    findings.with_context(|| format!("{database} cannot be checked"))
}

fn verdict(findings: &Findings) -> String {
    match findings.lines.iter().map(|line| line.faults).sum::<u64>() {
        0 => "all is well".to_owned(),
        1 => "1 fault was found".to_owned(),
        faults => format!("{faults} faults were found"),
    }
}
