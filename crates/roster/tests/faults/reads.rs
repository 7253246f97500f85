//! Reads that fail: a bad sector of the disk concerns the requests that need it, and no others.

use std::thread;
use std::time::Duration;

use serde_json::Value;

use roster_testkit::process::Process;

use crate::service::{Disk, create, must_have, run, start};

/// A disk with three users, each in a page of its own. Those of the first one cannot be read.
fn with_a_bad_sector() -> (Disk, Vec<Value>) {
    let disk = Disk::new();
    let service = start(&disk);
    let users = ["ada", "ben", "cyd"].map(|name| {
        let text = format!("{name}-marks ").repeat(330);
        let user = format!(r#"{{"username":"{name}","attributes":{{"text":"{text}"}}}}"#);
        let created = service.ask("POST", "/users", &user);
        assert_eq!(created.status, 201, "{created:?}");
        created.body
    });
    // The log is copied into the database.
    service.stop();
    let pages = disk.pages_with("ada-marks");
    assert!(!pages.is_empty() && disk.pages_with("ben-marks").iter().all(|n| !pages.contains(n)));
    disk.lose(&pages);
    (disk, users.into())
}

fn path(user: &Value) -> String {
    format!("/users/{}", user["id"].as_str().unwrap())
}

/// The number of failed reads.
fn failures(service: &Process) -> u64 {
    let metrics = service.get("/metrics").text;
    let line = "roster_read_failures_total ";
    metrics.lines().find_map(|text| text.strip_prefix(line)).unwrap().parse().unwrap()
}

/// Asserts that the requests that do not need the bad sector are answered.
#[track_caller]
fn others_are_served(service: &Process, users: &[Value]) {
    for user in &users[1..] {
        assert_eq!(&service.get(&path(user)).body, user);
        let name = user["username"].as_str().unwrap();
        let found = service.get(&format!("/users?username={name}"));
        assert_eq!((found.status, &found.body["items"][0]), (200, user));
    }
    assert_eq!(service.get("/livez").status, 200);
}

#[test]
fn a_read_error_is_the_answer_to_the_requests_that_need_the_page_and_to_no_others() {
    let (disk, mut users) = with_a_bad_sector();
    let service = start(&disk);
    let ada = path(&users[0]);
    let filter = "/users?filter=attributes.text%20co%20%22marks%22";
    // A short read, a page, a scan on another thread.
    for query in [ada.as_str(), "/users", filter] {
        // The housekeeping reads the first event, which is of this user, whenever it runs.
        let before = failures(&service);
        service.get(query).must_be(500, "internal");
        assert!(failures(&service) > before, "{query} is counted");
        others_are_served(&service, &users);
    }
    // The reads of the writer.
    service.ask("PATCH", &ada, r#"{"name":"Ada"}"#).must_be(500, "internal");
    service.ask("DELETE", &ada, "").must_be(500, "internal");
    let patched = service.ask("PATCH", &path(&users[1]), r#"{"name":"Ben"}"#);
    assert_eq!(patched.status, 200, "{patched:?}");
    users[1] = patched.body;
    assert_eq!(create(&service, "dan").status, 201);
    others_are_served(&service, &users);
    service.wait_for("/readyz", 200);

    disk.end("fail-read");
    must_have(&service, &users);
    assert_eq!(service.ask("PATCH", &ada, r#"{"name":"Ada"}"#).status, 200);
    service.stop();
}

#[test]
fn a_bad_sector_ends_neither_a_backup_nor_a_check_without_a_word() {
    let (disk, _) = with_a_bad_sector();
    let (status, said) = run(&disk, &["backup", "today.backup"]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("error: the database file is damaged"), "{said}");
    assert!(!disk.has_file("today.backup"));
    let (status, said) = run(&disk, &["check"]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("pages") && said.contains("fault"), "{said}");
    disk.end("fail-read");
    assert_eq!(run(&disk, &["check"]).0, Some(0));
}

#[test]
fn the_check_after_an_unclean_stop_finds_a_bad_sector_and_requests_go_on() {
    let (disk, users) = with_a_bad_sector();
    let service = start(&disk);
    assert_eq!(create(&service, "dan").status, 201);
    service.kill();
    let service = start(&disk);
    service.wait_for("/readyz", 503);
    assert!(failures(&service) > 0);
    others_are_served(&service, &users);
    assert_eq!(create(&service, "eve").status, 201);
    service.stop();
}

#[test]
fn while_the_log_cannot_be_read_writes_go_on_and_it_is_copied_later() {
    let disk = Disk::new();
    let service = start(&disk);
    let ada = create(&service, "ada").body;
    disk.begin("fail-read-log");
    // Once the service is idle, it tries to copy the log.
    let log_bytes = disk.log_bytes();
    thread::sleep(Duration::from_secs(7));
    assert!(failures(&service) > 0 && disk.log_bytes() >= log_bytes);
    let ben = create(&service, "ben");
    assert_eq!(ben.status, 201, "{ben:?}");
    disk.end("fail-read-log");
    must_have(&service, &[ada, ben.body]);
    for _ in 0..300 {
        if disk.log_bytes() == 0 {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(disk.log_bytes(), 0, "the log is copied");
    service.stop();
}
