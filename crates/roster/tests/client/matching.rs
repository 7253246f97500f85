//! Changes of all users that match a condition.

use roster_testkit::over_each_engine;
use roster_testkit::process::Engine;
use serde_json::json;

use super::Shell;

over_each_engine! {
    users_that_match_are_changed_after_a_question,
    changing_those_that_match_needs_its_scopes,
}

fn people(shell: &Shell, count: usize) {
    let lines: Vec<String> = (0..count)
        .map(|number| json!({"username": format!("u{number:03}"), "title": "Dr"}).to_string())
        .collect();
    shell.service.ask("POST", "/bulk/users", &lines.join("\n"));
}

const DOCTORS: [&str; 2] = ["--filter", r#"title eq "Dr""#];

fn with<'a>(first: &[&'a str], last: &[&'a str]) -> Vec<&'a str> {
    [first, &DOCTORS, last].concat()
}

fn users_that_match_are_changed_after_a_question(engine: Engine) {
    let shell = Shell::new(engine);
    people(&shell, 120);
    let set = ["users", "set", "department=Engines"];
    let delete = ["users", "delete"];
    let dry = shell.run(&with(&set, &["--dry-run", "-o", "csv"]));
    assert!(dry.err.contains("would change 120 users; the first 50 were checked"), "{dry:?}");
    let out = dry.succeeded();
    assert_eq!(out.lines().count(), 51);
    assert!(out.lines().nth(1).unwrap().ends_with(",Engines"), "{out}");
    shell.run(&with(&set, &[])).failed(2, &["Change 120 users?", "--yes", "  u000", "..."]);
    let changed = shell.run(&with(&set, &["--yes"]));
    assert!(changed.err.contains("undo: roster undo --after "), "{changed:?}");
    assert_eq!(changed.succeeded(), "changed 120 users\n");
    assert_eq!(shell.ok(&with(&set, &["--yes"])), "changed 0 users, 120 had these values before\n");
    // What is wrong for all of them changes nothing; what fails for some is listed.
    shell.run(&with(&["users", "set", "titel=x"], &["-y"])).failed(2, &["titel=x: did you mean"]);
    let same = shell.run(&with(&["users", "set", "username=same"], &["-y"]));
    assert_eq!((same.status, &*same.out), (7, "changed 1 user, 119 failed\n"), "{same:?}");
    assert!(same.err.contains("choose another username") && same.err.contains("114 more"));
    let none = shell.run(&["users", "delete", "--filter", "username eq \"nobody\"", "--yes"]);
    assert!(none.err.contains("no users match"), "{none:?}");
    shell.run(&["users", "delete", "--filter", "username eq", "-y"]).failed(2, &["--filter: "]);
    let dry = shell.run(&with(&delete, &["--dry-run"]));
    assert!(dry.err.contains("would delete 120 users"), "{dry:?}");
    assert_eq!(shell.ok(&with(&delete, &["--yes"])), "deleted 120 users\n");
    assert_eq!(shell.ok(&["users", "list"]), "");
    shell.service.stop();
}

fn changing_those_that_match_needs_its_scopes(engine: Engine) {
    let shell = Shell::new(engine);
    people(&shell, 2);
    let changed = shell.run(&with(&["users", "set", "department=Engines"], &["--yes"]));
    let undo = changed.err.lines().find_map(|line| line.strip_prefix("undo: roster ")).unwrap();
    let undo: Vec<&str> = undo.split(' ').chain(["--yes"]).collect();
    shell.ok(&undo);
    shell.run(&undo).failed(7, &["2 of 2 are undone already or were changed since"]);
    shell.needs("users:read,users:write", &with(&["users", "set", "title=Dr"], &["--yes"]));
    // Without the right to read events there is no hint how to undo it.
    let key = shell.with("users:read,users:write", &with(&["users", "delete"], &["--yes"]));
    assert!(!key.err.contains("undo"), "{key:?}");
    assert_eq!(key.succeeded(), "deleted 2 users\n");
    shell.service.stop();
}
