//! `decide` is pure: the same state and command give the same decision, for every caller and on
//! every call. A result that is written again changes nothing.

use proptest::{arbitrary::any, proptest};
use roster_core::{
    Actor, Caller, Command, Decision, Draft, OnConflict, Refusal, Rules, Timestamp, User, UserAct,
    UserSchema, decide,
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

fn decided(current: Option<&User>, act: &UserAct, at: i64) -> Result<Decision, Refusal> {
    let caller = Caller { actor: Actor::System, request_id: "r".to_owned() };
    let command = Command::of(act.clone(), Timestamp::from_millis(at), caller);
    decide(Rules::default(), &UserSchema::default(), current, act, &command)
}

/// Decides twice, on equal but separate values. Both decisions must be the same.
fn twice(current: Option<&User>, act: &UserAct, at: i64) -> Option<User> {
    let first = decided(current, act, at);
    let again = decided(current.cloned().as_ref(), &act.clone(), at);
    assert_eq!(format!("{first:?}"), format!("{again:?}"));
    match first.ok()? {
        Decision::Unchanged => current.cloned(),
        Decision::Write(change) | Decision::Remove(change) | Decision::Restore(change) => {
            Some(User::clone(&change.user))
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
        let create = UserAct::Create { id: id(), draft: draft(first), upsert };
        if let Some(user) = twice(None, &create, at) {
            let replace = UserAct::Replace { id: id(), draft: draft(second) };
            let patch = std::sync::Arc::new(tree(&body(second)));
            for act in [replace, UserAct::Patch { id: id(), patch }] {
                let Some(after) = twice(Some(&user), &act, at) else { continue };
                assert!(after.updated_at >= user.updated_at && after.version >= user.version);
                let itself = Box::new(Draft::parse(tree(&view(&after))));
                let act = UserAct::Replace { id: id(), draft: itself };
                let again = decided(Some(&after), &act, at + 1);
                assert!(matches!(again, Ok(Decision::Unchanged)), "{again:?}");
            }
            let delete = UserAct::Delete { id: id() };
            let gone = twice(Some(&user), &delete, at).expect("every user may be deleted");
            assert_eq!((gone.version, &gone.profile), (user.version + 1, &user.profile));
            let restore = UserAct::Restore { id: id(), joins_groups: false };
            let back = twice(Some(&gone), &restore, at).expect("it may be restored");
            assert_eq!((back.version, &back.profile), (user.version + 2, &user.profile));
            assert_eq!(twice(Some(&gone), &UserAct::Purge { id: id() }, at), None);
        }
    }
}
