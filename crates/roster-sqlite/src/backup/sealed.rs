//! The file of a backup: a database, a manifest, and a digest of both.
//!
//! From its end backwards: SHA-256 of everything before it (32 bytes), a format mark (8), the
//! length of the manifest (4, big-endian), the manifest, the database. So a byte that was changed,
//! lost or appended anywhere is detected before anything else is read.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::{
    beside,
    error::BackupError,
    manifest::{FORMAT, Manifest},
};
use crate::{
    lost::{BACKUP_MARK, DIGEST_BYTES},
    migrations::MIGRATIONS,
};

const LENGTH_BYTES: u64 = 4;
const MARK_BYTES: u64 = 8;

const MANIFEST_BYTES_MAX: u64 = 64 * 1024;

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 17;

/// A backup whose digest was verified.
#[derive(Debug)]
pub struct Sealed {
    path: PathBuf,
    file: File,
    end: End,
    manifest: Manifest,
}

impl Sealed {
    /// Opens a backup and verifies its digest.
    pub fn open(path: &Path) -> Result<Self, BackupError> {
        let mut file = File::open(path).map_err(BackupError::io(path))?;
        let is_file = file.metadata().map_err(BackupError::io(path))?.is_file();
        let end = if is_file { End::read(&mut file).map_err(BackupError::io(path))? } else { None };
        let Some(end) = end else { return Err(BackupError::NotABackup(path.to_owned())) };
        let digest = digest(&mut file, end.sealed_bytes(), |_| Ok(()));
        if digest.map_err(BackupError::io(path))? != end.digest {
            return Err(changed(path));
        }
        let Some(manifest) = Manifest::read(&end.manifest) else {
            let what = "its description of itself cannot be read".to_owned();
            return Err(BackupError::Damaged { file: path.to_owned(), what });
        };
        let known = usize::try_from(manifest.schema).is_ok_and(|it| it <= MIGRATIONS.len());
        if manifest.format > FORMAT || !known {
            let Manifest { program, .. } = manifest;
            return Err(BackupError::Newer { file: path.to_owned(), program });
        }
        Ok(Self { path: path.to_owned(), file, end, manifest })
    }

    /// Its manifest.
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the database inside the backup file, without copying it.
    pub(crate) fn database(&self) -> Result<rusqlite::Connection, BackupError> {
        beside::open_still(&self.path)
    }

    /// Copies the database to a file, and verifies the digest again during the copy.
    pub(super) fn copy_database(&mut self, to: &mut File, path: &Path) -> Result<(), BackupError> {
        // What follows the database is not copied.
        let mut left = usize::try_from(self.end.database_bytes).unwrap_or(usize::MAX);
        let mut is_written = true;
        let digest = digest(&mut self.file, self.end.sealed_bytes(), |chunk| {
            let part = chunk.get(..left).unwrap_or(chunk);
            left -= part.len();
            let written = to.write_all(part);
            is_written = written.is_ok();
            written
        });
        let failed = if is_written { &self.path } else { path };
        let same = digest.map_err(BackupError::io(failed))? == self.end.digest;
        if same { Ok(()) } else { Err(changed(&self.path)) }
    }
}

/// Completes a backup: appends the manifest, the mark and the digest to the database.
pub(super) fn seal(file: &mut File, manifest: &Manifest) -> io::Result<u64> {
    let database_bytes = file.seek(SeekFrom::End(0))?;
    let manifest = manifest.to_json();
    let length = u32::try_from(manifest.len()).map_err(io::Error::other)?;
    file.write_all(&manifest)?;
    file.write_all(&length.to_be_bytes())?;
    file.write_all(&BACKUP_MARK)?;
    let sealed = database_bytes + u64::from(length) + LENGTH_BYTES + MARK_BYTES;
    let digest = digest(file, sealed, |_| Ok(()))?;
    file.seek(SeekFrom::End(0))?;
    file.write_all(&digest)?;
    file.sync_all()?;
    Ok(sealed + DIGEST_BYTES)
}

fn changed(path: &Path) -> BackupError {
    let what = "its bytes are not those that were written".to_owned();
    BackupError::Damaged { file: path.to_owned(), what }
}

/// The end of a backup.
#[derive(Debug)]
struct End {
    database_bytes: u64,
    manifest: Vec<u8>,
    digest: [u8; 32],
}

impl End {
    /// Parses the end of a file. Returns `None` if the file is not a backup.
    fn read(file: &mut File) -> io::Result<Option<Self>> {
        let bytes = file.seek(SeekFrom::End(0))?;
        let fixed = LENGTH_BYTES + MARK_BYTES + DIGEST_BYTES;
        let Some(before) = bytes.checked_sub(fixed) else { return Ok(None) };
        file.seek(SeekFrom::Start(before))?;
        let (mut length, mut mark, mut digest) = ([0; 4], [0; 8], [0; 32]);
        file.read_exact(&mut length)?;
        file.read_exact(&mut mark)?;
        file.read_exact(&mut digest)?;
        let length = u64::from(u32::from_be_bytes(length));
        let Some(database_bytes) = before.checked_sub(length) else { return Ok(None) };
        if mark != BACKUP_MARK || length > MANIFEST_BYTES_MAX {
            return Ok(None);
        }
        file.seek(SeekFrom::Start(database_bytes))?;
        let mut manifest = Vec::new();
        Read::take(file, length).read_to_end(&mut manifest)?;
        Ok(Some(Self { database_bytes, manifest, digest }))
    }

    fn sealed_bytes(&self) -> u64 {
        let manifest = u64::try_from(self.manifest.len()).unwrap_or(u64::MAX);
        self.database_bytes + manifest + LENGTH_BYTES + MARK_BYTES
    }
}

/// The digest of the first bytes of a file. `on` is called with each chunk of these bytes.
fn digest(
    file: &mut File,
    bytes: u64,
    mut on: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<[u8; 32]> {
    file.seek(SeekFrom::Start(0))?;
    let mut hash = Sha256::new();
    let mut reader = BufReader::with_capacity(CHUNK, file.take(bytes));
    loop {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            return Ok(hash.finalize().into());
        }
        hash.update(chunk);
        on(chunk)?;
        let read = chunk.len();
        reader.consume(read);
    }
}
