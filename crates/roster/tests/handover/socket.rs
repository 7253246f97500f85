//! The socket of a supervisor, which outlives the processes that use it.

use std::net::TcpListener;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use roster_testkit::process::Process;

use super::process::{Caller, ask, ended, roster, start, told, with_socket};

const SERVE: &str = "serve --data data";

#[test]
fn whoever_connects_between_two_processes_is_answered_by_the_second() {
    let place = tempfile::tempdir().unwrap();
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let (first, listening) = start(&mut with_socket(place.path(), &socket, SERVE));
    assert_eq!(listening, address, "the socket decides, not the setting");
    let written = ask(address, "POST", "/users", "{\"username\":\"ada\"}");
    assert!(written.starts_with("HTTP/1.1 201 "), "{written}");
    first.stop();

    let mut early = Caller::of(address);
    early.send("GET", "/users", "");
    let (second, _) = start(&mut with_socket(place.path(), &socket, SERVE));
    let users = early.answer();
    assert!(users.contains("\"username\":\"ada\""), "{users}");
    drop(early);
    second.stop();
}

#[test]
fn a_successor_takes_nothing_until_its_predecessor_has_gone() {
    let place = tempfile::tempdir().unwrap();
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let (first, address) = start(&mut with_socket(place.path(), &socket, SERVE));
    let mut second = Process::spawn(&mut with_socket(place.path(), &socket, SERVE));
    std::thread::sleep(Duration::from_millis(300));
    for number in 0..20 {
        let body = format!("{{\"username\":\"user{number}\"}}");
        let written = ask(address, "POST", "/users", &body);
        assert!(written.starts_with("HTTP/1.1 201 "), "{written}");
    }
    first.stop();
    assert_eq!(second.listens(), address.to_string());
    let users = ask(address, "GET", "/users?limit=100", "");
    assert_eq!(users.matches("\"username\"").count(), 20, "{users}");
    second.stop();
}

#[test]
fn the_supervisor_is_told_when_the_service_is_ready_and_when_it_stops() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("notices");
    let notices = UnixDatagram::bind(&path).unwrap();
    let words = "serve --listen 127.0.0.1:0 --data data";
    let mut service = Process::spawn(roster(place.path(), words).env("NOTIFY_SOCKET", &path));
    assert_eq!(told(&notices, "READY=1").len(), 1);
    let address = service.listens().parse().unwrap();
    assert!(ask(address, "GET", "/readyz", "").starts_with("HTTP/1.1 200 "));
    service.signal("TERM");
    assert_eq!(told(&notices, "STOPPING=1").len(), 1);
    assert_eq!(service.end().0, Some(0));
}

#[test]
fn a_supervisor_that_does_not_read_what_it_is_told_holds_nobody_up() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("notices");
    let notices = UnixDatagram::bind(&path).unwrap();
    let filling = UnixDatagram::unbound().unwrap();
    filling.set_nonblocking(true).unwrap();
    while filling.send_to(b"full", &path).is_ok() {}
    let words = "serve --listen 127.0.0.1:0 --data data";
    let mut command = roster(place.path(), words);
    let (service, address) = start(command.env("NOTIFY_SOCKET", &path));
    assert!(ask(address, "GET", "/users", "").starts_with("HTTP/1.1 200 "));
    service.stop();
    drop(notices);
}

#[test]
fn a_socket_that_others_can_reach_is_refused_like_such_an_address() {
    let place = tempfile::tempdir().unwrap();
    let socket = TcpListener::bind("0.0.0.0:0").unwrap();
    let (status, said) = ended(&mut with_socket(place.path(), &socket, SERVE));
    assert_eq!(status, Some(78), "{said}");
    assert!(said.contains("the supervisor's socket: 0.0.0.0:"), "{said}");
}

#[test]
fn more_than_one_socket_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let mut command = roster(place.path(), SERVE);
    let (status, said) = ended(command.env("LISTEN_FDS", "2"));
    assert_eq!(status, Some(1));
    assert!(said.contains("passes 2 sockets"), "{said}");
}
