//! A write that is only judged (contract 3): it comes to what the write would come to, and
//! leaves nothing behind.

use roster_core::{
    Act, Clock as _, EventKind, OnConflict, Outcome, Refusal, Rules, Status, limits::PAGE_SIZE_MAX,
    list::PageQuery,
};
use serde_json::json;

use super::{
    order::crowd,
    preconditions::if_match,
    scene::{Scene, deleting, patching, purging, replacing, restoring, view},
};

pub const RULES: Rules = super::DEFAULT;

/// Acts of every kind, such that some are refused, on Ada who lives and Bob who is deleted.
async fn acts(scene: &Scene) -> Vec<Act> {
    let ada = scene.user(json!({"username": "ada", "email": "ada@example.com"})).await.id;
    let bob = scene.user(json!({"username": "bob", "name": "Bob"})).await.id;
    scene.delete(bob).await.expect("there");
    let clash = json!({"username": "Ada", "title": "T"});
    vec![
        scene.creating(&json!({"username": "grace", "name": "Grace"})),
        scene.creating(&clash),
        scene.creating(&json!({"name": "nobody"})),
        scene.creating_or(&clash, OnConflict::Skip),
        scene.creating_or(&clash, OnConflict::Replace),
        replacing(ada, &json!({"name": "Ada"}), if_match(&[1])),
        replacing(ada, &json!({"name": "Ada"}), if_match(&[7])),
        patching(ada, &json!({"title": "T"})),
        patching(ada, &json!({})),
        patching(bob, &json!({})),
        deleting(ada),
        deleting(bob),
        restoring(bob),
        restoring(ada),
        purging(bob),
        purging(ada),
    ]
}

pub async fn a_dry_run_comes_to_what_the_write_comes_to(scene: Scene) {
    for number in 0..acts(&scene).await.len() {
        // Each is tried on the same state: Ada alive, Bob deleted.
        for user in scene.walk(PageQuery::first(10)).await {
            scene.delete(user.id).await.expect("there");
        }
        let act = acts(&scene).await.swap_remove(number);
        scene.clock.step(10);
        let before = scene.image().await;
        let judged = scene.preview(act.clone()).await;
        assert_eq!(scene.image().await, before, "{act:?}");
        let written = scene.act(act.clone()).await;
        match (judged, written) {
            (Ok(judged), Ok(written)) => {
                assert_eq!(judged.position, before.head.position, "{act:?}");
                let there = Outcome { position: written.position, ..judged };
                assert_eq!(there, written, "{act:?}");
            }
            (judged, written) => assert_eq!(judged, written, "{act:?}"),
        }
    }
}

pub async fn a_dry_run_claims_no_name(scene: Scene) {
    let body = json!({"username": "ada", "email": "ada@example.com"});
    for _ in 0..3 {
        let outcome = scene.preview(scene.creating(&body)).await.expect("free");
        assert_eq!((outcome.stored.version, outcome.position), (1, 0));
        assert_eq!(scene.get(outcome.stored.id).await, None);
        assert_eq!(view(&outcome.stored)["username"], "ada");
    }
    scene.user(body.clone()).await;
    let result = scene.preview(scene.creating(&body)).await;
    assert!(matches!(result, Err(Refusal::Taken(_))), "{result:?}");
}

pub async fn a_dry_run_neither_reads_nor_leaves_a_mark(scene: Scene) {
    let create = || scene.marked(scene.creating(&json!({"username": "ada"})), 1, 1);
    for _ in 0..2 {
        assert!(!scene.judge(create()).await.expect("free").replayed);
    }
    let written = scene.carry_out(vec![create()]).await.pop().expect("one result");
    assert!(!written.expect("free").replayed, "the dry run left no mark");
    let result = scene.judge(create()).await;
    assert!(matches!(result, Err(Refusal::Taken(_))), "judged anew: {result:?}");
    let again = scene.carry_out(vec![create()]).await.pop().expect("one result");
    assert!(again.expect("told again").replayed);
    // A key that another request has is no matter either.
    let other = scene.marked(scene.creating(&json!({"username": "grace"})), 1, 9);
    assert!(scene.judge(other).await.is_ok());
}

pub async fn what_was_only_tried_is_found_nowhere(scene: Scene) {
    let users = crowd(&scene).await;
    let head = scene.head().await;
    let body = json!({"username": "unheard", "status": "suspended", "email": "u@example.com"});
    assert!(scene.preview(scene.creating(&body)).await.is_ok());
    assert!(scene.preview(patching(users[0].id, &json!({"name": "Unheard"}))).await.is_ok());
    assert!(scene.preview(deleting(users[1].id)).await.is_ok());
    let none: [String; 0] = [];
    assert_eq!(scene.found("unheard").await, none);
    assert_eq!(scene.filtered("username eq \"unheard\" or name eq \"unheard\"").await, none);
    assert_eq!(scene.head().await, head);
    assert_eq!(scene.walk(PageQuery::first(PAGE_SIZE_MAX)).await, users);
    let counted = PageQuery { count: true, ..PageQuery::first(1) };
    let total = scene.page(counted).await.total.expect("asked for");
    let live = u64::try_from(head.live()).expect("not negative");
    assert_eq!(total, roster_core::list::Total::Exactly(live));
}

pub async fn a_dry_run_is_stamped_as_the_write_would_be(scene: Scene) {
    let user = scene.user(json!({"username": "ada"})).await;
    scene.clock.step(500);
    let outcome = scene.preview(patching(user.id, &json!({"status": "suspended"}))).await;
    let stored = outcome.expect("valid").stored;
    let seen = view(&stored);
    assert_eq!(seen["updated_at"], scene.clock.now().to_string());
    assert_eq!((stored.version, &seen["status"]), (2, &json!(Status::Suspended.as_str())));
}

pub async fn dry_runs_among_writers_disturb_nobody(scene: Scene) {
    let user = scene.user(json!({"username": "ada"})).await;
    let writer = {
        let scene = scene.clone();
        tokio::spawn(async move {
            for round in 0..100 {
                let patch = json!({"name": round.to_string()});
                scene.patch(user.id, patch).await.expect("nothing hinders it");
            }
        })
    };
    let mut tried = 0;
    while !writer.is_finished() || tried < 20 {
        let outcome = scene.preview(patching(user.id, &json!({"title": "T"}))).await;
        let Outcome { stored, position, .. } = outcome.expect("valid");
        assert_eq!(stored.version, position + 1, "judged on the state of its position");
        let clash = scene.preview(scene.creating(&json!({"username": "ADA"}))).await;
        assert!(clash.is_err());
        tried += 1;
    }
    writer.await.expect("the writer ends");
    let events = scene.events().await;
    assert_eq!(events.len(), 101);
    assert!(events.iter().skip(1).all(|(_, event)| event.kind == EventKind::Updated));
    assert!(view(&scene.get(user.id).await.expect("there")).get("title").is_none());
}
