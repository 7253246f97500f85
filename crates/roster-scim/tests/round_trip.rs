//! A random user that is written as SCIM and parsed again is equal.
#![expect(clippy::expect_used, reason = "this is how a test fails")]

use proptest::{prelude::ProptestConfig, prop_assert, prop_assert_eq, proptest};
use roster_core::{
    Actor, Caller, Command, Decision, Draft, Json, OnConflict, Rules, Timestamp, User, UserAct,
    UserId, UserSchema, Work, decide, json, limits::COMPARISONS_MAX,
};
use roster_scim::{
    Projection, Strictness,
    user::{Sent, UserWriter, read},
};
use roster_testkit::arbitrary::person;

const BASE: &str = "http://roster.test/scim/v2";

fn decided(current: Option<&User>, act: &UserAct) -> Option<Decision> {
    let caller = Caller { actor: Actor::Anonymous, request_id: "request".to_owned() };
    let at = Timestamp::from_millis(1_800_000_000_000);
    let command = Command::of(act.clone(), at, caller);
    decide(Rules::default(), &UserSchema::default(), current, act, &command).ok()
}

fn created(draft: Draft) -> Option<User> {
    let id = UserId::from_bytes([7; 16]);
    let act = UserAct::Create { id, draft: Box::new(draft), upsert: OnConflict::Fail.into() };
    let Decision::Write(change) = decided(None, &act)? else { return None };
    Some(User::clone(&change.user))
}

fn shown(user: &User, projection: &Projection) -> Json {
    let mut out = Vec::new();
    let schema = UserSchema::default();
    let written = UserWriter::new(BASE, projection, &schema);
    written.write(&user.to_record(), &[], &mut out).expect("a record");
    json::read(&out).expect("JSON")
}

/// Whether a list repeats an entry: SCIM merges such entries once they are sent.
fn repeats(user: &Json) -> bool {
    let Json::Object(members) = user else { return false };
    members.iter().any(|(_, value)| {
        let Json::Array(entries) = value else { return false };
        let named =
            |entry: &Json| Some((entry.member("value")?.clone(), entry.member("type").cloned()));
        let named: Vec<_> = entries.iter().filter_map(named).collect();
        named.iter().enumerate().any(|(at, one)| named.iter().take(at).any(|other| other == one))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_user_that_is_written_and_read_is_the_same(body in person(1)) {
        let Some(user) = created(Draft::parse(body)) else { return Ok(()) };
        let (unasked, everything) = (Projection::default(), Projection::everything());
        let whole = shown(&user, &everything);
        if repeats(&whole) {
            return Ok(());
        }
        for strictness in Strictness::ALL {
            for (sent, projection) in [(Sent::Replaced, &unasked), (Sent::Patched, &everything)] {
                let schema = UserSchema::default();
                let body = read(shown(&user, projection), *strictness, sent, &schema);
                let body = body.expect("a user");
                let draft = body.replacing(&user, &Work::new(COMPARISONS_MAX)).expect("short");
                let replace = UserAct::Replace { id: user.id, draft: Box::new(draft) };
                let decision = decided(Some(&user), &replace);
                let same = matches!(decision, Some(Decision::Unchanged));
                prop_assert!(same, "{strictness}: {decision:?}");
            }
            let copy = read(whole.clone(), *strictness, Sent::Created, &UserSchema::default());
            let copy = copy.expect("a user").created();
            let copy = created(copy).expect("as valid as the user was");
            prop_assert_eq!(shown(&copy, &everything), whole.clone());
        }
    }
}
