//! Retention: old idempotency records and events are deleted.

use roster_core::{
    Clock as _, EventKind, EventsQuery, Outcome, Outlived, Refusal, Rules, Timestamp,
};
use serde_json::json;

use super::{
    harness::{Harness, patching},
    order::crowd,
};

pub const RULES: Rules = super::DEFAULT;

const NEVER: Timestamp = Timestamp::from_millis(0);

fn keys(before: Timestamp) -> Outlived {
    Outlived { keys_before: before, events_before: NEVER }
}

fn events(before: Timestamp) -> Outlived {
    Outlived { keys_before: NEVER, events_before: before }
}

/// Creates three users, a minute apart, each with its own idempotency key.
async fn three(harness: &Harness) -> [Timestamp; 3] {
    let mut moments = [NEVER; 3];
    for (key, moment) in (1..).zip(&mut moments) {
        harness.clock.step(60_000);
        *moment = harness.clock.now();
        let act = harness.creating(&json!({"username": format!("u{key}")}));
        harness.act_once(act, key, key).await.expect("free");
    }
    moments
}

/// Which of the three creates still have a stored result.
async fn stored_results(harness: &Harness) -> [bool; 3] {
    let mut stored_results = [false; 3];
    for (key, has_result) in (1..).zip(&mut stored_results) {
        let act = harness.creating(&json!({"username": format!("u{key}")}));
        *has_result = match harness.act_once(act, key, key).await {
            Ok(outcome) => outcome.replayed,
            Err(Refusal::Taken(_)) => false,
            Err(refusal) => panic!("{refusal:?}"),
        };
    }
    stored_results
}

pub async fn old_idempotency_records_are_deleted(harness: Harness) {
    let [first, second, third] = three(&harness).await;
    let before = harness.image().await;
    assert_eq!(harness.forget(keys(first)).await, 0);
    assert_eq!(stored_results(&harness).await, [true, true, true]);
    assert_eq!(harness.forget(keys(second)).await, 1);
    assert_eq!(stored_results(&harness).await, [false, true, true]);
    assert_eq!(harness.forget(keys(second)).await, 0, "already deleted");
    let after = Timestamp::from_millis(third.as_millis() + 1);
    assert_eq!(harness.forget(keys(after)).await, 2);
    assert_eq!(stored_results(&harness).await, [false, false, false]);
    assert_eq!(harness.image().await, before, "nothing else is changed");
}

pub async fn old_events_are_deleted_oldest_first(harness: Harness) {
    let [first, second, third] = three(&harness).await;
    let whole = harness.image().await;
    assert_eq!(harness.forget(events(first)).await, 0);
    assert_eq!(harness.image().await, whole);
    assert_eq!(harness.forget(events(third)).await, 2);
    let after = harness.image().await;
    assert_eq!((after.head, &after.users), (whole.head, &whole.users));
    assert_eq!(after.events, whole.events[2..]);
    for position in [0, 1, 2] {
        let page = harness.events_page(EventsQuery::after(position, 10)).await;
        assert_eq!((page.oldest, page.reached, page.events.len()), (3, 3, 1));
    }
    assert_eq!(harness.forget(events(second)).await, 0, "already deleted");
    // A replay needs its event, so records are deleted before events.
    assert!(stored_results(&harness).await[2], "its event is kept");
}

pub async fn an_old_event_after_a_newer_one_is_kept(harness: Harness) {
    let ada = harness.user(json!({"username": "ada"})).await.id;
    let grace = harness.user(json!({"username": "grace"})).await.id;
    let start = harness.clock.now().as_millis();
    let moment = |minutes: i64| Timestamp::from_millis(start + minutes * 60_000);
    // The times of one user's events never decrease. Those of two users may, if the clock is set
    // back.
    for (id, minutes) in [(ada, 9), (grace, 3), (ada, 20), (grace, 10)] {
        harness.clock.set(moment(minutes));
        harness.patch(id, json!({"title": minutes.to_string()})).await.expect("valid");
    }
    let log = harness.events().await;
    let minutes: Vec<i64> = log.iter().map(|(_, e)| (e.at.as_millis() - start) / 60_000).collect();
    assert_eq!(minutes, [0, 0, 9, 3, 20, 10]);
    assert_eq!(harness.forget(events(moment(5))).await, 2);
    assert_eq!(harness.events().await, log[2..], "the log has no gap");
    assert_eq!(harness.forget(events(moment(12))).await, 2);
    assert_eq!(harness.events().await, log[4..]);
}

pub async fn the_log_continues_after_all_events_are_deleted(harness: Harness) {
    crowd(&harness).await;
    let head = harness.head().await;
    let log = harness.events().await;
    harness.clock.step(60_000);
    let all = u64::try_from(log.len()).expect("few");
    assert_eq!(harness.forget(events(harness.clock.now())).await, all);
    let page = harness.events_page(EventsQuery::after(0, 10)).await;
    assert_eq!((page.events, page.head), (vec![], head.position));
    assert_eq!((page.oldest, page.reached), (head.position + 1, head.position));
    assert_eq!(harness.head().await, head);
    let outcome = harness.create(json!({"username": "after"})).await.expect("free");
    assert_eq!(outcome.position, head.position + 1);
    let page = harness.events_page(EventsQuery::after(0, 10)).await;
    assert_eq!((page.oldest, page.events.len()), (head.position + 1, 1));
    assert_eq!(page.events[0].0, outcome.position);
}

pub async fn deleting_events_keeps_their_users(harness: Harness) {
    let users = crowd(&harness).await;
    let deleted = harness.image().await.deleted;
    harness.clock.step(60_000);
    harness.forget(events(harness.clock.now())).await;
    let image = harness.image().await;
    assert_eq!((&image.users, &image.deleted), (&users, &deleted));
    harness.patch(users[0].id, json!({"title": "after"})).await.expect("valid");
    harness.delete(users[1].id).await.expect("there");
    harness.purge(users[1].id).await.expect("deleted");
    let kinds: Vec<_> = harness.events().await.into_iter().map(|(_, event)| event.kind).collect();
    assert_eq!(kinds, [EventKind::Updated, EventKind::Deleted, EventKind::Purged]);
}

pub async fn a_result_is_replayed_after_its_event_is_deleted(harness: Harness) {
    let user = harness.user(json!({"username": "ada", "name": "Ada"})).await;
    harness.clock.step(60_000);
    let same = || patching(user.id, &json!({"name": "Ada"}));
    let first = harness.act_once(same(), 1, 1).await.expect("valid");
    harness.forget(events(harness.clock.now())).await;
    assert_eq!(harness.events().await, []);
    let again = harness.act_once(same(), 1, 1).await;
    assert_eq!(again, Ok(Outcome { replayed: true, ..first }));
}

pub async fn a_long_log_is_deleted_in_steps(harness: Harness) {
    let mut commands = Vec::new();
    for number in 0..3000_u32 {
        let body = json!({"username": format!("u{number}")});
        let mut command = harness.marked(harness.creating(&body), 0, 0);
        if let Some(mark) = &mut command.idempotency {
            mark.key[..4].copy_from_slice(&number.to_be_bytes());
        }
        commands.push(command);
    }
    for batch in commands.chunks(250) {
        let results = harness.execute(batch.to_vec()).await;
        assert!(results.iter().all(Result::is_ok));
    }
    harness.clock.step(60_000);
    let now = harness.clock.now();
    let all = Outlived { keys_before: now, events_before: now };
    assert_eq!(harness.forget(all).await, 6000);
    assert_eq!((harness.events().await, harness.forget(all).await), (vec![], 0));
    assert_eq!(harness.head().await.active, 3000);
}
