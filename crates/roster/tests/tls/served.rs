//! The service as clients see it: https in every URL of the service, and guards that expect https.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use tokio_rustls::rustls::version::{TLS12, TLS13};

use crate::{
    caller::Caller,
    service::{FILES, made, roster, serve},
};

#[test]
fn the_service_names_itself_by_https() {
    let made = made();
    let (_place, service) = serve(&made, &[]);
    let users = format!("https://{}/users", service.address());
    assert!(service.banner().trim_end().ends_with(&users), "{}", service.banner());
    let mut caller = Caller::connect(&service, &made).unwrap();
    let (head, _) = caller.ask("POST /users", "", r#"{"username":"ada"}"#);
    assert!(head.starts_with("HTTP/1.1 201 "), "{head}");
    let (_, document) = caller.ask("GET /", "", "");
    assert!(document.contains(&users), "{document}");
    assert!(!document.contains("http://127."), "{document}");
    let (_, metrics) = caller.ask("GET /metrics", "", "");
    assert!(metrics.contains("roster_tls_handshake_failures_total 0\n"), "{metrics}");
}

#[test]
fn targets_and_origins_of_https_are_the_services_own() {
    let made = made();
    let (_place, service) = serve(&made, &[]);
    let address = service.address().to_owned();
    let mut caller = Caller::connect(&service, &made).unwrap();
    let mut status = |line: &str, fields: &str| {
        let (head, _) = caller.ask(line, fields, "");
        head.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(status(&format!("GET https://{address}/users"), ""), "200");
    assert_eq!(status("GET https://elsewhere.example/users", ""), "421");
    let port = address.rsplit(':').next().unwrap();
    for (origin, expected) in [
        (format!("https://{address}"), "200"),
        (format!("http://{address}"), "403"),
        (format!("https://localhost:{port}"), "403"),
        ("null".to_owned(), "403"),
    ] {
        let fields = format!("Origin: {origin}\r\n");
        assert_eq!(status("GET /users", &fields), expected, "{origin}");
    }
}

#[test]
fn https_is_what_was_spoken_whatever_callers_elsewhere_write() {
    let made = made();
    let (_place, service) = serve(&made, &["--base-url", "http://directory.localhost"]);
    let mut caller = Caller::connect(&service, &made).unwrap();
    let line = format!("GET https://{}/users", service.address());
    let own = format!("Origin: https://{}\r\n", service.address());
    let (head, _) = caller.ask(&line, &own, "");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
}

#[test]
fn a_request_in_the_clear_is_not_served_and_not_redirected() {
    let (_place, service) = serve(&made(), &[]);
    let mut plain = TcpStream::connect(service.address()).unwrap();
    plain.write_all(b"GET /users HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    plain.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(!answer.to_lowercase().contains("\nlocation:"), "{answer}");
}

#[test]
fn the_least_version_is_a_setting() {
    let made = made();
    let (_place, service) = serve(&made, &[]);
    Caller::speaking(&[&TLS12], &service, &made).unwrap().is_served();
    let (_place, service) = serve(&made, &["--tls-min", "1.3"]);
    assert!(Caller::speaking(&[&TLS12], &service, &made).is_err());
    Caller::speaking(&[&TLS13], &service, &made).unwrap().is_served();
}

#[test]
fn who_asks_for_the_health_of_these_settings_speaks_tls_too() {
    let (place, service) = serve(&made(), &[]);
    let place = place.path();
    // The files have another certificate by now. `health` checks the service, not its certificate.
    made().put(place);
    let all = [&["health", "--listen", service.address()][..], &FILES].concat();
    let answer = roster(place, &all).output().unwrap();
    assert_eq!(answer.stdout, b"ready\n", "{answer:?}");
    assert_eq!(answer.status.code(), Some(0));
    let in_the_clear = roster(place, &["health", "--listen", service.address()]).output().unwrap();
    assert_eq!(in_the_clear.status.code(), Some(1));
}

#[test]
fn a_stop_ends_connections_in_order() {
    let made = made();
    let (_place, service) = serve(&made, &[]);
    let mut caller = Caller::connect(&service, &made).unwrap();
    caller.is_served();
    let log = service.stop();
    caller.ends_in_order();
    assert!(log.contains("tls=true"), "{log}");
}
