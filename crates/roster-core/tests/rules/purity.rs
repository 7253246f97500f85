//! `decide` is pure: the same state and command give the same decision, for every caller and on
//! every call. A result that is written again changes nothing.

use proptest::{arbitrary::any, proptest};
use roster_core::{
    Act, Actor, Caller, Command, Decision, Draft, OnConflict, Preconditions, Rules, Timestamp,
    User, UserSchema, decide,
};
use serde_json::{Value, json};

use crate::support::{id, tree, view};

const NAMES: [&str; 6] = ["ada", "Zoe\u{308}", "", " ", "\u{10428}", "x\u{1}"];

fn body(bits: u64) -> Value {
    let pick = |shift: u32| NAMES[usize::try_from((bits >> shift) % 6).expect("small")];
    let mut body = json!({"username": pick(0), "name": pick(3), "attributes": {"a": pick(6)}});
    for (index, name) in ["a@example.com", "b@example.com", "nobody"].iter().enumerate() {
        if bits >> (10 + index) & 1 == 1 {
            body["email"] = json!(name);
        }
        if bits >> (14 + index) & 1 == 1 {
            body["emails"] = json!([{"value": name, "primary": bits >> 20 & 1 == 1}]);
        }
    }
    for (shift, member) in [(21, "username"), (22, "name"), (23, "attributes")] {
        if bits >> shift & 1 == 1 {
            body.as_object_mut().expect("an object").remove(member);
        }
    }
    body
}

fn command(act: Act, at: i64) -> Command {
    let caller = Caller { actor: Actor::System, request_id: "r".to_owned() };
    let at = Timestamp::from_millis(at);
    Command { act, at, caller, idempotency: None, start: None }
}

/// Decides twice, on equal but separate values. Both decisions must be the same.
fn twice(current: Option<&User>, command: &Command) -> Option<User> {
    let first = decide(Rules::default(), &UserSchema::default(), current, command);
    let again = decide(
        Rules::default(),
        &UserSchema::default(),
        current.cloned().as_ref(),
        &command.clone(),
    );
    assert_eq!(format!("{first:?}"), format!("{again:?}"));
    match first.ok()? {
        Decision::Unchanged => current.cloned(),
        Decision::Write(change) | Decision::Remove(change) | Decision::Restore(change) => {
            Some(change.user.clone())
        }
        Decision::Purge(_) => None,
    }
}

proptest! {
    #[test]
    fn the_same_state_and_command_give_the_same_decision(
        first in any::<u64>(), second in any::<u64>(), at in 0_i64..4_000_000_000_000
    ) {
        let draft = |bits| Box::new(Draft::parse(tree(&body(bits))));
        let upsert = OnConflict::Fail.into();
        let create = command(Act::Create { id: id(), draft: draft(first), upsert }, at);
        if let Some(user) = twice(None, &create) {
            let preconditions = Preconditions::default;
            let draft = draft(second);
            let replace = Act::Replace { id: id(), draft, preconditions: preconditions() };
            let patch = std::sync::Arc::new(tree(&body(second)));
            let patch = Act::Patch { id: id(), patch, preconditions: preconditions() };
            for act in [replace, patch] {
                let Some(after) = twice(Some(&user), &command(act, at)) else { continue };
                assert!(after.updated_at >= user.updated_at && after.version >= user.version);
                let itself = Box::new(Draft::parse(tree(&view(&after))));
                let act = Act::Replace { id: id(), draft: itself, preconditions: preconditions() };
                let (schema, command) = (UserSchema::default(), command(act, at + 1));
                let again = decide(Rules::default(), &schema, Some(&after), &command);
                assert!(matches!(again, Ok(Decision::Unchanged)), "{again:?}");
            }
            let delete = command(Act::Delete { id: id(), preconditions: preconditions() }, at);
            let gone = twice(Some(&user), &delete).expect("every user may be deleted");
            assert_eq!((gone.version, &gone.profile), (user.version + 1, &user.profile));
            let held = preconditions();
            let act = Act::Restore { id: id(), preconditions: held, joins_groups: false };
            let restore = command(act, at);
            let back = twice(Some(&gone), &restore).expect("every deleted user may be restored");
            assert_eq!((back.version, &back.profile), (user.version + 2, &user.profile));
            let purge = command(Act::Purge { id: id(), preconditions: preconditions() }, at);
            assert_eq!(twice(Some(&gone), &purge), None);
        }
    }
}
