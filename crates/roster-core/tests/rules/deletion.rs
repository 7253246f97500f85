//! The rules for deleting, restoring and purging.

use roster_core::{
    Attribute, Change, Claims, Command, Decision, EventKind, Guard, Preconditions, Refusal, Rules,
    Sharing, Tags, Target, Timestamp, User, UserAct, UserSchema, UsernameOrigin, decide,
};
use serde_json::json;

use crate::support::{command, decided, id, stored};

fn if_match(version: i64) -> Preconditions {
    Preconditions { if_match: Some(Tags::Versions(vec![version])), if_none_match: None }
}

/// A user at version 3, whose last change was in 2026.
fn ada() -> User {
    stored(&json!({
        "email": "Ada@Example.com", "external_id": "E7", "status": "suspended",
        "emails": [{"value": "Ada@Example.com"}, {"value": "a@home.example"}],
        "attributes": {"team": "core"},
    }))
}

fn restored(rules: Rules, user: &User) -> Change {
    match decided(rules, Some(user), &UserAct::Restore { id: id(), joins_groups: false }) {
        Ok(Decision::Restore(change)) => Change::clone(&change),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_restored_user_is_as_before_at_the_next_version() {
    let before = ada();
    let Change { user, record, keys, event, .. } = restored(Rules::default(), &before);
    let time = Timestamp::from_millis(1_800_000_000_000);
    assert_eq!(*user, User { version: 4, updated_at: time, ..before });
    assert_eq!(record, user.to_record());
    assert_eq!(keys, roster_core::Keys::of(&user));
    assert_eq!((event.kind, event.version, event.at), (EventKind::Restored, 4, time));
    assert_eq!((&event.record, &event.changed), (&record, &Vec::<Attribute>::new()));
    assert_eq!((event.user_id, event.actor.as_str()), (id(), "anonymous"));
}

#[test]
fn a_restored_user_claims_all_its_unique_keys() {
    let other = Rules { email: Sharing::Shared, external_id: Sharing::Unique, ..Rules::default() };
    let text = |text: &str| Some(text.to_owned());
    for (rules, email, external_id) in
        [(Rules::default(), text("ada@example.com"), None), (other, None, text("E7"))]
    {
        let claims = Claims {
            username: text("ada"),
            username_origin: UsernameOrigin::Given,
            email,
            external_id,
            indexed: Vec::new(),
        };
        assert_eq!(restored(rules, &ada()).claims, claims);
    }
}

#[test]
fn a_deleted_user_claims_nothing() {
    let decision = decided(Rules::default(), Some(&ada()), &UserAct::Delete { id: id() });
    let Ok(Decision::Remove(change)) = decision else { panic!("{decision:?}") };
    let Claims { username, email, external_id, .. } = change.claims.clone();
    assert_eq!((username, email, external_id), (None, None, None));
}

#[test]
fn the_event_of_a_purge_is_all_that_a_purge_leaves() {
    let decision = decided(Rules::default(), Some(&ada()), &UserAct::Purge { id: id() });
    let Ok(Decision::Purge(event)) = decision else { panic!("a purge") };
    assert_eq!((event.kind, event.version, event.user_id), (EventKind::Purged, 4, id()));
    assert_eq!((event.changed.len(), event.record.len()), (0, 0));
    assert_eq!(event.at, Timestamp::from_millis(1_800_000_000_000));
}

#[test]
fn time_does_not_go_back_in_a_purge_or_a_restore() {
    let late = stored(&json!({"updated_at": "2099-01-01T00:00:00.000Z"}));
    assert_eq!(restored(Rules::default(), &late).event.at, late.updated_at);
    let decision = decided(Rules::default(), Some(&late), &UserAct::Purge { id: id() });
    let Ok(Decision::Purge(event)) = decision else { panic!("a purge") };
    assert_eq!(event.at, late.updated_at);
}

fn acts() -> [UserAct; 3] {
    [
        UserAct::Delete { id: id() },
        UserAct::Restore { id: id(), joins_groups: false },
        UserAct::Purge { id: id() },
    ]
}

/// The decision on an act with these preconditions.
fn decided_if(
    preconditions: &Preconditions,
    rules: Rules,
    current: Option<&User>,
    act: &UserAct,
) -> Result<Decision, Refusal> {
    let command = Command { preconditions: preconditions.clone(), ..command(act.clone()) };
    decide(rules, &UserSchema::default(), current, act, &command)
}

#[test]
fn a_missing_user_is_not_found_whatever_the_preconditions() {
    for preconditions in [Preconditions::default(), if_match(3)] {
        for act in acts() {
            let decision = decided_if(&preconditions, Rules::default(), None, &act);
            assert_eq!(decision.err(), Some(Refusal::NotFound));
        }
    }
}

#[test]
fn preconditions_apply_to_all_three() {
    let not_three = Preconditions { if_match: None, if_none_match: Some(Tags::Versions(vec![3])) };
    for preconditions in [if_match(2), if_match(4), not_three] {
        for act in acts() {
            let decision = decided_if(&preconditions, Rules::default(), Some(&ada()), &act);
            assert_eq!(decision.err(), Some(Refusal::VersionMismatch { current: 3 }));
        }
    }
    for act in acts() {
        assert!(decided_if(&if_match(3), Rules::default(), Some(&ada()), &act).is_ok());
    }
}

#[test]
fn the_guard_of_delete_applies_to_delete_and_purge() {
    let rules = Rules { delete: Guard::On, ..Rules::default() };
    let refusals = |preconditions: Preconditions| {
        acts().map(|act| decided_if(&preconditions, rules, Some(&ada()), &act).err())
    };
    let required = || Some(Refusal::PreconditionRequired { cleared: vec![] });
    assert_eq!(refusals(Preconditions::default()), [required(), None, required()]);
    assert_eq!(refusals(if_match(3)), [None, None, None]);
}

#[test]
fn a_deletion_applies_to_a_live_user_and_a_restore_or_purge_to_a_deleted_one() {
    assert_eq!(acts().map(|act| act.target()), [Target::Live, Target::Deleted, Target::Deleted]);
    assert_eq!(acts().map(|act| act.id()), [id(); 3]);
}
