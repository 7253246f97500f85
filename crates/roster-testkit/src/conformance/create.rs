//! Creating and reading: the members of a new user, and the errors.

use roster_core::{Clock as _, EventKind, Refusal, Rules, UsernameOrigin, ViolationCode};
use serde_json::json;

use super::harness::{Harness, faults, view};

pub const RULES: Rules = super::DEFAULT;

pub async fn a_created_user_is_read_back_unchanged(harness: Harness) {
    let body = json!({
        "username": "ada", "name": "Ada Lovelace", "email": "ada@example.com",
        "addresses": [{"formatted": "1 High St\nLondon", "country": "GB"}],
        "manager": {"id": "42"}, "attributes": {"team": {"core": [1, 2.5, true]}},
    });
    let outcome = harness.create(body).await.expect("valid");
    assert_eq!(harness.get(outcome.stored.id).await.as_ref(), Some(&outcome.stored));
    let seen = view(&outcome.stored);
    assert_eq!(seen["id"], outcome.stored.id.to_string());
    assert_eq!(seen["name"], "Ada Lovelace");
    assert_eq!(seen["emails"], json!([{"value": "ada@example.com", "primary": true}]));
    assert_eq!(seen["addresses"][0]["formatted"], "1 High St\nLondon");
    assert_eq!(seen["attributes"], json!({"team": {"core": [1, 2.5, true]}}));
}

pub async fn a_new_user_is_active_and_at_version_one(harness: Harness) {
    let outcome = harness.create(json!({"username": "ada"})).await.expect("valid");
    assert_eq!((outcome.stored.version, outcome.position), (1, 1));
    let seen = view(&outcome.stored);
    assert_eq!((&seen["version"], &seen["status"]), (&json!(1), &json!("active")));
    let head = harness.head().await;
    assert_eq!((head.position, head.active, head.suspended, head.deleted), (1, 1, 0, 0));
}

pub async fn a_user_may_be_created_suspended(harness: Harness) {
    let user = harness.user(json!({"username": "ada", "status": "suspended"})).await;
    assert_eq!(view(&user)["status"], "suspended");
    let head = harness.head().await;
    assert_eq!((head.active, head.suspended), (0, 1));
}

pub async fn created_at_and_updated_at_of_a_new_user_are_the_moment_of_its_id(harness: Harness) {
    harness.clock.step(1234);
    let act = harness.creating(&json!({"username": "ada"}));
    let made = harness.clock.now();
    // The time of the command is later than that of the id.
    harness.clock.step(60_000);
    let outcome = harness.act(act).await.expect("valid");
    let seen = view(&outcome.stored);
    assert_eq!(outcome.stored.id.created_at(), made);
    assert_eq!(seen["created_at"], made.to_string());
    assert_eq!(seen["updated_at"], made.to_string());
}

pub async fn server_set_members_are_ignored_on_a_create(harness: Harness) {
    let body = json!({
        "id": "0190d1c2-8000-7000-8000-000000000001", "version": 9, "username": "ada",
        "created_at": "1999-01-01T00:00:00Z", "updated_at": 7,
    });
    let user = harness.user(body).await;
    assert_eq!(user.version, 1);
    assert_ne!(view(&user)["id"], "0190d1c2-8000-7000-8000-000000000001");
    assert_eq!(view(&user)["created_at"], user.id.created_at().to_string());
    harness.user(json!({"username": "grace", "id": 12, "version": "x"})).await;
}

pub async fn a_username_that_is_the_email_follows_it(harness: Harness) {
    let user = harness.user(json!({"email": "Ada@Example.com"})).await;
    assert_eq!(view(&user)["username"], "Ada@Example.com");
    for (address, is_patch) in [("countess@example.com", false), ("Ada@Example.com", true)] {
        let body = json!({"email": address});
        let outcome = if is_patch {
            harness.patch(user.id, body).await
        } else {
            harness.replace(user.id, body).await
        };
        let seen = view(&outcome.expect("valid").stored);
        assert_eq!(seen["username"], address);
        assert_eq!((&seen["email"], &seen["username_from_email"]), (&json!(address), &json!(true)));
    }
    // The address that it gave up is free, and the one that it has is not.
    harness.user(json!({"email": "countess@example.com"})).await;
    let before = harness.image().await;
    let taken = harness.patch(user.id, json!({"email": "COUNTESS@example.com"})).await;
    assert!(matches!(taken, Err(Refusal::Taken(_))), "{taken:?}");
    let without = harness.patch(user.id, json!({"email": null})).await;
    assert_eq!(faults(without), [("/username".to_owned(), ViolationCode::Required)]);
    assert_eq!(harness.image().await, before);
}

pub async fn a_user_without_username_and_email_is_refused(harness: Harness) {
    let before = harness.image().await;
    let fault = faults(harness.create(json!({"name": "Ada"})).await);
    assert_eq!(fault, [("/username".to_owned(), ViolationCode::Required)]);
    assert_eq!(harness.image().await, before);
}

pub async fn any_address_is_the_username_of_a_user_without_one(harness: Harness) {
    for address in ["\"a  b\"@example.com", "😀@example.com"] {
        let user = harness.user(json!({"email": address})).await;
        assert_eq!(view(&user)["username"], address);
        let Err(Refusal::Taken(taken)) = harness.create(json!({"email": address})).await else {
            panic!("taken")
        };
        assert_eq!((taken.username, taken.email), (Some(UsernameOrigin::Email), true));
    }
}

pub async fn a_taken_default_username_is_reported_as_default(harness: Harness) {
    harness.user(json!({"username": "ada@example.com"})).await;
    let Err(Refusal::Taken(taken)) = harness.create(json!({"email": "ada@example.com"})).await
    else {
        panic!("taken")
    };
    assert_eq!((taken.username, taken.email), (Some(UsernameOrigin::Email), false));
}

pub async fn a_refused_create_changes_nothing(harness: Harness) {
    harness.user(json!({"username": "ada", "email": "ada@example.com"})).await;
    let before = harness.image().await;
    for body in [
        json!({"username": "grace", "password": "secret"}),
        json!({"username": "ADA"}),
        json!({"username": "grace", "email": "ADA@example.com"}),
        json!({"username": "grace", "locale": "?"}),
        json!([]),
    ] {
        assert!(harness.create(body.clone()).await.is_err(), "{body}");
    }
    assert_eq!(harness.image().await, before);
    // Rejected commands have claimed nothing.
    harness.user(json!({"username": "grace"})).await;
}

pub async fn an_unknown_id_returns_none(harness: Harness) {
    harness.user(json!({"username": "ada"})).await;
    assert_eq!(harness.get(harness.new_id()).await, None);
}

pub async fn an_empty_store_serves_every_read(harness: Harness) {
    let image = harness.image().await;
    assert_eq!((image.head.position, image.head.live(), image.head.deleted), (0, 0, 0));
    assert!(image.events.is_empty() && image.users.is_empty());
}

pub async fn the_event_of_a_create_has_actor_user_and_time(harness: Harness) {
    let user = harness.user(json!({"username": "ada"})).await;
    let [(1, event)] = &harness.events().await[..] else { panic!("one event") };
    assert_eq!(event.kind, EventKind::Created);
    assert_eq!((event.user_id, event.version), (user.id, 1));
    assert_eq!((event.actor.as_str(), event.request_id.as_str()), ("anonymous", "request"));
    assert_eq!(event.at, user.id.created_at());
    assert_eq!(event.record, user.record);
}
