//! The directory that the data lies in.
//!
//! A kept directory is made for its owner alone (mode 0700): it holds personal data. A temporary
//! one is removed with everything in it when it is closed or dropped. Errors name the directory
//! and what to do. It must not know what an engine puts inside.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tempfile::TempDir;

/// Permission bits of a directory that only its owner may enter.
const OWNER_ONLY: u32 = 0o700;
/// Permission bits that let anyone but the owner in.
const OTHERS: u32 = 0o077;

/// A data directory that exists.
#[derive(Debug)]
pub enum DataDir {
    /// One that stays.
    Kept {
        /// Its absolute path.
        path: PathBuf,
        /// Whether others than its owner may enter it.
        open_to_others: bool,
    },
    /// One that goes with the process.
    Temporary(TempDir),
}

impl DataDir {
    /// Opens the directory at `path`, made where it is missing.
    ///
    /// The permissions of a directory that is there already are left alone.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let path = std::path::absolute(path)
            .with_context(|| format!("the data directory {} has no path", path.display()))?;
        let made = DirBuilder::new().recursive(true).mode(OWNER_ONLY).create(&path);
        if let Err(error) = made {
            bail!("the data directory {} cannot be made: {}", path.display(), reason(&error));
        }
        let metadata = fs::metadata(&path).with_context(|| {
            format!("the data directory {} cannot be looked at", path.display())
        })?;
        let open_to_others = metadata.permissions().mode() & OTHERS != 0;
        // Making a file is the only honest test: modes do not tell of read-only mounts.
        if let Err(error) = tempfile::tempfile_in(&path) {
            bail!("the data directory {} cannot be written: {error}", path.display());
        }
        Ok(Self::Kept { path, open_to_others })
    }

    /// Makes a directory that is removed when it is closed or dropped.
    pub fn temporary() -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix("roster-dev-")
            .permissions(fs::Permissions::from_mode(OWNER_ONLY))
            .tempdir()
            .context("a temporary data directory cannot be made")?;
        Ok(Self::Temporary(directory))
    }

    /// The absolute path.
    pub fn path(&self) -> &Path {
        match self {
            Self::Kept { path, .. } => path,
            Self::Temporary(directory) => directory.path(),
        }
    }

    /// Lets go of the directory; a temporary one is removed.
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

/// Why a directory could not be made, in words for whoever chose its path.
fn reason(error: &io::Error) -> String {
    let kind = error.kind();
    if matches!(kind, io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory) {
        "a file stands in its place".to_owned()
    } else if kind == io::ErrorKind::PermissionDenied {
        "this user may not write there; choose another place with --data".to_owned()
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
    fn a_missing_directory_is_made_for_its_owner_alone() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("deep/data");
        let opened = DataDir::open(&path).unwrap();
        assert_eq!(opened.path(), path);
        assert_eq!(mode(&path), 0o700);
        assert!(matches!(opened, DataDir::Kept { open_to_others: false, .. }));
        opened.close().unwrap();
        assert!(path.is_dir(), "a kept directory stays");
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0, "nothing is left behind in it");
    }

    #[test]
    fn a_directory_that_others_may_enter_is_told_apart_and_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("data");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let opened = DataDir::open(&path).unwrap();
        assert!(matches!(opened, DataDir::Kept { open_to_others: true, .. }));
        assert_eq!(mode(&path), 0o755);
    }

    #[test]
    fn a_file_in_the_place_of_the_directory_is_named() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("data");
        fs::write(&path, "").unwrap();
        let error = DataDir::open(&path).unwrap_err().to_string();
        assert!(error.contains(&path.display().to_string()), "{error}");
        assert!(error.contains("a file stands in its place"), "{error}");
        let below = DataDir::open(&path.join("deeper")).unwrap_err().to_string();
        assert!(below.contains("a file stands in its place"), "{below}");
    }

    #[test]
    fn a_temporary_directory_goes_with_what_is_in_it() {
        let opened = DataDir::temporary().unwrap();
        let path = opened.path().to_owned();
        assert_eq!(mode(&path), 0o700);
        fs::write(path.join("file"), "x").unwrap();
        opened.close().unwrap();
        assert!(!path.exists());
    }
}
