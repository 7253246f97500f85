//! `--out`: a file for a key.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::{Failure, exit};

/// A new file that its owner alone can read. It gets its name when it has its content.
pub(super) struct SecretFile {
    file: NamedTempFile,
    path: PathBuf,
}

impl SecretFile {
    /// Begins the file, before there is a key that could be lost.
    pub(super) fn begin(path: PathBuf) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Err(Failure::usage("without --out the key goes to stdout"));
        }
        if path.symlink_metadata().is_ok() {
            let text = format!("{} exists already", path.display());
            return Err(Failure::usage(text).next("name another file"));
        }
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let file = NamedTempFile::new_in(directory.unwrap_or(Path::new(".")));
        let file = file.map_err(|error| unwritable(&path, &error))?;
        Ok(Self { file, path })
    }

    /// Writes the key on a line, and returns the path.
    pub(super) fn finish(self, key: &str) -> Result<PathBuf, Failure> {
        let Self { mut file, path } = self;
        let written = writeln!(file, "{key}").and_then(|()| file.as_file().sync_all());
        let written = written.and_then(|()| Ok(file.persist_noclobber(&path)?));
        written.map_err(|error| unwritable(&path, &error))?;
        Ok(path)
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(exit::OTHER, format!("{} cannot be written: {error}", path.display()))
}
