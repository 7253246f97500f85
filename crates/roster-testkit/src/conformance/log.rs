//! The change log (promise "The change log has no gaps"): without gaps, in commit order, complete.

use std::time::Duration;

use roster_core::{Attribute, Head, Rules, list::PageQuery};
use serde_json::json;

use super::{
    harness::{Harness, deleting, view},
    order::crowd,
};
use crate::replay::replay;

pub const RULES: Rules = super::DEFAULT;

pub async fn events_are_dense_from_one_and_in_order(harness: Harness) {
    crowd(&harness).await;
    let events = harness.events().await;
    let positions: Vec<i64> = events.iter().map(|(position, _)| *position).collect();
    let last = harness.head().await.position;
    assert_eq!(positions, (1..=last).collect::<Vec<_>>());
    for (position, event) in &events {
        let next = harness.events_after(position - 1, 1).await;
        assert_eq!(next, [(*position, event.clone())]);
    }
    assert_eq!(harness.events_after(last, 10).await, []);
    assert_eq!(harness.events_after(last + 5, 10).await, []);
    assert_eq!(harness.events_after(0, 3).await, events[..3]);
    assert_eq!(harness.events_after(0, 0).await, []);
}

pub async fn replaying_the_log_gives_exactly_the_stored_users(harness: Harness) {
    crowd(&harness).await;
    let events = harness.events().await;
    let replayed = replay(events.into_iter().map(|(_, event)| event));
    let stored = harness.walk(PageQuery::first(7)).await;
    let replayed: Vec<_> = replayed.into_values().collect();
    assert_eq!(replayed, stored);
}

pub async fn the_versions_of_a_user_follow_each_other_in_the_log(harness: Harness) {
    crowd(&harness).await;
    let mut versions = std::collections::BTreeMap::new();
    for (_, event) in harness.events().await {
        let before = versions.insert(event.user_id, event.version).unwrap_or(0);
        assert_eq!(event.version, before + 1);
    }
}

pub async fn an_event_names_the_members_that_changed(harness: Harness) {
    let body = json!({"username": "ada", "email": "ada@example.com", "name": "Ada"});
    let user = harness.user(body).await;
    for patch in [
        json!({"name": "A", "title": "T"}),
        json!({"status": "suspended"}),
        json!({"email": "a@example.com"}),
        json!({"emails": [{"value": "a@example.com", "type": "work"}]}),
        json!({"email_verified": true}),
        json!({"name": null, "attributes": {"a": 1}}),
        json!({"attributes": {"a": 2}}),
    ] {
        harness.patch(user.id, patch).await.expect("valid");
    }
    let expected: [&[Attribute]; 8] = [
        &[
            Attribute::Status,
            Attribute::Username,
            Attribute::Name,
            Attribute::Email,
            Attribute::Emails,
        ],
        &[Attribute::Name, Attribute::Title],
        &[Attribute::Status],
        &[Attribute::Email, Attribute::EmailVerified, Attribute::Emails],
        &[Attribute::Emails],
        &[Attribute::EmailVerified],
        &[Attribute::Name, Attribute::Attributes],
        &[Attribute::Attributes],
    ];
    let changed: Vec<_> = harness.events().await.into_iter().map(|(_, e)| e.changed).collect();
    assert_eq!(changed, expected);
}

pub async fn a_page_and_its_position_are_consistent(harness: Harness) {
    let users = crowd(&harness).await;
    let page = harness.page(PageQuery::first(100)).await;
    assert_eq!(page.position, harness.head().await.position);
    harness.delete(users[0].id).await.expect("there");
    let after = harness.page(PageQuery::first(100)).await;
    assert_eq!(after.position, page.position + 1);
    let since = harness.events_after(page.position, 10).await;
    assert_eq!(since.len(), 1);
    assert_eq!(since[0].1.user_id, users[0].id);
}

pub async fn the_growth_of_the_log_is_noticed(harness: Harness) {
    let (store, limit) = (harness.store(), Duration::from_secs(30));
    harness.user(json!({"username": "ada"})).await;
    tokio::time::timeout(limit, store.log_grown(0)).await.expect("the log has grown");
    let last = harness.head().await.position;
    let mut grown = store.log_grown(last);
    let early = tokio::time::timeout(Duration::from_millis(100), &mut grown).await;
    assert!(early.is_err(), "the log has not grown");
    harness.user(json!({"username": "grace"})).await;
    tokio::time::timeout(limit, grown).await.expect("the log has grown");
}

pub async fn counters_follow_every_change(harness: Harness) {
    let users = crowd(&harness).await;
    let suspended = users.iter().filter(|user| view(user)["status"] == "suspended").count();
    let counted = |head: Head| (head.active, head.suspended, head.deleted);
    let number = |number: usize| i64::try_from(number).expect("few");
    let (active, suspended) = (number(users.len() - suspended), number(suspended));
    let before = harness.head().await;
    assert_eq!(counted(before), (active, suspended, 36 - number(users.len())));
    let one = users.iter().find(|user| view(user)["status"] == "active");
    let one = one.expect("one is active").id;
    harness.patch(one, json!({"status": "suspended"})).await.expect("valid");
    let deleted = before.deleted;
    assert_eq!(counted(harness.head().await), (active - 1, suspended + 1, deleted));
    harness.apply(vec![deleting(one), deleting(one)]).await;
    assert_eq!(counted(harness.head().await), (active - 1, suspended, deleted + 1));
}

pub async fn the_store_keeps_one_secret_and_one_log_id(harness: Harness) {
    let store = harness.store();
    assert_eq!(store.log_id(), store.log_id());
    assert_eq!(store.secret().0, store.secret().0);
    assert!(store.secret().0.iter().any(|byte| *byte != 0));
    assert!(!format!("{:?}", store.secret()).contains(|c: char| c.is_ascii_digit()));
    store.health().await.expect("healthy");
}
