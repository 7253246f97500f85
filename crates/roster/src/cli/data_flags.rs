//! Where the data lies, for commands that need no other setting.
//!
//! The directory comes from the same sources as that of `roster serve`, so that both mean the
//! same one; the other settings of those sources are judged as well.

use std::path::PathBuf;

use clap::Args;

use crate::config::{Config, Faults, Given};

/// The flags that tell the data directory.
#[derive(Debug, Args)]
pub(super) struct DataFlags {
    /// Directory of the data [default: ./roster-data] [env: ROSTER_DATA]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// Read settings from this TOML file [env: ROSTER_CONFIG]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl DataFlags {
    /// The directory.
    pub(super) fn load(self) -> Result<PathBuf, Faults> {
        let flags = self.data.into_iter().map(|data| ("data", data.into_os_string())).collect();
        let given = Given { flags, config_file: self.config, dev: false };
        Config::load(&given).map(|(config, _)| config.data)
    }
}
