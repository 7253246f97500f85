//! Where the data lies, for commands that need no other setting.
//!
//! The directory comes from the same sources as that of `roster serve`, so that both mean the
//! same one; the other settings of those sources are judged as well.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use crate::config::{Config, Given};

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
    /// The directory; refused where the users are elsewhere and nobody names it here.
    pub(super) fn load(self) -> anyhow::Result<PathBuf> {
        let named = self.data.is_some();
        let flags = self.data.into_iter().map(|data| ("data", data.into_os_string())).collect();
        let given = Given { flags, config_file: self.config, dev: false };
        let (config, _) = Config::load(&given)?;
        if config.database.is_some() && !named {
            anyhow::bail!(
                "the users are kept in PostgreSQL (the setting `database`): use its own tools, as \
                 pg_dump, or name a directory with --data"
            );
        }
        Ok(config.data)
    }
}

/// The flags that tell where a store is, in a data directory or a database.
#[derive(Debug, Args)]
pub(super) struct PlaceFlags {
    /// Directory of the data [default: ./roster-data] [env: ROSTER_DATA]
    #[arg(long, value_name = "DIR", global = true)]
    data: Option<PathBuf>,

    /// URL of the PostgreSQL database that keeps the users [env: ROSTER_DATABASE]
    #[arg(long, value_name = "URL", global = true)]
    database: Option<OsString>,

    /// Read settings from this TOML file [env: ROSTER_CONFIG]
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

impl PlaceFlags {
    /// Whether they name a directory, and no database.
    pub(super) fn is_directory(&self) -> bool {
        self.data.is_some() && self.database.is_none()
    }

    /// The settings, from the same sources as those of `roster serve`.
    pub(super) fn load(self) -> anyhow::Result<Config> {
        let data = self.data.map(|data| ("data", data.into_os_string()));
        let database = self.database.map(|url| ("database", url));
        let flags = data.into_iter().chain(database).collect();
        let given = Given { flags, config_file: self.config, dev: false };
        Ok(Config::load(&given)?.0)
    }
}
