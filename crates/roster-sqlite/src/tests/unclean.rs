//! After an unclean stop all acknowledged writes exist, and damage is reported.

use std::{
    fs,
    io::{Seek as _, SeekFrom, Write as _},
    path::Path,
    thread,
    time::Duration,
};

use roster_core::{Store, StoreError, Timestamp};

use super::support::{apply, create, id, open, settings};
use crate::{KeyFile, Making, OpenError, Sqlite, backup, check, unload::Export};

const MAKING: Making<'_> = Making { at: Timestamp::from_millis(0), program: "1" };

/// Copies the files of an open store. They are the files that a killed process leaves.
fn copy_of(directory: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for name in ["roster.db", "roster.db-wal"] {
        fs::copy(directory.join(name), copy.path().join(name)).unwrap();
    }
    copy
}

#[tokio::test]
async fn acknowledged_writes_survive_an_unclean_stop() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    for n in 1..=50 {
        let user = format!(r#"{{"username":"u{n}"}}"#);
        let created = apply(&store, create(n, &user)).await.unwrap();
        if n % 10 == 0 {
            let copied = copy_of(directory.path());
            let log = copied.path().join("roster.db-wal");
            assert!(fs::metadata(&log).unwrap().len() > 0);
            let copy = open(copied.path());
            assert_eq!(fs::metadata(&log).unwrap().len(), 0, "the log is copied and synced");
            assert_eq!(copy.get(id(n)).await.unwrap(), Some(created.stored));
            assert_eq!(copy.head().await.unwrap().position, created.position);
            copy.health().await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_damaged_log_is_not_opened_and_the_check_reports_it() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    for n in 1..=10 {
        apply(&store, create(n, &format!(r#"{{"username":"u{n}"}}"#))).await.unwrap();
    }
    assert!(check(directory.path()).unwrap().is_sound(), "while it is served");
    let copy = copy_of(directory.path());
    let log = copy.path().join("roster.db-wal");
    let mut bytes = fs::read(&log).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&log, &bytes).unwrap();
    let refused = Sqlite::open(settings(copy.path())).err().unwrap();
    let OpenError::DamagedLog { at, keep, .. } = refused else { panic!("{refused:?}") };
    let middle = u64::try_from(middle).unwrap();
    assert!(at <= middle && middle < at + 24 + 4096 && keep <= at);
    let said = [
        refused.to_string(),
        KeyFile::open(copy.path().to_owned()).err().unwrap().to_string(),
        backup(copy.path(), &copy.path().join("b"), MAKING).unwrap_err().to_string(),
        Export::open(copy.path()).err().unwrap().to_string(),
    ];
    for said in said {
        assert!(said.contains("is damaged at byte") && said.contains("backup"), "{said}");
    }
    let found = check(copy.path()).unwrap();
    assert!(found.to_string().contains("roster.db-wal: it is damaged at byte"), "{found}");
    assert_eq!(fs::read(&log).unwrap(), bytes, "the log is kept");
    // What the message says: the commits before the damage can still be served.
    fs::OpenOptions::new().write(true).open(&log).unwrap().set_len(keep).unwrap();
    let opened = open(copy.path());
    assert!(opened.head().await.unwrap().position < 10);
    drop(opened);
    assert!(check(copy.path()).unwrap().is_sound());
}

#[tokio::test]
async fn the_health_check_reports_a_damaged_file() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let user = |n: u64| format!(r#"{{"username":"u{n}","name":"{}"}}"#, "x".repeat(250));
    for result in store.apply((1..=500).map(|n| create(n, &user(n))).collect()).await {
        result.unwrap();
    }
    drop(store);
    let store = open(directory.path());
    apply(&store, create(501, r#"{"username":"last"}"#)).await.unwrap();
    let copy = copy_of(directory.path());
    let mut file = fs::OpenOptions::new().write(true).open(copy.path().join("roster.db")).unwrap();
    // Pages in the middle of the file. The header, the schema and the newest rows are not changed.
    for page in 60..80 {
        file.seek(SeekFrom::Start(page * 4096)).unwrap();
        file.write_all(&[0xA5; 4096]).unwrap();
    }
    drop(file);
    let damaged = open(copy.path());
    for _ in 0..200 {
        if let Err(error) = damaged.health().await {
            assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
            return;
        }
        thread::sleep(Duration::from_millis(25));
    }
    panic!("nobody noticed");
}
