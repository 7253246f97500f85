//! Purging a user (promise "Deleted users can be restored"): afterwards nothing of the user is left
//! but the positions of its events in the log.

use bytes::Bytes;
use roster_core::{
    Clock as _, Effect, Event, EventKind, EventsQuery, MembersChanged, Outcome, Preconditions,
    Refusal, Rules, Tags, UserAct, UserId,
    list::{DeletedQuery, PageQuery},
};
use serde_json::{Value, json};

use super::{
    harness::{Harness, deleting, only_if, patching, purging, restoring},
    order::crowd,
    preconditions::if_match,
};
use crate::replay::replay;

pub const RULES: Rules = super::DEFAULT;

fn ada() -> Value {
    json!({"username": "ada", "email": "ada@example.com", "name": "Ada Lovelace"})
}

/// A deleted user at version 3, with two events that contain its record.
async fn deleted(harness: &Harness) -> UserId {
    let id = harness.user(ada()).await.id;
    harness.patch(id, json!({"phone_number": "+44 20 1"})).await.expect("valid");
    harness.delete(id).await.expect("there");
    id
}

pub async fn a_purged_user_cannot_be_read_or_restored(harness: Harness) {
    let id = deleted(&harness).await;
    let outcome = harness.purge(id).await.expect("deleted");
    let Outcome { effect, stored, position, replayed } = outcome;
    assert_eq!((effect, position), (Effect::Changed(EventKind::Purged), 4));
    assert_eq!((stored.id, stored.version, replayed), (id, 4, false));
    assert_eq!(stored.record, Bytes::new());
    assert_eq!((harness.get(id).await, harness.get_deleted(id).await), (None, None));
    assert_eq!(harness.deleted_page(DeletedQuery::first(10)).await.items, []);
    assert_eq!(harness.restore(id).await, Err(Refusal::NotFound));
    assert_eq!(harness.purge(id).await, Err(Refusal::NotFound), "twice");
    let image = harness.image().await;
    assert_eq!((image.head.position, image.head.live(), image.head.deleted), (4, 0, 0));
}

pub async fn a_purge_empties_the_records_of_all_its_events(harness: Harness) {
    let other = harness.user(json!({"username": "grace", "name": "Grace"})).await.id;
    let id = deleted(&harness).await;
    harness.restore(id).await.expect("free");
    harness.patch(other, json!({"title": "T"})).await.expect("valid");
    harness.delete(id).await.expect("there");
    let before = harness.events().await;
    harness.purge(id).await.expect("deleted");
    let mut expected = before;
    for (_, event) in expected.iter_mut().filter(|(_, event)| event.user_id == id) {
        event.record = Bytes::new();
    }
    let after = harness.events().await;
    let (last, before) = after.split_last().expect("events");
    assert_eq!(before, expected, "all else is as it was");
    assert_eq!(last.0, i64::try_from(after.len()).expect("few"), "dense");
    let kinds: Vec<_> = after.iter().filter(|(_, event)| event.user_id == id).collect();
    assert_eq!(kinds.len(), 6);
    let left = |(_, event): &(i64, Event)| event.user_id == other && !event.record.is_empty();
    assert_eq!(after.iter().filter(|event| left(event)).count(), 2);
}

pub async fn the_event_of_a_purge_contains_no_personal_data(harness: Harness) {
    let id = deleted(&harness).await;
    harness.clock.step(10);
    harness.purge(id).await.expect("deleted");
    let (position, event) = harness.events().await.pop().expect("an event");
    let expected = Event {
        kind: EventKind::Purged,
        at: harness.clock.now(),
        actor: "anonymous".to_owned(),
        request_id: "request".to_owned(),
        user_id: id,
        version: 4,
        changed: vec![],
        members: MembersChanged::default(),
        record: Bytes::new(),
    };
    assert_eq!((position, event), (4, expected));
}

pub async fn a_live_user_cannot_be_purged(harness: Harness) {
    let id = harness.user(ada()).await.id;
    let before = harness.image().await;
    for id in [id, harness.new_id()] {
        assert_eq!(harness.purge(id).await, Err(Refusal::NotFound));
    }
    assert_eq!(harness.image().await, before);
}

pub async fn a_purge_checks_preconditions(harness: Harness) {
    let id = deleted(&harness).await;
    let before = harness.image().await;
    let purge = |preconditions| harness.act(only_if(purging(id), preconditions));
    let stale = Err(Refusal::VersionMismatch { current: 3 });
    assert_eq!(purge(if_match(&[2])).await, stale);
    let not_any = Preconditions { if_match: None, if_none_match: Some(Tags::Any) };
    assert_eq!(purge(not_any).await, stale);
    assert_eq!(harness.image().await, before);
    assert!(purge(if_match(&[3])).await.is_ok());
}

pub async fn counters_follow_a_purge(harness: Harness) {
    let users = crowd(&harness).await;
    let before = harness.head().await;
    let gone = harness.deleted_page(DeletedQuery::first(2)).await.items;
    for deleted in &gone {
        harness.purge(deleted.stored.id).await.expect("deleted");
    }
    let after = harness.head().await;
    assert_eq!((after.active, after.suspended), (before.active, before.suspended));
    assert_eq!((after.deleted, after.position), (before.deleted - 2, before.position + 2));
    let page = harness.deleted_page(DeletedQuery::first(100)).await;
    assert_eq!(page.total, u64::try_from(after.deleted).expect("not negative"));
    assert_eq!(page.position, after.position);
    assert_eq!(harness.walk(PageQuery::first(10)).await, users);
}

pub async fn the_log_replays_to_the_live_users_after_a_purge(harness: Harness) {
    let users = crowd(&harness).await;
    for deleted in harness.deleted_page(DeletedQuery::first(3)).await.items {
        harness.purge(deleted.stored.id).await.expect("deleted");
    }
    let (one, two) = (users[0].id, users[1].id);
    harness.delete(one).await.expect("there");
    harness.apply(vec![deleting(two), restoring(two)]).await;
    harness.purge(one).await.expect("deleted");
    let events = harness.events().await;
    let replayed = replay(events.into_iter().map(|(_, event)| event));
    let replayed: Vec<_> = replayed.into_values().collect();
    assert_eq!(replayed, harness.walk(PageQuery::first(10)).await);
}

pub async fn a_create_delete_and_purge_in_one_batch_leaves_no_record(harness: Harness) {
    let act = harness.creating(&ada());
    let UserAct::Create { id, .. } = &act else { panic!("a create") };
    let id = *id;
    let patch = patching(id, &json!({"name": "A"}));
    let acts = vec![act, patch, deleting(id), restoring(id), deleting(id), purging(id)];
    let purged_twice = [acts, vec![purging(id)]].concat();
    let results = harness.apply(purged_twice).await;
    assert_eq!(results[6], Err(Refusal::NotFound));
    assert!(results[..6].iter().all(Result::is_ok), "{results:?}");
    let events = harness.events().await;
    assert_eq!(events.len(), 6);
    assert!(events.iter().all(|(_, event)| event.record.is_empty()));
    let image = harness.image().await;
    assert_eq!((image.users, image.deleted), (vec![], vec![]));
}

pub async fn the_events_of_a_purged_user_keep_kind_and_version(harness: Harness) {
    let id = deleted(&harness).await;
    harness.purge(id).await.expect("deleted");
    let query = EventsQuery { user_id: Some(id), ..EventsQuery::after(0, 10) };
    let events = harness.events_page(query).await.events;
    let kinds: Vec<_> = events.iter().map(|(_, event)| (event.kind, event.version)).collect();
    let expected = [
        (EventKind::Created, 1),
        (EventKind::Updated, 2),
        (EventKind::Deleted, 3),
        (EventKind::Purged, 4),
    ];
    assert_eq!(kinds, expected);
}

pub async fn searches_and_filters_do_not_find_a_purged_user(harness: Harness) {
    let id = deleted(&harness).await;
    harness.purge(id).await.expect("deleted");
    let nobody: [String; 0] = [];
    assert_eq!(harness.found("lovelace").await, nobody);
    assert_eq!(harness.filtered("emails.value eq \"ada@example.com\"").await, nobody);
    // A later user with the same names is another user.
    let after = harness.user(ada()).await;
    assert_ne!(after.id, id);
    assert_eq!((after.version, harness.found("lovelace").await), (1, vec!["ada".to_owned()]));
}
