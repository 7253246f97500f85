//! Dry runs: they return what the write would return, and change nothing.

use roster_core::{
    Clock as _, EventKind, OnConflict, Outcome, Refusal, Rules, Status, limits::PAGE_SIZE_MAX,
    list::PageQuery,
};
use serde_json::json;

use super::{
    harness::{
        Conditional, Harness, deleting, only_if, patching, purging, replacing, restoring, view,
    },
    order::crowd,
    preconditions::if_match,
};

pub const RULES: Rules = super::DEFAULT;

/// Acts of every kind on Ada, who exists, and Bob, who is deleted. Some are rejected.
async fn acts(harness: &Harness) -> Vec<Conditional> {
    let ada = harness.user(json!({"username": "ada", "email": "ada@example.com"})).await.id;
    let bob = harness.user(json!({"username": "bob", "name": "Bob"})).await.id;
    harness.delete(bob).await.expect("there");
    let clash = json!({"username": "Ada", "title": "T"});
    vec![
        harness.creating(&json!({"username": "grace", "name": "Grace"})).into(),
        harness.creating(&clash).into(),
        harness.creating(&json!({"name": "nobody"})).into(),
        harness.creating_or(&clash, OnConflict::Skip).into(),
        harness.creating_or(&clash, OnConflict::Replace).into(),
        only_if(replacing(ada, &json!({"name": "Ada"})), if_match(&[1])),
        only_if(replacing(ada, &json!({"name": "Ada"})), if_match(&[7])),
        patching(ada, &json!({"title": "T"})).into(),
        patching(ada, &json!({})).into(),
        patching(bob, &json!({})).into(),
        deleting(ada).into(),
        deleting(bob).into(),
        restoring(bob).into(),
        restoring(ada).into(),
        purging(bob).into(),
        purging(ada).into(),
    ]
}

pub async fn a_dry_run_returns_what_the_write_returns(harness: Harness) {
    for number in 0..acts(&harness).await.len() {
        // Each act runs on the same state: Ada exists, Bob is deleted.
        for user in harness.walk(PageQuery::first(10)).await {
            harness.delete(user.id).await.expect("there");
        }
        let act = acts(&harness).await.swap_remove(number);
        harness.clock.step(10);
        let before = harness.image().await;
        let previewed = harness.preview(act.clone()).await;
        assert_eq!(harness.image().await, before, "{act:?}");
        let written = harness.act(act.clone()).await;
        match (previewed, written) {
            (Ok(previewed), Ok(written)) => {
                assert_eq!(previewed.position, before.head.position, "{act:?}");
                let there = Outcome { position: written.position, ..previewed };
                assert_eq!(there, written, "{act:?}");
            }
            (previewed, written) => assert_eq!(previewed, written, "{act:?}"),
        }
    }
}

pub async fn a_dry_run_claims_no_name(harness: Harness) {
    let body = json!({"username": "ada", "email": "ada@example.com"});
    for _ in 0..3 {
        let outcome = harness.preview(harness.creating(&body)).await.expect("free");
        assert_eq!((outcome.stored.version, outcome.position), (1, 0));
        assert_eq!(harness.get(outcome.stored.id).await, None);
        assert_eq!(view(&outcome.stored)["username"], "ada");
    }
    harness.user(body.clone()).await;
    let result = harness.preview(harness.creating(&body)).await;
    assert!(matches!(result, Err(Refusal::Taken(_))), "{result:?}");
}

pub async fn a_dry_run_ignores_idempotency_records(harness: Harness) {
    let create = || harness.marked(harness.creating(&json!({"username": "ada"})), 1, 1);
    for _ in 0..2 {
        assert!(!harness.preview_command(create()).await.expect("free").replayed);
    }
    let written = harness.execute(vec![create()]).await.pop().expect("one result");
    assert!(!written.expect("free").replayed, "the dry run stored no result");
    let result = harness.preview_command(create()).await;
    assert!(
        matches!(result, Err(Refusal::Taken(_))),
        "a dry run ignores the stored result: {result:?}"
    );
    let again = harness.execute(vec![create()]).await.pop().expect("one result");
    assert!(again.expect("replayed").replayed);
    // The key of another request is ignored too.
    let other = harness.marked(harness.creating(&json!({"username": "grace"})), 1, 9);
    assert!(harness.preview_command(other).await.is_ok());
}

pub async fn a_dry_run_changes_no_list(harness: Harness) {
    let users = crowd(&harness).await;
    let head = harness.head().await;
    let body = json!({"username": "unheard", "status": "suspended", "email": "u@example.com"});
    assert!(harness.preview(harness.creating(&body)).await.is_ok());
    assert!(harness.preview(patching(users[0].id, &json!({"name": "Unheard"}))).await.is_ok());
    assert!(harness.preview(deleting(users[1].id)).await.is_ok());
    let none: [String; 0] = [];
    assert_eq!(harness.found("unheard").await, none);
    assert_eq!(harness.filtered("username eq \"unheard\" or name eq \"unheard\"").await, none);
    assert_eq!(harness.head().await, head);
    assert_eq!(harness.walk(PageQuery::first(PAGE_SIZE_MAX)).await, users);
    let counted = PageQuery { count: true, ..PageQuery::first(1) };
    let total = harness.page(counted).await.total.expect("asked for");
    let live = u64::try_from(head.live()).expect("not negative");
    assert_eq!(total, roster_core::list::Total::Exactly(live));
}

pub async fn a_dry_run_has_the_time_of_the_write(harness: Harness) {
    let user = harness.user(json!({"username": "ada"})).await;
    harness.clock.step(500);
    let outcome = harness.preview(patching(user.id, &json!({"status": "suspended"}))).await;
    let stored = outcome.expect("valid").stored;
    let seen = view(&stored);
    assert_eq!(seen["updated_at"], harness.clock.now().to_string());
    assert_eq!((stored.version, &seen["status"]), (2, &json!(Status::Suspended.as_str())));
}

pub async fn dry_runs_do_not_disturb_writers(harness: Harness) {
    let user = harness.user(json!({"username": "ada"})).await;
    let writer = {
        let harness = harness.clone();
        tokio::spawn(async move {
            for round in 0..100 {
                let patch = json!({"name": round.to_string()});
                harness.patch(user.id, patch).await.expect("nothing hinders it");
            }
        })
    };
    let mut tried = 0;
    while !writer.is_finished() || tried < 20 {
        let outcome = harness.preview(patching(user.id, &json!({"title": "T"}))).await;
        let Outcome { stored, position, .. } = outcome.expect("valid");
        assert_eq!(stored.version, position + 1, "decided on the state of its position");
        let clash = harness.preview(harness.creating(&json!({"username": "ADA"}))).await;
        assert!(clash.is_err());
        tried += 1;
    }
    writer.await.expect("the writer ends");
    let events = harness.events().await;
    assert_eq!(events.len(), 101);
    assert!(events.iter().skip(1).all(|(_, event)| event.kind == EventKind::Updated));
    assert!(view(&harness.get(user.id).await.expect("there")).get("title").is_none());
}
