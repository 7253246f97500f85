//! Purging a person with a long history (contract 6 and 9): what callers see is the same as after
//! the purge of a short one, while the history is erased step by step.

use roster_core::{Effect, Erasure, EventKind, EventsQuery, Refusal, Rules, UserId};
use serde_json::json;

use super::{
    order::crowd,
    scene::{Scene, patching, purging, restoring},
};

pub const RULES: Rules = super::DEFAULT;

/// More events than one step erases.
const EVENTS: usize = 2300;

/// A deleted user with a long history, created by a request with the key 1; its last change is
/// remembered by the key 2, and a request that changed nothing by the key 3.
async fn deleted(scene: &Scene) -> UserId {
    let act = scene.creating(&json!({"username": "ada", "name": "Ada Lovelace"}));
    let id = scene.act_once(act, 1, 1).await.expect("free").stored.id;
    for batch in (0..EVENTS).collect::<Vec<_>>().chunks(250) {
        let patch = |n: &usize| patching(id, &json!({"title": format!("T{n}")}));
        let results = scene.apply(batch.iter().map(patch).collect()).await;
        assert!(results.iter().all(Result::is_ok));
    }
    let last = || patching(id, &json!({"nickname": "Countess"}));
    scene.act_once(last(), 2, 2).await.expect("valid");
    scene.act_once(last(), 3, 3).await.expect("valid");
    scene.delete(id).await.expect("there");
    id
}

async fn erase_all(scene: &Scene) {
    for id in scene.store().pending_erasures().await.expect("the store answers") {
        let mut steps = 0;
        while scene.store().erase(id).await.expect("the store answers") == Erasure::Pending {
            steps += 1;
            assert!(steps <= 5, "a step erases 1,000 events");
        }
    }
    assert_eq!(scene.store().pending_erasures().await.expect("the store answers"), []);
}

async fn assert_hidden(scene: &Scene, id: UserId) {
    assert_eq!((scene.get(id).await, scene.get_deleted(id).await), (None, None));
    for user_id in [None, Some(id)] {
        let query = EventsQuery { user_id, ..EventsQuery::after(0, 10_000) };
        let events = scene.events_page(query).await.events;
        let own: Vec<_> = events.iter().filter(|(_, event)| event.user_id == id).collect();
        assert_eq!(own.len(), EVENTS + 4);
        assert!(own.iter().all(|(_, event)| event.record.is_empty()));
    }
    let query = EventsQuery { kind: Some(EventKind::Updated), ..EventsQuery::after(0, 10_000) };
    let events = scene.events_page(query).await.events;
    let left = |event: &roster_core::Event| event.user_id == id && !event.record.is_empty();
    assert!(!events.iter().any(|(_, event)| left(event)));
    for key in [1, 2, 3] {
        assert_eq!(scene.recall(key, key).await, Ok(None));
        assert_eq!(scene.recall(key, 9).await, Ok(None), "the key is free");
    }
}

pub async fn a_long_history_is_hidden_at_once(scene: Scene) {
    let id = deleted(&scene).await;
    scene.purge(id).await.expect("deleted");
    assert_hidden(&scene, id).await;
    let before = scene.image().await;
    erase_all(&scene).await;
    assert_hidden(&scene, id).await;
    assert_eq!(scene.image().await, before);
}

pub async fn a_long_history_does_not_hide_the_events_of_others(scene: Scene) {
    let users = crowd(&scene).await;
    let before = scene.events().await;
    let id = deleted(&scene).await;
    scene.purge(id).await.expect("deleted");
    let others = |events: Vec<(i64, roster_core::Event)>| -> Vec<_> {
        events.into_iter().filter(|(_, event)| event.user_id != id).collect()
    };
    assert_eq!(others(scene.events().await), before);
    erase_all(&scene).await;
    assert_eq!(others(scene.events().await), before);
    assert!(scene.get(users[0].id).await.is_some());
}

pub async fn keys_of_a_long_history_can_be_used_again_at_once(scene: Scene) {
    let id = deleted(&scene).await;
    scene.purge(id).await.expect("deleted");
    let act = || scene.creating(&json!({"username": "grace"}));
    let created = scene.act_once(act(), 1, 7).await.expect("the key is free");
    assert!(!created.replayed);
    erase_all(&scene).await;
    let again = scene.act_once(act(), 1, 7).await.expect("it came before");
    assert_eq!((again.replayed, again.stored.id), (true, created.stored.id));
}

pub async fn the_purge_of_a_long_history_is_told_again(scene: Scene) {
    let id = deleted(&scene).await;
    let first = scene.act_once(purging(id), 8, 8).await.expect("deleted");
    assert_eq!(first.effect, Effect::Changed(EventKind::Purged));
    for _ in 0..2 {
        let again = scene.act_once(purging(id), 8, 8).await.expect("it came before");
        assert_eq!((again.replayed, again.position), (true, first.position));
        assert!(again.stored.record.is_empty());
        erase_all(&scene).await;
    }
    assert_eq!(scene.restore(id).await, Err(Refusal::NotFound));
    assert_eq!(scene.act_once(restoring(id), 2, 2).await, Err(Refusal::NotFound));
}

pub async fn erasing_a_user_that_has_nothing_left_does_nothing(scene: Scene) {
    let users = crowd(&scene).await;
    let before = scene.image().await;
    for id in [users[0].id, scene.new_id()] {
        let erasure = scene.store().erase(id).await.expect("the store answers");
        assert_ne!(erasure, Erasure::Pending);
    }
    assert_eq!(scene.image().await, before);
}
