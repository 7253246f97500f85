//! The built binary on a failing disk: its responses, and its data after a restart.
//!
//! A shim before libc fails the reads, writes and syncs of the database files while a test wants
//! it. Several writers write at once, so that the fault hits commits of many writes. If writes or
//! syncs fail, two things must always hold: a write with a 2xx response is stored, and reads
//! continue to work.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "what a test cannot do fails that test")]
#![expect(clippy::indexing_slicing, reason = "a member that is missing is `null`")]

mod load;
mod reads;
mod service;

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use serde_json::Value;

use load::{Attempt, acknowledged, across};
use roster_testkit::process::Process;
use service::{Disk, create, has, must_have, refused, start};

/// Asserts that every kind of write, of an existing user and of a new one, returns 503.
fn every_write_is_refused(service: &Process, user: &Value) {
    let path = format!("/users/{}", user["id"].as_str().unwrap());
    create(service, "late").must_be(503, "unavailable");
    service.ask("PUT", &path, r#"{"username":"late"}"#).must_be(503, "unavailable");
    service.ask("PATCH", &path, r#"{"name":"late"}"#).must_be(503, "unavailable");
    service.ask("DELETE", &path, "").must_be(503, "unavailable");
}

/// Asserts that no write after the begin of the fault was acknowledged: all got this status and
/// code.
fn none_was_acknowledged_after(attempts: &[Attempt], begun: Instant, (status, code): (u16, &str)) {
    let (before, after) = attempts.split_at(attempts.partition_point(|one| one.sent < begun));
    assert!(before.iter().any(|attempt| attempt.answer.status == 201));
    assert!(after.len() >= 20, "{} writes met the fault", after.len());
    for attempt in before {
        assert!([201, status].contains(&attempt.answer.status), "{:?}", attempt.answer);
    }
    for attempt in after {
        attempt.answer.must_be(status, code);
    }
}

/// After a restart without the fault, all users exist and writes work.
fn a_restart_brings_all_back(disk: &Disk, service: Process, users: &[Value]) {
    service.stop();
    let service = start(disk);
    assert_eq!(service.get("/readyz").status, 200);
    must_have(&service, users);
    assert!(!has(&service, "late"), "what was refused is not there");
    assert_eq!(create(&service, "late").status, 201);
    let path = format!("/users/{}", users[0]["id"].as_str().unwrap());
    assert_eq!(service.ask("DELETE", &path, "").status, 204);
    assert_eq!(service.get(&path).status, 404);
    service.stop();
}

/// Writes under this fault fail until a restart. The restart finds everything that was
/// acknowledged.
fn writes_stop_until_a_restart(fault: &str) {
    let disk = Disk::new();
    let service = start(&disk);
    let (attempts, begun) = across(&service, "user", || disk.begin(fault));
    none_was_acknowledged_after(&attempts, begun, (503, "unavailable"));
    let users = acknowledged(&attempts);
    service.wait_for("/readyz", 503);
    every_write_is_refused(&service, &users[0]);
    must_have(&service, &users);

    disk.end(fault);
    every_write_is_refused(&service, &users[0]);
    service.get("/readyz").must_be(503, "unavailable");
    must_have(&service, &users);
    for attempt in attempts.iter().filter(|attempt| attempt.answer.status != 201) {
        assert!(!has(&service, &attempt.username), "{} is shown", attempt.username);
    }
    a_restart_brings_all_back(&disk, service, &users);
}

#[test]
fn after_a_failed_sync_writes_stop_until_a_restart_and_reads_go_on() {
    writes_stop_until_a_restart("fail-sync");
}

#[test]
fn after_a_failed_write_of_the_log_writes_stop_until_a_restart_and_reads_go_on() {
    writes_stop_until_a_restart("fail-write");
}

#[test]
fn when_copying_the_log_cannot_be_synced_writes_stop_and_the_log_is_kept() {
    let disk = Disk::new();
    let service = start(&disk);
    disk.begin("fail-sync-database");
    let users = ["ada", "ben", "cyd"].map(|username| create(&service, username).body);
    let log_bytes = disk.log_bytes();
    // When the service is idle, it copies the log.
    service.wait_for("/readyz", 503);
    disk.end("fail-sync-database");
    every_write_is_refused(&service, &users[0]);
    must_have(&service, &users);
    assert!(log_bytes > 0 && disk.log_bytes() >= log_bytes, "the log was cut");
    a_restart_brings_all_back(&disk, service, &users);
}

#[test]
fn on_a_full_disk_writes_are_refused_until_there_is_room_and_reads_go_on() {
    let disk = Disk::new();
    let service = start(&disk);
    let mut users = Vec::new();
    let first = create(&service, "first");
    assert_eq!(first.status, 201, "{first:?}");
    users.push(first.body);
    for round in ["once", "again"] {
        let (attempts, begun) =
            beside_reads(&service, &users, || across(&service, round, || disk.begin("full")));
        none_was_acknowledged_after(&attempts, begun, (507, "storage-full"));
        users.extend(acknowledged(&attempts));
        service.wait_for("/readyz", 503);
        must_have(&service, &users);
        let path = format!("/users/{}", users[0]["id"].as_str().unwrap());
        service.ask("PUT", &path, r#"{"username":"late"}"#).must_be(507, "storage-full");
        service.ask("PATCH", &path, r#"{"name":"late"}"#).must_be(507, "storage-full");
        service.ask("DELETE", &path, "").must_be(507, "storage-full");

        disk.end("full");
        for attempt in attempts.iter().filter(|attempt| attempt.answer.status != 201) {
            assert!(!has(&service, &attempt.username), "{} is shown", attempt.username);
        }
        let answer = create(&service, &format!("{round}-there-is-room"));
        assert_eq!(answer.status, 201, "{answer:?}");
        users.push(answer.body);
        service.wait_for("/readyz", 200);
    }
    must_have(&service, &users);
    a_restart_brings_all_back(&disk, service, &users);
}

#[test]
fn a_start_on_a_full_disk_is_refused_by_name_and_loses_nothing() {
    let disk = Disk::new();
    let service = start(&disk);
    let users = ["ada", "ben"].map(|username| create(&service, username).body);
    service.kill();
    disk.begin("full");
    let error = refused(&disk);
    assert!(error.contains("the disk is full"), "{error}");
    disk.end("full");
    a_restart_brings_all_back(&disk, start(&disk), &users);
}

/// Reads these users repeatedly while `act` runs.
fn beside_reads<T>(service: &Process, users: &[Value], act: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let reads = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                must_have(service, users);
            }
        });
        let result = panic::catch_unwind(AssertUnwindSafe(act));
        over.store(true, Ordering::Relaxed);
        reads.join().unwrap();
        result.unwrap_or_else(|cause| panic::resume_unwind(cause))
    })
}
