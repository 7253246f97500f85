//! `roster backup`: writes the store of a data directory into one file, also while the service
//! runs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use roster_core::{Clock, Json, json};
use roster_sqlite::{Made, Making, backup};

use super::data_flags::DataFlags;
use super::{print, usage};
use crate::clock::SystemClock;

/// The flags of `roster backup`.
#[derive(Debug, Args)]
pub(super) struct BackupFlags {
    #[command(flatten)]
    data: DataFlags,

    /// Print a description of the backup as JSON
    #[arg(long)]
    json: bool,

    /// The file to write; it must not exist
    file: PathBuf,
}

/// Creates the backup and prints a description of it.
pub(super) fn run(flags: BackupFlags) -> anyhow::Result<ExitCode> {
    if flags.file == Path::new("-") {
        return Err(usage(
            "a backup is checked in its file, so it cannot go to stdout: name a file",
        ));
    }
    let data = flags.data.load()?;
    let at = SystemClock::default().now();
    let made = backup(&data, &flags.file, Making { at, program: env!("CARGO_PKG_VERSION") })?;
    let file = flags.file.display();
    let text = if flags.json { as_json(&made) } else { format!("{file}: {}", in_words(&made)) };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn in_words(made: &Made) -> String {
    let Made { manifest, bytes } = made;
    format!("{manifest}, {bytes} bytes")
}

fn as_json(made: &Made) -> String {
    let mut members = made.manifest.members();
    let bytes = i64::try_from(made.bytes).unwrap_or(i64::MAX);
    members.push(("bytes".to_owned(), Json::Int(bytes)));
    text(members)
}

/// Writes an object as JSON text.
pub(super) fn text(members: Vec<(String, Json)>) -> String {
    let mut out = Vec::new();
    json::write_json(&mut out, &Json::Object(members));
    String::from_utf8_lossy(&out).into_owned()
}
