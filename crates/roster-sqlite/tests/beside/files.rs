//! A backup with any byte changed, lost or appended is refused, and leaves nothing behind.

use std::{fs, path::Path};

use roster_sqlite::{BackupError, Sealed};
use rusqlite::Connection;
use sha2::{Digest, Sha256};

use super::support::{Place, lived, make};

const END: usize = 4 + 8 + 32;

async fn backed_up() -> (Place, Vec<u8>) {
    let place = Place::new();
    lived(&place.data()).await;
    make(&place.data(), &place.path("backup"));
    let bytes = fs::read(place.path("backup")).unwrap();
    (place, bytes)
}

/// The refusal of a file with these bytes.
fn refused(path: &Path, bytes: &[u8]) -> BackupError {
    fs::write(path, bytes).unwrap();
    let refused = Sealed::open(path).map(|_| ()).unwrap_err();
    let shown = path.display().to_string();
    assert!(refused.to_string().contains(&shown), "{refused}");
    refused
}

#[tokio::test]
async fn one_flipped_byte_anywhere_is_refused() {
    let (place, bytes) = backed_up().await;
    let path = place.path("damaged");
    let length = bytes.len();
    let manifest = bytes.windows(10).rposition(|window| window == b"{\"format\":").unwrap();
    // The header of the file, pages all over it, the manifest, its length, the mark, the digest.
    let pages = (100..manifest).step_by(4093);
    let places = (0..100).chain(pages).chain(manifest - 3..length);
    for (n, at) in places.enumerate() {
        let mut altered = bytes.clone();
        altered[at] ^= 1 << (n % 8);
        let refused = refused(&path, &altered);
        let whole_end = at < length - END || at >= length - 32;
        if whole_end {
            assert!(matches!(refused, BackupError::Damaged { .. }), "{at}: {refused:?}");
        }
    }
    fs::write(&path, &bytes).unwrap();
    Sealed::open(&path).unwrap();
}

#[tokio::test]
async fn what_is_cut_short_or_longer_is_refused() {
    let (place, bytes) = backed_up().await;
    let path = place.path("damaged");
    for length in [0, 1, END - 1, END, 4096, bytes.len() / 2, bytes.len() - 32, bytes.len() - 1] {
        let refused = refused(&path, &bytes[..length]);
        assert!(matches!(refused, BackupError::NotABackup { .. }), "{length}: {refused:?}");
    }
    for more in [&b"\0"[..], b"\n", &bytes[..]] {
        let longer = [&bytes[..], more].concat();
        refused(&path, &longer);
    }
    // What was lost at the start moves all the rest.
    refused(&path, &bytes[1..]);
}

#[tokio::test]
async fn a_file_that_is_something_else_is_refused() {
    let (place, _) = backed_up().await;
    let database = fs::read(place.data().join("roster.db")).unwrap();
    let text = "id,name\n".repeat(1000);
    for other in [&database[..], text.as_bytes()] {
        let refused = refused(&place.path("other"), other);
        assert!(matches!(refused, BackupError::NotABackup { .. }), "{refused:?}");
    }
    let missing = Sealed::open(&place.path("missing")).map(|_| ()).unwrap_err();
    assert!(matches!(missing, BackupError::Io { .. }), "{missing:?}");
}

/// A backup with another database or manifest inside, sealed anew.
fn resealed(database: &[u8], manifest: &[u8]) -> Vec<u8> {
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
async fn a_backup_of_a_newer_version_is_refused_with_its_name() {
    let (place, bytes) = backed_up().await;
    let (database, manifest) = parts(&bytes);
    let manifest = String::from_utf8(manifest.to_owned()).unwrap();
    assert_eq!(resealed(database, manifest.as_bytes()), bytes, "the seal is as it is told");
    let schema = roster_sqlite::MIGRATIONS.len();
    for newer in [
        manifest.replace("\"format\":1", "\"format\":2"),
        manifest.replace(&format!("\"schema\":{schema}"), "\"schema\":99"),
    ] {
        assert_ne!(newer, manifest);
        let refused = refused(&place.path("newer"), &resealed(database, newer.as_bytes()));
        assert!(matches!(refused, BackupError::Newer { .. }), "{refused:?}");
        assert!(refused.to_string().contains("9.9.9"), "{refused}");
    }
    let refused = refused(&place.path("odd"), &resealed(database, b"{}"));
    assert!(matches!(refused, BackupError::Damaged { .. }), "{refused:?}");
}

#[tokio::test]
async fn a_database_that_is_not_what_the_backup_tells_is_not_restored() {
    let (place, bytes) = backed_up().await;
    let (database, manifest) = parts(&bytes);
    let text = String::from_utf8(manifest.to_owned()).unwrap();
    let inside = place.path("inside");
    fs::write(&inside, database).unwrap();
    Connection::open(&inside).unwrap().execute_batch("DELETE FROM deleted_users").unwrap();
    let emptied = fs::read(&inside).unwrap();
    for altered in [
        resealed(database, text.replace("\"users\":4", "\"users\":5").as_bytes()),
        resealed(&emptied, manifest),
    ] {
        fs::write(place.path("altered"), altered).unwrap();
        let mut sealed = Sealed::open(&place.path("altered")).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let refused = sealed.restore(directory.path()).unwrap_err();
        assert!(matches!(refused, BackupError::Damaged { .. }), "{refused:?}");
        assert!(Place::names(directory.path()).is_empty(), "nothing is left behind");
    }
}

#[tokio::test]
async fn a_file_that_changes_after_it_was_opened_is_not_restored() {
    let (place, bytes) = backed_up().await;
    let mut sealed = Sealed::open(&place.path("backup")).unwrap();
    // A free place at the end of a page, which no check of the database looks at.
    let at = (0..bytes.len() / 4096).map(|page| page * 4096 + 600).find(|at| {
        let window = &bytes[*at..at + 64];
        window.iter().all(|byte| *byte == 0)
    });
    let mut altered = bytes.clone();
    altered[at.unwrap()] ^= 1;
    fs::write(place.path("backup"), altered).unwrap();
    let directory = place.empty("restored");
    let refused = sealed.restore(&directory).unwrap_err();
    assert!(matches!(refused, BackupError::Damaged { .. }), "{refused:?}");
    assert_eq!(Place::names(&directory), ["roster.lock"]);
}
