//! A request that is repeated through two stores at once is executed once.

use std::collections::HashSet;

use futures_util::future::join_all;
use roster_core::{Command, Outcome, Preconditions, Store, Tags};
use tokio::join;

use super::support::{apply, assert_sound, create, delete, id, once, open, patch, schema};

const ROUNDS: u64 = 25;

/// Sends each round's command three times through each of two stores, all at once. One of them is
/// executed, the others return its result.
async fn repeat(before: impl Fn(u64) -> Option<Command>, command: impl Fn(u64) -> Command) {
    let schema = schema();
    let url = schema.url();
    let (one, other) = join!(open(&url), open(&url));
    let mut positions = HashSet::new();
    let mut wanted = 0;
    for round in 1..=ROUNDS {
        if let Some(before) = before(round) {
            apply(&one, before).await.unwrap();
            wanted += 1;
        }
        wanted += 1;
        let tries = [&one, &other, &one, &other, &one, &other];
        let tries = tries.map(|store| apply(store, once(round, command(round))));
        let outcomes: Vec<Outcome> =
            join_all(tries).await.into_iter().map(Result::unwrap).collect();
        let first = outcomes.iter().filter(|outcome| !outcome.replayed).count();
        assert_eq!(first, 1, "{round}: {outcomes:?}");
        for outcome in &outcomes {
            let alike = Outcome { replayed: outcome.replayed, ..outcomes[0].clone() };
            assert_eq!(*outcome, alike, "{round}");
        }
        assert!(positions.insert(outcomes[0].position));
    }
    assert_eq!(assert_sound(&url).await, wanted);
    assert_eq!(one.head().await.unwrap(), other.head().await.unwrap());
}

fn ada(n: u64) -> Command {
    create(n, &format!(r#"{{"username":"ada{n}"}}"#))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_repeated_through_two_stores_is_executed_once() {
    repeat(|_| None, ada).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conditional_change_repeated_through_two_stores_is_executed_once() {
    let change = |round| {
        let preconditions =
            Preconditions { if_match: Some(Tags::Versions(vec![1])), if_none_match: None };
        Command { preconditions, ..patch(round, round, r#"{"title":"T"}"#) }
    };
    repeat(|round| Some(ada(round)), change).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delete_repeated_through_two_stores_is_executed_once() {
    repeat(|round| Some(ada(round)), |round| delete(round, round)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_result_is_replayed_by_a_store_opened_later() {
    let schema = schema();
    let url = schema.url();
    let first = open(&url).await;
    let created = apply(&first, once(1, ada(1))).await.unwrap();
    apply(&first, patch(2, 1, r#"{"title":"T"}"#)).await.unwrap();
    first.close().await;
    drop(first);
    let second = open(&url).await;
    let again = apply(&second, once(1, ada(9))).await.unwrap();
    assert_eq!(again, Outcome { replayed: true, ..created });
    assert_eq!(second.get(id(9)).await.unwrap(), None);
}
