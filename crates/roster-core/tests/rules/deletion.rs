//! The rules for deleting, restoring and purging.

use roster_core::{
    Act, Attribute, Change, Claims, Command, Decision, EventKind, Guard, Preconditions, Refusal,
    Rules, Sharing, Tags, Target, Timestamp, User, UserSchema, UsernameOrigin, decide,
};
use serde_json::json;

use crate::support::{command, id, stored};

fn preconditions() -> Preconditions {
    Preconditions::default()
}

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
    match decide(
        rules,
        &UserSchema::default(),
        Some(user),
        &command(Act::Restore { id: id(), preconditions: preconditions(), joins_groups: false }),
    ) {
        Ok(Decision::Restore(change)) => Change::clone(&change),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_restored_user_is_as_before_at_the_next_version() {
    let before = ada();
    let Change { user, record, keys, event, .. } = restored(Rules::default(), &before);
    let time = Timestamp::from_millis(1_800_000_000_000);
    assert_eq!(user, User { version: 4, updated_at: time, ..before });
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
        };
        assert_eq!(restored(rules, &ada()).claims, claims);
    }
}

#[test]
fn a_deleted_user_claims_nothing() {
    let decision = decide(
        Rules::default(),
        &UserSchema::default(),
        Some(&ada()),
        &command(Act::Delete { id: id(), preconditions: preconditions() }),
    );
    let Ok(Decision::Remove(change)) = decision else { panic!("{decision:?}") };
    let Claims { username, email, external_id, .. } = change.claims.clone();
    assert_eq!((username, email, external_id), (None, None, None));
}

#[test]
fn the_event_of_a_purge_is_all_that_a_purge_leaves() {
    let act = Act::Purge { id: id(), preconditions: preconditions() };
    let Ok(Decision::Purge(event)) =
        decide(Rules::default(), &UserSchema::default(), Some(&ada()), &command(act))
    else {
        panic!("a purge")
    };
    assert_eq!((event.kind, event.version, event.user_id), (EventKind::Purged, 4, id()));
    assert_eq!((event.changed.len(), event.record.len()), (0, 0));
    assert_eq!(event.at, Timestamp::from_millis(1_800_000_000_000));
}

#[test]
fn time_does_not_go_back_in_a_purge_or_a_restore() {
    let late = stored(&json!({"updated_at": "2099-01-01T00:00:00.000Z"}));
    assert_eq!(restored(Rules::default(), &late).event.at, late.updated_at);
    let purge = command(Act::Purge { id: id(), preconditions: preconditions() });
    let Ok(Decision::Purge(event)) =
        decide(Rules::default(), &UserSchema::default(), Some(&late), &purge)
    else {
        panic!("a purge")
    };
    assert_eq!(event.at, late.updated_at);
}

fn acts(preconditions: &Preconditions) -> [Act; 3] {
    let preconditions = || preconditions.clone();
    [
        Act::Delete { id: id(), preconditions: preconditions() },
        Act::Restore { id: id(), preconditions: preconditions(), joins_groups: false },
        Act::Purge { id: id(), preconditions: preconditions() },
    ]
}

#[test]
fn a_missing_user_is_not_found_whatever_the_preconditions() {
    for preconditions in [preconditions(), if_match(3)] {
        for act in acts(&preconditions) {
            let decision = decide(Rules::default(), &UserSchema::default(), None, &command(act));
            assert_eq!(decision.err(), Some(Refusal::NotFound));
        }
    }
}

#[test]
fn preconditions_apply_to_all_three() {
    let not_three = Preconditions { if_match: None, if_none_match: Some(Tags::Versions(vec![3])) };
    for preconditions in [if_match(2), if_match(4), not_three] {
        for act in acts(&preconditions) {
            let decision =
                decide(Rules::default(), &UserSchema::default(), Some(&ada()), &command(act));
            assert_eq!(decision.err(), Some(Refusal::VersionMismatch { current: 3 }));
        }
    }
    for act in acts(&if_match(3)) {
        assert!(
            decide(Rules::default(), &UserSchema::default(), Some(&ada()), &command(act)).is_ok()
        );
    }
}

#[test]
fn the_guard_of_delete_applies_to_delete_and_purge() {
    let rules = Rules { delete: Guard::On, ..Rules::default() };
    let decided = |act| decide(rules, &UserSchema::default(), Some(&ada()), &command(act)).err();
    let required = || Some(Refusal::PreconditionRequired { cleared: vec![] });
    assert_eq!(acts(&preconditions()).map(decided), [required(), None, required()]);
    assert_eq!(acts(&if_match(3)).map(decided), [None, None, None]);
}

#[test]
fn a_deletion_applies_to_a_live_user_and_a_restore_or_purge_to_a_deleted_one() {
    let targets = acts(&preconditions()).map(|act| command(act).target());
    assert_eq!(targets, [Target::Live, Target::Deleted, Target::Deleted]);
    for act in acts(&preconditions()) {
        assert_eq!(Command::user_id(&command(act)), id());
    }
}
