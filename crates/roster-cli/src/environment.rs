//! The environment: the only place of these commands that reads it.

use std::env::var_os;
use std::path::PathBuf;

use etcetera::{BaseStrategy as _, choose_base_strategy};

use crate::failure::{Failure, exit};

/// The variables of these commands. The service ignores them.
pub const VARIABLES: [&str; 4] = [URL, PROFILE, KEY_FILE, TENANT];

const URL: &str = "ROSTER_URL";
const PROFILE: &str = "ROSTER_PROFILE";
const KEY_FILE: &str = "ROSTER_KEY_FILE";
const TENANT: &str = "ROSTER_TENANT";

/// What the environment says. Empty variables count as not set.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    pub(crate) url: Option<String>,
    pub(crate) profile: Option<String>,
    pub(crate) key_file: Option<PathBuf>,
    pub(crate) tenant: Option<String>,
}

impl Environment {
    /// Reads the variables. A text that is not valid UTF-8 is an error: without its tenant, a
    /// command would change the default one.
    pub(crate) fn read() -> Result<Self, Failure> {
        let given = |name| var_os(name).filter(|value| !value.is_empty());
        let text = |name| {
            let wrong = |_| format!("environment {name}: the value is not valid UTF-8");
            let text = given(name).map(|value| value.into_string().map_err(wrong)).transpose();
            text.map_err(|text| Failure::new(exit::SETTINGS, text))
        };
        Ok(Self {
            url: text(URL)?,
            profile: text(PROFILE)?,
            key_file: given(KEY_FILE).map(PathBuf::from),
            tenant: text(TENANT)?,
        })
    }
}

/// The directory for configuration, such as `~/.config/roster`. None without a home directory.
pub(crate) fn config_directory() -> Option<PathBuf> {
    Some(choose_base_strategy().ok()?.config_dir().join("roster"))
}

/// Where the command runs.
pub(crate) fn working_directory() -> Option<PathBuf> {
    std::env::current_dir().ok()
}

/// The directory for what a command must remember, such as `~/.local/state/roster`.
pub(crate) fn state_directory() -> Option<PathBuf> {
    let strategy = choose_base_strategy().ok()?;
    Some(strategy.state_dir().unwrap_or_else(|| strategy.data_dir()).join("roster"))
}
