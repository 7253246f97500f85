//! Opening by several processes at once, and the policy of the store: stated, changed, followed.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use roster_core::{
    Failure, Outcome, PolicyKey, PolicyMismatch, Refusal, Rules, SharedKeys, Sharing, Store,
    list::PageQuery,
};
use tokio::join;

use super::support::{
    AT, apply, assert_sound, beside, column, create, delete, id, is_unavailable, open, open_with,
    schema, set_policy, settings,
};
use crate::{Connector, OpenError, Postgres, Settings, change_policy, check, read_policy};

const SHARED: Rules = Rules {
    email: Sharing::Shared,
    external_id: Sharing::Shared,
    put: roster_core::Guard::Off,
    delete: roster_core::Guard::Off,
};

const UNIQUE_INDEXES: &str = "SELECT indexname FROM pg_indexes \
     WHERE schemaname = current_schema() AND indexname LIKE '%\\_unique' ORDER BY indexname";

fn user(n: u64) -> String {
    format!(r#"{{"username":"u{n}","email":"u{n}@example.com"}}"#)
}

fn agree(one: &Postgres, other: &Postgres) {
    assert_eq!(one.log_id(), other.log_id());
    assert_eq!(one.secret().0, other.secret().0);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_stores_can_open_an_empty_database_at_once() {
    for _ in 0..5 {
        let schema = schema();
        let url = schema.url();
        let (one, other) = join!(open(&url), open(&url));
        agree(&one, &other);
        let (first, second) =
            join!(apply(&one, create(1, &user(1))), apply(&other, create(2, &user(2))));
        let mut positions = [first.unwrap().position, second.unwrap().position];
        positions.sort_unstable();
        assert_eq!(positions, [1, 2]);
        for store in [&one, &other] {
            let page = store.page(PageQuery::first(9)).await.unwrap();
            assert_eq!((page.items.len(), page.position), (2, 2));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn three_stores_can_open_an_empty_database_at_once() {
    let schema = schema();
    let url = schema.url();
    let (one, two, three) = join!(open(&url), open(&url), open(&url));
    agree(&one, &two);
    agree(&one, &three);
    for (n, store) in (1..).zip([&one, &two, &three, &one]) {
        assert_eq!(apply(store, create(n, &user(n))).await.unwrap().position, n.cast_signed());
    }
    assert_eq!(assert_sound(&url).await, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn opening_with_the_same_rules_keeps_the_era() {
    let schema = schema();
    let url = schema.url();
    let first = open(&url).await;
    apply(&first, create(1, &user(1))).await.unwrap();
    let second = open(&url).await;
    agree(&first, &second);
    apply(&second, create(2, &user(2))).await.unwrap();
    apply(&first, create(3, &user(3))).await.unwrap();
}

/// A user with the address of the first one.
fn twin(n: u64) -> String {
    format!(r#"{{"username":"u{n}","email":"u1@example.com"}}"#)
}

async fn set_email(url: &str, sharing: Sharing) -> Result<bool, OpenError> {
    change_policy(&Connector::parse(url).unwrap(), PolicyKey::Email, sharing, AT).await
}

fn is_taken(result: &Result<Outcome, Failure>) -> bool {
    matches!(result, Err(Failure::Refused(Refusal::Taken(_))))
}

#[tokio::test(flavor = "multi_thread")]
async fn running_stores_apply_a_changed_policy_to_the_next_write() {
    let schema = schema();
    let url = schema.url();
    let (one, two, three) = join!(open(&url), open(&url), open(&url));
    apply(&one, create(1, &user(1))).await.unwrap();
    assert!(is_taken(&apply(&two, create(2, &twin(2))).await));
    assert!(set_email(&url, Sharing::Shared).await.unwrap());
    assert!(!set_email(&url, Sharing::Shared).await.unwrap());
    assert!(three.preview(create(3, &twin(3))).await.is_ok());
    assert_eq!(three.rules().email, Sharing::Shared);
    // A batch whose only command was rejected under the old policy, and one that also has another
    // write.
    apply(&one, create(2, &twin(2))).await.unwrap();
    let both = two.apply(vec![create(3, &twin(3)), create(4, &user(4))]).await;
    assert!(both.iter().all(Result::is_ok), "{both:?}");
    for n in [2, 3] {
        apply(&one, delete(10 + n, n)).await.unwrap();
    }
    assert!(set_email(&url, Sharing::Unique).await.unwrap());
    assert!(is_taken(&three.preview(create(5, &twin(5))).await));
    assert!(is_taken(&apply(&one, create(5, &twin(5))).await));
    assert!(is_taken(&apply(&two, create(5, &twin(5))).await));
    for store in [&one, &two, &three] {
        store.health().await.unwrap();
        assert_eq!(store.rules(), Rules::default());
    }
    assert_sound(&url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_change_during_writes_rejects_no_write() {
    let schema = schema();
    let url = schema.url();
    let (store, done) = (Arc::new(open(&url).await), Arc::new(AtomicBool::new(false)));
    let writers: Vec<_> = (0..4_u64)
        .map(|writer| {
            let (store, done) = (Arc::clone(&store), Arc::clone(&done));
            tokio::spawn(async move {
                let mut written = 0;
                for n in (1..).map(|turn| turn * 4 + writer) {
                    let result = apply(&store, create(n, &user(n))).await;
                    // If the disk is slow, the response to a commit may come too late.
                    assert!(result.is_ok() || is_unavailable(&result), "{result:?}");
                    written += u64::from(result.is_ok());
                    if done.load(Ordering::Relaxed) && written > 0 {
                        return;
                    }
                }
            })
        })
        .collect();
    for sharing in [Sharing::Shared, Sharing::Unique].into_iter().cycle().take(6) {
        assert!(set_email(&url, sharing).await.unwrap());
    }
    done.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    assert_sound(&url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_newer_release_migrates_the_store_the_old_one_reads_and_is_not_ready() {
    let schema = schema();
    let url = schema.url();
    let client = beside(&url).await;
    let store = open(&url).await;
    apply(&store, create(1, &user(1))).await.unwrap();
    let next = "INSERT INTO schema_steps SELECT max(number) + 1, '' FROM schema_steps; \
         UPDATE log_head SET era = era + 1, writer_era = NULL";
    client.batch_execute(next).await.unwrap();
    let batch = store.apply((2..300).map(|n| create(n, &user(n))).collect()).await;
    assert!(batch.iter().all(is_unavailable));
    assert!(store.health().await.is_err());
    assert_eq!(column(&client, "SELECT count(*) FROM users").await, ["1"]);
    assert_eq!(column(&client, "SELECT count(*) FROM words WHERE word = 'u2'").await, ["0"]);
    let checked = check(&Connector::parse(&url).unwrap()).await;
    assert!(matches!(checked, Err(OpenError::Newer { .. })), "{checked:?}");
    client.batch_execute("DELETE FROM schema_steps WHERE statement = ''").await.unwrap();
    assert_eq!(assert_sound(&url).await, 1);
    assert!(store.get(id(1)).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_differ_from_the_stored_policy_are_rejected() {
    let schema = schema();
    let url = schema.url();
    let store = open(&url).await;
    let stated = Settings { rules: SHARED, ..settings(&url) };
    let refused = Postgres::open(stated).await.err().unwrap();
    assert!(
        matches!(refused, OpenError::PolicyMismatch(PolicyMismatch { key: PolicyKey::Email, .. })),
        "{refused:?}"
    );
    let said = refused.to_string();
    assert!(said.contains("`roster policy set email-uniqueness none`"), "{said}");
    // The failed start changed nothing. A configuration that states no policy accepts the stored
    // one.
    apply(&store, create(1, &user(1))).await.unwrap();
    let open_to_any = Settings { rules: SHARED, stated: Vec::new(), ..settings(&url) };
    let other = Postgres::open(open_to_any).await.unwrap();
    assert_eq!(other.rules(), Rules::default());
    assert!(is_taken(&apply(&other, create(2, &twin(2))).await));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_without_a_store_has_no_policy() {
    let schema = schema();
    let connector = Connector::parse(&schema.url()).unwrap();
    assert!(matches!(read_policy(&connector).await, Err(OpenError::NoStore)));
    let refused = set_email(&schema.url(), Sharing::Shared).await;
    assert!(matches!(refused, Err(OpenError::NoStore)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unique_index_enforces_the_address_policy() {
    let schema = schema();
    let url = schema.url();
    let client = beside(&url).await;
    let both = Rules { external_id: Sharing::Unique, ..Rules::default() };
    open(&url).await.close().await;
    for (rules, indexes) in [
        (Rules::default(), vec!["users_email_unique"]),
        (SHARED, vec![]),
        (both, vec!["users_email_unique", "users_external_id_unique"]),
        (Rules::default(), vec!["users_email_unique"]),
    ] {
        set_policy(&url, rules).await;
        assert_eq!(column(&client, UNIQUE_INDEXES).await, indexes);
    }
    let twin = "INSERT INTO users SELECT 0, gen_random_uuid(), 1, 0, 0, \
         gen_random_uuid()::text::bytea, 'a@x', NULL, NULL, '\\xff', '\\xff', '\\xff', '{}'";
    client.batch_execute(twin).await.unwrap();
    let refused = client.batch_execute(twin).await.unwrap_err();
    let constraint = refused.as_db_error().unwrap().constraint();
    assert_eq!(constraint, Some("users_email_unique"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_that_stored_users_violate_is_rejected_and_changes_nothing() {
    let schema = schema();
    let url = schema.url();
    let store = open_with(&url, SHARED).await;
    for n in 1..=4 {
        // Two addresses, each shared by two users, and users without an address.
        let user = format!(r#"{{"username":"u{n}","email":"{}@example.com"}}"#, n % 2);
        apply(&store, create(n, &user)).await.unwrap();
        apply(&store, create(n + 10, &format!(r#"{{"username":"n{n}"}}"#))).await.unwrap();
    }
    let refused = set_email(&url, Sharing::Unique).await.err();
    let Some(OpenError::Shared(SharedKeys { count: 2, users, .. })) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(users, [[id(2), id(4)], [id(1), id(3)]]);
    assert!(column(&beside(&url).await, UNIQUE_INDEXES).await.is_empty());
    // The era of the store has not ended.
    apply(&store, create(5, r#"{"username":"u5","email":"1@example.com"}"#)).await.unwrap();
}
