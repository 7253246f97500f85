//! `roster restore`: restores a backup to a data directory without a store.
//!
//! The backup is checked before the directory is changed.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use roster_core::Json;
use roster_sqlite::Sealed;

use super::backup::text;
use super::data_flags::DataFlags;
use super::{print, warn_of_others};
use crate::data_dir::DataDir;

/// The flags of `roster restore`.
#[derive(Debug, Args)]
pub(super) struct RestoreFlags {
    #[command(flatten)]
    data: DataFlags,

    /// Print a description of the backup as JSON
    #[arg(long)]
    json: bool,

    /// The file that `roster backup` wrote
    file: PathBuf,
}

/// Restores the backup and prints a description of it.
pub(super) fn run(flags: RestoreFlags) -> anyhow::Result<ExitCode> {
    let data = flags.data.load()?;
    let mut sealed = Sealed::open(&flags.file)?;
    let directory = DataDir::open(&data)?;
    warn_of_others(&directory);
    let log_id = sealed.restore(directory.path())?;
    let manifest = sealed.manifest();
    let text = if flags.json {
        let mut members = manifest.members();
        members.push(("new_log_id".to_owned(), Json::Text(log_id.to_string())));
        text(members)
    } else {
        let path = directory.path().display();
        format!("{path}: {manifest}; the new log id is {log_id}")
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}
