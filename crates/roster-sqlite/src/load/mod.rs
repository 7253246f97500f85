//! Filling a new store.
//!
//! Until it is complete the store is in a directory of its own and is not served, so nothing is
//! synced before the end. What an interrupted load leaves is removed by the next one.

pub(crate) mod postponed;

use std::{
    fs::{self, DirBuilder, File},
    io::ErrorKind,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use crate::{
    Settings, Sqlite,
    backup::{BackupError, refuse_store, sync_folder},
    connection::{READ_WRITE, open},
    lock::DirectoryLock,
    settings::{DATABASE, LOADING, Purpose},
};

/// The page cache of the writer, in KiB: it has room for the indexes that creates read and for the
/// rows that are sorted at a time.
const CACHE_KIB: u32 = 256 * 1024;

/// A store that is being filled.
pub struct Load {
    store: Sqlite,
    place: Place,
    target: PathBuf,
    _lock: DirectoryLock,
}

/// The directory of the incomplete store, which is removed when this is dropped.
struct Place(PathBuf);

impl Load {
    /// Begins a store in an existing data directory that has none.
    pub fn begin(settings: Settings) -> Result<Self, BackupError> {
        let target = settings.directory.clone();
        refuse_store(&target)?;
        let lock = DirectoryLock::take(&target)?;
        refuse_store(&target)?;
        let place = Place(target.join(LOADING));
        place.clear().map_err(BackupError::io(&place.0))?;
        let created = DirBuilder::new().mode(0o700).create(&place.0);
        created.map_err(BackupError::io(&place.0))?;
        let store = Sqlite::open(Settings {
            directory: place.0.clone(),
            purpose: Purpose::Fill,
            writer_cache_kib: CACHE_KIB,
            ..settings
        })?;
        Ok(Self { store, place, target, _lock: lock })
    }

    /// The store. Only creates that reject conflicts are executed in it.
    pub const fn store(&self) -> &Sqlite {
        &self.store
    }

    /// The directory of the incomplete store.
    pub fn directory(&self) -> &Path {
        &self.place.0
    }

    /// Writes the indexes, closes the store and moves it to the data directory. It is on disk when
    /// this returns.
    pub async fn finish(self) -> Result<(), BackupError> {
        let finished = self.store.write(postponed::finish).await;
        self.store.close();
        finished.map_err(BackupError::Unfinished)?;
        serve_by_log(&self.place.0)?;
        let file = self.place.0.join(DATABASE);
        let synced = File::open(&file).and_then(|file| file.sync_all());
        synced.map_err(BackupError::io(&file))?;
        let target = self.target.join(DATABASE);
        fs::rename(&file, &target).map_err(BackupError::io(&target))?;
        sync_folder(&self.target)
    }
}

impl Place {
    /// Removes the directory, if there is one.
    fn clear(&self) -> std::io::Result<()> {
        match fs::remove_dir_all(&self.0) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // If it cannot be removed, the next load reports why.
        self.clear().unwrap_or_default();
    }
}

/// Changes the file to the journal of a served store.
fn serve_by_log(directory: &Path) -> rusqlite::Result<()> {
    let connection = open(directory, READ_WRITE)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.close().map_err(|(_, error)| error)
}
