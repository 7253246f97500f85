//! Short functions for the tests: create a user, write to it, and get the result.

use roster_core::{
    Actor, Caller, Change, Command, Decision, Draft, Json, OnConflict, Refusal, Rules, Timestamp,
    User, UserAct, UserId, UserSchema, ViolationCode, decide, json,
};
use serde_json::Value;

pub(crate) const ID: &str = "0190d1c2-8000-7000-8000-000000000001";

pub(crate) fn id() -> UserId {
    UserId::parse(ID).expect("an id")
}

pub(crate) fn tree(body: &Value) -> Json {
    json::read(body.to_string().as_bytes()).expect("valid JSON")
}

/// A command; all commands have the same time.
pub(crate) fn command(act: UserAct) -> Command {
    let caller = Caller { actor: Actor::Anonymous, request_id: "request".to_owned() };
    Command::of(act, Timestamp::from_millis(1_800_000_000_000), caller)
}

/// The decision under these rules, without preconditions.
pub(crate) fn decided(
    rules: Rules,
    current: Option<&User>,
    act: &UserAct,
) -> Result<Decision, Refusal> {
    decide(rules, &UserSchema::default(), current, act, &command(act.clone()))
}

/// The user after the command, or the same user if nothing is written.
fn after(current: Option<&User>, act: &UserAct) -> Result<User, Refusal> {
    match decided(Rules::default(), current, act)? {
        Decision::Unchanged => Ok(current.expect("there is a current user").clone()),
        Decision::Write(change) => Ok(whole(Change::clone(&change))),
        Decision::Remove(_) | Decision::Restore(_) | Decision::Purge(_) => {
            panic!("an unexpected decision")
        }
    }
}

/// The user of a change, after a check that all parts of the change agree.
fn whole(change: Change) -> User {
    let Change { user, record, event, .. } = change;
    assert_eq!(record, user.to_record());
    assert_eq!((&event.record, event.version), (&record, user.version));
    User::clone(&user)
}

pub(crate) fn create(body: &Value) -> Result<User, Refusal> {
    let draft = Box::new(Draft::parse(tree(body)));
    after(None, &UserAct::Create { id: id(), draft, upsert: OnConflict::Fail.into() })
}

pub(crate) fn user(body: &Value) -> User {
    create(body).unwrap_or_else(|refusal| panic!("{body}: {refusal:?}"))
}

pub(crate) fn replace(current: &User, body: &Value) -> Result<User, Refusal> {
    replace_by(current, Draft::parse(tree(body)))
}

pub(crate) fn replace_by(current: &User, draft: Draft) -> Result<User, Refusal> {
    let draft = Box::new(draft);
    after(Some(current), &UserAct::Replace { id: current.id, draft })
}

pub(crate) fn patch(current: &User, body: &Value) -> Result<User, Refusal> {
    let patch = std::sync::Arc::new(tree(body));
    after(Some(current), &UserAct::Patch { id: current.id, patch })
}

/// The GET form.
pub(crate) fn view(user: &User) -> Value {
    serde_json::from_slice(&user.to_record()).expect("a record is JSON")
}

/// A user as a store may contain it, without the rules for new values.
pub(crate) fn stored(members: &Value) -> User {
    let mut record = serde_json::json!({
        "id": ID, "version": 3, "status": "active", "username": "ada",
        "created_at": "2024-07-20T20:08:23.296Z", "updated_at": "2026-01-01T00:00:00.000Z",
    });
    for (name, value) in members.as_object().expect("an object") {
        record[name] = value.clone();
    }
    User::from_record(record.to_string().as_bytes()).expect("a readable record")
}

/// The pointers and codes of the violations.
pub(crate) fn faults<T: std::fmt::Debug>(
    result: Result<T, Refusal>,
) -> Vec<(String, ViolationCode)> {
    match result {
        Err(Refusal::Invalid(violations)) => {
            violations.into_iter().map(|violation| (violation.pointer, violation.code)).collect()
        }
        other => panic!("expected violations, found {other:?}"),
    }
}

/// The violations of a create, of a replacement and of a patch, which must be the same.
pub(crate) fn faults_of_every_write(body: &Value) -> Vec<(String, ViolationCode)> {
    let current = stored(&serde_json::json!({}));
    let found = faults(replace(&current, body));
    assert_eq!(faults(patch(&current, body)), found, "{body}");
    let mut created = body.clone();
    if created.get("username").is_none() {
        created["username"] = serde_json::json!("ada");
    }
    assert_eq!(faults(create(&created)), found, "{body}");
    found
}
