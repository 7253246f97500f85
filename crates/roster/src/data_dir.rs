//! The data directory.
//!
//! It is created for its owner only (mode 0700), because it contains personal data. A temporary
//! directory is removed when it is closed or dropped. Errors name the directory and what to do.
//! This module does not know which files an engine creates.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tempfile::TempDir;

/// Mode of a directory that only its owner may enter.
const OWNER_ONLY: u32 = 0o700;
/// Mode bits that let others enter.
const OTHERS: u32 = 0o077;
/// Mode bits that let others add, replace and remove files.
const OTHERS_WRITE: u32 = 0o022;

/// What users other than the owner of a directory may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// Nothing.
    Nothing,
    /// Enter the directory, or list its files.
    Enter,
    /// Add, replace and remove files.
    Change,
}

/// A data directory that exists.
#[derive(Debug)]
pub enum DataDir {
    /// A permanent directory.
    Kept {
        /// Its absolute path.
        path: PathBuf,
        /// What users other than its owner may do.
        others: Others,
        /// Whether it was created now.
        is_new: bool,
    },
    /// A directory that is removed at exit.
    Temporary(TempDir),
}

impl DataDir {
    /// Opens the directory at `path`. Creates it if it does not exist.
    ///
    /// The permissions of an existing directory are not changed.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let path = std::path::absolute(path).with_context(|| {
            format!("the path of the data directory {} is not valid", path.display())
        })?;
        let is_new = !path.exists();
        let made = DirBuilder::new().recursive(true).mode(OWNER_ONLY).create(&path);
        if let Err(error) = made {
            bail!("the data directory {} cannot be created: {}", path.display(), reason(&error));
        }
        let metadata = fs::metadata(&path)
            .with_context(|| format!("the data directory {} cannot be read", path.display()))?;
        let bits = metadata.permissions().mode();
        let others = if bits & OTHERS_WRITE != 0 {
            Others::Change
        } else if bits & OTHERS != 0 {
            Others::Enter
        } else {
            Others::Nothing
        };
        // Creating a file is the only reliable test: modes do not show read-only mounts.
        if let Err(error) = tempfile::tempfile_in(&path) {
            bail!("the data directory {} cannot be written: {error}", path.display());
        }
        Ok(Self::Kept { path, others, is_new })
    }

    /// Creates a directory that is removed when it is closed or dropped.
    pub fn temporary() -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix("roster-dev-")
            .permissions(fs::Permissions::from_mode(OWNER_ONLY))
            .tempdir()
            .context("a temporary data directory cannot be created")?;
        Ok(Self::Temporary(directory))
    }

    /// The absolute path.
    pub fn path(&self) -> &Path {
        match self {
            Self::Kept { path, .. } => path,
            Self::Temporary(directory) => directory.path(),
        }
    }

    /// A warning, if others may enter or change the directory.
    pub fn warning(&self) -> Option<String> {
        let (path, may) = match self {
            Self::Kept { others: Others::Nothing, .. } | Self::Temporary(_) => return None,
            Self::Kept { others: Others::Enter, path, .. } => (path, "enter"),
            Self::Kept { others: Others::Change, path, .. } => (path, "replace files in"),
        };
        let path = path.display();
        Some(format!("others on this machine may {may} the data directory {path}: chmod 700"))
    }

    /// Closes the directory. A temporary one is removed, and so is one that was created for a start
    /// that failed before it stored anything.
    pub fn close(self, is_failed: bool) -> anyhow::Result<()> {
        match self {
            Self::Kept { path, is_new: true, .. } if is_failed => {
                // It fails if the directory is not empty.
                fs::remove_dir(path).unwrap_or_default();
                Ok(())
            }
            Self::Kept { .. } => Ok(()),
            Self::Temporary(directory) => {
                let path = directory.path().to_owned();
                directory.close().with_context(|| {
                    format!("the temporary directory {} cannot be removed", path.display())
                })
            }
        }
    }
}

/// Why a directory could not be created.
fn reason(error: &io::Error) -> String {
    let kind = error.kind();
    if matches!(kind, io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory) {
        "a file has this path".to_owned()
    } else if kind == io::ErrorKind::PermissionDenied {
        "this user may not write there; choose another directory with --data".to_owned()
    } else {
        error.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_missing_directory_is_created_for_its_owner_only() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("deep/data");
        let opened = DataDir::open(&path).unwrap();
        assert_eq!(opened.path(), path);
        assert_eq!(mode(&path), 0o700);
        assert_eq!(opened.warning(), None);
        opened.close(false).unwrap();
        assert!(path.is_dir(), "a kept directory stays");
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0, "nothing is left behind in it");
        DataDir::open(&path).unwrap().close(true).unwrap();
        assert!(path.is_dir(), "it was there before");
    }

    #[test]
    fn a_directory_that_was_created_for_a_failed_start_is_removed_if_it_is_empty() {
        let parent = tempfile::tempdir().unwrap();
        for (name, is_left) in [("empty", false), ("used", true)] {
            let path = parent.path().join(name);
            let opened = DataDir::open(&path).unwrap();
            if is_left {
                fs::write(path.join("file"), "x").unwrap();
            }
            opened.close(true).unwrap();
            assert_eq!(path.exists(), is_left, "{name}");
        }
    }

    #[test]
    fn a_directory_that_others_may_enter_or_change_is_reported_and_not_changed() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("data");
        fs::create_dir(&path).unwrap();
        for (wanted, others) in [
            (0o700, Others::Nothing),
            (0o755, Others::Enter),
            (0o770, Others::Change),
            (0o777, Others::Change),
        ] {
            fs::set_permissions(&path, fs::Permissions::from_mode(wanted)).unwrap();
            let opened = DataDir::open(&path).unwrap();
            assert!(matches!(opened, DataDir::Kept { others: found, .. } if found == others));
            assert_eq!(opened.warning().is_some(), others != Others::Nothing);
            assert_eq!(mode(&path), wanted);
        }
    }

    #[test]
    fn a_file_with_the_path_of_the_directory_is_an_error() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("data");
        fs::write(&path, "").unwrap();
        let error = DataDir::open(&path).unwrap_err().to_string();
        assert!(error.contains(&path.display().to_string()), "{error}");
        assert!(error.contains("a file has this path"), "{error}");
        let below = DataDir::open(&path.join("deeper")).unwrap_err().to_string();
        assert!(below.contains("a file has this path"), "{below}");
    }

    #[test]
    fn a_temporary_directory_is_removed_with_its_contents() {
        let opened = DataDir::temporary().unwrap();
        let path = opened.path().to_owned();
        assert_eq!(mode(&path), 0o700);
        fs::write(path.join("file"), "x").unwrap();
        opened.close(false).unwrap();
        assert!(!path.exists());
    }
}
