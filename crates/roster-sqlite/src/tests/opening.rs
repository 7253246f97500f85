//! Opening a store: only one process can, the secret stays the same, and the data follows the
//! policy.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt as _, symlink},
};

use roster_core::{PolicyKey, Rules, SharedKeys, Sharing, Store, StoreError, Timestamp};
use rusqlite::Connection;

use super::support::{apply, create, delete, id, open, settings};
use crate::{
    BackupError, KeyFile, Making, OpenError, Sqlite, backup, change_policy, check, read_policy,
    settings::DATABASE,
};

const AT: Timestamp = Timestamp::from_millis(0);

const MAKING: Making<'_> = Making { at: AT, program: "1" };

#[test]
fn a_directory_is_served_by_one_store_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let first = open(directory.path());
    let refused = Sqlite::open(settings(directory.path())).err().unwrap();
    assert!(matches!(refused, OpenError::Locked { .. }), "{refused:?}");
    assert!(refused.to_string().contains("roster.lock"), "{refused}");
    drop(first);
    drop(open(directory.path()));
}

#[test]
fn a_removed_lock_file_lets_no_second_store_in() {
    let directory = tempfile::tempdir().unwrap();
    let first = open(directory.path());
    fs::remove_file(directory.path().join("roster.lock")).unwrap();
    let refused = Sqlite::open(settings(directory.path())).err().unwrap();
    assert!(matches!(refused, OpenError::Locked { .. }), "{refused:?}");
    assert!(refused.to_string().contains("roster.db"), "{refused}");
    let refused = KeyFile::open(directory.path().to_owned()).err().unwrap();
    assert!(matches!(refused, OpenError::Locked { .. }), "{refused:?}");
    drop(first);
    drop(open(directory.path()));
}

#[test]
fn a_database_that_is_a_symbolic_link_is_refused_and_its_target_is_not_changed() {
    let place = tempfile::tempdir().unwrap();
    let (real, linked) = (place.path().join("real"), place.path().join("linked"));
    fs::create_dir(&real).unwrap();
    fs::create_dir(&linked).unwrap();
    drop(open(&real));
    fs::set_permissions(real.join(DATABASE), Permissions::from_mode(0o644)).unwrap();
    let bytes = fs::read(real.join(DATABASE)).unwrap();
    symlink(real.join(DATABASE), linked.join(DATABASE)).unwrap();
    let said = [
        Sqlite::open(settings(&linked)).err().unwrap().to_string(),
        KeyFile::open(linked.clone()).err().unwrap().to_string(),
        KeyFile::open_to_read(&linked).err().unwrap().to_string(),
        read_policy(&linked).err().unwrap().to_string(),
        check(&linked).err().unwrap().to_string(),
        backup(&linked, &place.path().join("b"), MAKING).err().unwrap().to_string(),
    ];
    for said in said {
        assert!(said.contains("linked/roster.db cannot be used"), "{said}");
    }
    let mode = fs::metadata(real.join(DATABASE)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o644);
    assert_eq!(fs::read(real.join(DATABASE)).unwrap(), bytes);
    // A link to the directory is no such link.
    symlink(&real, place.path().join("link")).unwrap();
    drop(open(&place.path().join("link")));
    assert!(check(&place.path().join("link")).unwrap().is_sound());
}

#[test]
fn a_missing_directory_is_an_error_that_names_it() {
    let directory = tempfile::tempdir().unwrap();
    let refused = Sqlite::open(settings(&directory.path().join("none"))).err().unwrap();
    assert!(refused.to_string().contains("none"), "{refused}");
}

#[tokio::test]
async fn a_lost_database_beside_its_log_is_refused_by_every_command_and_the_log_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    apply(&store, create(1, r#"{"username":"ada"}"#)).await.unwrap();
    for is_missing in [false, true] {
        // What a killed process leaves, without its database.
        let copied = tempfile::tempdir().unwrap();
        let (copy, log) = (copied.path(), copied.path().join("roster.db-wal"));
        fs::copy(directory.path().join("roster.db-wal"), &log).unwrap();
        fs::write(copy.join("roster.lock"), "").unwrap();
        if !is_missing {
            fs::write(copy.join(DATABASE), "").unwrap();
        }
        let bytes = fs::read(&log).unwrap();
        assert!(!bytes.is_empty());
        let said = [
            Sqlite::open(settings(copy)).err().unwrap().to_string(),
            KeyFile::open(copy.to_owned()).err().unwrap().to_string(),
            KeyFile::open_to_read(copy).err().unwrap().to_string(),
            read_policy(copy).err().unwrap().to_string(),
            check(copy).err().unwrap().to_string(),
            backup(copy, &copy.join("b"), MAKING).err().unwrap().to_string(),
        ];
        for said in said {
            assert!(said.contains("restore the last backup"), "{said}");
        }
        assert_eq!(fs::read(&log).unwrap(), bytes, "missing: {is_missing}");
        assert_eq!(copy.join(DATABASE).exists(), !is_missing);
    }
}

#[test]
fn an_empty_database_is_refused_unless_a_first_start_was_interrupted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join(DATABASE), "").unwrap();
    // The refused start leaves no lock file, so the next one is refused too.
    for _ in 0..2 {
        let refused = Sqlite::open(settings(path)).err().unwrap();
        assert!(matches!(refused, OpenError::Empty(_)), "{refused:?}");
    }
    fs::write(path.join("roster.lock"), "").unwrap();
    drop(open(path));
    // After a clean stop the log is empty, and shows nevertheless that there was a database.
    assert_eq!(fs::metadata(path.join("roster.db-wal")).unwrap().len(), 0);
    fs::write(path.join(DATABASE), "").unwrap();
    let refused = Sqlite::open(settings(path)).err().unwrap();
    assert!(matches!(refused, OpenError::Lost(_)), "{refused:?}");
}

#[test]
fn a_backup_is_not_served() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()));
    let copy = tempfile::tempdir().unwrap();
    let file = copy.path().join("b");
    backup(directory.path(), &file, MAKING).unwrap();
    let bytes = fs::read(&file).unwrap();
    fs::rename(&file, copy.path().join(DATABASE)).unwrap();
    let refused = Sqlite::open(settings(copy.path())).err().unwrap();
    assert!(matches!(refused, OpenError::Backup(_)), "{refused:?}");
    assert!(check(copy.path()).err().unwrap().to_string().contains("`roster restore`"));
    assert_eq!(fs::read(copy.path().join(DATABASE)).unwrap(), bytes);
}

#[test]
fn a_backup_cannot_have_the_name_of_a_file_of_a_store() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()));
    let elsewhere = tempfile::tempdir().unwrap();
    for name in [
        "roster.db",
        "roster.db-wal",
        "roster.db-shm",
        "roster.db-journal",
        "roster.lock",
        "loading",
    ] {
        for place in [directory.path(), elsewhere.path()] {
            let said = backup(directory.path(), &place.join(name), MAKING).unwrap_err().to_string();
            assert!(said.contains("give the backup another name"), "{said}");
        }
    }
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn secret_and_log_id_are_created_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let (secret, log) = (store.secret().0, store.log_id());
    drop(store);
    let store = open(directory.path());
    assert_eq!((store.secret().0, store.log_id()), (secret, log));
    assert_ne!(secret, [0; 32]);
    let other = tempfile::tempdir().unwrap();
    let other = open(other.path());
    assert_ne!((other.secret().0, other.log_id()), (secret, log));
}

#[test]
fn settings_that_differ_from_the_stored_policy_are_rejected() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()));
    let mut other = settings(directory.path());
    other.rules.email = Sharing::Shared;
    let refused = Sqlite::open(other.clone()).err().unwrap();
    assert!(matches!(refused, OpenError::PolicyMismatch(_)), "{refused:?}");
    let said = refused.to_string();
    assert!(said.contains("`roster policy set email-uniqueness none`"), "{said}");
    other.stated.clear();
    assert_eq!(Sqlite::open(other).unwrap().rules(), Rules::default());
}

#[tokio::test]
async fn a_store_is_unhealthy_while_no_transaction_can_begin() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    apply(&store, create(1, r#"{"username":"ada"}"#)).await.unwrap();
    store.health().await.unwrap();
    let log = fs::metadata(directory.path().join("roster.db-wal")).unwrap().len();
    let other = Connection::open(directory.path().join(DATABASE)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let unhealthy = store.health().await;
    assert!(matches!(unhealthy, Err(StoreError::Unavailable(_))), "{unhealthy:?}");
    other.execute_batch("ROLLBACK").unwrap();
    store.health().await.unwrap();
    let now = fs::metadata(directory.path().join("roster.db-wal")).unwrap().len();
    assert_eq!(now, log, "it writes nothing");
}

#[tokio::test]
async fn a_policy_that_stored_users_violate_is_rejected_and_lists_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    drop(open(path));
    assert!(change_policy(path, PolicyKey::Email, Sharing::Shared, AT).unwrap());
    assert!(!change_policy(path, PolicyKey::Email, Sharing::Shared, AT).unwrap());
    let mut any = settings(path);
    any.stated.clear();
    let store = Sqlite::open(any.clone()).unwrap();
    assert_eq!(store.rules().email, Sharing::Shared);
    for (n, email) in [(1, "a"), (2, "a"), (3, "a"), (4, "b"), (5, "b"), (6, "c")] {
        let user =
            format!(r#"{{"username":"u{n}","email":"{email}@example.com","external_id":"e"}}"#);
        apply(&store, create(n, &user)).await.unwrap();
    }
    // Two users without an address do not share one.
    apply(&store, create(7, r#"{"username":"u7"}"#)).await.unwrap();
    apply(&store, create(8, r#"{"username":"u8"}"#)).await.unwrap();
    // The result is the same while a service runs.
    let refused = change_policy(path, PolicyKey::Email, Sharing::Unique, AT);
    assert!(matches!(refused, Err(OpenError::Shared(_))), "{refused:?}");
    drop(store);
    let refused = change_policy(path, PolicyKey::Email, Sharing::Unique, AT);
    let Err(OpenError::Shared(SharedKeys { count: 2, users, .. })) = &refused else {
        panic!("{refused:?}")
    };
    assert_eq!(users, &[vec![id(1), id(2), id(3)], vec![id(4), id(5)]]);
    let refused = change_policy(path, PolicyKey::ExternalId, Sharing::Unique, AT);
    let Err(OpenError::Shared(SharedKeys { count: 1, users, .. })) = &refused else {
        panic!("{refused:?}")
    };
    assert_eq!(users[0].len(), 5);

    let store = Sqlite::open(any).unwrap();
    for n in [1, 2, 4] {
        apply(&store, delete(9, n)).await.unwrap();
    }
    drop(store);
    assert!(change_policy(path, PolicyKey::Email, Sharing::Unique, AT).unwrap());
    drop(open(path));
}

#[test]
fn a_directory_without_a_store_has_no_policy() {
    let directory = tempfile::tempdir().unwrap();
    assert!(matches!(read_policy(directory.path()), Err(BackupError::NoStore(_))));
    assert!(std::fs::read_dir(directory.path()).unwrap().next().is_none());
}

#[test]
fn a_first_start_that_was_interrupted_leaves_no_store() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    for name in ["roster.lock", DATABASE] {
        fs::write(path.join(name), "").unwrap();
    }
    let said = [
        KeyFile::open_to_read(path).err().unwrap().to_string(),
        read_policy(path).err().unwrap().to_string(),
        check(path).err().unwrap().to_string(),
        backup(path, &path.join("b"), MAKING).err().unwrap().to_string(),
    ];
    for said in said {
        assert!(said.contains("there is no Roster database"), "{said}");
    }
    drop(open(path));
}
