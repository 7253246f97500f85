//! Stopping one process: readiness, the last responses, the data on the disk.

use std::fs;
use std::net::TcpListener;
use std::time::Duration;

use roster_testkit::process::Process;

use super::process::{Caller, ask, ended, roster, start};

const SERVE: &str = "serve --listen 127.0.0.1:0 --data data";

#[test]
fn a_stop_turns_readiness_off_while_callers_are_still_served() {
    let place = tempfile::tempdir().unwrap();
    let words = format!("{SERVE} --drain-delay-ms 1500");
    let (mut service, address) = start(&mut roster(place.path(), &words));
    let mut kept = Caller::of(address);
    let ready = kept.ask("GET", "/readyz", "");
    assert!(ready.starts_with("HTTP/1.1 200 ") && !ready.contains("connection: close"), "{ready}");

    service.signal("TERM");
    std::thread::sleep(Duration::from_millis(300));
    let unready = ask(address, "GET", "/readyz", "");
    assert!(unready.starts_with("HTTP/1.1 503 "), "{unready}");
    assert!(unready.contains("\"code\":\"draining\""), "{unready}");
    assert!(ask(address, "GET", "/livez", "").starts_with("HTTP/1.1 200 "));
    let written = kept.ask("POST", "/users", "{\"username\":\"ada\"}");
    assert!(written.starts_with("HTTP/1.1 201 "), "{written}");
    assert!(written.contains("\r\nconnection: close\r\n"), "{written}");
    assert_eq!(kept.answer(), "", "the connection ended with it");
    let (status, log) = service.end();
    assert_eq!(status, Some(0), "{log}");
}

#[test]
fn a_signal_ends_a_start_that_waits_for_a_database() {
    let place = tempfile::tempdir().unwrap();
    // It accepts connections and never responds.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let database = format!("postgres://a:b@{}/roster", silent.local_addr().unwrap());
    let mut service =
        Process::spawn(&mut roster(place.path(), &format!("{SERVE} --database {database}")));
    std::thread::sleep(Duration::from_millis(500));
    service.signal("TERM");
    let (status, log) = service.end();
    assert_eq!(status, Some(0), "{log}");
    assert!(log.contains("stopped"), "{log}");
}

#[test]
fn a_hangup_signal_without_tls_changes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let (mut service, address) = start(&mut roster(place.path(), SERVE));
    service.signal("HUP");
    std::thread::sleep(Duration::from_millis(200));
    assert!(ask(address, "GET", "/livez", "").starts_with("HTTP/1.1 200 "));
    service.signal("TERM");
    let (status, log) = service.end();
    assert_eq!(status, Some(0), "{log}");
    assert!(log.contains("SIGHUP has no effect"), "{log}");
}

#[test]
fn after_a_stop_all_data_is_in_the_database_and_nothing_in_its_log() {
    let place = tempfile::tempdir().unwrap();
    let (service, address) = start(&mut roster(place.path(), SERVE));
    let log = place.path().join("data/roster.db-wal");
    ask(address, "POST", "/users", "{\"username\":\"lovelace\"}");
    assert!(fs::metadata(&log).unwrap().len() > 0, "the log was never used");
    service.stop();
    assert_eq!(fs::metadata(&log).map_or(0, |file| file.len()), 0);
    let database = fs::read(place.path().join("data/roster.db")).unwrap();
    assert!(database.windows(8).any(|bytes| bytes == b"lovelace"));
}

#[test]
fn a_second_process_on_the_directory_fails_at_once_unless_it_is_told_to_wait() {
    let place = tempfile::tempdir().unwrap();
    let (first, address) = start(&mut roster(place.path(), SERVE));
    let (status, log) = ended(&mut roster(place.path(), SERVE));
    assert_eq!(status, Some(1), "{log}");
    assert!(log.contains("another process holds"), "{log}");

    // A process that waits for the directory also waits for the port.
    let words = format!("serve --listen {address} --data data --takeover-wait-ms");
    let mut second = Process::spawn(&mut roster(place.path(), &format!("{words} 20000")));
    let mut third = Process::spawn(&mut roster(place.path(), &format!("{words} 20000")));
    std::thread::sleep(Duration::from_millis(300));
    ask(address, "POST", "/users", "{\"username\":\"ada\"}");
    third.signal("TERM");
    assert_eq!(third.end().0, Some(0), "told to stop while it waits, it stops");
    first.stop();
    assert_eq!(second.listens(), address.to_string());
    let users = ask(address, "GET", "/users", "");
    assert!(users.contains("\"username\":\"ada\""), "{users}");

    let (status, log) = ended(&mut roster(place.path(), &format!("{words} 300")));
    assert_eq!(status, Some(1), "{log}");
    assert!(log.contains("is in use"), "{log}");
    second.stop();
}

#[test]
fn health_asks_the_service_of_the_same_settings() {
    let place = tempfile::tempdir().unwrap();
    let words = format!("{SERVE} --drain-delay-ms 1500");
    let (mut service, address) = start(&mut roster(place.path(), &words));
    let health = || ended(&mut roster(place.path(), &format!("health --listen {address}")));
    assert_eq!(health(), (Some(0), String::new()));
    service.signal("TERM");
    std::thread::sleep(Duration::from_millis(300));
    let (status, said) = health();
    assert_eq!(status, Some(1));
    assert!(said.contains("is not ready: 503 {") && said.contains("draining"), "{said}");
    assert_eq!(service.end().0, Some(0));
    let (status, said) = health();
    assert_eq!(status, Some(1));
    assert!(said.contains(&format!("no response from {address}")), "{said}");
    let (_, said) = ended(&mut roster(place.path(), "health --listen 127.0.0.1:0"));
    assert!(said.contains("name it with --listen"), "{said}");
}
