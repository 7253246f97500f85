//! A create that replaces the user with its name or address.

use roster_core::{
    Decision, Draft, Guard, Idempotency, OnConflict, Preconditions, Refusal, Rules, Tags, UserAct,
    UserId, ViolationCode,
};
use serde_json::{Value, json};

use crate::support::{command, decided, id, stored, tree, view};

fn new_id() -> UserId {
    UserId::parse("0190d1c2-8000-7000-8000-000000000002").expect("an id")
}

fn create(body: &Value, on_conflict: OnConflict) -> UserAct {
    let draft = Box::new(Draft::parse(tree(body)));
    UserAct::Create { id: new_id(), draft, upsert: on_conflict.into() }
}

fn replacing(body: &Value) -> UserAct {
    let replacing = create(body, OnConflict::Replace).updating(id());
    replacing.expect("a create that may replace")
}

#[test]
fn only_a_create_with_replace_becomes_a_replacement() {
    let body = json!({"username": "ada"});
    assert!(create(&body, OnConflict::Fail).updating(id()).is_none());
    assert!(create(&body, OnConflict::Skip).updating(id()).is_none());
    let patch = std::sync::Arc::new(tree(&body));
    for act in [
        UserAct::Replace { id: id(), draft: Box::new(Draft::parse(tree(&body))) },
        UserAct::Patch { id: id(), patch },
        UserAct::Delete { id: id() },
        UserAct::Restore { id: id(), joins_groups: false },
        UserAct::Purge { id: id() },
    ] {
        assert!(act.updating(id()).is_none());
    }
}

#[test]
fn the_replacement_has_the_id_of_the_holder_and_the_same_request() {
    let create = create(&json!({"username": "ada"}), OnConflict::Replace);
    let replacement = create.updating(id()).expect("a replacement");
    assert_eq!(replacement.id(), id());
    assert!(matches!(replacement, UserAct::Replace { .. }));
    let mut create = command(create);
    "line 7".clone_into(&mut create.caller.request_id);
    create.preconditions.if_match = Some(Tags::Any);
    create.idempotency = Some(Idempotency { key: [1; 32], fingerprint: [2; 32] });
    let update = create.updating_instead(replacement);
    assert_eq!((update.at, &update.caller), (create.at, &create.caller));
    assert_eq!(update.idempotency, create.idempotency);
    assert_eq!(update.preconditions, Preconditions::default());
}

#[test]
fn the_holder_gets_the_content_of_the_create() {
    let holder = stored(&json!({"name": "Ada", "title": "T", "status": "suspended"}));
    let body = json!({"username": "ADA", "title": "U", "email": "ada@example.com"});
    let decision = decided(Rules::default(), Some(&holder), &replacing(&body));
    let Ok(Decision::Write(change)) = decision else { panic!("{decision:?}") };
    let seen = view(&change.user);
    assert_eq!((seen["id"].as_str(), &seen["version"]), (Some(crate::support::ID), &json!(4)));
    assert_eq!((&seen["username"], &seen["title"]), (&json!("ADA"), &json!("U")));
    assert_eq!((seen.get("name"), &seen["status"]), (None, &json!("suspended")));
    assert_eq!(change.claims.username, None, "its own name by key");
    assert_eq!(change.claims.email.as_deref(), Some("ada@example.com"));
}

#[test]
fn members_that_a_create_ignores_are_not_preconditions_of_the_replacement() {
    let holder = stored(&json!({}));
    for ignored in [
        json!({"username": "ada", "version": 99}),
        json!({"username": "ada", "version": "x"}),
        json!({"username": "ada", "id": new_id().to_string()}),
        json!({"username": "ada", "id": 12}),
        json!({"username": "ada", "created_at": 7, "updated_at": "x"}),
    ] {
        let decision = decided(Rules::default(), Some(&holder), &replacing(&ignored));
        assert!(matches!(decision, Ok(Decision::Unchanged)), "{ignored}: {decision:?}");
    }
}

#[test]
fn the_guard_of_put_applies_to_a_replacement_too() {
    let holder = stored(&json!({"name": "Ada"}));
    let rules = Rules { put: Guard::On, ..Rules::default() };
    // The version of the body is ignored, so it does not satisfy the guard.
    let replacing = replacing(&json!({"username": "ada", "version": 3}));
    let decision = decided(rules, Some(&holder), &replacing);
    assert!(matches!(decision, Err(Refusal::PreconditionRequired { .. })), "{decision:?}");
}

#[test]
fn an_invalid_user_replaces_no_user() {
    let holder = stored(&json!({}));
    let replacing = replacing(&json!({"username": "ada", "locale": "?"}));
    let decision = decided(Rules::default(), Some(&holder), &replacing);
    let Err(Refusal::Invalid(found)) = decision else { panic!("invalid") };
    assert_eq!(found.items()[0].code, ViolationCode::InvalidLanguageTag);
}
