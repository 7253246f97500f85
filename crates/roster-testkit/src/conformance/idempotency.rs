//! Repeated requests (promise "Safe retries"): a request with a key is executed once, and for a day
//! every repetition returns the first outcome.

use roster_core::{
    Clock as _, Effect, EventKind, Outcome, Outlived, Refusal, Rules, Timestamp, UserAct, UserId,
    limits::IDEMPOTENCY_KEEP_MS,
};
use serde_json::{Value, json};

use super::{
    harness::{Harness, deleting, only_if, patching, purging, replacing, restoring, view},
    preconditions::if_match,
};

pub const RULES: Rules = super::DEFAULT;

type Result = std::result::Result<Outcome, Refusal>;

fn ada() -> Value {
    json!({"username": "ada", "email": "ada@example.com", "name": "Ada"})
}

/// The first outcome, as a replay returns it.
fn replay_of(first: &Result) -> Result {
    first.clone().map(|outcome| Outcome { replayed: true, ..outcome })
}

/// Creates a user with key 1 and fingerprint 1. Returns its id and the outcome.
async fn created(harness: &Harness) -> (UserId, Result) {
    let outcome = harness.act_once(harness.creating(&ada()), 1, 1).await;
    (outcome.as_ref().expect("valid").stored.id, outcome)
}

/// Repeats the create as a client would, with a new id.
async fn create_again(harness: &Harness) -> Result {
    harness.act_once(harness.creating(&ada()), 1, 1).await
}

pub async fn a_repeated_request_is_executed_once(harness: Harness) {
    let (id, first) = created(&harness).await;
    assert!(!first.as_ref().expect("valid").replayed);
    let before = harness.image().await;
    for _ in 0..3 {
        harness.clock.step(1000);
        assert_eq!(create_again(&harness).await, replay_of(&first));
    }
    assert_eq!(harness.image().await, before);
    assert_eq!(harness.get(id).await.expect("there"), first.expect("valid").stored);
}

pub async fn every_kind_of_write_is_replayed(harness: Harness) {
    let id = created(&harness).await.0;
    let acts = [
        (EventKind::Updated, only_if(replacing(id, &json!({"name": "A"})), if_match(&[1]))),
        (EventKind::Updated, patching(id, &json!({"title": "T"})).into()),
        (EventKind::Deleted, deleting(id).into()),
        (EventKind::Restored, restoring(id).into()),
        (EventKind::Deleted, deleting(id).into()),
    ];
    let mut firsts = Vec::new();
    for (key, (kind, act)) in (10..).zip(&acts) {
        harness.clock.step(10);
        let first = harness.act_once(act.clone(), key, key).await;
        assert_eq!(first.as_ref().expect("valid").effect, Effect::Changed(*kind));
        firsts.push(first);
    }
    // Executed again, each of them would be rejected or change something else.
    let before = harness.image().await;
    for ((key, (_, act)), first) in (10..).zip(acts).zip(&firsts) {
        assert_eq!(harness.act_once(act, key, key).await, replay_of(first));
    }
    assert_eq!(harness.image().await, before);
}

pub async fn a_replay_returns_the_user_of_the_first_response(harness: Harness) {
    let (id, first) = created(&harness).await;
    for name in ["B", "C"] {
        harness.patch(id, json!({"name": name})).await.expect("valid");
        assert_eq!(create_again(&harness).await, replay_of(&first));
    }
    harness.delete(id).await.expect("there");
    assert_eq!(create_again(&harness).await, replay_of(&first), "after it was deleted");
    harness.restore(id).await.expect("free");
    assert_eq!(create_again(&harness).await, replay_of(&first), "after it was restored");
    assert_eq!(view(&first.expect("valid").stored)["name"], "Ada");
}

pub async fn an_outcome_without_a_change_is_replayed(harness: Harness) {
    let id = created(&harness).await.0;
    harness.patch(id, json!({"name": "B"})).await.expect("valid");
    // The position of the outcome is higher than that of the user's own last event.
    harness.user(json!({"username": "grace"})).await;
    let same = || patching(id, &json!({"name": "B"}));
    let first = harness.act_once(same(), 2, 2).await;
    let Outcome { effect, stored, position, .. } = first.clone().expect("valid");
    assert_eq!((effect, stored.version, position), (Effect::Unchanged, 2, 3));
    assert_eq!(harness.act_once(same(), 2, 2).await, replay_of(&first));
    harness.patch(id, json!({"name": "C"})).await.expect("valid");
    let before = harness.image().await;
    assert_eq!(harness.act_once(same(), 2, 2).await, replay_of(&first));
    assert_eq!(harness.image().await, before, "the name stays C");
}

pub async fn one_key_for_two_requests_is_refused(harness: Harness) {
    let (id, first) = created(&harness).await;
    let before = harness.image().await;
    let reused = Err(Refusal::KeyReused);
    let other = harness.creating(&json!({"username": "grace"}));
    assert_eq!(harness.act_once(other, 1, 2).await, reused);
    assert_eq!(harness.act_once(deleting(id), 1, 3).await, reused);
    assert_eq!(
        harness.act_once(deleting(harness.new_id()), 1, 3).await,
        reused,
        "checked before the user exists"
    );
    assert_eq!(harness.image().await, before);
    assert_eq!(
        create_again(&harness).await,
        replay_of(&first),
        "the record of the first request is kept"
    );
}

pub async fn a_stored_result_can_be_recalled(harness: Harness) {
    assert_eq!(harness.recall(1, 1).await, Ok(None));
    let (id, first) = created(&harness).await;
    let same = harness.act_once(patching(id, &json!({"name": "Ada"})), 2, 2).await;
    harness.delete(id).await.expect("there");
    let before = harness.image().await;
    assert_eq!(harness.recall(1, 1).await, replay_of(&first).map(Some));
    assert_eq!(harness.recall(2, 2).await, replay_of(&same).map(Some), "also without a change");
    assert_eq!(harness.recall(1, 2).await, Err(Refusal::KeyReused));
    assert_eq!(harness.recall(3, 1).await, Ok(None));
    assert_eq!(harness.image().await, before);
    harness.clock.step(2 * IDEMPOTENCY_KEEP_MS);
    assert_eq!(harness.recall(1, 1).await, replay_of(&first).map(Some));
    harness.forget(Outlived { keys_before: harness.clock.now(), events_before: START }).await;
    assert_eq!(harness.recall(1, 1).await, Ok(None));
    assert_eq!(harness.recall(1, 2).await, Ok(None));
}

pub async fn two_keys_are_two_requests(harness: Harness) {
    let id = created(&harness).await.0;
    for (key, name) in [(2, "B"), (3, "C"), (4, "B")] {
        // An equal fingerprint without an equal key is not a repetition.
        let outcome = harness.act_once(patching(id, &json!({"name": name})), key, 9).await;
        assert!(!outcome.expect("valid").replayed);
    }
    assert_eq!(harness.get(id).await.expect("there").version, 4);
}

pub async fn a_rejected_request_stores_no_result(harness: Harness) {
    let holder = harness.user(ada()).await.id;
    assert!(matches!(create_again(&harness).await, Err(Refusal::Taken(_))));
    let invalid = harness.creating(&json!({"name": "nobody"}));
    assert!(matches!(harness.act_once(invalid, 1, 2).await, Err(Refusal::Invalid(_))));
    assert_eq!(harness.act_once(deleting(harness.new_id()), 1, 3).await, Err(Refusal::NotFound));
    harness.delete(holder).await.expect("there");
    // Executed, not replayed.
    let outcome = create_again(&harness).await.expect("free by now");
    assert!(!outcome.replayed);
    assert_eq!(harness.act_once(deleting(holder), 1, 3).await, Err(Refusal::KeyReused));
}

pub async fn a_key_is_looked_up_before_any_precondition(harness: Harness) {
    let id = created(&harness).await.0;
    let act = || only_if(replacing(id, &json!({"name": "B"})), if_match(&[1]));
    let first = harness.act_once(act(), 2, 2).await;
    assert_eq!(first.as_ref().expect("the version matches").stored.version, 2);
    assert_eq!(harness.act_once(act(), 2, 2).await, replay_of(&first));
    assert_eq!(harness.act_once(act(), 3, 3).await, Err(Refusal::VersionMismatch { current: 2 }));
}

pub async fn a_key_is_honoured_within_one_batch(harness: Harness) {
    let create = || harness.creating(&ada());
    let invalid = harness.creating(&json!({"name": "nobody"}));
    let commands = vec![
        harness.marked(invalid, 1, 1),
        harness.marked(create(), 1, 1),
        harness.marked(create(), 1, 1),
        harness.command(harness.creating(&json!({"username": "grace"}))),
        harness.marked(create(), 1, 2),
        harness.marked(create(), 1, 1),
    ];
    let results = harness.execute(commands).await;
    let [Err(Refusal::Invalid(_)), first @ Ok(made), second, Ok(_), reused, third] = &results[..]
    else {
        panic!("{results:?}")
    };
    assert_eq!((made.position, made.replayed), (1, false));
    assert_eq!((second, third), (&replay_of(first), &replay_of(first)));
    assert_eq!(reused, &Err(Refusal::KeyReused));
    assert_eq!(harness.head().await.position, 2);
}

pub async fn a_batch_changes_a_user_between_a_request_and_its_replay(harness: Harness) {
    let act = harness.creating(&ada());
    let UserAct::Create { id, .. } = &act else { panic!("a create") };
    let id = *id;
    let commands = vec![
        harness.marked(act, 1, 1),
        harness.command(patching(id, &json!({"name": "B"}))),
        harness.marked(harness.creating(&ada()), 1, 1),
        harness.command(deleting(id)),
        harness.marked(harness.creating(&ada()), 1, 1),
    ];
    let results = harness.execute(commands).await;
    assert_eq!((&results[2], &results[4]), (&replay_of(&results[0]), &replay_of(&results[0])));
    assert_eq!(view(&results[2].as_ref().expect("replayed").stored)["name"], "Ada");
}

/// A time before all events.
const START: Timestamp = Timestamp::from_millis(0);

/// The process that answers the repeated request has a clock that is 26 hours ahead.
pub async fn a_result_is_replayed_until_it_is_deleted(harness: Harness) {
    let (id, first) = created(&harness).await;
    let renamed = harness.act_once(patching(id, &json!({"name": "B"})), 2, 2).await;
    harness.act(patching(id, &json!({"name": "C"}))).await.expect("there");
    harness.clock.step(26 * 60 * 60 * 1000);
    assert_eq!(create_again(&harness).await, replay_of(&first));
    assert_eq!(
        harness.act_once(patching(id, &json!({"name": "B"})), 2, 2).await,
        replay_of(&renamed),
        "the newer change is kept"
    );
    assert_eq!(harness.act_once(harness.creating(&ada()), 1, 2).await, Err(Refusal::KeyReused));
    harness.forget(Outlived { keys_before: harness.clock.now(), events_before: START }).await;
    assert!(
        matches!(create_again(&harness).await, Err(Refusal::Taken(_))),
        "executed, not replayed"
    );
    harness.delete(id).await.expect("there");
    let second = harness.act_once(harness.creating(&ada()), 1, 2).await;
    assert!(!second.as_ref().expect("free").replayed);
    assert_eq!(harness.act_once(harness.creating(&ada()), 1, 2).await, replay_of(&second));
}

pub async fn a_clock_set_back_expires_no_record(harness: Harness) {
    let first = created(&harness).await.1;
    harness.clock.step(-3 * IDEMPOTENCY_KEEP_MS);
    assert_eq!(create_again(&harness).await, replay_of(&first));
}

pub async fn a_purge_deletes_the_records_of_its_user(harness: Harness) {
    let id = created(&harness).await.0;
    let kept = harness.act_once(harness.creating(&json!({"username": "grace"})), 2, 2).await;
    assert!(harness.act_once(patching(id, &json!({"name": "B"})), 3, 3).await.is_ok());
    assert!(harness.act_once(deleting(id), 4, 4).await.is_ok());
    let purged = harness.act_once(purging(id), 5, 5).await;
    assert!(purged.is_ok());
    let gone = Err(Refusal::NotFound);
    assert_eq!(harness.act_once(patching(id, &json!({"name": "B"})), 3, 3).await, gone);
    assert_eq!(harness.act_once(deleting(id), 4, 9).await, gone);
    // The purge itself can be repeated, and the records of other users are kept.
    assert_eq!(harness.act_once(purging(id), 5, 5).await, replay_of(&purged));
    assert!(purged.expect("deleted").stored.record.is_empty());
    let grace = harness.creating(&json!({"username": "grace"}));
    assert_eq!(harness.act_once(grace, 2, 2).await, replay_of(&kept));
    let new = create_again(&harness).await.expect("free");
    assert!(!new.replayed && new.stored.id != id);
}
