//! Creates the first key at the first start, if a setting requests it: for containers and machines
//! without a shell.
//!
//! The key is in its file, readable only by its owner and on disk, before the store has it: a key
//! that nobody can read would lock out all callers. So after a crash the file may have a key that
//! does not exist. The next start then refuses the file, as any existing one: it is never
//! overwritten.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Seek, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use anyhow::Context;
use roster_core::access::{
    Authority, Expiry, KeyDraft, KeyFailure, KeyRefusal, KeyService, Permit, Scopes, Token,
};
use roster_core::{Clock, StoreError};

/// The name of the key.
const NAME: &str = "first key";

/// Why there is no key.
enum Failure {
    Key(KeyFailure),
    File(io::Error),
}

impl From<KeyFailure> for Failure {
    fn from(failure: KeyFailure) -> Self {
        Self::Key(failure)
    }
}

/// Creates a key with all scopes in all tenants and writes it to the file.
pub async fn create(desk: &KeyService, clock: &dyn Clock, path: &Path) -> anyhow::Result<()> {
    refuse_existing(path)?;
    create_in(new_file(path)?, desk, clock, path).await
}

/// Creates the key and writes it to this new file.
async fn create_in(
    mut file: File,
    desk: &KeyService,
    clock: &dyn Clock,
    path: &Path,
) -> anyhow::Result<()> {
    let draft = KeyDraft::of(NAME, Scopes::all(), Expiry::Never, clock.now());
    let Ok(draft) = draft else { anyhow::bail!("the first key is not valid") };
    let draft = KeyDraft { has_all_tenants: true, ..draft };
    let (permit, authority) = (Permit::of_the_service(), Authority::of_the_service());
    let keep = |token: &Token| keep(&mut file, token.reveal(), path).map_err(Failure::File);
    let made = desk.create_first(permit, draft, &authority, "start", keep);
    let file_name = path.display();
    match made.await {
        Ok((key, _)) => {
            tracing::info!(key = key.id.as_str(), file = %file_name, "the first key was created");
            Ok(())
        }
        Err(failure) => {
            if is_certain(&failure) {
                fs::remove_file(path).unwrap_or_default();
            }
            Err(match failure {
                Failure::Key(KeyFailure::Refused(KeyRefusal::Closed)) => {
                    tracing::info!(file = %file_name, "another process has created the first key");
                    return Ok(());
                }
                Failure::Key(KeyFailure::Refused(_)) => {
                    anyhow::anyhow!("the first key was rejected")
                }
                Failure::Key(KeyFailure::Store(error)) => {
                    anyhow::anyhow!(StoreError::with_causes(&error))
                }
                Failure::File(error) => anyhow::Error::new(error).context(format!(
                    "the first key cannot be written to {file_name}, so none was created"
                )),
            })
        }
    }
}

/// Whether no key exists after this failure. After the others the store may have the key, and then
/// the file has the only copy of its text.
const fn is_certain(failure: &Failure) -> bool {
    match failure {
        Failure::File(_)
        | Failure::Key(KeyFailure::Refused(_) | KeyFailure::Store(StoreError::Full(_))) => true,
        Failure::Key(KeyFailure::Store(
            StoreError::Unavailable(_)
            | StoreError::Superseded(_)
            | StoreError::WritesStopped
            | StoreError::TimedOut
            | StoreError::Corrupt { .. }
            | StoreError::Internal(_),
        )) => false,
    }
}

/// Makes this line the content of the file. The file is on disk when this returns, with its name.
fn keep(file: &mut File, text: &str, path: &Path) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{text}")?;
    file.sync_all()?;
    File::open(folder(path))?.sync_all()
}

/// The directory of the file.
fn folder(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Fails, before there is a store, if the file exists or cannot be created. The data directory and
/// those above it do not need to exist yet.
pub fn refuse_unfit(path: &Path, data: &Path) -> anyhow::Result<()> {
    refuse_existing(path)?;
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = folder(path);
    if !folder.is_dir() {
        if absolute(data).starts_with(absolute(folder)) {
            return Ok(());
        }
        anyhow::bail!(
            "the file {} for the first key cannot be created: there is no directory {}",
            path.display(),
            folder.display()
        );
    }
    drop(new_file(path)?);
    fs::remove_file(path).with_context(|| format!("the file {} cannot be removed", path.display()))
}

/// The new file for the key.
fn new_file(path: &Path) -> anyhow::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.with_context(|| format!("the file {} for the first key cannot be created", path.display()))
}

fn refuse_existing(path: &Path) -> anyhow::Result<()> {
    if path.symlink_metadata().is_ok() {
        anyhow::bail!(
            "the file {} for the first key cannot be created: it exists already, and no key was \
             ever created. If a start that was interrupted left it, remove it; otherwise name \
             another file",
            path.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::PermissionsExt, path::PathBuf, sync::Arc};

    use roster_core::{KeyStore, TenantId};
    use roster_sqlite::KeyFile;

    use super::*;
    use crate::clock::SystemClock;

    /// A store, its keys, and the file for the first one.
    fn place() -> (tempfile::TempDir, KeyService, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let desk = desk(KeyFile::open(place.path().to_owned()).unwrap());
        let file = place.path().join("key");
        (place, desk, file)
    }

    fn desk(store: KeyFile) -> KeyService {
        let store: Arc<dyn KeyStore> = Arc::new(store);
        KeyService::new(store, Arc::new(SystemClock::default()), TenantId::DEFAULT)
    }

    async fn count(desk: &KeyService) -> usize {
        let (permit, authority) = (Permit::of_the_service(), Authority::of_the_service());
        desk.list(permit, &authority).await.unwrap().len()
    }

    #[tokio::test]
    async fn the_file_has_the_key_for_its_owner() {
        let (_place, desk, file) = place();
        create(&desk, &SystemClock::default(), &file).await.unwrap();
        let key = fs::read_to_string(&file).unwrap();
        assert!(key.starts_with("rst_") && key.ends_with('\n'), "{key}");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(count(&desk).await, 1);
    }

    #[tokio::test]
    async fn if_the_file_cannot_be_written_no_key_is_created_and_the_file_is_removed() {
        let (_place, desk, file) = place();
        fs::write(&file, "").unwrap();
        // A file that takes no bytes, as on a full disk.
        let full = File::open(&file).unwrap();
        let failed = create_in(full, &desk, &SystemClock::default(), &file).await;
        let said = format!("{:#}", failed.unwrap_err());
        assert!(said.contains("so none was created"), "{said}");
        assert_eq!((count(&desk).await, file.exists()), (0, false));
        create(&desk, &SystemClock::default(), &file).await.unwrap();
    }

    #[tokio::test]
    async fn the_file_stays_if_the_store_may_have_its_key() {
        let (place, _desk, file) = place();
        let unwritable = desk(KeyFile::open_to_read(place.path()).unwrap());
        create(&unwritable, &SystemClock::default(), &file).await.unwrap_err();
        assert!(fs::read_to_string(&file).unwrap().starts_with("rst_"));
        let refused = create(&unwritable, &SystemClock::default(), &file).await.unwrap_err();
        assert!(refused.to_string().contains("remove it"), "{refused}");
    }

    #[test]
    fn a_file_without_a_directory_is_refused_before_there_is_a_store() {
        let place = tempfile::tempdir().unwrap();
        let (data, at) = (place.path().join("deep/data"), |name: &str| place.path().join(name));
        let said = refuse_unfit(&at("none/key"), &data).unwrap_err().to_string();
        assert!(said.contains("there is no directory") && said.contains("none"), "{said}");
        for fit in ["key", "deep/key", "deep/data/key"] {
            refuse_unfit(&at(fit), &data).unwrap();
            assert!(!at(fit).exists());
        }
        // No user may create a file there.
        let said = refuse_unfit(Path::new("/proc/key"), &data).unwrap_err().to_string();
        assert!(said.contains("cannot be created"), "{said}");
        assert!(refuse_unfit(&at("deep/data/keys/key"), &data).is_err());
    }
}
