//! A create whose username or address is taken: it fails, is skipped, or replaces the holder.

use roster_core::{
    Clock as _, Effect, EventKind, MatchBy, OnConflict, Outcome, Refusal, Rules, Stored, Taken,
    Upsert, UsernameOrigin, ViolationCode,
};
use serde_json::{Value, json};

use super::harness::{Harness, faults, view};

pub const RULES: Rules = super::DEFAULT;

const ALL: [OnConflict; 4] =
    [OnConflict::Fail, OnConflict::Skip, OnConflict::Replace, OnConflict::Merge];

async fn create_or(
    harness: &Harness,
    on_conflict: OnConflict,
    body: Value,
) -> Result<Outcome, Refusal> {
    harness.act(harness.creating_or(&body, on_conflict)).await
}

async fn ada(harness: &Harness) -> Stored {
    let body = json!({
        "username": "ada", "email": "ada@example.com", "name": "Ada", "status": "suspended",
    });
    harness.user(body).await
}

/// Bodies that conflict with Ada by username, by address and by both.
fn clashing() -> [Value; 4] {
    [
        json!({"username": "ADA", "title": "T"}),
        json!({"username": "x", "email": "Ada@Example.com", "title": "T"}),
        json!({"username": "\u{ff41}da", "email": "ada@example.com", "title": "T"}),
        json!({"email": "ADA@example.com", "title": "T"}),
    ]
}

pub async fn every_on_conflict_mode_creates_without_a_conflict(harness: Harness) {
    for (number, on_conflict) in ALL.into_iter().enumerate() {
        let body =
            json!({"username": format!("u{number}"), "email": format!("{number}@x.example")});
        let outcome = create_or(&harness, on_conflict, body).await.expect("free");
        assert_eq!(outcome.effect, Effect::Changed(EventKind::Created));
        assert_eq!(harness.get(outcome.stored.id).await, Some(outcome.stored));
    }
    assert_eq!(harness.head().await.active, 4);
}

pub async fn a_conflict_is_rejected_by_default(harness: Harness) {
    ada(&harness).await;
    let before = harness.image().await;
    for body in clashing() {
        let result = create_or(&harness, OnConflict::Fail, body.clone()).await;
        assert!(matches!(result, Err(Refusal::Taken(_))), "{body}: {result:?}");
    }
    assert_eq!(harness.image().await, before);
}

pub async fn on_conflict_skip_returns_the_holder(harness: Harness) {
    let ada = ada(&harness).await;
    harness.user(json!({"username": "grace"})).await;
    let before = harness.image().await;
    let expected = Outcome { effect: Effect::Skipped, stored: ada, position: 2, replayed: false };
    for body in clashing() {
        let outcome = create_or(&harness, OnConflict::Skip, body.clone()).await;
        assert_eq!(outcome.as_ref(), Ok(&expected), "{body}");
    }
    assert_eq!(harness.image().await, before);
}

pub async fn on_conflict_replace_replaces_the_holder(harness: Harness) {
    for (body, username, email) in [
        (0, "ADA", None),
        (1, "x", Some("Ada@Example.com")),
        (2, "\u{ff41}da", Some("ada@example.com")),
        (3, "ada", Some("ADA@example.com")),
    ] {
        let ada = ada(&harness).await;
        harness.clock.step(10);
        let body = clashing()[body].clone();
        let outcome = create_or(&harness, OnConflict::Replace, body.clone()).await.expect("valid");
        let Outcome { effect, stored, position, .. } = outcome;
        assert_eq!(effect, Effect::Changed(EventKind::Updated), "{body}");
        assert_eq!((stored.id, stored.version), (ada.id, 2), "{body}");
        let seen = view(&stored);
        // Like a PUT: an omitted status and username are kept, other omitted members are cleared.
        let member = |name: &str| seen.get(name).and_then(Value::as_str);
        assert_eq!((member("username"), member("email")), (Some(username), email), "{body}");
        assert_eq!((member("status"), member("title")), (Some("suspended"), Some("T")));
        assert_eq!(member("name"), None);
        assert_eq!(member("created_at"), Some(ada.id.created_at().to_string().as_str()));
        assert_eq!(member("updated_at"), Some(harness.clock.now().to_string().as_str()));
        let (last, event) = harness.events().await.pop().expect("an event");
        assert_eq!((last, event.kind, event.user_id), (position, EventKind::Updated, ada.id));
        assert_eq!(harness.get(ada.id).await, Some(stored));
        harness.delete(ada.id).await.expect("there");
    }
}

pub async fn a_merge_keeps_the_members_that_the_body_omits(harness: Harness) {
    let ada = ada(&harness).await;
    let id = ada.id.to_string();
    for (version, body) in [
        (2, json!({"username": "ADA", "title": "T", "version": 9, "id": 12})),
        (3, json!({"username": "x", "email": "ada@example.com", "name": null})),
    ] {
        let outcome = create_or(&harness, OnConflict::Merge, body.clone()).await.expect("valid");
        assert_eq!(outcome.effect, Effect::Changed(EventKind::Updated), "{body}");
        assert_eq!((outcome.stored.id, outcome.stored.version), (ada.id, version), "{body}");
        let again = create_or(&harness, OnConflict::Merge, body).await.expect("valid");
        assert_eq!((again.effect, again.stored), (Effect::Unchanged, outcome.stored));
    }
    let seen = view(&harness.get(ada.id).await.expect("there"));
    let members = ["id", "username", "email", "status", "title", "name"].map(|name| &seen[name]);
    let expected = json!([id, "x", "ada@example.com", "suspended", "T", null]);
    assert_eq!(json!(members), expected);
}

pub async fn a_repeated_request_that_was_skipped_gets_the_same_user(harness: Harness) {
    let ada = ada(&harness).await;
    let create = harness.creating_or(&clashing()[0], OnConflict::Skip);
    let first = harness.act_once(create.clone(), 1, 1).await.expect("skipped");
    assert_eq!((first.effect, &first.stored), (Effect::Skipped, &ada));
    harness.delete(ada.id).await.expect("there");
    let again = harness.act_once(create, 1, 1).await.expect("replayed");
    assert_eq!((again.effect, again.replayed), (Effect::Unchanged, true));
    assert_eq!((again.stored, again.position), (ada, first.position));
}

pub async fn a_match_by_the_external_id_needs_the_policy(harness: Harness) {
    let body = json!({"username": "ada", "external_id": "E7"});
    let upsert = Upsert { on_conflict: OnConflict::Merge, match_by: MatchBy::ExternalId };
    let result = harness.act(harness.creating_or(&body, upsert)).await;
    assert_eq!(faults(result), [("/external_id".to_owned(), ViolationCode::InvalidValue)]);
}

pub async fn a_replacement_ignores_server_set_members(harness: Harness) {
    let ada = ada(&harness).await;
    let body = json!({
        "username": "ada", "title": "T", "id": "0190d1c2-8000-7000-8000-000000000001",
        "version": 9, "created_at": 7, "updated_at": "x",
    });
    let stored = create_or(&harness, OnConflict::Replace, body).await.expect("ignored").stored;
    assert_eq!((stored.id, stored.version), (ada.id, 2));
    let faulty = json!({"username": "ada", "version": "x", "id": 12});
    let stored = create_or(&harness, OnConflict::Replace, faulty).await.expect("ignored").stored;
    assert_eq!((stored.id, stored.version), (ada.id, 3));
}

pub async fn a_replacement_that_changes_nothing_is_unchanged(harness: Harness) {
    let ada = ada(&harness).await;
    let before = harness.image().await;
    let body = json!({"username": "ada", "email": "ada@example.com", "name": "Ada"});
    let outcome = create_or(&harness, OnConflict::Replace, body).await;
    let expected = Outcome { effect: Effect::Unchanged, stored: ada, position: 1, replayed: false };
    assert_eq!(outcome, Ok(expected));
    assert_eq!(harness.image().await, before);
}

pub async fn two_different_holders_reject_a_replacement(harness: Harness) {
    ada(&harness).await;
    harness.user(json!({"username": "grace", "email": "grace@example.com"})).await;
    let before = harness.image().await;
    let body = json!({"username": "Grace", "email": "ADA@example.com"});
    let taken = Taken {
        username: Some(UsernameOrigin::Given),
        email: true,
        external_id: false,
        ..Taken::default()
    };
    for on_conflict in [OnConflict::Fail, OnConflict::Replace, OnConflict::Merge] {
        let result = create_or(&harness, on_conflict, body.clone()).await;
        assert_eq!(result, Err(Refusal::Taken(taken.clone())), "{on_conflict:?}");
    }
    assert_eq!(harness.image().await, before);
}

pub async fn on_conflict_skip_returns_the_holder_of_the_username_first(harness: Harness) {
    ada(&harness).await;
    let grace = harness.user(json!({"username": "grace", "email": "grace@example.com"})).await;
    let body = json!({"username": "Grace", "email": "ADA@example.com"});
    let outcome = create_or(&harness, OnConflict::Skip, body).await.expect("passed over");
    assert_eq!((outcome.effect, outcome.stored), (Effect::Skipped, grace));
}

pub async fn an_invalid_user_is_rejected_in_every_on_conflict_mode(harness: Harness) {
    ada(&harness).await;
    let before = harness.image().await;
    for on_conflict in ALL {
        for body in [json!({"username": "ada", "nmae": "A"}), json!({"name": "x"}), json!([])] {
            let result = create_or(&harness, on_conflict, body.clone()).await;
            assert!(matches!(result, Err(Refusal::Invalid(_))), "{on_conflict:?} {body}");
        }
    }
    assert_eq!(harness.image().await, before);
}

pub async fn a_default_username_selects_no_user(harness: Harness) {
    let body = json!({"username": "ada@example.com", "email": "mallory@example.com"});
    let mallory = harness.user(body).await;
    let before = harness.image().await;
    let body = json!({"email": "Ada@example.com", "name": "Ada"});
    let list = json!({"emails": [{"value": "Ada@example.com", "primary": true}]});
    let taken = Taken {
        username: Some(UsernameOrigin::Email),
        email: false,
        external_id: false,
        ..Taken::default()
    };
    for on_conflict in ALL {
        for body in [&body, &list] {
            let result = create_or(&harness, on_conflict, body.clone()).await;
            assert_eq!(result, Err(Refusal::Taken(taken.clone())), "{on_conflict:?} {body}");
        }
    }
    let lines = ALL.map(|on_conflict| harness.creating_or(&body, on_conflict));
    let results = harness.apply(lines.to_vec()).await;
    let refused = Err(Refusal::Taken(taken));
    assert!(results.iter().all(|result| *result == refused), "{results:?}");
    assert_eq!(harness.image().await, before);

    let ada = harness.user(json!({"username": "ada", "email": "ada@example.com"})).await;
    for on_conflict in [OnConflict::Skip, OnConflict::Merge, OnConflict::Replace] {
        let outcome = create_or(&harness, on_conflict, body.clone()).await.expect("selected");
        assert_eq!(outcome.stored.id, ada.id, "{on_conflict:?}");
        assert_eq!(view(&outcome.stored)["username"], "ada", "{on_conflict:?}");
    }
    assert_eq!(harness.get(mallory.id).await, Some(mallory));
}

pub async fn a_conflict_is_found_within_one_batch(harness: Harness) {
    let line = |name: &str, on_conflict| {
        let body = json!({"username": "ada", "email": "ada@example.com", "name": name});
        harness.creating_or(&body, on_conflict)
    };
    let results = harness
        .apply(vec![
            line("1", OnConflict::Skip),
            line("2", OnConflict::Skip),
            line("3", OnConflict::Replace),
            line("4", OnConflict::Fail),
            line("3", OnConflict::Replace),
            line("5", OnConflict::Skip),
        ])
        .await;
    let mut told = Vec::new();
    for result in &results {
        let outcome =
            |outcome: &Outcome| (outcome.effect, outcome.stored.version, outcome.position);
        told.push(result.as_ref().map(outcome).ok());
    }
    let expected = [
        Some((Effect::Changed(EventKind::Created), 1, 1)),
        Some((Effect::Skipped, 1, 1)),
        Some((Effect::Changed(EventKind::Updated), 2, 2)),
        None,
        Some((Effect::Unchanged, 2, 2)),
        Some((Effect::Skipped, 2, 2)),
    ];
    assert_eq!(told, expected);
    let users = harness.image().await.users;
    assert_eq!((users.len(), &view(&users[0])["name"]), (1, &json!("3")));
}

pub async fn a_name_freed_earlier_in_a_batch_is_no_conflict(harness: Harness) {
    let ada = ada(&harness).await;
    let body = json!({"username": "ada", "email": "ada@example.com"});
    let acts = vec![
        super::harness::deleting(ada.id),
        harness.creating_or(&body, OnConflict::Replace),
        harness.creating_or(&body, OnConflict::Skip),
    ];
    let results = harness.apply(acts).await;
    let effects: Vec<_> = results.iter().map(|r| r.as_ref().map(|o| o.effect)).collect();
    let changed = |kind| Ok(Effect::Changed(kind));
    let expected = [changed(EventKind::Deleted), changed(EventKind::Created), Ok(Effect::Skipped)];
    assert_eq!(effects, expected);
    let made = results[1].as_ref().expect("created").stored.clone();
    assert_eq!(results[2].as_ref().expect("passed over").stored, made);
}

pub async fn a_deleted_holder_is_no_conflict(harness: Harness) {
    let ada = ada(&harness).await;
    harness.delete(ada.id).await.expect("there");
    for body in clashing().into_iter().take(1) {
        let outcome = create_or(&harness, OnConflict::Replace, body).await.expect("free");
        assert_eq!(outcome.effect, Effect::Changed(EventKind::Created));
        assert_ne!(outcome.stored.id, ada.id);
    }
    assert_eq!(harness.get_deleted(ada.id).await.expect("kept").stored.version, 2);
}

pub async fn a_replaced_holder_frees_its_old_name_and_words(harness: Harness) {
    ada(&harness).await;
    let body = json!({"username": "countess", "email": "ada@example.com"});
    create_or(&harness, OnConflict::Replace, body).await.expect("one holder");
    let none: [String; 0] = [];
    assert_eq!(harness.found("countess").await, ["countess"]);
    harness.user(json!({"username": "ada"})).await;
    assert_eq!(harness.filtered("name pr").await, none);
}
