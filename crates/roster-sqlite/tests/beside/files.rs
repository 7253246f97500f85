//! A backup with any byte changed, lost or appended is rejected, and leaves no files behind.

use std::{fs, path::Path};

use roster_sqlite::{BackupError, Sealed};
use rusqlite::Connection;
use sha2::{Digest, Sha256};

use super::support::{AT, Place, lived, make};

const END: usize = 4 + 8 + 32;

async fn backed_up() -> (Place, Vec<u8>) {
    let dir = Place::new();
    lived(&dir.data()).await;
    make(&dir.data(), &dir.path("backup"));
    let bytes = fs::read(dir.path("backup")).unwrap();
    (dir, bytes)
}

/// The error for a file with these bytes.
fn rejection(path: &Path, bytes: &[u8]) -> BackupError {
    fs::write(path, bytes).unwrap();
    let rejection = Sealed::open(path).map(|_| ()).unwrap_err();
    let shown = path.display().to_string();
    assert!(rejection.to_string().contains(&shown), "{rejection}");
    rejection
}

#[tokio::test]
async fn one_changed_byte_anywhere_is_rejected() {
    let (dir, bytes) = backed_up().await;
    let path = dir.path("damaged");
    let length = bytes.len();
    let manifest = bytes.windows(10).rposition(|window| window == b"{\"format\":").unwrap();
    // The file header, pages all over the file, the manifest, its length, the format mark and the
    // digest.
    let pages = (100..manifest).step_by(4093);
    let places = (0..100).chain(pages).chain(manifest - 3..length);
    for (n, at) in places.enumerate() {
        let mut altered = bytes.clone();
        altered[at] ^= 1 << (n % 8);
        let rejection = rejection(&path, &altered);
        let whole_end = at < length - END || at >= length - 32;
        if whole_end {
            assert!(matches!(rejection, BackupError::Damaged { .. }), "{at}: {rejection:?}");
        }
    }
    fs::write(&path, &bytes).unwrap();
    Sealed::open(&path).unwrap();
}

#[tokio::test]
async fn a_shortened_or_lengthened_file_is_rejected() {
    let (dir, bytes) = backed_up().await;
    let path = dir.path("damaged");
    for length in [0, 1, END - 1, END, 4096, bytes.len() / 2, bytes.len() - 32, bytes.len() - 1] {
        let rejection = rejection(&path, &bytes[..length]);
        assert!(matches!(rejection, BackupError::NotABackup { .. }), "{length}: {rejection:?}");
    }
    for more in [&b"\0"[..], b"\n", &bytes[..]] {
        let longer = [&bytes[..], more].concat();
        rejection(&path, &longer);
    }
    // A byte missing at the start shifts all the others.
    rejection(&path, &bytes[1..]);
}

#[tokio::test]
async fn a_file_that_is_not_a_backup_is_rejected() {
    let (dir, _) = backed_up().await;
    let database = fs::read(dir.data().join("roster.db")).unwrap();
    let text = "id,name\n".repeat(1000);
    for other in [&database[..], text.as_bytes()] {
        let rejection = rejection(&dir.path("other"), other);
        assert!(matches!(rejection, BackupError::NotABackup { .. }), "{rejection:?}");
    }
    let missing = Sealed::open(&dir.path("missing")).map(|_| ()).unwrap_err();
    assert!(matches!(missing, BackupError::Io { .. }), "{missing:?}");
}

/// A backup with another database or manifest, and a valid digest.
fn with_digest(database: &[u8], manifest: &[u8]) -> Vec<u8> {
    let mut bytes = [database, manifest].concat();
    bytes.extend_from_slice(&u32::try_from(manifest.len()).unwrap().to_be_bytes());
    bytes.extend_from_slice(b"rstrbkup");
    let digest = Sha256::digest(&bytes);
    bytes.extend_from_slice(&digest);
    bytes
}

fn parts(bytes: &[u8]) -> (&[u8], &[u8]) {
    let manifest = bytes.windows(10).rposition(|window| window == b"{\"format\":").unwrap();
    let (database, rest) = bytes.split_at(manifest);
    (database, rest.split_at(rest.len() - END).0)
}

#[tokio::test]
async fn the_error_for_a_backup_of_a_newer_version_names_the_version() {
    let (dir, bytes) = backed_up().await;
    let (database, manifest) = parts(&bytes);
    let manifest = String::from_utf8(manifest.to_owned()).unwrap();
    assert_eq!(
        with_digest(database, manifest.as_bytes()),
        bytes,
        "the digest is computed as documented"
    );
    let schema = roster_sqlite::MIGRATIONS.len();
    for newer in [
        manifest.replace("\"format\":1", "\"format\":2"),
        manifest.replace(&format!("\"schema\":{schema}"), "\"schema\":99"),
    ] {
        assert_ne!(newer, manifest);
        let rejection = rejection(&dir.path("newer"), &with_digest(database, newer.as_bytes()));
        assert!(matches!(rejection, BackupError::Newer { .. }), "{rejection:?}");
        assert!(rejection.to_string().contains("9.9.9"), "{rejection}");
    }
    let rejection = rejection(&dir.path("odd"), &with_digest(database, b"{}"));
    assert!(matches!(rejection, BackupError::Damaged { .. }), "{rejection:?}");
}

#[tokio::test]
async fn a_database_that_differs_from_the_manifest_is_not_restored() {
    let (dir, bytes) = backed_up().await;
    let (database, manifest) = parts(&bytes);
    let text = String::from_utf8(manifest.to_owned()).unwrap();
    let inside = dir.path("inside");
    fs::write(&inside, database).unwrap();
    Connection::open(&inside).unwrap().execute_batch("DELETE FROM deleted_users").unwrap();
    let emptied = fs::read(&inside).unwrap();
    fs::write(&inside, database).unwrap();
    let trigger = "CREATE TRIGGER spy AFTER INSERT ON users BEGIN DELETE FROM users; END";
    Connection::open(&inside).unwrap().execute_batch(trigger).unwrap();
    let spied = fs::read(&inside).unwrap();
    fs::write(&inside, database).unwrap();
    let view = "CREATE VIEW spy AS SELECT * FROM users";
    Connection::open(&inside).unwrap().execute_batch(view).unwrap();
    let viewed = fs::read(&inside).unwrap();
    for altered in [
        with_digest(&spied, manifest),
        with_digest(&viewed, manifest),
        with_digest(database, text.replace("\"users\":4", "\"users\":5").as_bytes()),
        with_digest(&emptied, manifest),
    ] {
        fs::write(dir.path("altered"), altered).unwrap();
        let mut sealed = Sealed::open(&dir.path("altered")).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let rejection = sealed.restore(directory.path(), AT).unwrap_err();
        assert!(matches!(rejection, BackupError::Damaged { .. }), "{rejection:?}");
        assert!(Place::names(directory.path()).is_empty(), "nothing is left behind");
    }
}

#[tokio::test]
async fn a_file_that_changes_after_it_was_opened_is_not_restored() {
    let (dir, bytes) = backed_up().await;
    let mut sealed = Sealed::open(&dir.path("backup")).unwrap();
    // An unused area of a page, which no check of the database reads.
    let at = (0..bytes.len() / 4096).map(|page| page * 4096 + 600).find(|at| {
        let window = &bytes[*at..at + 64];
        window.iter().all(|byte| *byte == 0)
    });
    let mut altered = bytes.clone();
    altered[at.unwrap()] ^= 1;
    fs::write(dir.path("backup"), altered).unwrap();
    let directory = dir.empty("restored");
    let rejection = sealed.restore(&directory, AT).unwrap_err();
    assert!(matches!(rejection, BackupError::Damaged { .. }), "{rejection:?}");
    assert_eq!(Place::names(&directory), ["roster.lock"]);
}
