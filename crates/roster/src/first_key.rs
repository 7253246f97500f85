//! The first key, made at the first start where a setting says so: for containers and machines that
//! nobody types commands on.
//!
//! The file is there, empty and for its owner alone, before the key is made: a key that nobody can
//! read would lock everybody out. An existing file is never overwritten.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use anyhow::Context;
use roster_core::access::{Authority, Expiry, KeyDesk, KeyDraft, KeyFailure, Permit, Scopes};
use roster_core::{Clock, StoreError};

/// What the key is called.
const NAME: &str = "first key";

/// Makes a key of every scope and writes it into the file.
pub async fn create(desk: &KeyDesk, clock: &dyn Clock, path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    let mut file = open(path).with_context(|| format!("the first key has no place at {shown}"))?;
    let draft = KeyDraft::of(NAME, Scopes::all(), Expiry::Never, clock.now());
    let Ok(draft) = draft else { anyhow::bail!("the first key is not valid") };
    let authority = Authority::of_the_service();
    let made = desk.create(Permit::of_the_service(), draft, &authority).await;
    let (key, token) = made.map_err(|failure| match failure {
        KeyFailure::Refused(_) => anyhow::anyhow!("the first key was refused"),
        KeyFailure::Store(error) => anyhow::anyhow!(StoreError::with_causes(&error)),
    })?;
    writeln!(file, "{}", token.reveal())
        .and_then(|()| file.sync_all())
        .with_context(|| format!("the first key cannot be written to {shown}"))?;
    tracing::info!(key = key.id.as_str(), file = %shown, "the first key was made");
    Ok(())
}

fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}
