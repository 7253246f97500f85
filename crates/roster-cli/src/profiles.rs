//! The services that this user logged in to, with their keys.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::environment::config_directory;
use crate::failure::{Failure, exit};

/// A service, with the credential for it.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    pub(crate) url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tenant: Option<String>,
    /// Whether the key may be sent unencrypted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) allow_http: bool,
}

/// All profiles, and which is used.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profiles {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) current: Option<String>,
    #[serde(default, rename = "profile")]
    pub(crate) by_name: BTreeMap<String, Profile>,
}

/// The file, as people see its name.
pub(crate) fn path() -> Result<PathBuf, Failure> {
    let directory = config_directory();
    let directory =
        directory.ok_or_else(|| Failure::new(exit::OTHER, "there is no home directory"))?;
    Ok(directory.join("profiles.toml"))
}

impl Profiles {
    /// Reads the file. Fails if others may read or change it. None exists before the first login.
    pub(crate) fn read() -> Result<Self, Failure> {
        let Ok(path) = path() else { return Ok(Self::default()) };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(unusable(&path, &error.to_string())),
        };
        let found = fs::metadata(&path)?;
        if found.mode() & 0o077 != 0 {
            let failure = unusable(&path, "it contains keys, and others may read or change it");
            return Err(failure.next(format!("chmod 600 {}", path.display())));
        }
        if found.uid() != rustix::process::geteuid().as_raw() {
            return Err(unusable(&path, "it contains keys, and belongs to somebody else"));
        }
        // An error of TOML shows the line, which may be that of a key.
        toml::from_str(&text).map_err(|error| unusable(&path, error.message()))
    }

    /// Writes the file, readable by its owner alone, at once or not at all.
    pub(crate) fn write(&self) -> Result<(), Failure> {
        let path = path()?;
        let directory = path.parent().unwrap_or_else(|| Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let text = toml::to_string(self).map_err(|error| unusable(&path, &error.to_string()))?;
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&path).map_err(|error| unusable(&path, &error.error.to_string()))?;
        Ok(())
    }

    /// The profile of this name, or the one that is used.
    pub(crate) fn named(&self, name: Option<&str>) -> Result<Option<(&str, &Profile)>, Failure> {
        let Some(wanted) = name.or(self.current.as_deref()) else { return Ok(None) };
        match self.by_name.get_key_value(wanted) {
            Some((name, profile)) => Ok(Some((name, profile))),
            None if name.is_none() => Ok(None),
            None => {
                let known: Vec<&str> = self.by_name.keys().map(String::as_str).collect();
                let known = if known.is_empty() {
                    "there are none: roster login URL makes one".to_owned()
                } else {
                    format!("the profiles are {}", known.join(", "))
                };
                Err(Failure::usage(format!("no profile has the name {wanted}")).next(known))
            }
        }
    }
}

fn unusable(path: &Path, why: &str) -> Failure {
    Failure::new(exit::OTHER, format!("{} cannot be used: {why}", path.display()))
}
