//! Purging a user with a long history (promise "Deleted users can be restored"): callers see the
//! same as after the purge of a short one, while the history is erased in steps.

use std::time::Duration;

use roster_core::{
    Effect, Erasure, EventKind, EventKinds, EventsQuery, Purged, Refusal, Rules, TenantId, UserId,
};
use serde_json::json;

use super::{
    harness::{Harness, patching, purging, restoring},
    order::crowd,
};

pub const RULES: Rules = super::DEFAULT;

/// More events than one step erases.
const EVENTS: usize = 2300;

/// A deleted user with a long history, created by a request with key 1. Its last change has key 2,
/// and a request without a change has key 3.
async fn deleted(harness: &Harness) -> UserId {
    let act = harness.creating(&json!({"username": "ada", "name": "Ada Lovelace"}));
    let id = harness.act_once(act, 1, 1).await.expect("free").stored.id;
    for batch in (0..EVENTS).collect::<Vec<_>>().chunks(250) {
        let patch = |n: &usize| patching(id, &json!({"title": format!("T{n}")}));
        let results = harness.apply(batch.iter().map(patch).collect()).await;
        assert!(results.iter().all(Result::is_ok));
    }
    let last = || patching(id, &json!({"nickname": "Countess"}));
    harness.act_once(last(), 2, 2).await.expect("valid");
    harness.act_once(last(), 3, 3).await.expect("valid");
    harness.delete(id).await.expect("there");
    id
}

pub(crate) async fn erase_all(harness: &Harness) {
    let pending = async || harness.store().pending_erasures().await.expect("the store answers");
    let mut steps = 0;
    while let Some(first) = pending().await.first() {
        // The files may have to be swept before the next erasure ends.
        if harness.store().erase(*first).await.expect("the store answers") == Erasure::Pending {
            tokio::time::sleep(Duration::from_millis(1)).await;
            steps += 1;
            assert!(steps < 2000, "a step erases many rows");
        }
    }
}

async fn assert_hidden(harness: &Harness, id: UserId) {
    assert_eq!((harness.get(id).await, harness.get_deleted(id).await), (None, None));
    for user_id in [None, Some(id)] {
        let query = EventsQuery { user_id, ..EventsQuery::after(0, 10_000) };
        let events = harness.events_page(query).await.events;
        let own: Vec<_> = events.iter().filter(|(_, event)| event.user_id == id).collect();
        assert_eq!(own.len(), EVENTS + 4);
        assert!(own.iter().all(|(_, event)| event.record.is_empty()));
    }
    let query = EventsQuery {
        kinds: EventKinds::only(EventKind::Updated),
        ..EventsQuery::after(0, 10_000)
    };
    let events = harness.events_page(query).await.events;
    let left = |event: &roster_core::Event| event.user_id == id && !event.record.is_empty();
    assert!(!events.iter().any(|(_, event)| left(event)));
    for key in [1, 2, 3] {
        assert_eq!(harness.recall(key, key).await, Ok(None));
        assert_eq!(harness.recall(key, 9).await, Ok(None), "the key is free");
    }
}

pub async fn a_long_history_is_hidden_at_once(harness: Harness) {
    let id = deleted(&harness).await;
    harness.purge(id).await.expect("deleted");
    assert_hidden(&harness, id).await;
    let before = harness.image().await;
    erase_all(&harness).await;
    assert_hidden(&harness, id).await;
    assert_eq!(harness.image().await, before);
}

pub async fn a_long_history_does_not_hide_the_events_of_others(harness: Harness) {
    let users = crowd(&harness).await;
    let before = harness.events().await;
    let id = deleted(&harness).await;
    harness.purge(id).await.expect("deleted");
    let others = |events: Vec<(i64, roster_core::Event)>| -> Vec<_> {
        events.into_iter().filter(|(_, event)| event.user_id != id).collect()
    };
    assert_eq!(others(harness.events().await), before);
    erase_all(&harness).await;
    assert_eq!(others(harness.events().await), before);
    assert!(harness.get(users[0].id).await.is_some());
}

pub async fn keys_of_a_long_history_can_be_used_again_at_once(harness: Harness) {
    let id = deleted(&harness).await;
    harness.purge(id).await.expect("deleted");
    let act = || harness.creating(&json!({"username": "grace"}));
    let created = harness.act_once(act(), 1, 7).await.expect("the key is free");
    assert!(!created.replayed);
    erase_all(&harness).await;
    let again = harness.act_once(act(), 1, 7).await.expect("it came before");
    assert_eq!((again.replayed, again.stored.id), (true, created.stored.id));
}

pub async fn the_purge_of_a_long_history_is_replayed(harness: Harness) {
    let id = deleted(&harness).await;
    let first = harness.act_once(purging(id), 8, 8).await.expect("deleted");
    assert_eq!(first.effect, Effect::Changed(EventKind::Purged));
    for _ in 0..2 {
        let again = harness.act_once(purging(id), 8, 8).await.expect("it came before");
        assert_eq!((again.replayed, again.position), (true, first.position));
        assert!(again.stored.record.is_empty());
        erase_all(&harness).await;
    }
    assert_eq!(harness.restore(id).await, Err(Refusal::NotFound));
    assert_eq!(harness.act_once(restoring(id), 2, 2).await, Err(Refusal::NotFound));
}

pub async fn erasing_a_user_that_has_nothing_left_does_nothing(harness: Harness) {
    let users = crowd(&harness).await;
    let before = harness.image().await;
    for id in [users[0].id, harness.new_id()] {
        let user = Purged { tenant: TenantId::DEFAULT, user: Some(id) };
        let erasure = harness.store().erase(user).await.expect("the store answers");
        assert_ne!(erasure, Erasure::Pending);
    }
    assert_eq!(harness.image().await, before);
}
