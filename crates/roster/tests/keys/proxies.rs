//! Clients behind a proxy, by the built binary. The test is the proxy: it connects from 127.0.0.1.

use std::{
    fs::{self, File},
    io::{Read as _, Write as _},
    net::TcpStream,
};

use roster_testkit::process::{Engine, Place, Process};
use serde_json::Value;

use super::{BINARY, keys, out, users};

const GUESS: &str = "Authorization: Bearer guess\r\n";

/// A service that has a key, with these settings; its log is the file `log` of its place.
fn start(settings: &[(&str, &str)]) -> (Process, Place, String) {
    let place = Place::new(Engine::Sqlite);
    let key = out(&keys(&place, &["create", "admin", "--scope", "all"]));
    let log = File::create(place.path().join("log")).unwrap();
    let mut command = place.serve_telling(BINARY, "debug");
    command.args(["--log-format", "json"]).stderr(log).envs(settings.iter().copied());
    (Process::start(&mut command), place, key)
}

fn status(service: &Process, lines: &str) -> u16 {
    service.ask_with(lines, "GET", "/users", "").status
}

#[test]
fn failed_attempts_are_counted_for_the_client_that_a_trusted_proxy_tells() {
    let (service, _place, _) = start(&[
        ("ROSTER_TRUSTED_PROXIES", "10.0.0.0/8,127.0.0.1"),
        ("ROSTER_FAILED_AUTH_PER_MINUTE", "3"),
    ]);
    let guess = |line: &str| status(&service, &format!("{line}\r\n{GUESS}"));
    for _ in 0..3 {
        assert_eq!(guess("X-Forwarded-For: 192.0.2.1"), 401);
    }
    for same in [
        "X-Forwarded-For: 192.0.2.1",
        "X-Forwarded-For: 203.0.113.9, 192.0.2.1",
        "X-Forwarded-For: garbage, 192.0.2.1, 10.1.2.3",
        "Forwarded: for=203.0.113.9, for=\"192.0.2.1:80\"",
        "Forwarded: for=192.0.2.1\r\nX-Forwarded-For: 192.0.2.1",
    ] {
        assert_eq!(guess(same), 429, "{same}");
    }
    for other in ["X-Forwarded-For: 192.0.2.1, 192.0.2.2", "Forwarded: for=\"[2001:db8::1]\""] {
        assert_eq!(guess(other), 401, "{other}");
    }
    assert_eq!(status(&service, GUESS), 401, "the proxy itself");
}

#[test]
fn an_address_that_is_not_trusted_tells_no_client() {
    for trusted in ["", "10.0.0.0/8"] {
        let (service, _place, key) =
            start(&[("ROSTER_TRUSTED_PROXIES", trusted), ("ROSTER_FAILED_AUTH_PER_MINUTE", "3")]);
        let guess = |n: u8| status(&service, &format!("X-Forwarded-For: 192.0.2.{n}\r\n{GUESS}"));
        assert_eq!([1, 2, 3, 4, 5].map(guess), [401, 401, 401, 429, 429]);
        let garbage = format!("X-Forwarded-For: garbage\r\nAuthorization: Bearer {key}\r\n");
        assert_eq!(status(&service, &garbage), 200);
    }
}

#[test]
fn each_client_behind_a_trusted_proxy_has_an_allowance_of_its_own() {
    let (service, _place, _) = start(&[
        ("ROSTER_TRUSTED_PROXIES", "127.0.0.1"),
        ("ROSTER_RATE_LIMIT_PER_S", "1"),
        ("ROSTER_RATE_LIMIT_BURST", "5"),
    ]);
    let get = |client: &str| {
        let line = format!("X-Forwarded-For: {client}\r\n");
        service.ask_with(&line, "GET", "/", "").status
    };
    let refused = (0..20).filter(|_| get("192.0.2.1") == 429).count();
    assert!(refused > 0, "one comes back each second");
    assert_eq!(get("192.0.2.2"), 200);
}

#[test]
fn a_request_whose_client_is_in_doubt_is_refused() {
    let (service, _place, key) = start(&[("ROSTER_TRUSTED_PROXIES", "127.0.0.1")]);
    for lines in [
        "X-Forwarded-For: garbage\r\n",
        "Forwarded: for=\"192.0.2.1\r\n",
        "Forwarded: for=192.0.2.1\r\nX-Forwarded-For: 192.0.2.2\r\n",
    ] {
        let with_key = format!("{lines}Authorization: Bearer {key}\r\n");
        for target in ["/users", "/", "/nowhere"] {
            service.ask_with(&with_key, "GET", target, "").must_be(400, "invalid-request");
        }
        assert_eq!(service.ask_with(lines, "GET", "/livez", "").status, 200);
    }
    assert_eq!(users(&service, &key), 200);
}

#[test]
fn the_log_tells_the_client() {
    let (service, place, _) = start(&[("ROSTER_TRUSTED_PROXIES", "127.0.0.1")]);
    for (id, lines) in [("told", "X-Forwarded-For: 192.0.2.1\r\n"), ("direct", "")] {
        let lines = format!("{lines}X-Request-Id: {id}\r\n");
        assert_eq!(service.ask_with(&lines, "GET", "/", "").status, 200);
    }
    service.stop();
    let log = fs::read_to_string(place.path().join("log")).unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let client = |id: &str| {
        let line = lines.iter().find(|line| line["request_id"] == id).unwrap();
        line["client"].as_str().unwrap().to_owned()
    };
    assert_eq!([client("told"), client("direct")], ["192.0.2.1", "127.0.0.1"]);
    let told = |words: &str| lines.iter().any(|line| line["message"] == words);
    assert!(told("Callers with a key, from this machine, or through a proxy on it."), "{log}");
}

#[test]
fn http_1_0_is_served_once_there_is_a_key() {
    let (service, _place, key) = start(&[]);
    let mut stream = TcpStream::connect(service.address()).unwrap();
    let request = format!("GET /users HTTP/1.0\r\nAuthorization: Bearer {key}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.0 200 "), "{answer}");
}
