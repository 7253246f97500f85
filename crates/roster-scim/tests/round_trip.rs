//! A random user, written as SCIM and read back, is the user that it was.
#![expect(clippy::expect_used, reason = "this is how a test fails")]

use proptest::{prelude::ProptestConfig, prop_assert, prop_assert_eq, proptest};
use roster_core::{
    Act, Actor, Caller, Command, Decision, Draft, OnConflict, Preconditions, Rules, Timestamp,
    User, UserId, decide, json,
};
use roster_scim::{
    Profile, Projection,
    user::{Sent, UserWriter, read},
};
use roster_testkit::arbitrary::person;

const BASE: &str = "http://roster.test/scim/v2";

fn decided(current: Option<&User>, act: Act) -> Option<Decision> {
    let caller = Caller { actor: Actor::Anonymous, request_id: "request".to_owned() };
    let at = Timestamp::from_millis(1_800_000_000_000);
    let command = Command { act, at, caller, idempotency: None, start: None };
    decide(Rules::default(), current, &command).ok()
}

fn created(draft: Draft) -> Option<User> {
    let id = UserId::from_bytes([7; 16]);
    let act = Act::Create { id, draft: Box::new(draft), on_conflict: OnConflict::Fail };
    let Decision::Write(change) = decided(None, act)? else { return None };
    Some(change.user.clone())
}

fn shown(user: &User) -> roster_core::Json {
    let mut out = Vec::new();
    let projection = Projection::default();
    let written = UserWriter::new(BASE, &projection);
    written.write(&user.to_record(), &[], &mut out).expect("a record");
    json::read(&out).expect("JSON")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_user_that_is_written_and_read_is_the_same(body in person(1)) {
        let Some(user) = created(Draft::parse(body)) else { return Ok(()) };
        for profile in Profile::ALL {
            for sent in [Sent::Replaced, Sent::Patched] {
                let draft = read(shown(&user), *profile, sent).expect("a user");
                let replace = Act::Replace {
                    id: user.id,
                    draft: Box::new(draft),
                    preconditions: Preconditions::default(),
                };
                let decision = decided(Some(&user), replace);
                let same = matches!(decision, Some(Decision::Unchanged));
                prop_assert!(same, "{profile}: {decision:?}");
            }
            let copy = read(shown(&user), *profile, Sent::Created).expect("a user");
            let copy = created(copy).expect("as valid as the user was");
            prop_assert_eq!(&copy.profile, &user.profile);
            prop_assert_eq!(copy.status, user.status);
        }
    }
}
