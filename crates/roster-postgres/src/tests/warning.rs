//! A commit during which the server sent a warning: the outcome of the write is unknown. A repeated
//! request returns it.

use roster_core::{Failure, Outcome, PolicyKey, Sharing, Store, StoreError, Timestamp};

use super::support::{
    apply, assert_sound, beside, column, create, id, is_unavailable, once, open, schema,
};
use crate::{Connector, change_policy};

/// A trigger that raises a message when the head is updated, or during the commit.
fn trigger(level: &str, kind: &str, when: &str) -> String {
    format!(
        "CREATE FUNCTION say() RETURNS trigger LANGUAGE plpgsql \
         AS $$ BEGIN RAISE {level} 'said'; RETURN NULL; END $$; \
         CREATE {kind} said AFTER UPDATE ON log_head {when} FOR EACH ROW EXECUTE FUNCTION say()"
    )
}

const SILENT: &str = "DROP TRIGGER said ON log_head; DROP FUNCTION say()";

const AT_COMMIT: &str = "DEFERRABLE INITIALLY DEFERRED";

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_with_a_warning_is_in_doubt_and_found_by_its_idempotency_key() {
    let schema = schema();
    let url = schema.url();
    let (client, store) = (beside(&url).await, open(&url).await);
    for (n, kind, when) in [(1, "TRIGGER", ""), (2, "CONSTRAINT TRIGGER", AT_COMMIT)] {
        client.batch_execute(&trigger("WARNING", kind, when)).await.unwrap();
        let user = format!(r#"{{"username":"u{n}"}}"#);
        let result = apply(&store, once(n, create(n, &user))).await;
        assert!(is_unavailable(&result), "{result:?}");
        client.batch_execute(SILENT).await.unwrap();
        // The user exists. It might not if the server had failed at that time.
        let there = store.get(id(n)).await.unwrap().unwrap();
        let again = apply(&store, once(n, create(n, &user))).await.unwrap();
        assert_eq!((again.replayed, again.position), (true, n.cast_signed()));
        assert_eq!(again.stored, there);
    }
    assert_eq!(assert_sound(&url).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_commands_of_a_doubtful_commit_are_in_doubt_and_none_is_repeated() {
    let schema = schema();
    let url = schema.url();
    let (client, store) = (beside(&url).await, open(&url).await);
    client.batch_execute(&trigger("WARNING", "TRIGGER", "")).await.unwrap();
    let users = (1..=300).map(|n| create(n, &format!(r#"{{"username":"u{n}"}}"#))).collect();
    assert!(store.apply(users).await.iter().all(is_unavailable));
    client.batch_execute(SILENT).await.unwrap();
    assert_eq!(assert_sound(&url).await, 300);
    assert_eq!(column(&client, "SELECT count(*) FROM users").await, ["300"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_doubtful_change_of_the_policy_is_an_error() {
    let schema = schema();
    let url = schema.url();
    let (client, _store) = (beside(&url).await, open(&url).await);
    client.batch_execute(&trigger("WARNING", "CONSTRAINT TRIGGER", AT_COMMIT)).await.unwrap();
    let connector = Connector::parse(&url).unwrap();
    let at = Timestamp::from_millis(1);
    let change = async || change_policy(&connector, PolicyKey::Email, Sharing::Shared, at).await;
    let doubtful = change().await.unwrap_err();
    assert!(format!("{doubtful:?}").contains("not known"), "{doubtful:?}");
    client.batch_execute(SILENT).await.unwrap();
    assert!(!change().await.unwrap(), "it was made");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_with_a_notice_is_not_in_doubt() {
    let schema = schema();
    let url = schema.url();
    let (client, store) = (beside(&url).await, open(&url).await);
    client.batch_execute(&trigger("NOTICE", "CONSTRAINT TRIGGER", AT_COMMIT)).await.unwrap();
    let created = apply(&store, create(1, r#"{"username":"ada"}"#)).await;
    assert!(matches!(created, Ok(Outcome { position: 1, .. })), "{created:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_commit_writes_nothing() {
    let schema = schema();
    let url = schema.url();
    let (client, store) = (beside(&url).await, open(&url).await);
    client.batch_execute(&trigger("EXCEPTION", "CONSTRAINT TRIGGER", AT_COMMIT)).await.unwrap();
    let refused = apply(&store, create(1, r#"{"username":"ada"}"#)).await;
    assert!(refused.is_err());
    client.batch_execute(SILENT).await.unwrap();
    assert_eq!(assert_sound(&url).await, 0);
    assert_eq!(apply(&store, create(2, r#"{"username":"ada"}"#)).await.unwrap().position, 1);
}

/// Fails the insertion of one user.
const REFUSE_BAD: &str = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql \
     AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$; \
     CREATE TRIGGER refuse BEFORE INSERT ON users FOR EACH ROW \
     WHEN (NEW.username_key = 'bad'::bytea) EXECUTE FUNCTION refuse()";

#[tokio::test(flavor = "multi_thread")]
async fn a_faulty_command_has_the_same_error_alone_and_in_a_batch() {
    let schema = schema();
    let url = schema.url();
    let (client, store) = (beside(&url).await, open(&url).await);
    client.batch_execute(REFUSE_BAD).await.unwrap();
    let bad = |n| create(n, r#"{"username":"bad"}"#);
    let alone = apply(&store, bad(1)).await;
    let mut batch = vec![create(2, r#"{"username":"one"}"#), bad(3)];
    batch.push(create(4, r#"{"username":"two"}"#));
    let results = store.apply(batch).await;
    assert!(results[0].is_ok() && results[2].is_ok(), "{results:?}");
    for result in [&alone, &results[1]] {
        assert!(matches!(result, Err(Failure::Store(StoreError::Internal(_)))), "{result:?}");
    }
    assert_eq!(assert_sound(&url).await, 2);
}
