//! The environment: the only place of these commands that reads it.

use std::env::var_os;
use std::path::PathBuf;

use etcetera::{BaseStrategy as _, choose_base_strategy};

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
    pub(crate) fn read() -> Self {
        let text = |name| var_os(name).and_then(|value| value.into_string().ok());
        let given = |name| text(name).filter(|value| !value.is_empty());
        Self {
            url: given(URL),
            profile: given(PROFILE),
            key_file: given(KEY_FILE).map(PathBuf::from),
            tenant: given(TENANT),
        }
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
