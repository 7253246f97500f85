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

/// A data directory that exists.
#[derive(Debug)]
pub enum DataDir {
    /// A permanent directory.
    Kept {
        /// Its absolute path.
        path: PathBuf,
        /// Whether users other than its owner may enter it.
        open_to_others: bool,
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
        let made = DirBuilder::new().recursive(true).mode(OWNER_ONLY).create(&path);
        if let Err(error) = made {
            bail!("the data directory {} cannot be created: {}", path.display(), reason(&error));
        }
        let metadata = fs::metadata(&path)
            .with_context(|| format!("the data directory {} cannot be read", path.display()))?;
        let open_to_others = metadata.permissions().mode() & OTHERS != 0;
        // Creating a file is the only reliable test: modes do not show read-only mounts.
        if let Err(error) = tempfile::tempfile_in(&path) {
            bail!("the data directory {} cannot be written: {error}", path.display());
        }
        Ok(Self::Kept { path, open_to_others })
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

    /// Closes the directory; a temporary one is removed.
    pub fn close(self) -> anyhow::Result<()> {
        match self {
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
        assert!(matches!(opened, DataDir::Kept { open_to_others: false, .. }));
        opened.close().unwrap();
        assert!(path.is_dir(), "a kept directory stays");
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0, "nothing is left behind in it");
    }

    #[test]
    fn a_directory_that_others_may_enter_is_reported_and_not_changed() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("data");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let opened = DataDir::open(&path).unwrap();
        assert!(matches!(opened, DataDir::Kept { open_to_others: true, .. }));
        assert_eq!(mode(&path), 0o755);
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
        opened.close().unwrap();
        assert!(!path.exists());
    }
}
