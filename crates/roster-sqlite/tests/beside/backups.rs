//! Backups are taken while a service writes, and restored.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use roster_core::{EventKind, Store};
use roster_sqlite::{BackupError, Making, Sealed, Sqlite, backup, check};
use roster_testkit::replay::replay;

use super::support::{
    AT, DAY, Place, alter, apply, create, delete, events, full, lived, make, open, patch, told,
    users,
};

/// Creates, changes and deletes users until it is stopped.
fn writing(store: &Arc<Sqlite>, done: &Arc<AtomicBool>) -> thread::JoinHandle<()> {
    let (store, done) = (Arc::clone(store), Arc::clone(done));
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for n in 1.. {
            if done.load(Ordering::Relaxed) {
                return;
            }
            let title = format!(r#"{{"title":"{n}"}}"#);
            let mut commands = vec![create(n, &full(n)), patch(n, n, &title)];
            if n % 3 == 0 {
                commands.push(delete(n, n - 1));
            }
            runtime.block_on(apply(&store, commands));
        }
    })
}

#[tokio::test]
async fn a_backup_during_writes_restores_to_a_prefix_of_the_log() {
    let place = Place::new();
    let store = Arc::new(open(&place.data()));
    let done = Arc::new(AtomicBool::new(false));
    let writer = writing(&store, &done);
    let mut made = Vec::new();
    for n in 0..4 {
        while store.head().await.unwrap().position < n * 60 + 40 {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        made.push((n, make(&place.data(), &place.path(&format!("backup{n}")))));
    }
    done.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    let truth = events(&store).await;
    let mut before = 0;
    for (n, made) in made {
        let mut sealed = Sealed::open(&place.path(&format!("backup{n}"))).unwrap();
        assert_eq!(sealed.manifest(), &made.manifest);
        let directory = place.empty(&format!("restored{n}"));
        let forked = sealed.restore(&directory, AT).unwrap();
        let findings = check(&directory).unwrap();
        assert!(findings.is_sound(), "{}", told(&findings));
        let restored = open(&directory);
        let (former, end) = (store.log_id(), made.manifest.position);
        assert_eq!((restored.log_id(), end + 1), (forked.log, forked.number));
        assert_ne!(forked.log, former, "later positions of the old log are not of this one");
        assert_eq!(restored.former_log_end(former).await.unwrap(), Some(end));
        assert_eq!(restored.former_log_end(forked.log).await.unwrap(), None);
        let mut log = events(&restored).await;
        let (position, event) = log.pop().unwrap();
        assert_eq!((position, event.kind, event.at), (end + 1, EventKind::LogForked, AT));
        let parent = format!(r#"{{"parent":"{former}-{end}"}}"#);
        assert_eq!(event.record, parent.as_bytes());
        assert_eq!(i64::try_from(log.len()).unwrap(), end);
        assert_eq!(log, truth[..log.len()]);
        assert!(log.len() > before, "a later backup holds more");
        before = log.len();
        let live = users(&restored).await;
        assert_eq!(i64::try_from(live.len()).unwrap(), made.manifest.users);
        let replayed = replay(log.into_iter().map(|(_, event)| event));
        assert_eq!(replayed.into_values().collect::<Vec<_>>(), live);
    }
}

#[tokio::test]
async fn a_restored_store_accepts_writes() {
    let place = Place::new();
    lived(&place.data()).await;
    let made = make(&place.data(), &place.path("backup"));
    let directory = place.empty("restored");
    Sealed::open(&place.path("backup")).unwrap().restore(&directory, AT).unwrap();
    let store = open(&directory);
    assert_eq!(store.head().await.unwrap().position, made.manifest.position + 1);
    apply(&store, vec![create(99, r#"{"username":"grace"}"#)]).await;
    assert_eq!(store.head().await.unwrap().position, made.manifest.position + 2);
    let findings = check(&directory).unwrap();
    assert!(findings.is_sound(), "{}", told(&findings));
}

#[tokio::test]
async fn a_backup_has_a_manifest_and_is_readable_by_its_owner_only() {
    let place = Place::new();
    lived(&place.data()).await;
    let made = make(&place.data(), &place.path("backup"));
    let manifest = &made.manifest;
    assert_eq!((manifest.users, manifest.deleted_users, manifest.position), (4, 2, 11));
    assert_eq!((manifest.created_at.as_millis(), manifest.program.as_str()), (DAY, "9.9.9"));
    assert_eq!(manifest.log_id, open(&place.data()).log_id());
    let metadata = fs::metadata(place.path("backup")).unwrap();
    assert_eq!(metadata.len(), made.bytes);
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    assert_eq!(Place::names(&place.path("")), ["backup", "data"], "nothing else is left");
}

#[tokio::test]
async fn a_backup_contains_no_deleted_bytes() {
    let place = Place::new();
    lived(&place.data()).await;
    let secret = "nobody-may-find-this".repeat(3000);
    // Longer than a page, so that the pages that become free are not overwritten.
    alter(
        &place.data(),
        &format!(
            "PRAGMA secure_delete = OFF; CREATE TABLE t (x); INSERT INTO t VALUES ('{secret}');
             DROP TABLE t;"
        ),
    );
    let holds = |path: &std::path::Path| {
        let bytes = fs::read(path).unwrap();
        bytes.windows(20).any(|window| window == b"nobody-may-find-this")
    };
    alter(&place.data(), "PRAGMA wal_checkpoint(TRUNCATE)");
    assert!(holds(&place.data().join("roster.db")));
    make(&place.data(), &place.path("backup"));
    assert!(!holds(&place.path("backup")));
}

#[tokio::test]
async fn a_damaged_store_is_not_backed_up() {
    for sql in [
        "UPDATE tenants SET active = active + 1",
        "PRAGMA writable_schema = ON;
         UPDATE sqlite_schema
         SET sql = replace(sql, '(tenant, status, id)', '(tenant, version, id)')
         WHERE name = 'users_status'",
    ] {
        let place = Place::new();
        lived(&place.data()).await;
        alter(&place.data(), sql);
        let making = Making { at: roster_core::Timestamp::from_millis(DAY), program: "1" };
        let refused = backup(&place.data(), &place.path("backup"), making).unwrap_err();
        assert!(matches!(refused, BackupError::Faulty { .. }), "{refused:?}");
        assert_eq!(Place::names(&place.path("")), ["data"]);
    }
}

#[test]
fn the_error_for_a_directory_without_a_store_names_it() {
    let place = Place::new();
    let making = Making { at: roster_core::Timestamp::from_millis(DAY), program: "1" };
    let refused = backup(&place.data(), &place.path("backup"), making).unwrap_err();
    assert!(matches!(refused, BackupError::NoStore { .. }), "{refused:?}");
    assert!(matches!(check(&place.data()).unwrap_err(), BackupError::NoStore { .. }));
    assert!(Place::names(&place.data()).is_empty(), "nothing was made");
}

#[tokio::test]
async fn nothing_is_overwritten() {
    let place = Place::new();
    lived(&place.data()).await;
    fs::write(place.path("notes"), "mine").unwrap();
    let making = Making { at: roster_core::Timestamp::from_millis(DAY), program: "1" };
    let refused = backup(&place.data(), &place.path("notes"), making).unwrap_err();
    assert!(matches!(refused, BackupError::Exists { .. }), "{refused:?}");
    assert_eq!(fs::read_to_string(place.path("notes")).unwrap(), "mine");

    make(&place.data(), &place.path("backup"));
    let mut sealed = Sealed::open(&place.path("backup")).unwrap();
    let before = fs::read(place.data().join("roster.db")).unwrap();
    let refused = sealed.restore(&place.data(), AT).unwrap_err();
    assert!(matches!(refused, BackupError::HasStore { .. }), "{refused:?}");
    assert_eq!(fs::read(place.data().join("roster.db")).unwrap(), before);
    let half = place.empty("half");
    fs::write(half.join("roster.db-wal"), "").unwrap();
    assert!(matches!(sealed.restore(&half, AT).unwrap_err(), BackupError::HasStore { .. }));
    assert_eq!(Place::names(&half), ["roster.db-wal"]);
}
