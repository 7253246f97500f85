//! What is remembered of an import that may be interrupted, in files that only this user can read.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::bytes::read_at;
use super::results::Tally;
use super::source::{Source, Stamp};
use super::spool::Spool;
use crate::environment::state_directory;
use crate::failure::{Failure, exit};

/// How much of the file before the first line that is left must be as it was.
const COMPARED: u64 = 4096;

/// An import that is not complete.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct State {
    /// The absolute path of the file.
    pub(super) file: PathBuf,
    /// The base URL of the service or tenant.
    pub(super) url: String,
    /// The flags that say what the file means.
    pub(super) flags: String,
    /// The `Idempotency-Key`.
    pub(super) key: Option<String>,
    pub(super) stamp: Stamp,
    /// The first line without a result that counts, and where it begins.
    pub(super) line: u64,
    pub(super) offset: u64,
    /// A digest of what is before it.
    pub(super) before: String,
    pub(super) tally: Tally,
    /// How many bytes of the spool belong to these lines.
    pub(super) spooled: u64,
    /// The faults file, once this import has written it.
    pub(super) faults: Option<PathBuf>,
}

impl State {
    pub(super) fn new(source: &Source, url: &str, flags: String, key: Option<String>) -> Self {
        Self {
            file: source.path.clone().unwrap_or_default(),
            url: url.to_owned(),
            flags,
            key,
            stamp: source.stamp,
            line: 1,
            offset: 0,
            before: hex(&[]),
            tally: Tally::default(),
            spooled: 0,
            faults: None,
        }
    }

    /// Whether any line is done.
    pub(super) const fn has_begun(&self) -> bool {
        self.offset > 0
    }

    /// Moves on to a line that begins at this offset.
    pub(super) fn reach(&mut self, source: &Source, line: u64, offset: u64) -> io::Result<()> {
        (self.line, self.offset) = (line, offset);
        self.before = digest_before(source, offset)?;
        Ok(())
    }

    /// Checks that the file is the one that was read.
    pub(super) fn check(&self, source: &Source) -> Result<(), Failure> {
        let is_same =
            self.stamp == source.stamp && self.before == digest_before(source, self.offset)?;
        if !is_same {
            let text = format!("{} was changed since the import was interrupted", source.name);
            return Err(Failure::new(exit::CONFLICT, text));
        }
        Ok(())
    }
}

fn digest_before(source: &Source, offset: u64) -> io::Result<String> {
    let start = offset.saturating_sub(COMPARED);
    let mut text = vec![0; usize::try_from(offset - start).unwrap_or_default()];
    let count = read_at(&source.file, &mut text, start)?;
    Ok(hex(text.get(..count).unwrap_or_default()))
}

fn hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// The files of an import: its state, and the faults so far. None for what cannot be resumed.
pub(super) struct Store {
    path: Option<PathBuf>,
    /// The file with the faults, if there is one.
    spool: Option<File>,
}

impl Store {
    /// The files for this file, service and meaning. They are locked before the state is read: that
    /// of a running import is not that of an interrupted one.
    pub(super) fn of(source: &Source, url: &str, flags: &str) -> Result<Self, Failure> {
        let Some(file) = &source.path else { return Ok(Self::none()) };
        let name = hex(format!("{}\0{url}\0{flags}", file.to_string_lossy()).as_bytes());
        let name = name.get(..32).unwrap_or_default();
        let path = directory()?.join(format!("{name}.json"));
        let spool = match spool_options().open(path.with_extension("faults")) {
            Ok(file) => Some(lock(file)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        Ok(Self { path: Some(path), spool })
    }

    /// Keeps nothing.
    pub(super) const fn none() -> Self {
        Self { path: None, spool: None }
    }

    pub(super) fn read(&self) -> Result<Option<State>, Failure> {
        let Some(path) = &self.path else { return Ok(None) };
        read(path).map_err(|why| {
            let text = format!("{} cannot be used: {why}", path.display());
            Failure::new(exit::OTHER, text)
        })
    }

    /// Writes the state, at once or not at all.
    pub(super) fn write(&self, state: &State) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let directory = path.parent().unwrap_or_else(|| Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(&serde_json::to_vec_pretty(state)?)?;
        file.persist(path)?;
        Ok(())
    }

    /// The faults of an import, of which those up to this length belong to lines that count.
    pub(super) fn spool(&self, bytes: u64) -> Result<Spool, Failure> {
        let file = match (&self.path, &self.spool) {
            (None, _) => tempfile::tempfile()?,
            (Some(_), Some(file)) => file.try_clone()?,
            (Some(path), None) => {
                lock(spool_options().create(true).open(path.with_extension("faults"))?)?
            }
        };
        if file.metadata()?.len() < bytes {
            return Err(Failure::new(exit::OTHER, "the faults of the interrupted import are gone"));
        }
        file.set_len(bytes)?;
        (&file).seek(SeekFrom::Start(bytes))?;
        Ok(Spool::new(file, bytes))
    }

    /// Removes the files.
    pub(super) fn remove(&self) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        for path in [path.clone(), path.with_extension("faults")] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// The flags of other interrupted imports of this file into this service.
    pub(super) fn others(&self, source: &Source, url: &str) -> Vec<String> {
        let directory = self.path.as_deref().and_then(Path::parent);
        let entries = directory.and_then(|path| fs::read_dir(path).ok()).into_iter().flatten();
        let paths = entries.flatten().map(|entry| entry.path());
        let states = paths
            .filter(|path| path.extension().is_some_and(|end| end == "json"))
            .filter_map(|path| read(&path).ok().flatten());
        let same = states.filter(|state| Some(&state.file) == source.path.as_ref());
        same.filter(|state| state.url == url).map(|state| state.flags).collect()
    }
}

fn spool_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).truncate(false).mode(0o600);
    options
}

/// Locks a file until the end of the process.
fn lock(file: File) -> Result<File, Failure> {
    let is_taken = |_| Failure::new(exit::CONFLICT, "another process is importing this file");
    file.try_lock().map_err(is_taken)?;
    Ok(file)
}

fn read(path: &Path) -> Result<Option<State>, String> {
    match fs::read(path) {
        Ok(text) => serde_json::from_slice(&text).map(Some).map_err(|error| error.to_string()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

fn directory() -> Result<PathBuf, Failure> {
    let directory = state_directory().map(|path| path.join("imports"));
    let directory = directory.ok_or_else(|| {
        Failure::new(exit::OTHER, "there is no home directory to remember the import in")
    })?;
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&directory);
    made.map_err(|error| {
        Failure::new(exit::OTHER, format!("{} cannot be made: {error}", directory.display()))
    })?;
    Ok(directory)
}
