//! The sample users of `roster serve --dev` are valid, and conflict neither with each other nor
//! with the user that the banner's curl line creates.

use std::collections::HashSet;

use roster_core::{
    Actor, Caller, Command, Decision, Draft, Json, OnConflict, Rules, Timestamp, UserAct, UserId,
    UserSchema, decide, json::read,
};

/// The user of the banner is created first. A conflicting sample would make the banner's example
/// fail.
const FIRST_USER: &[u8] = br#"{"email":"ada@example.com","name":"Ada Lovelace"}"#;

#[test]
fn every_sample_user_can_be_created_beside_all_others() {
    let Json::Array(samples) = read(include_bytes!("../assets/sample-users.json")).unwrap() else {
        unreachable!("the samples are an array");
    };
    assert!(samples.len() >= 12);
    let mut usernames = HashSet::new();
    let mut emails = HashSet::new();
    for sample in std::iter::once(read(FIRST_USER).unwrap()).chain(samples) {
        let told = format!("{sample:?}");
        let draft = Box::new(Draft::parse(sample));
        let id = UserId::from_bytes([7; 16]);
        let act = UserAct::Create { id, draft, upsert: OnConflict::Fail.into() };
        let caller = Caller { actor: Actor::System, request_id: "samples".to_owned() };
        let command = Command::of(act.clone(), Timestamp::from_millis(0), caller);
        let (rules, schema) = (Rules::default(), UserSchema::default());
        let change = match decide(rules, &schema, None, &act, &command) {
            Ok(Decision::Write(change)) => change,
            other => unreachable!("{told} is refused: {other:?}"),
        };
        assert!(
            usernames.insert(change.claims.username.clone().unwrap()),
            "{told}: user name held"
        );
        assert!(emails.insert(change.claims.email.clone().unwrap()), "{told}: address held");
    }
}
