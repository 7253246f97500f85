//! The uniqueness policy: `roster policy` over both engines, and processes that run during a
//! change.

use std::{
    process::{Command, Output},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use roster_testkit::process::{Engine, Place, Process};

use serde_json::Value;

use super::ask::{failure, roster};

/// The maximum wait until a process follows a change.
const PATIENCE: Duration = Duration::from_mins(1);

const ADA: &str = r#"{"username":"ada","email":"desk@example.com"}"#;
const GRACE: &str = r#"{"username":"grace","email":"desk@example.com"}"#;

/// The command on the store of a place.
fn policy(place: &Place, words: &[&str]) -> Command {
    let mut command = roster(place.path(), &["policy"]);
    command.args(words);
    if let Some(database) = place.database() {
        command.args(["--database", &database.url()]);
    }
    command
}

/// The output of a command that must succeed.
#[track_caller]
pub(crate) fn printed(mut command: Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

fn serve(place: &Place, words: &[&str]) -> Process {
    Process::start(place.serve(env!("CARGO_BIN_EXE_roster")).args(words))
}

/// The error of a start that must fail.
#[track_caller]
fn refused(place: &Place, words: &[&str]) -> String {
    let mut command = place.serve(env!("CARGO_BIN_EXE_roster"));
    command.args(words);
    failure(command, 78)
}

fn shown(service: &Process) -> String {
    let document = service.ask("GET", "/", "").body;
    document.pointer("/capabilities/unique_email").unwrap().as_str().unwrap().to_owned()
}

#[test]
fn processes_that_run_follow_a_change_of_the_policy() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let place = Place::new(engine);
        let one = serve(&place, &[]);
        // Only one process serves a data directory.
        let second =
            (engine == Engine::Postgres).then(|| serve(&place, &["--email-uniqueness", "primary"]));
        let other = second.as_ref().unwrap_or(&one);
        one.create(ADA);
        other.ask("POST", "/users", GRACE).must_be(409, "email-taken");
        let set = printed(policy(&place, &["set", "email-uniqueness", "none"]));
        assert_eq!(set, "email-uniqueness none\nunique-external-id false\n");
        assert_eq!(printed(policy(&place, &["show"])), set);
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
        for service in [&one, other] {
            service.ask("POST", "/users", GRACE).must_be(409, "email-taken");
            assert_eq!(service.ask("GET", "/readyz", "").status, 200);
        }
        one.stop();
        if let Some(second) = second {
            second.stop();
        }
        let service = serve(&place, &[]);
        service.ask("POST", "/users", GRACE).must_be(409, "email-taken");
        service.stop();
    }
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
fn writes_go_on_while_the_policy_of_a_served_directory_changes() {
    let place = Place::new(Engine::Sqlite);
    let said = failure(policy(&place, &["show"]), 1);
    assert!(said.contains("there is no Roster database"), "{said}");
    let service = serve(&place, &[]);
    let is_done = AtomicBool::new(false);
    // A panic inside the scope would wait forever for the writer.
    let mut is_shown = true;
    let created = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let names = (0..).take_while(|_| !is_done.load(Ordering::Relaxed));
            names.map(|n| service.create(&format!(r#"{{"username":"user{n}"}}"#))).count()
        });
        for value in ["none", "primary"].into_iter().cycle().take(20) {
            printed(policy(&place, &["set", "email-uniqueness", value]));
            is_shown &= shown(&service) == value;
        }
        is_done.store(true, Ordering::Relaxed);
        writer.join().unwrap()
    });
    assert!(is_shown, "the service document follows each change");
    assert!(created > 20, "{created} users");
    service.stop();
    let service = serve(&place, &[]);
    let total = service.ask("GET", "/users?count=true&limit=1", "").body;
    assert_eq!(total.pointer("/total"), Some(&Value::from(created)));
    let changes = service.ask("GET", "/events?type=policy.changed", "").body;
    assert_eq!(changes.pointer("/items").and_then(Value::as_array).map(Vec::len), Some(20));
    service.stop();
    printed(roster(place.path(), &["check"]));
}

#[test]
fn an_unknown_policy_or_value_is_named() {
    let place = Place::new(Engine::Sqlite);
    let said = failure(policy(&place, &["set", "email", "none"]), 2);
    assert!(said.contains("email-uniqueness or unique-external-id"), "{said}");
    let said = failure(policy(&place, &["set", "email-uniqueness", "true"]), 2);
    assert!(said.contains("primary or none"), "{said}");
}
