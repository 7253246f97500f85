//! Idempotency keys: the result of a request is stored with its change, and deleted with it.

use roster_core::{
    Effect, Failure, Outcome, Outlived, Refusal, SchemaDraft, Store, Timestamp,
    limits::IDEMPOTENCY_KEEP_MS,
};

use super::support::{apply, column, command, create, delete, id, once, open, patch, purge, tree};
use crate::check;

const COUNT: &str = "SELECT count(*) FROM idempotency_keys";

#[tokio::test]
async fn a_repeated_request_is_executed_once_across_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let ada = r#"{"username":"ada"}"#;
    let created = apply(&store, once(1, create(1, ada))).await.unwrap();
    let same = apply(&store, once(2, patch(2, 1, ada))).await.unwrap();
    assert_eq!(same.effect, Effect::Unchanged);
    drop(store);
    let store = open(directory.path());
    apply(&store, patch(3, 1, r#"{"title":"T"}"#)).await.unwrap();
    for (key, first) in [(1, created), (2, same)] {
        let again = apply(&store, once(key, create(9, ada))).await.unwrap();
        assert_eq!(again, Outcome { replayed: true, ..first });
    }
    let head = store.head().await.unwrap();
    assert_eq!((head.position, head.active), (2, 1));
}

#[tokio::test]
async fn a_repetition_in_the_same_transaction_returns_the_first_result() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let commands = (1..=5).map(|n| once(1, create(n, r#"{"username":"ada"}"#))).collect();
    let outcomes: Vec<_> = store.apply(commands).await.into_iter().map(Result::unwrap).collect();
    assert!(!outcomes[0].replayed);
    for outcome in &outcomes[1..] {
        assert_eq!(outcome, &Outcome { replayed: true, ..outcomes[0].clone() });
    }
    assert_eq!(column(directory.path(), COUNT), ["1"]);
}

#[tokio::test]
async fn a_rejection_is_not_stored() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    apply(&store, once(1, patch(1, 1, "{}"))).await.unwrap_err();
    assert_eq!(column(directory.path(), COUNT), ["0"]);
    apply(&store, create(1, r#"{"username":"ada"}"#)).await.unwrap();
    assert!(!apply(&store, once(1, patch(2, 1, "{}"))).await.unwrap().replayed);
    let mut other = once(1, delete(3, 1));
    other.idempotency.as_mut().unwrap().fingerprint = [2; 32];
    let refused = apply(&store, other).await.unwrap_err();
    assert!(matches!(refused, Failure::Refused(Refusal::KeyReused)), "{refused:?}");
    assert!(store.get(id(1)).await.unwrap().is_some());
}

#[tokio::test]
async fn a_deleted_idempotency_key_can_be_used_again() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let later = 2 * IDEMPOTENCY_KEEP_MS.unsigned_abs();
    apply(&store, once(1, create(1, r#"{"username":"ada"}"#))).await.unwrap();
    assert!(apply(&store, once(1, patch(later, 1, "{}"))).await.unwrap().replayed);
    let (keys_before, events_before) =
        (Timestamp::from_millis(i64::MAX), Timestamp::from_millis(0));
    assert_eq!(store.forget(Outlived { keys_before, events_before }).await.unwrap(), 1);
    let outcome = apply(&store, once(1, patch(later, 1, "{}"))).await.unwrap();
    assert_eq!((outcome.replayed, outcome.effect), (false, Effect::Unchanged));
    assert_eq!(column(directory.path(), COUNT), ["1"]);
    assert!(apply(&store, once(1, patch(later + 1, 1, "{}"))).await.unwrap().replayed);
}

#[tokio::test]
async fn a_purge_deletes_stored_results_of_its_user_but_stores_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    apply(&store, once(1, create(1, r#"{"username":"ada"}"#))).await.unwrap();
    apply(&store, once(2, patch(2, 1, "{}"))).await.unwrap();
    apply(&store, once(3, create(2, r#"{"username":"grace"}"#))).await.unwrap();
    apply(&store, once(4, delete(3, 1))).await.unwrap();
    let purged = apply(&store, once(5, purge(4, 1))).await.unwrap();
    let keys = "SELECT hex(substr(key, 1, 1)) FROM idempotency_keys ORDER BY key";
    assert_eq!(column(directory.path(), keys), ["03", "05"]);
    let records = "SELECT count(*) FROM idempotency_keys WHERE record IS NOT NULL";
    assert_eq!(column(directory.path(), records), ["0"]);
    let again = apply(&store, once(5, purge(5, 1))).await.unwrap();
    assert_eq!(again, Outcome { replayed: true, ..purged });
}

#[tokio::test]
async fn a_schema_that_did_not_change_is_repeated_on_a_new_store() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let draft = || SchemaDraft::parse(tree(r#"{"attributes":[]}"#));
    let first = apply(&store, once(7, command(1, draft()))).await.unwrap();
    assert_eq!(first.position, 0);
    let again = apply(&store, once(7, command(2, draft()))).await.unwrap();
    assert!(again.replayed);
    drop(store);
    let findings = check(directory.path()).unwrap();
    assert!(findings.is_sound(), "{findings}");
}
