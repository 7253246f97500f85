//! `roster restore`: restores a backup to a data directory without a store.
//!
//! The backup is checked before the directory is changed.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use roster_core::{Clock as _, Json};
use roster_sqlite::Sealed;

use super::backup::text;
use super::data_flags::DataFlags;
use super::{print, warn_of_others};
use crate::clock::SystemClock;
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
    let forked = sealed.restore(directory.path(), SystemClock::default().now())?;
    let manifest = sealed.manifest();
    let text = if flags.json {
        let mut members = manifest.members();
        members.push(("new_log_id".to_owned(), Json::Text(forked.log.to_string())));
        text(members)
    } else {
        let path = directory.path().display();
        format!("{path}: {manifest}; the new log id is {}", forked.log)
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}
