//! Opening: by several at once, and with other rules than before.

use roster_core::{Failure, Rules, Sharing, Store, StoreError, list::PageQuery};
use tokio::join;

use super::support::{
    apply, assert_sound, beside, column, create, id, is_unavailable, open, open_with, schema,
    settings,
};
use crate::{OpenError, Postgres};

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
async fn two_that_open_an_empty_database_at_once_agree_and_both_write() {
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
async fn three_that_open_an_empty_database_at_once_agree_and_all_write() {
    let schema = schema();
    let url = schema.url();
    let (one, two, three) = join!(open(&url), open(&url), open(&url));
    agree(&one, &two);
    agree(&one, &three);
    for (n, store) in (1..).zip([&one, &two, &three, &one]) {
        assert_eq!(apply(store, create(n, &user(n))).await.unwrap().position, n.cast_signed());
    }
    assert_eq!(assert_sound(&beside(&url).await).await, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_opens_again_with_the_same_rules_ends_nobodys_era() {
    let schema = schema();
    let url = schema.url();
    let first = open(&url).await;
    apply(&first, create(1, &user(1))).await.unwrap();
    let second = open(&url).await;
    agree(&first, &second);
    apply(&second, create(2, &user(2))).await.unwrap();
    apply(&first, create(3, &user(3))).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_under_rules_that_were_changed_writes_nothing_more_and_reads_on() {
    let schema = schema();
    let url = schema.url();
    let client = beside(&url).await;
    let first = open(&url).await;
    apply(&first, create(1, &user(1))).await.unwrap();
    let second = open_with(&url, SHARED).await;
    for n in 2..5 {
        let refused = apply(&first, create(n, &user(n))).await;
        assert!(is_unavailable(&refused), "{refused:?}");
    }
    let batch = first.apply((5..300).map(|n| create(n, &user(n))).collect()).await;
    assert!(batch.iter().all(is_unavailable));
    assert_eq!(column(&client, "SELECT count(*) FROM users").await, ["1"]);
    assert_eq!(column(&client, "SELECT count(*) FROM words WHERE word = 'u2'").await, ["0"]);
    assert_eq!(assert_sound(&client).await, 1);
    assert!(first.get(id(1)).await.unwrap().is_some());
    // Those who hold to the new rules write on, under these.
    apply(&second, create(2, r#"{"username":"u2","email":"u1@example.com"}"#)).await.unwrap();
    assert_eq!(first.get(id(2)).await.unwrap().unwrap().version, 1);
    assert_eq!(assert_sound(&client).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_era_that_ends_in_the_midst_of_writes_halves_none_of_them() {
    const WRITERS: u64 = 4;
    let schema = schema();
    let url = schema.url();
    let first = std::sync::Arc::new(open(&url).await);
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let store = std::sync::Arc::clone(&first);
            tokio::spawn(async move {
                let mut told = Vec::new();
                let mut refused = 0;
                for n in (1..3000).map(|turn| turn * WRITERS + writer) {
                    let result = apply(&store, create(n, &user(n))).await;
                    refused += u32::from(result.is_err());
                    told.push((n, result));
                    if refused == 3 {
                        return told;
                    }
                }
                panic!("its era has not ended")
            })
        })
        .collect();
    while first.head().await.unwrap().position < 60 {
        tokio::task::yield_now().await;
    }
    let second = open_with(&url, SHARED).await;
    for writer in writers {
        for (n, result) in writer.await.unwrap() {
            match result {
                Ok(outcome) => assert_eq!(second.get(id(n)).await.unwrap(), Some(outcome.stored)),
                Err(Failure::Store(StoreError::Unavailable(_))) => {
                    assert_eq!(second.get(id(n)).await.unwrap(), None, "{n}");
                }
                Err(other) => panic!("{other:?}"),
            }
        }
    }
    assert!(assert_sound(&beside(&url).await).await >= 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_are_held_unique_by_an_index_while_the_policy_says_so() {
    let schema = schema();
    let url = schema.url();
    let client = beside(&url).await;
    let both = Rules { external_id: Sharing::Unique, ..Rules::default() };
    for (rules, indexes) in [
        (Rules::default(), vec!["users_email_unique"]),
        (SHARED, vec![]),
        (both, vec!["users_email_unique", "users_external_id_unique"]),
        (Rules::default(), vec!["users_email_unique"]),
    ] {
        open_with(&url, rules).await.close().await;
        assert_eq!(column(&client, UNIQUE_INDEXES).await, indexes);
    }
    let twin = "INSERT INTO users SELECT gen_random_uuid(), 1, 0, 0, \
         gen_random_uuid()::text::bytea, 'a@x', NULL, NULL, '\\xff', '\\xff', '{}'";
    client.batch_execute(twin).await.unwrap();
    let refused = client.batch_execute(twin).await.unwrap_err();
    let constraint = refused.as_db_error().unwrap().constraint();
    assert_eq!(constraint, Some("users_email_unique"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_that_the_users_break_is_refused_and_changes_nothing() {
    let schema = schema();
    let url = schema.url();
    let store = open_with(&url, SHARED).await;
    for n in 1..=4 {
        // Two addresses, each of two users; and users without any.
        let user = format!(r#"{{"username":"u{n}","email":"{}@example.com"}}"#, n % 2);
        apply(&store, create(n, &user)).await.unwrap();
        apply(&store, create(n + 10, &format!(r#"{{"username":"n{n}"}}"#))).await.unwrap();
    }
    let refused = Postgres::open(settings(&url)).await.err();
    assert!(matches!(refused, Some(OpenError::SharedEmails { count: 2 })), "{refused:?}");
    assert!(column(&beside(&url).await, UNIQUE_INDEXES).await.is_empty());
    // Its era has not ended.
    apply(&store, create(5, r#"{"username":"u5","email":"1@example.com"}"#)).await.unwrap();
}
