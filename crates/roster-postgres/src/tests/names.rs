//! Commands of one batch that want the same names.

use roster_core::{Effect, EventKind, Failure, Refusal, Store};

use super::support::{apply, assert_sound, create, delete, open, patch, schema};

fn user(name: &str) -> String {
    format!(r#"{{"username":"{name}"}}"#)
}

fn is_taken<T>(result: &Result<T, Failure>) -> bool {
    matches!(result, Err(Failure::Refused(Refusal::Taken(_))))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_released_later_in_a_batch_is_still_taken() {
    let schema = schema();
    let store = open(&schema.url()).await;
    apply(&store, create(1, &user("ada"))).await.unwrap();
    apply(&store, create(2, &user("grace"))).await.unwrap();
    // In this order: after the transaction all names would be unique, but in the log two users
    // would share one.
    let results = store.apply(vec![patch(3, 1, &user("grace")), delete(4, 2)]).await;
    assert!(is_taken(&results[0]), "{results:?}");
    let deleted = results[1].as_ref().map(|outcome| outcome.effect);
    assert_eq!(deleted.unwrap(), Effect::Changed(EventKind::Deleted));
    let results = store.apply(vec![delete(5, 1), create(6, &user("ada"))]).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(assert_sound(&schema.url()).await, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_in_a_batch_fails_only_its_command() {
    let schema = schema();
    let store = open(&schema.url()).await;
    apply(&store, create(1, &user("user7"))).await.unwrap();
    let batch = (10..30).map(|n| create(n, &user(&format!("user{}", n % 15)))).collect();
    let results = store.apply(batch).await;
    let taken: Vec<usize> = (0..results.len()).filter(|at| is_taken(&results[*at])).collect();
    // The name `user7` was taken before, and the creates from 25 to 29 repeat the names of 10 to
    // 14.
    assert_eq!(taken, [12, 15, 16, 17, 18, 19]);
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 14);
    assert_eq!(assert_sound(&schema.url()).await, 15);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_within_a_batch_lists_all_taken_names() {
    let schema = schema();
    let store = open(&schema.url()).await;
    apply(&store, create(1, &user("ada"))).await.unwrap();
    let grace = r#"{"email":"grace@x.example"}"#;
    let both = r#"{"username":"ada","email":"grace@x.example"}"#;
    let results = store.apply(vec![create(2, grace), create(3, both)]).await;
    assert!(results[0].is_ok(), "{results:?}");
    let Err(Failure::Refused(Refusal::Taken(taken))) = &results[1] else { panic!("{results:?}") };
    assert!(taken.username.is_some() && taken.email, "{taken:?}");
}
