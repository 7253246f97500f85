//! The settings of uniqueness (promise "Unique names"): shared mailboxes, unique external ids.

use roster_core::{
    Effect, EventKind, MatchBy, OnConflict, Outcome, Refusal, Rules, Sharing, Taken, Upsert,
    ViolationCode,
};
use serde_json::json;

use super::harness::{Harness, faults, view};

pub const RULES: Rules =
    Rules { email: Sharing::Shared, external_id: Sharing::Unique, ..super::DEFAULT };

const EXTERNAL_ID_TAKEN: Refusal =
    Refusal::Taken(Taken { username: None, email: false, external_id: true, indexed: Vec::new() });

pub async fn shared_mailboxes_are_allowed_by_the_setting(harness: Harness) {
    harness.user(json!({"username": "ada", "email": "team@example.com"})).await;
    let grace = harness.user(json!({"username": "grace", "email": "TEAM@example.com"})).await;
    let body = json!({"email": "team@example.com"});
    harness.replace(grace.id, body).await.expect("shared");
}

pub async fn an_external_id_is_unique_by_the_setting(harness: Harness) {
    let ada = harness.user(json!({"username": "ada", "external_id": "E7"})).await;
    let grace = harness.user(json!({"username": "grace"})).await;
    let body = json!({"username": "x", "external_id": "E7"});
    assert_eq!(harness.create(body.clone()).await, Err(EXTERNAL_ID_TAKEN));
    let result = harness.patch(grace.id, json!({"external_id": "E7"})).await;
    assert_eq!(result, Err(EXTERNAL_ID_TAKEN));
    harness.patch(ada.id, json!({"external_id": "E8"})).await.expect("its own");
    harness.patch(grace.id, json!({"external_id": "E7"})).await.expect("free");
    harness.delete(grace.id).await.expect("there");
    harness.user(body).await;
}

pub async fn an_external_id_is_compared_exactly(harness: Harness) {
    for (number, id) in
        ["e7", "E7", "e7 ", "\u{ff45}7", "e\u{301}7", " ", "7", "07"].iter().enumerate()
    {
        harness.user(json!({"username": number.to_string(), "external_id": id})).await;
    }
    let composed = json!({"username": "x", "external_id": "\u{e9}7"});
    assert_eq!(harness.create(composed).await, Err(EXTERNAL_ID_TAKEN));
}

pub async fn users_without_an_external_id_do_not_clash(harness: Harness) {
    for (name, external_id) in [("ada", json!(null)), ("grace", json!("")), ("joan", json!(""))] {
        let user = harness.user(json!({"username": name, "external_id": external_id})).await;
        assert_eq!(view(&user).get("external_id"), None);
    }
}

pub async fn a_restore_checks_the_external_id_and_not_a_shared_mailbox(harness: Harness) {
    let body = json!({"username": "ada", "email": "team@example.com", "external_id": "E7"});
    let id = harness.user(body).await.id;
    harness.delete(id).await.expect("there");
    let other = json!({"username": "x", "email": "team@example.com", "external_id": "E7"});
    let holder = harness.user(other).await.id;
    assert_eq!(harness.restore(id).await, Err(EXTERNAL_ID_TAKEN));
    harness.patch(holder, json!({"external_id": "e7"})).await.expect("free");
    harness.restore(id).await.expect("the mailbox is shared");
}

pub async fn a_conflict_of_external_ids_follows_on_conflict(harness: Harness) {
    let body = json!({"username": "ada", "email": "team@example.com", "external_id": "E7"});
    let ada = harness.user(body).await;
    let grace = harness.user(json!({"username": "grace", "external_id": "E8"})).await;
    let create = |body: serde_json::Value, on_conflict| harness.creating_or(&body, on_conflict);
    let by_id = json!({"username": "x", "email": "team@example.com", "external_id": "E7"});
    let skipped = harness.act(create(by_id.clone(), OnConflict::Skip)).await.expect("passed over");
    assert_eq!((skipped.effect, &skipped.stored), (Effect::Skipped, &ada));
    let Outcome { stored, .. } =
        harness.act(create(by_id, OnConflict::Replace)).await.expect("one holder");
    assert_eq!((stored.id, stored.version), (ada.id, 2));
    // Two holders, one by name and one by external id.
    let two = json!({"username": "grace", "external_id": "E7"});
    let refused = harness.act(create(two.clone(), OnConflict::Replace)).await;
    let origin = Some(roster_core::UsernameOrigin::Given);
    let taken = Taken { username: origin, email: false, external_id: true, ..Taken::default() };
    assert_eq!(refused, Err(Refusal::Taken(taken)));
    let skipped = harness.act(create(two, OnConflict::Skip)).await.expect("passed over");
    assert_eq!(skipped.stored, grace, "the holder of the name is told");
    // A shared mailbox is no conflict.
    let mailbox = json!({"username": "joan", "email": "team@example.com"});
    let created = harness.act(create(mailbox, OnConflict::Skip)).await.expect("free");
    assert_eq!(created.stored.version, 1);
    assert_ne!(created.effect, Effect::Skipped);
}

/// Matches by the external id.
fn by_external_id(on_conflict: OnConflict) -> Upsert {
    Upsert { on_conflict, match_by: MatchBy::ExternalId }
}

pub async fn a_create_can_match_by_the_external_id(harness: Harness) {
    let body = json!({"username": "ada", "name": "Ada", "external_id": "E7"});
    let ada = harness.user(body).await;
    harness.user(json!({"username": "grace"})).await;
    let act = |body, on_conflict| harness.creating_or(&body, by_external_id(on_conflict));
    // A merge needs no member of a new user but the external id.
    let title = json!({"external_id": "E7", "title": "T"});
    let merged = harness.act(act(title.clone(), OnConflict::Merge)).await.expect("one holder");
    assert_eq!((merged.stored.id, merged.stored.version), (ada.id, 2));
    assert_eq!(view(&merged.stored)["name"], "Ada");
    let skipped = harness.act(act(title.clone(), OnConflict::Skip)).await.expect("skipped");
    assert_eq!((skipped.effect, skipped.stored), (Effect::Skipped, merged.stored));
    let renamed = json!({"external_id": "E7", "username": "countess"});
    let replaced = harness.act(act(renamed, OnConflict::Replace)).await.expect("one holder");
    assert_eq!((replaced.stored.id, replaced.stored.version), (ada.id, 3));
    assert_eq!(view(&replaced.stored)["username"], "countess");

    let refused = harness.act(act(title.clone(), OnConflict::Fail)).await;
    assert!(matches!(refused, Err(Refusal::Invalid(_))), "no username: {refused:?}");
    let refused = Err(Refusal::Taken(Taken {
        username: Some(roster_core::UsernameOrigin::Given),
        ..Taken::default()
    }));
    for on_conflict in [OnConflict::Skip, OnConflict::Replace, OnConflict::Merge] {
        // The name of another user is a conflict, with the external id of a user and without.
        for external_id in ["E7", "E8"] {
            let body = json!({"external_id": external_id, "username": "grace"});
            if (on_conflict, external_id) != (OnConflict::Skip, "E7") {
                assert_eq!(harness.act(act(body, on_conflict)).await, refused, "{on_conflict:?}");
            }
        }
        let result = harness.act(act(json!({"username": "x"}), on_conflict)).await;
        assert_eq!(faults(result), [("/external_id".to_owned(), ViolationCode::Required)]);
    }
    let new = json!({"external_id": "E8", "username": "hedy"});
    let results = harness
        .apply(vec![
            act(new, OnConflict::Merge),
            act(json!({"external_id": "E8", "title": "T"}), OnConflict::Merge),
        ])
        .await;
    let effects: Vec<_> = results.iter().map(|r| r.as_ref().map(|o| o.effect)).collect();
    let expected = [EventKind::Created, EventKind::Updated].map(|kind| Ok(Effect::Changed(kind)));
    assert_eq!(effects, expected);
}
