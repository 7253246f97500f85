//! The uniqueness policy: `roster policy` over both engines, and the processes that run meanwhile.

use std::{
    process::{Command, Output},
    thread,
    time::{Duration, Instant},
};

use roster_testkit::process::{Engine, Place, Process};

use super::ask::{failure, roster};

/// Longest wait for a process that is to follow a change.
const PATIENCE: Duration = Duration::from_mins(1);

const ADA: &str = r#"{"username":"ada","email":"desk@example.com"}"#;
const GRACE: &str = r#"{"username":"grace","email":"desk@example.com"}"#;

/// The command over the store of a place.
fn policy(place: &Place, words: &[&str]) -> Command {
    let mut command = roster(place.path(), &["policy"]);
    command.args(words);
    if let Some(database) = place.database() {
        command.args(["--database", &database.url()]);
    }
    command
}

/// What a command that succeeds prints.
#[track_caller]
fn printed(mut command: Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

fn serve(place: &Place, words: &[&str]) -> Process {
    Process::start(place.serve(env!("CARGO_BIN_EXE_roster")).args(words))
}

/// What a start says that is refused.
#[track_caller]
fn refused(place: &Place, words: &[&str]) -> String {
    let mut command = place.serve(env!("CARGO_BIN_EXE_roster"));
    command.args(words);
    failure(command, 1)
}

fn shown(service: &Process) -> String {
    let document = service.ask("GET", "/", "").body;
    document.pointer("/capabilities/unique_email").unwrap().as_str().unwrap().to_owned()
}

#[test]
fn processes_that_run_follow_a_change_of_the_policy() {
    let place = Place::new(Engine::Postgres);
    let (one, other) = (serve(&place, &[]), serve(&place, &["--email-uniqueness", "primary"]));
    one.create(ADA);
    other.ask("POST", "/users", GRACE).must_be(409, "email-taken");
    let set = printed(policy(&place, &["set", "email-uniqueness", "none"]));
    assert_eq!(set, "email-uniqueness none\nunique-external-id false\n");
    let grace = other.create(GRACE);
    let begin = Instant::now();
    while shown(&one) != "none" {
        assert!(begin.elapsed() < PATIENCE, "it does not follow");
        thread::sleep(Duration::from_millis(100));
    }
    let said = failure(policy(&place, &["set", "email-uniqueness", "primary"]), 1);
    assert!(said.contains("1 belong to more than one user"), "{said}");
    assert!(said.contains(grace.rsplit_once('/').unwrap().1), "{said}");
    assert!(!said.contains("desk"), "{said}");
    assert_eq!(one.ask("DELETE", &grace, "").status, 204);
    printed(policy(&place, &["set", "email-uniqueness", "primary"]));
    one.ask("POST", "/users", GRACE).must_be(409, "email-taken");
    other.ask("POST", "/users", GRACE).must_be(409, "email-taken");
    for service in [&one, &other] {
        assert_eq!(service.ask("GET", "/readyz", "").status, 200);
    }
    one.stop();
    other.stop();
}

#[test]
fn a_start_that_states_another_policy_is_refused_and_changes_nothing() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let place = Place::new(engine);
        serve(&place, &["--email-uniqueness", "none"]).stop();
        let said = refused(&place, &["--email-uniqueness", "primary"]);
        assert!(said.contains("`roster policy set email-uniqueness primary`"), "{said}");
        let said = refused(&place, &["--unique-external-id"]);
        assert!(said.contains("`roster policy set unique-external-id true`"), "{said}");
        let service = serve(&place, &["--unique-external-id=false"]);
        service.create(ADA);
        service.create(GRACE);
        service.stop();
    }
}

#[test]
fn the_policy_of_a_served_directory_cannot_be_changed() {
    let place = Place::new(Engine::Sqlite);
    let said = failure(policy(&place, &["show"]), 1);
    assert!(said.contains("holds no store"), "{said}");
    let service = serve(&place, &[]);
    let said = failure(policy(&place, &["set", "email-uniqueness", "none"]), 1);
    assert!(said.contains("stop the service"), "{said}");
    service.stop();
    let set = printed(policy(&place, &["set", "email-uniqueness", "none"]));
    assert_eq!(set, "email-uniqueness none\nunique-external-id false\n");
    assert_eq!(printed(policy(&place, &["show"])), set);
    let service = serve(&place, &[]);
    service.create(ADA);
    service.create(GRACE);
    assert_eq!(shown(&service), "none");
    service.stop();
}

#[test]
fn an_unknown_policy_or_value_is_named() {
    let place = Place::new(Engine::Sqlite);
    let said = failure(policy(&place, &["set", "email", "none"]), 1);
    assert!(said.contains("email-uniqueness or unique-external-id"), "{said}");
    let said = failure(policy(&place, &["set", "email-uniqueness", "true"]), 1);
    assert!(said.contains("primary or none"), "{said}");
}
