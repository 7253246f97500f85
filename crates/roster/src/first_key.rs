//! Creates the first key at the first start, if a setting requests it: for containers and machines
//! without a shell.
//!
//! The file is created first, empty and readable only by its owner: a key that cannot be read would
//! lock out all callers. An existing file is never overwritten.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use anyhow::Context;
use roster_core::access::{Authority, Expiry, KeyDraft, KeyFailure, KeyService, Permit, Scopes};
use roster_core::{Clock, StoreError};

/// The name of the key.
const NAME: &str = "first key";

/// Creates a key with all scopes in all tenants and writes it to the file.
pub async fn create(desk: &KeyService, clock: &dyn Clock, path: &Path) -> anyhow::Result<()> {
    let file_name = path.display();
    let mut file = open(path)
        .with_context(|| format!("the file {file_name} for the first key cannot be created"))?;
    let draft = KeyDraft::of(NAME, Scopes::all(), Expiry::Never, clock.now());
    let Ok(draft) = draft else { anyhow::bail!("the first key is not valid") };
    let draft = KeyDraft { has_all_tenants: true, ..draft };
    let authority = Authority::of_the_service();
    let made = desk.create(Permit::of_the_service(), draft, &authority, "start").await;
    let (key, token) = made.map_err(|failure| match failure {
        KeyFailure::Refused(_) => anyhow::anyhow!("the first key was rejected"),
        KeyFailure::Store(error) => anyhow::anyhow!(StoreError::with_causes(&error)),
    })?;
    writeln!(file, "{}", token.reveal())
        .and_then(|()| file.sync_all())
        .with_context(|| format!("the first key cannot be written to {file_name}"))?;
    tracing::info!(key = key.id.as_str(), file = %file_name, "the first key was created");
    Ok(())
}

/// Fails if the file exists, before there is a store.
pub fn refuse_existing(path: &Path) -> anyhow::Result<()> {
    if path.symlink_metadata().is_ok() {
        anyhow::bail!(
            "the file {} for the first key cannot be created: it exists already",
            path.display()
        );
    }
    Ok(())
}

fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}
