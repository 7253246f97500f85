//! Concurrent callers: each command is atomic, so of several that want the same thing exactly one
//! succeeds, and the log has the order of all changes.

use std::future::Future;

use roster_core::{EventKind, Outcome, Refusal, Rules, list::PageQuery};
use serde_json::json;

use super::{
    harness::{Harness, view},
    preconditions::if_match,
};
use crate::replay::replay;

pub const RULES: Rules = super::DEFAULT;

const ROUNDS: usize = 200;
const CALLERS: usize = 8;

/// Runs all callers concurrently and waits for their results.
async fn race<F>(caller: impl Fn(usize) -> F) -> Vec<Result<Outcome, Refusal>>
where
    F: Future<Output = Result<Outcome, Refusal>> + Send + 'static,
{
    let running: Vec<_> = (0..CALLERS).map(|number| tokio::spawn(caller(number))).collect();
    let mut results = Vec::with_capacity(CALLERS);
    for task in running {
        results.push(task.await.expect("no caller fails"));
    }
    results
}

fn winners(results: &[Result<Outcome, Refusal>]) -> usize {
    results.iter().filter(|result| result.is_ok()).count()
}

pub async fn exactly_one_of_many_creates_of_a_username_succeeds(harness: Harness) {
    for round in 0..ROUNDS {
        let results =
            race(|number| {
                let harness = harness.clone();
                let email = format!("{round}.{number}@example.com");
                async move {
                    harness.create(json!({"username": format!("u{round}"), "email": email})).await
                }
            })
            .await;
        assert_eq!(winners(&results), 1);
        let taken = |result: &Result<Outcome, Refusal>| matches!(result, Err(Refusal::Taken(_)));
        assert_eq!(results.iter().filter(|result| taken(result)).count(), CALLERS - 1);
    }
    let rounds = i64::try_from(ROUNDS).expect("few");
    assert_eq!((harness.head().await.position, harness.head().await.active), (rounds, rounds));
}

pub async fn exactly_one_of_many_creates_of_an_email_succeeds(harness: Harness) {
    for round in 0..ROUNDS {
        let results = race(|number| {
            let harness = harness.clone();
            let email = format!("{round}@example.com");
            let username = format!("{round}.{number}");
            async move { harness.create(json!({"username": username, "email": email})).await }
        })
        .await;
        assert_eq!(winners(&results), 1);
    }
}

pub async fn exactly_one_of_many_replaces_of_a_version_succeeds(harness: Harness) {
    let user = harness.user(json!({"username": "ada"})).await;
    for version in 1..=i64::try_from(ROUNDS).expect("few") {
        let results = race(|number| {
            let harness = harness.clone();
            let name = format!("{version}.{number}");
            async move {
                if number % 2 == 0 {
                    let preconditions = if_match(&[version]);
                    harness.replace_if(user.id, json!({"name": name}), preconditions).await
                } else {
                    harness.replace(user.id, json!({"name": name, "version": version})).await
                }
            }
        })
        .await;
        assert_eq!(winners(&results), 1);
        for result in results {
            match result {
                Ok(outcome) => {
                    assert_eq!(outcome.stored.version, version + 1);
                    assert_eq!(harness.get(user.id).await, Some(outcome.stored));
                }
                Err(refusal) => {
                    assert_eq!(refusal, Refusal::VersionMismatch { current: version + 1 });
                }
            }
        }
    }
}

pub async fn exactly_one_of_many_deletes_of_a_user_succeeds(harness: Harness) {
    for round in 0..ROUNDS {
        let user = harness.user(json!({"username": "ada"})).await;
        let results = race(|_| {
            let harness = harness.clone();
            async move { harness.delete(user.id).await }
        })
        .await;
        assert_eq!(winners(&results), 1);
        let deleted = i64::try_from(round + 1).expect("few");
        assert_eq!(harness.head().await.deleted, deleted);
    }
}

pub async fn exactly_one_of_many_requests_with_one_idempotency_key_is_executed(harness: Harness) {
    for round in 0..ROUNDS {
        let key = u8::try_from(round % 250).expect("small");
        let results = race(|_| {
            let harness = harness.clone();
            async move {
                let body = json!({"username": format!("u{round}"), "name": "Ada"});
                harness.act_once(harness.creating(&body), key, key).await
            }
        })
        .await;
        assert_eq!(winners(&results), CALLERS, "all are told of the one user");
        let outcomes: Vec<Outcome> = results.into_iter().flatten().collect();
        assert_eq!(outcomes.iter().filter(|outcome| !outcome.replayed).count(), 1);
        assert!(outcomes.iter().all(|outcome| outcome.stored == outcomes[0].stored));
    }
    let rounds = i64::try_from(ROUNDS).expect("few");
    assert_eq!((harness.head().await.position, harness.head().await.active), (rounds, rounds));
}

pub async fn exactly_one_of_many_restores_and_purges_of_a_user_succeeds(harness: Harness) {
    for round in 0..ROUNDS {
        let id = harness.user(json!({"username": format!("u{round}")})).await.id;
        harness.delete(id).await.expect("there");
        let results = race(|number| {
            let harness = harness.clone();
            async move {
                if number % 2 == 0 { harness.restore(id).await } else { harness.purge(id).await }
            }
        })
        .await;
        assert_eq!(winners(&results), 1);
        let back = harness.get(id).await.is_some();
        let last = harness.events().await.pop().expect("an event").1;
        assert_eq!(last.kind == EventKind::Restored, back);
        assert_eq!(harness.get_deleted(id).await, None);
    }
}

pub async fn no_concurrent_change_is_lost(harness: Harness) {
    let user = harness.user(json!({"username": "ada"})).await;
    let results = race(|number| {
        let harness = harness.clone();
        async move {
            let mut last = None;
            for round in 0..25 {
                let patch = json!({"attributes": {format!("caller{number}"): round}});
                last = Some(harness.patch(user.id, patch).await);
            }
            last.expect("many rounds")
        }
    })
    .await;
    assert_eq!(winners(&results), CALLERS);
    let stored = harness.get(user.id).await.expect("there");
    let seen = view(&stored);
    assert_eq!(stored.version, 1 + i64::try_from(25 * CALLERS).expect("few"));
    for number in 0..CALLERS {
        assert_eq!(seen["attributes"][format!("caller{number}")], 24);
    }
    let events = harness.events().await;
    assert!(events.iter().map(|(position, _)| *position).eq(1..=stored.version));
    let replayed = replay(events.into_iter().map(|(_, event)| event));
    assert_eq!(replayed.into_values().collect::<Vec<_>>(), [stored]);
}

pub async fn paging_during_writes_returns_every_user_that_exists_throughout_exactly_once(
    harness: Harness,
) {
    let mut stay = Vec::new();
    for number in 0..60 {
        stay.push(harness.user(json!({"username": format!("u{number}")})).await.id);
    }
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (harness, stay) = (harness.clone(), stay.clone());
            tokio::spawn(async move {
                for round in 0..40 {
                    let body = json!({"username": format!("w{writer}.{round}")});
                    let user = harness.user(body).await;
                    let patch = json!({"name": format!("{writer}.{round}")});
                    harness.patch(stay[(round * 7 + writer) % 60], patch).await.expect("valid");
                    harness.delete(user.id).await.expect("there");
                }
            })
        })
        .collect();
    while writers.iter().any(|writer| !writer.is_finished()) {
        let walked = harness.walk(PageQuery::first(7)).await;
        let seen: Vec<_> = walked.iter().map(|user| user.id).collect();
        assert!(seen.is_sorted_by(|one, other| one < other), "in order, nobody twice");
        assert!(stay.iter().all(|id| seen.contains(id)), "every survivor is shown");
    }
    for writer in writers {
        writer.await.expect("no writer fails");
    }
}
