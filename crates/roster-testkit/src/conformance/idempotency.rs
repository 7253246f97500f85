//! Requests that come twice (contract 3): with one key they happen once, and every later time
//! the first outcome is told again, for a day.

use roster_core::{
    Act, Clock as _, Effect, EventKind, Outcome, Outlived, Refusal, Rules, Timestamp, UserId,
    limits::IDEMPOTENCY_KEEP_MS,
};
use serde_json::{Value, json};

use super::{
    preconditions::if_match,
    scene::{Scene, deleting, patching, purging, replacing, restoring, view},
};

pub const RULES: Rules = super::DEFAULT;

type Result = std::result::Result<Outcome, Refusal>;

fn ada() -> Value {
    json!({"username": "ada", "email": "ada@example.com", "name": "Ada"})
}

/// The first outcome, as it is told again.
fn again(first: &Result) -> Result {
    first.clone().map(|outcome| Outcome { replayed: true, ..outcome })
}

/// A user that was created with key 1 and fingerprint 1, and its outcome.
async fn created(scene: &Scene) -> (UserId, Result) {
    let outcome = scene.act_once(scene.creating(&ada()), 1, 1).await;
    (outcome.as_ref().expect("valid").stored.id, outcome)
}

/// The create once more, as a client repeats it: under a new id.
async fn create_again(scene: &Scene) -> Result {
    scene.act_once(scene.creating(&ada()), 1, 1).await
}

pub async fn the_same_request_happens_once_and_is_answered_alike(scene: Scene) {
    let (id, first) = created(&scene).await;
    assert!(!first.as_ref().expect("valid").replayed);
    let before = scene.image().await;
    for _ in 0..3 {
        scene.clock.step(1000);
        assert_eq!(create_again(&scene).await, again(&first));
    }
    assert_eq!(scene.image().await, before);
    assert_eq!(scene.get(id).await.expect("there"), first.expect("valid").stored);
}

pub async fn every_kind_of_write_is_told_again_as_it_was(scene: Scene) {
    let id = created(&scene).await.0;
    let acts = [
        (EventKind::Updated, replacing(id, &json!({"name": "A"}), if_match(&[1]))),
        (EventKind::Updated, patching(id, &json!({"title": "T"}))),
        (EventKind::Deleted, deleting(id)),
        (EventKind::Restored, restoring(id)),
        (EventKind::Deleted, deleting(id)),
    ];
    let mut firsts = Vec::new();
    for (key, (kind, act)) in (10..).zip(&acts) {
        scene.clock.step(10);
        let first = scene.act_once(act.clone(), key, key).await;
        assert_eq!(first.as_ref().expect("valid").effect, Effect::Changed(*kind));
        firsts.push(first);
    }
    // By now each of them would be refused or change something else.
    let before = scene.image().await;
    for ((key, (_, act)), first) in (10..).zip(acts).zip(&firsts) {
        assert_eq!(scene.act_once(act, key, key).await, again(first));
    }
    assert_eq!(scene.image().await, before);
}

pub async fn after_later_changes_the_user_of_then_is_told(scene: Scene) {
    let (id, first) = created(&scene).await;
    for name in ["B", "C"] {
        scene.patch(id, json!({"name": name})).await.expect("valid");
        assert_eq!(create_again(&scene).await, again(&first));
    }
    scene.delete(id).await.expect("there");
    assert_eq!(create_again(&scene).await, again(&first), "after it was deleted");
    scene.restore(id).await.expect("free");
    assert_eq!(create_again(&scene).await, again(&first), "after it came back");
    assert_eq!(view(&first.expect("valid").stored)["name"], "Ada");
}

pub async fn an_outcome_without_a_change_is_told_again_too(scene: Scene) {
    let id = created(&scene).await.0;
    scene.patch(id, json!({"name": "B"})).await.expect("valid");
    // The position of the outcome is beyond the user's own last event.
    scene.user(json!({"username": "grace"})).await;
    let same = || patching(id, &json!({"name": "B"}));
    let first = scene.act_once(same(), 2, 2).await;
    let Outcome { effect, stored, position, .. } = first.clone().expect("valid");
    assert_eq!((effect, stored.version, position), (Effect::Unchanged, 2, 3));
    assert_eq!(scene.act_once(same(), 2, 2).await, again(&first));
    scene.patch(id, json!({"name": "C"})).await.expect("valid");
    let before = scene.image().await;
    assert_eq!(scene.act_once(same(), 2, 2).await, again(&first));
    assert_eq!(scene.image().await, before, "the name stays C");
}

pub async fn one_key_for_two_requests_is_refused(scene: Scene) {
    let (id, first) = created(&scene).await;
    let before = scene.image().await;
    let reused = Err(Refusal::KeyReused);
    let other = scene.creating(&json!({"username": "grace"}));
    assert_eq!(scene.act_once(other, 1, 2).await, reused);
    assert_eq!(scene.act_once(deleting(id), 1, 3).await, reused);
    assert_eq!(scene.act_once(deleting(scene.new_id()), 1, 3).await, reused, "told first");
    assert_eq!(scene.image().await, before);
    assert_eq!(create_again(&scene).await, again(&first), "the key is the first request's");
}

pub async fn what_a_request_came_to_can_be_asked_for(scene: Scene) {
    assert_eq!(scene.recall(1, 1).await, Ok(None));
    let (id, first) = created(&scene).await;
    let same = scene.act_once(patching(id, &json!({"name": "Ada"})), 2, 2).await;
    scene.delete(id).await.expect("there");
    let before = scene.image().await;
    assert_eq!(scene.recall(1, 1).await, again(&first).map(Some));
    assert_eq!(scene.recall(2, 2).await, again(&same).map(Some), "without a change too");
    assert_eq!(scene.recall(1, 2).await, Err(Refusal::KeyReused));
    assert_eq!(scene.recall(3, 1).await, Ok(None));
    assert_eq!(scene.image().await, before);
    scene.clock.step(IDEMPOTENCY_KEEP_MS);
    assert_eq!(scene.recall(1, 1).await, again(&first).map(Some));
    scene.clock.step(1);
    assert_eq!(scene.recall(1, 1).await, Ok(None));
    assert_eq!(scene.recall(1, 2).await, Ok(None));
}

pub async fn two_keys_are_two_requests(scene: Scene) {
    let id = created(&scene).await.0;
    for (key, name) in [(2, "B"), (3, "C"), (4, "B")] {
        // The fingerprint alone marks nothing.
        let outcome = scene.act_once(patching(id, &json!({"name": name})), key, 9).await;
        assert!(!outcome.expect("valid").replayed);
    }
    assert_eq!(scene.get(id).await.expect("there").version, 4);
}

pub async fn a_refused_request_leaves_no_mark(scene: Scene) {
    let holder = scene.user(ada()).await.id;
    assert!(matches!(create_again(&scene).await, Err(Refusal::Taken(_))));
    let invalid = scene.creating(&json!({"name": "nobody"}));
    assert!(matches!(scene.act_once(invalid, 1, 2).await, Err(Refusal::Invalid(_))));
    assert_eq!(scene.act_once(deleting(scene.new_id()), 1, 3).await, Err(Refusal::NotFound));
    scene.delete(holder).await.expect("there");
    // Judged anew, and not as one that came before.
    let outcome = create_again(&scene).await.expect("free by now");
    assert!(!outcome.replayed);
    assert_eq!(scene.act_once(deleting(holder), 1, 3).await, Err(Refusal::KeyReused));
}

pub async fn a_key_is_looked_up_before_any_precondition(scene: Scene) {
    let id = created(&scene).await.0;
    let act = || replacing(id, &json!({"name": "B"}), if_match(&[1]));
    let first = scene.act_once(act(), 2, 2).await;
    assert_eq!(first.as_ref().expect("it holds").stored.version, 2);
    assert_eq!(scene.act_once(act(), 2, 2).await, again(&first));
    assert_eq!(scene.act_once(act(), 3, 3).await, Err(Refusal::VersionMismatch { current: 2 }));
}

pub async fn one_key_counts_within_one_batch_too(scene: Scene) {
    let create = || scene.creating(&ada());
    let invalid = scene.creating(&json!({"name": "nobody"}));
    let commands = vec![
        scene.marked(invalid, 1, 1),
        scene.marked(create(), 1, 1),
        scene.marked(create(), 1, 1),
        scene.command(scene.creating(&json!({"username": "grace"}))),
        scene.marked(create(), 1, 2),
        scene.marked(create(), 1, 1),
    ];
    let results = scene.carry_out(commands).await;
    let [Err(Refusal::Invalid(_)), first @ Ok(made), second, Ok(_), reused, third] = &results[..]
    else {
        panic!("{results:?}")
    };
    assert_eq!((made.position, made.replayed), (1, false));
    assert_eq!((second, third), (&again(first), &again(first)));
    assert_eq!(reused, &Err(Refusal::KeyReused));
    assert_eq!(scene.head().await.position, 2);
}

pub async fn a_batch_changes_a_user_between_a_request_and_its_replay(scene: Scene) {
    let act = scene.creating(&ada());
    let Act::Create { id, .. } = &act else { panic!("a create") };
    let id = *id;
    let commands = vec![
        scene.marked(act, 1, 1),
        scene.command(patching(id, &json!({"name": "B"}))),
        scene.marked(scene.creating(&ada()), 1, 1),
        scene.command(deleting(id)),
        scene.marked(scene.creating(&ada()), 1, 1),
    ];
    let results = scene.carry_out(commands).await;
    assert_eq!((&results[2], &results[4]), (&again(&results[0]), &again(&results[0])));
    assert_eq!(view(&results[2].as_ref().expect("told again").stored)["name"], "Ada");
}

pub async fn a_key_is_remembered_for_a_day(scene: Scene) {
    let (id, first) = created(&scene).await;
    scene.clock.step(IDEMPOTENCY_KEEP_MS - 1);
    assert_eq!(create_again(&scene).await, again(&first), "a replay does not lengthen the day");
    scene.clock.step(2);
    assert!(matches!(create_again(&scene).await, Err(Refusal::Taken(_))), "judged anew");
    scene.delete(id).await.expect("there");
    // The new outcome takes the place of the old one.
    let second = scene.act_once(scene.creating(&ada()), 1, 2).await;
    assert!(!second.as_ref().expect("free").replayed);
    assert_eq!(create_again(&scene).await, Err(Refusal::KeyReused));
    assert_eq!(scene.act_once(scene.creating(&ada()), 1, 2).await, again(&second));
    scene.clock.step(IDEMPOTENCY_KEEP_MS - 1);
    assert_eq!(scene.act_once(scene.creating(&ada()), 1, 2).await, again(&second));
}

/// In one transaction with a write that takes place.
pub async fn a_key_that_outlived_its_day_stays_where_its_request_is_refused(scene: Scene) {
    created(&scene).await.1.expect("valid");
    scene.clock.step(IDEMPOTENCY_KEEP_MS + 1);
    let refused = scene.marked(restoring(UserId::from_bytes([9; 16])), 1, 1);
    let other = scene.command(scene.creating(&json!({"username": "grace"})));
    let results = scene.carry_out(vec![other, refused]).await;
    assert_eq!(results.iter().map(std::result::Result::is_ok).collect::<Vec<_>>(), [true, false]);
    let (keys_before, events_before) = (scene.clock.now(), Timestamp::from_millis(0));
    assert_eq!(scene.forget(Outlived { keys_before, events_before }).await, 1);
}

pub async fn a_clock_that_goes_back_forgets_no_key(scene: Scene) {
    let first = created(&scene).await.1;
    scene.clock.step(-3 * IDEMPOTENCY_KEEP_MS);
    assert_eq!(create_again(&scene).await, again(&first));
}

pub async fn a_purge_forgets_the_keys_of_its_user(scene: Scene) {
    let id = created(&scene).await.0;
    let kept = scene.act_once(scene.creating(&json!({"username": "grace"})), 2, 2).await;
    assert!(scene.act_once(patching(id, &json!({"name": "B"})), 3, 3).await.is_ok());
    assert!(scene.act_once(deleting(id), 4, 4).await.is_ok());
    let purged = scene.act_once(purging(id), 5, 5).await;
    assert!(purged.is_ok());
    let gone = Err(Refusal::NotFound);
    assert_eq!(scene.act_once(patching(id, &json!({"name": "B"})), 3, 3).await, gone);
    assert_eq!(scene.act_once(deleting(id), 4, 9).await, gone);
    // The purge itself may come twice, and what others did is remembered.
    assert_eq!(scene.act_once(purging(id), 5, 5).await, again(&purged));
    assert!(purged.expect("deleted").stored.record.is_empty());
    let grace = scene.creating(&json!({"username": "grace"}));
    assert_eq!(scene.act_once(grace, 2, 2).await, again(&kept));
    let anew = create_again(&scene).await.expect("free");
    assert!(!anew.replayed && anew.stored.id != id);
}
