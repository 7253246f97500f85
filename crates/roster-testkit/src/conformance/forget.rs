//! What is kept for a time only (contract 3 and 9): idempotency keys and old events.

use roster_core::{
    Clock as _, EventKind, EventsQuery, Outcome, Outlived, Refusal, Rules, Timestamp,
};
use serde_json::json;

use super::{
    order::crowd,
    scene::{Scene, patching},
};

pub const RULES: Rules = super::DEFAULT;

const NEVER: Timestamp = Timestamp::from_millis(0);

fn keys(before: Timestamp) -> Outlived {
    Outlived { keys_before: before, events_before: NEVER }
}

fn events(before: Timestamp) -> Outlived {
    Outlived { keys_before: NEVER, events_before: before }
}

/// Three users, a minute apart, each created with a key of its own.
async fn three(scene: &Scene) -> [Timestamp; 3] {
    let mut moments = [NEVER; 3];
    for (key, moment) in (1..).zip(&mut moments) {
        scene.clock.step(60_000);
        *moment = scene.clock.now();
        let act = scene.creating(&json!({"username": format!("u{key}")}));
        scene.act_once(act, key, key).await.expect("free");
    }
    moments
}

/// Which of the three creates is remembered by its key.
async fn remembered(scene: &Scene) -> [bool; 3] {
    let mut remembered = [false; 3];
    for (key, remembered) in (1..).zip(&mut remembered) {
        let act = scene.creating(&json!({"username": format!("u{key}")}));
        *remembered = match scene.act_once(act, key, key).await {
            Ok(outcome) => outcome.replayed,
            Err(Refusal::Taken(_)) => false,
            Err(refusal) => panic!("{refusal:?}"),
        };
    }
    remembered
}

pub async fn keys_that_came_before_a_moment_are_forgotten(scene: Scene) {
    let [first, second, third] = three(&scene).await;
    let before = scene.image().await;
    assert_eq!(scene.forget(keys(first)).await, 0);
    assert_eq!(remembered(&scene).await, [true, true, true]);
    assert_eq!(scene.forget(keys(second)).await, 1);
    assert_eq!(remembered(&scene).await, [false, true, true]);
    assert_eq!(scene.forget(keys(second)).await, 0, "once");
    let after = Timestamp::from_millis(third.as_millis() + 1);
    assert_eq!(scene.forget(keys(after)).await, 2);
    assert_eq!(remembered(&scene).await, [false, false, false]);
    assert_eq!(scene.image().await, before, "nothing else is touched");
}

pub async fn events_before_a_moment_are_forgotten_from_the_oldest_on(scene: Scene) {
    let [first, second, third] = three(&scene).await;
    let whole = scene.image().await;
    assert_eq!(scene.forget(events(first)).await, 0);
    assert_eq!(scene.image().await, whole);
    assert_eq!(scene.forget(events(third)).await, 2);
    let after = scene.image().await;
    assert_eq!((after.head, &after.users), (whole.head, &whole.users));
    assert_eq!(after.events, whole.events[2..]);
    for position in [0, 1, 2] {
        let page = scene.events_page(EventsQuery::after(position, 10)).await;
        assert_eq!((page.oldest, page.reached, page.events.len()), (3, 3, 1));
    }
    assert_eq!(scene.forget(events(second)).await, 0, "those are gone");
    // A request is told again by its event: keys are to be forgotten before events are.
    assert!(remembered(&scene).await[2], "its event is kept");
}

pub async fn an_old_event_after_a_younger_one_stays(scene: Scene) {
    let ada = scene.user(json!({"username": "ada"})).await.id;
    let grace = scene.user(json!({"username": "grace"})).await.id;
    let start = scene.clock.now().as_millis();
    let moment = |minutes: i64| Timestamp::from_millis(start + minutes * 60_000);
    // A user's own events never go back; those of two users may, when the clock does.
    for (id, minutes) in [(ada, 9), (grace, 3), (ada, 20), (grace, 10)] {
        scene.clock.set(moment(minutes));
        scene.patch(id, json!({"title": minutes.to_string()})).await.expect("valid");
    }
    let log = scene.events().await;
    let minutes: Vec<i64> = log.iter().map(|(_, e)| (e.at.as_millis() - start) / 60_000).collect();
    assert_eq!(minutes, [0, 0, 9, 3, 20, 10]);
    assert_eq!(scene.forget(events(moment(5))).await, 2);
    assert_eq!(scene.events().await, log[2..], "the log has no hole");
    assert_eq!(scene.forget(events(moment(12))).await, 2);
    assert_eq!(scene.events().await, log[4..]);
}

pub async fn the_log_goes_on_where_it_was_after_all_is_forgotten(scene: Scene) {
    crowd(&scene).await;
    let head = scene.head().await;
    let log = scene.events().await;
    scene.clock.step(60_000);
    let all = u64::try_from(log.len()).expect("few");
    assert_eq!(scene.forget(events(scene.clock.now())).await, all);
    let page = scene.events_page(EventsQuery::after(0, 10)).await;
    assert_eq!((page.events, page.head), (vec![], head.position));
    assert_eq!((page.oldest, page.reached), (head.position + 1, head.position));
    assert_eq!(scene.head().await, head);
    let outcome = scene.create(json!({"username": "after"})).await.expect("free");
    assert_eq!(outcome.position, head.position + 1);
    let page = scene.events_page(EventsQuery::after(0, 10)).await;
    assert_eq!((page.oldest, page.events.len()), (head.position + 1, 1));
    assert_eq!(page.events[0].0, outcome.position);
}

pub async fn users_live_on_when_their_events_are_forgotten(scene: Scene) {
    let users = crowd(&scene).await;
    let deleted = scene.image().await.deleted;
    scene.clock.step(60_000);
    scene.forget(events(scene.clock.now())).await;
    let image = scene.image().await;
    assert_eq!((&image.users, &image.deleted), (&users, &deleted));
    scene.patch(users[0].id, json!({"title": "after"})).await.expect("valid");
    scene.delete(users[1].id).await.expect("there");
    scene.purge(users[1].id).await.expect("deleted");
    let kinds: Vec<_> = scene.events().await.into_iter().map(|(_, event)| event.kind).collect();
    assert_eq!(kinds, [EventKind::Updated, EventKind::Deleted, EventKind::Purged]);
}

pub async fn a_request_is_told_again_though_the_event_of_its_user_is_forgotten(scene: Scene) {
    let user = scene.user(json!({"username": "ada", "name": "Ada"})).await;
    scene.clock.step(60_000);
    let same = || patching(user.id, &json!({"name": "Ada"}));
    let first = scene.act_once(same(), 1, 1).await.expect("valid");
    scene.forget(events(scene.clock.now())).await;
    assert_eq!(scene.events().await, []);
    let again = scene.act_once(same(), 1, 1).await;
    assert_eq!(again, Ok(Outcome { replayed: true, ..first }));
}

pub async fn a_long_log_is_forgotten_step_by_step(scene: Scene) {
    let mut commands = Vec::new();
    for number in 0..3000_u32 {
        let body = json!({"username": format!("u{number}")});
        let mut command = scene.marked(scene.creating(&body), 0, 0);
        if let Some(mark) = &mut command.idempotency {
            mark.key[..4].copy_from_slice(&number.to_be_bytes());
        }
        commands.push(command);
    }
    for batch in commands.chunks(250) {
        let results = scene.carry_out(batch.to_vec()).await;
        assert!(results.iter().all(Result::is_ok));
    }
    scene.clock.step(60_000);
    let now = scene.clock.now();
    let all = Outlived { keys_before: now, events_before: now };
    assert_eq!(scene.forget(all).await, 6000);
    assert_eq!((scene.events().await, scene.forget(all).await), (vec![], 0));
    assert_eq!(scene.head().await.active, 3000);
}
