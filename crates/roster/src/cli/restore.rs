//! `roster restore`: a backup as the store of a data directory that holds none.
//!
//! The backup is judged before the directory is touched.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use roster_core::Json;
use roster_sqlite::Sealed;

use super::backup::text;
use super::data_flags::DataFlags;
use crate::data_dir::DataDir;

/// The flags of `roster restore`.
#[derive(Debug, Args)]
pub(super) struct RestoreFlags {
    #[command(flatten)]
    data: DataFlags,

    /// Print what was restored as JSON
    #[arg(long)]
    json: bool,

    /// The file that `roster backup` wrote
    file: PathBuf,
}

/// Restores the backup and tells what it held.
pub(super) fn run(flags: RestoreFlags) -> anyhow::Result<ExitCode> {
    let data = flags.data.load()?;
    let mut sealed = Sealed::open(&flags.file)?;
    let directory = DataDir::open(&data)?;
    let log_id = sealed.restore(directory.path())?;
    let manifest = sealed.manifest();
    let told = if flags.json {
        let mut members = manifest.members();
        members.push(("new_log_id".to_owned(), Json::Text(log_id.to_string())));
        text(members)
    } else {
        let place = directory.path().display();
        format!("{place}: {manifest}; its log goes on as {log_id}")
    };
    writeln!(io::stdout().lock(), "{told}")?;
    Ok(ExitCode::SUCCESS)
}
