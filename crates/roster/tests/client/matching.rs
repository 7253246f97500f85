//! Changes of all users that match a condition.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use roster_testkit::over_each_engine;
use roster_testkit::process::Engine;
use serde_json::json;

use super::{Shell, run};

over_each_engine! {
    users_that_match_are_changed_after_a_question,
    a_run_that_breaks_off_claims_no_change,
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

/// Only the last line of the results says how many users were changed.
fn a_run_that_breaks_off_claims_no_change(engine: Engine) {
    let shell = Shell::new(engine);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        while let Ok((mut client, _)) = listener.accept() {
            let mut head = [0; 4096];
            let count = client.read(&mut head).unwrap_or_default();
            let body = if String::from_utf8_lossy(&head[..count]).contains("confirm=3") {
                "{\"id\":\"a\",\"processed\":1}\n{\"id\":\"b\",\"processed\":2}\n"
            } else {
                "{\"count\":3,\"items\":[],\"failed\":[]}"
            };
            // The results end before their length.
            let length = body.len() + usize::from(body.starts_with("{\"id"));
            let answer = format!(
                "HTTP/1.1 200 OK\r\nroster-position: p-1\r\n\
                 content-type: application/x-ndjson\r\ncontent-length: {length}\r\n\
                 connection: close\r\n\r\n{body}"
            );
            client.write_all(answer.as_bytes()).unwrap_or_default();
        }
    });
    for (command, told) in [
        (&["users", "set", "title=Dr"][..], "changed, or had these values before: 2 users\n"),
        (&["users", "delete"], "deleted 2 users\n"),
    ] {
        let ran = run(&mut shell.command(&with(command, &["--yes", "--url", &url])), "");
        assert_eq!((ran.status, &*ran.out), (8, told), "{ran:?}");
        assert!(ran.err.contains("2 of 3 users had a result"), "{ran:?}");
        let undo = "undo what was changed, if anything was: roster undo --after p-1 --request ";
        assert!(ran.err.contains(undo), "{ran:?}");
    }
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
