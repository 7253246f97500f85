//! Dry runs: they have the same results as the writes, and the file does not change.

use roster_core::{Effect, EventKind, Failure, OnConflict, Refusal, Store};
use rusqlite::Connection;

use super::support::{apply, create, delete, id, once, open, or, patch, purge, restore};
use crate::settings::DATABASE;

#[tokio::test]
async fn a_dry_run_changes_nothing_in_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    apply(&store, create(1, r#"{"username":"ada"}"#)).await.unwrap();
    apply(&store, create(2, r#"{"username":"bob"}"#)).await.unwrap();
    apply(&store, delete(3, 2)).await.unwrap();
    let beside = Connection::open(directory.path().join(DATABASE)).unwrap();
    let version =
        || beside.query_row("PRAGMA data_version", [], |row| row.get::<_, i64>(0)).unwrap();
    let before = version();
    let ada = r#"{"username":"ADA","title":"T"}"#;
    for (command, kind) in [
        (once(1, create(4, r#"{"username":"grace"}"#)), EventKind::Created),
        (or(OnConflict::Replace, create(4, ada)), EventKind::Updated),
        (patch(4, 1, r#"{"title":"T"}"#), EventKind::Updated),
        (delete(4, 1), EventKind::Deleted),
        (restore(4, 2), EventKind::Restored),
        (purge(4, 2), EventKind::Purged),
    ] {
        let outcome = store.preview(command).await.unwrap();
        assert_eq!((outcome.effect, outcome.position), (Effect::Changed(kind), 3));
    }
    let skipped = store.preview(or(OnConflict::Skip, create(4, ada))).await.unwrap();
    assert_eq!((skipped.effect, skipped.stored.id), (Effect::Skipped, id(1)));
    let refused = store.preview(create(4, ada)).await.unwrap_err();
    assert!(matches!(refused, Failure::Refused(Refusal::Taken(_))), "{refused:?}");
    assert_eq!(version(), before);
    apply(&store, patch(4, 1, r#"{"title":"T"}"#)).await.unwrap();
    assert_ne!(version(), before);
}

#[tokio::test]
async fn a_dry_run_leaves_no_reader_of_the_log_behind() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    for n in 1..=20 {
        apply(&store, create(n, &format!(r#"{{"username":"u{n}"}}"#))).await.unwrap();
        store.preview(patch(n, n, r#"{"title":"T"}"#)).await.unwrap();
        store.preview(patch(n, 99, "{}")).await.unwrap_err();
    }
    store.close();
    assert_eq!(directory.path().join("roster.db-wal").metadata().unwrap().len(), 0);
}
