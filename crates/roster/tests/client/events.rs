//! `roster events`.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    iter,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use roster_testkit::over_each_engine;
use roster_testkit::process::{Engine, Process};
use serde_json::{Value, json};

use super::Shell;

over_each_engine! {
    events_are_listed_and_selected,
    a_follower_survives_a_restart,
}

fn events_are_listed_and_selected(engine: Engine) {
    let shell = Shell::new(engine);
    assert!(shell.run(&["events"]).err.contains("no events"));
    for number in 0..30 {
        shell.ok(&["users", "create", &format!("username=u{number}")]);
    }
    shell.ok(&["users", "set", "u7", "title=Dr"]);
    let last = shell.run(&["events", "--columns", "type,name,changed", "-o", "csv"]);
    let rows: Vec<&str> = last.out.lines().collect();
    assert_eq!((rows.len(), rows[0]), (21, "type,name,changed"));
    assert_eq!(
        (rows[19], rows[20]),
        ("user.created,u29,\"status, username\"", "user.updated,u7,title")
    );
    assert!(last.err.contains("next: roster events --follow --after "), "{last:?}");
    let updated = ["events", "--type", "user.updated", "-o", "json"];
    let events: Value = serde_json::from_str(&shell.ok(&updated)).unwrap();
    let position = events[0]["id"].as_str().unwrap();
    assert_eq!(events[0]["data"]["changed"], json!(["title"]));
    shell.ok(&["users", "delete", "u8", "u9", "--yes"]);
    let after = shell.ok(&["events", "--after", position, "-o", "csv", "--columns", "type,name"]);
    assert_eq!(after, "type,name\nuser.deleted,u8\nuser.deleted,u9\n");
    shell.run(&["events", "--type", "usr.*"]).failed(2, &["--type"]);
    for flag in ["--type", "--actor", "--subject"] {
        shell.run(&["events", flag, ""]).failed(2, &[flag, "none was supplied"]);
    }
    shell.run(&["events", "--after", "0123456789abcdef-1"]).failed(5, &["position"]);
    shell.needs("events:read", &["events", "--limit", "1"]);
    shell.service.stop();
}

/// A command that ends with the test.
struct Follower(Child);

impl Drop for Follower {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// A follower, and its events. They end if none comes for long.
fn follower(command: &mut Command) -> (Follower, impl Iterator<Item = Value> + use<>) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (sender, received) = mpsc::channel::<Value>();
    thread::spawn(move || {
        lines.map_while(Result::ok).for_each(|line| {
            drop(sender.send(serde_json::from_str(&line).unwrap()));
        });
    });
    let events = iter::from_fn(move || received.recv_timeout(Duration::from_mins(1)).ok());
    (Follower(child), events)
}

fn a_follower_survives_a_restart(engine: Engine) {
    let Shell { service, home, place, .. } = Shell::new(engine);
    let address = service.address().to_owned();
    service.create(r#"{"username":"before"}"#);
    let from = service.get("/events?after=latest").head;
    let from = from.split("roster-position: ").nth(1).unwrap().split('\r').next().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_roster"));
    command.args(["events", "--follow", "--after", from, "--type", "user.*", "-o", "ndjson"]);
    command.env_clear().env("HOME", home.path()).env("ROSTER_URL", &address);
    let (child, mut events) = follower(&mut command);
    for number in 0..5 {
        service.create(&json!({"username": format!("a{number}")}).to_string());
    }
    let first = events.next().unwrap();
    assert_eq!(first["data"]["user"]["username"], "a0");
    // One that has begun with the end of the log, and has seen no event yet.
    let mut command = Command::new(env!("CARGO_BIN_EXE_roster"));
    command.args(["events", "--follow", "--type", "user.*", "-o", "ndjson"]);
    command.env_clear().env("HOME", home.path()).env("ROSTER_URL", &address);
    let (quiet, mut later) = follower(&mut command);
    thread::sleep(Duration::from_secs(1));
    service.kill();
    thread::sleep(Duration::from_secs(1));
    let mut again = Command::new(env!("CARGO_BIN_EXE_roster"));
    again.args(["serve", "--listen", &address, "--log", "error"]).env_clear();
    if let Some(database) = place.database() {
        again.args(["--allow-open", "--database", &database.url()]);
    }
    let service = Process::start(again.current_dir(place.path()));
    for number in 0..5 {
        service.create(&json!({"username": format!("b{number}")}).to_string());
    }
    let username = |event: Value| event["data"]["user"]["username"].clone();
    let names: Vec<Value> = events.by_ref().take(9).map(username).collect();
    assert_eq!(names, ["a1", "a2", "a3", "a4", "b0", "b1", "b2", "b3", "b4"]);
    let names: Vec<Value> = later.by_ref().take(5).map(username).collect();
    assert_eq!(names, ["b0", "b1", "b2", "b3", "b4"]);
    for mut child in [child, quiet] {
        let mut said = String::new();
        let stderr = child.0.stderr.take();
        child.0.kill().unwrap();
        stderr.unwrap().read_to_string(&mut said).unwrap();
        assert!(said.contains("waiting, and trying again: "), "{said}");
    }
    service.stop();
}
