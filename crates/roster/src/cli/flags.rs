//! The flags of `roster serve`, built from the table of settings.
//!
//! Flags are passed on as text: types and ranges are checked in one place, together with those of
//! the environment and the file. The help contains range, default and variable of each setting.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::ValueParser;
use clap::error::Error;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use crate::config::{Config, Faults, Given, Kind, Report, SETTINGS, Setting};

/// The flags of all settings, and the settings file.
#[derive(Debug, Default)]
pub(super) struct SettingFlags {
    given: Given,
}

impl SettingFlags {
    /// The settings from all sources.
    pub(super) fn load(&self) -> Result<(Config, Report), Faults> {
        Config::load(&self.given)
    }
}

/// The flags of `roster serve`.
#[derive(Debug, Args)]
pub(super) struct ServeFlags {
    #[command(flatten)]
    settings: SettingFlags,

    /// Run on a temporary directory with sample users, removed at exit
    #[arg(long, display_order = 0)]
    dev: bool,
}

impl ServeFlags {
    /// The settings from all sources.
    pub(super) fn load(mut self) -> Result<(Config, Report), Faults> {
        self.settings.given.dev = self.dev;
        self.settings.load()
    }
}

impl FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.given.config_file = matches.get_one::<PathBuf>("config").cloned();
        self.given.flags = SETTINGS
            .iter()
            .filter_map(|setting| {
                let value = matches.get_one::<OsString>(setting.key)?;
                Some((setting.key, value.clone()))
            })
            .collect();
        Ok(())
    }
}

impl Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        let config = Arg::new("config")
            .long("config")
            .value_name("FILE")
            .value_parser(ValueParser::path_buf())
            .display_order(0)
            .help("Read settings from this TOML file [env: ROSTER_CONFIG]");
        command.arg(config).args(SETTINGS.iter().map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// The flag of one setting.
fn flag(setting: &'static Setting) -> Arg {
    let flag = Arg::new(setting.key)
        .long(setting.flag)
        .value_name(setting.kind.placeholder())
        .value_parser(ValueParser::os_string())
        .help_heading(setting.group.heading())
        .help(help(setting));
    if matches!(setting.kind, Kind::Switch(_) | Kind::OptionalSwitch(_)) {
        // `--put-guard` alone means `true`.
        flag.num_args(0..=1).require_equals(true).default_missing_value("true")
    } else {
        flag
    }
}

/// The help of one setting: its description, range, default and environment variable.
fn help(setting: &Setting) -> String {
    let range = setting.kind.range().map(|range| format!(" [{range}]")).unwrap_or_default();
    let default = match setting.default {
        "" => String::new(),
        default => format!(" [default: {default}]"),
    };
    format!("{}{range}{default} [env: {}]", setting.doc, setting.env)
}
