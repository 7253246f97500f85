//! The data directory, for commands that need no other setting.
//!
//! It comes from the same sources as for `roster serve`, so both use the same directory. The other
//! settings of these sources are checked too.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use crate::config::{Config, Given};

/// The flags for the data directory.
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
    /// Returns the directory. Fails if the users are in PostgreSQL and `--data` is not given.
    pub(super) fn load(self) -> anyhow::Result<PathBuf> {
        let named = self.data.is_some();
        let flags = self.data.into_iter().map(|data| ("data", data.into_os_string())).collect();
        let given = Given { flags, config_file: self.config, dev: false };
        let (config, _) = Config::load(&given)?;
        if config.database.is_some() && !named {
            anyhow::bail!(
                "the users are in PostgreSQL (the setting `database`): use its tools, such as \
                 pg_dump, or name a directory with --data"
            );
        }
        Ok(config.data)
    }
}

/// The flags for a store: a data directory or a database.
#[derive(Debug, Clone, Args)]
pub(super) struct StoreFlags {
    /// Directory of the data [default: ./roster-data] [env: ROSTER_DATA]
    #[arg(long, value_name = "DIR", global = true)]
    data: Option<PathBuf>,

    /// URL of the PostgreSQL database [env: ROSTER_DATABASE]
    #[arg(long, value_name = "URL", global = true)]
    database: Option<OsString>,

    /// Read settings from this TOML file [env: ROSTER_CONFIG]
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

impl StoreFlags {
    /// Whether a flag says where the store is.
    pub(super) fn is_given(&self) -> bool {
        self.data.is_some() || self.database.is_some() || self.config.is_some()
    }

    /// The settings, from the same sources as those of `roster serve`. If the flags name a
    /// directory and no database, a database of the environment or of the settings file does not
    /// count: a command must not change another store than the one that it names.
    pub(super) fn load(self) -> anyhow::Result<Config> {
        let (given, is_directory) = self.given();
        let (config, _) = Config::load(&given)?;
        Ok(of_store(config, is_directory))
    }

    /// The settings that the flags give, and whether they name a directory alone.
    fn given(self) -> (Given, bool) {
        let is_directory = self.data.is_some() && self.database.is_none();
        let data = self.data.map(|data| ("data", data.into_os_string()));
        let database = self.database.map(|url| ("database", url));
        let flags = data.into_iter().chain(database).collect();
        (Given { flags, config_file: self.config, dev: false }, is_directory)
    }
}

fn of_store(mut config: Config, is_directory: bool) -> Config {
    config.database = config.database.filter(|_| !is_directory);
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_named_wins_over_a_database_of_the_settings_file() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("roster.toml");
        std::fs::write(&file, "database = \"postgres://ada@db/users\"\n").unwrap();
        let load = |data: Option<&str>, database: Option<&str>| {
            let (data, database) = (data.map(PathBuf::from), database.map(OsString::from));
            let flags = StoreFlags { data, database, config: Some(file.clone()) };
            let (given, is_directory) = flags.given();
            of_store(Config::without_environment(&given), is_directory)
        };
        let named = load(Some("users"), None);
        assert_eq!((named.database, named.data), (None, PathBuf::from("users")));
        assert!(load(None, None).database.is_some());
        let both = load(Some("users"), Some("postgres://ada@other/users")).database.unwrap();
        assert!(both.as_str().contains("@other/"));
    }
}
