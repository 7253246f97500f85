//! Requests rejected because of their caller or because of load are counted by reason and logged.
//! Neither the metrics nor the log contain data of a caller or a request.

use std::{
    fs::{self, File},
    io::{Read as _, Write as _},
    net::TcpStream,
    process::Command,
};

use roster_testkit::process::{Answer, Engine, Place, Process};
use serde_json::Value;

use super::{BINARY, id, keys, out};

/// Texts that no line may contain: a person, a query, a page. Credentials are added below.
const CANARIES: [&str; 5] =
    ["canary@example.com", "canary-query", "canary.example", "Canary", "eyJjYW5hcnkiOjF9"];

/// A service whose log is written to a file.
struct LoggedService {
    service: Process,
    place: Place,
}

impl LoggedService {
    /// Starts a service with existing keys and these settings.
    fn start(place: Place, settings: &[(&str, &str)]) -> Self {
        let log = File::create(place.path().join("log")).unwrap();
        let mut command: Command = place.serve_telling(BINARY, "debug");
        command.args(["--log-format", "json"]).stderr(log);
        command.envs(settings.iter().copied());
        Self { service: Process::start(&mut command), place }
    }

    /// Sends a request with its own request id, which must fail with this problem.
    fn refused(&self, row: &Row, status: u16, code: &str) {
        let lines = format!("X-Request-Id: {}\r\n{}", row.request_id, row.headers);
        let target = format!("{}?email=canary@example.com&q=canary-query", row.path);
        let answer: Answer = self.service.ask_with(&lines, row.method, &target, row.body);
        answer.must_be(status, code);
    }

    /// Stops the service, and returns its log, which must contain no secret.
    fn log(self, secrets: &[&str]) -> Vec<Value> {
        self.service.stop();
        let log = fs::read_to_string(self.place.path().join("log")).unwrap();
        for secret in CANARIES.iter().chain(secrets) {
            assert!(!log.contains(secret), "{secret} stands in the log");
        }
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// A request that is rejected.
struct Row<'a> {
    request_id: &'a str,
    method: &'a str,
    path: &'a str,
    headers: &'a str,
    body: &'a str,
}

const fn row<'a>(request_id: &'a str, method: &'a str, headers: &'a str) -> Row<'a> {
    Row { request_id, method, path: "/users", headers, body: "" }
}

/// Checks the log line of a request and its outcome.
#[track_caller]
fn assert_logged_request(log: &[Value], request_id: &str, operation: &str, status: u16) {
    let of = |line: &&Value| line["request_id"] == request_id && line["message"] == "answered";
    let line = log.iter().find(of).unwrap();
    assert_eq!(
        (&line["operation"], &line["status"]),
        (&operation.into(), &status.into()),
        "{line}"
    );
}

/// Checks that the log has a line about rejections with this reason.
#[track_caller]
fn assert_logged_reason(log: &[Value], reason: &str) {
    let of = |line: &Value| {
        line["level"] == "WARN"
            && line["message"] == "requests are refused"
            && line["reason"] == reason
    };
    assert!(log.iter().any(of), "{reason}");
}

#[track_caller]
fn counted(metrics: &str, line: &str, least: u64) {
    let count = metrics.lines().find_map(|one| one.strip_prefix(line)).unwrap_or("0");
    assert!(count.trim().parse::<u64>().unwrap() >= least, "{line}: {count}");
}

fn rejections(reason: &str) -> String {
    format!("roster_requests_refused_total{{reason=\"{reason}\"}} ")
}

#[test]
fn every_rejection_is_counted_and_logged_without_secrets() {
    let place = Place::new(Engine::Sqlite);
    let admin = out(&keys(&place, &["create", "admin", "--scope", "all"]));
    let reader = out(&keys(&place, &["create", "reader", "--scope", "users:read"]));
    let revoked = out(&keys(&place, &["create", "gone", "--scope", "all"]));
    out(&keys(&place, &["revoke", id(&revoked), "--yes"]));
    let writers = ["a", "b", "c", "d", "e"]
        .map(|name| out(&keys(&place, &["create", name, "--scope", "users:write"])));
    let logged_service = LoggedService::start(
        place,
        &[("ROSTER_CORS_ORIGINS", "https://admin.example"), ("ROSTER_FAILED_AUTH_PER_MINUTE", "4")],
    );
    let bearer = |key: &str| format!("Authorization: Bearer {key}\r\n");
    let other = u8::from(admin.ends_with('0'));
    let mistyped = format!("{}{other}", &admin[..admin.len() - 1]);
    let foreign = format!("{}Origin: https://canary.example\r\n", bearer(&admin));
    let refused = |row: &Row, status, code| logged_service.refused(row, status, code);

    // This key was accepted from the address, so the failed attempts below do not lock it out.
    let accepted = logged_service.service.ask_with(&bearer(&admin), "GET", "/users", "");
    assert_eq!(accepted.status, 200);
    refused(&row("none", "GET", ""), 401, "unauthenticated");
    refused(&row("revoked", "GET", &bearer(&revoked)), 401, "unauthenticated");
    refused(&row("mistyped", "GET", &bearer(&mistyped)), 401, "unauthenticated");
    let body = r#"{"name":"Canary"}"#;
    let by_reader = bearer(&reader);
    let scope = Row { body, ..row("scope", "POST", &by_reader) };
    refused(&scope, 403, "insufficient-scope");
    refused(&row("origin", "GET", &foreign), 403, "foreign-origin");
    let preflight = "Origin: https://canary.example\r\nAccess-Control-Request-Method: GET\r\n";
    refused(&row("preflight", "OPTIONS", preflight), 403, "foreign-origin");
    let token = "Authorization: Bearer eyJhbGciOiJub25lIn0.eyJjYW5hcnkiOjF9.\r\n";
    refused(&row("token", "GET", token), 401, "unauthenticated");
    refused(&row("token-2", "GET", token), 401, "unauthenticated");
    refused(&row("too-often", "GET", token), 429, "rate-limited");
    misdirected(&logged_service.service, "misdirected");
    let running =
        full_of_imports(&logged_service.service, &writers.each_ref().map(|key| bearer(key)));
    let ndjson = format!("{}Accept: */*\r\n", bearer(&writers[4]));
    overloaded(&logged_service.service, "overloaded", &ndjson);
    drop(running);

    let metrics = logged_service.service.ask_with(&bearer(&admin), "GET", "/metrics", "").text;
    for (reason, least) in [
        ("unauthenticated", 5),
        ("insufficient-scope", 1),
        ("foreign-origin", 2),
        ("misdirected-request", 1),
        ("failed-authentication", 1),
        ("overloaded", 1),
    ] {
        counted(&metrics, &rejections(reason), least);
    }
    for (operation, status) in [
        ("listUsers", 401),
        ("createUser", 403),
        ("listUsers", 403),
        ("listUsers", 429),
        ("listUsers", 421),
    ] {
        let line =
            format!("roster_http_requests_total{{operation=\"{operation}\",status=\"{status}\"}} ");
        counted(&metrics, &line, 1);
    }
    let secrets = [&admin, &reader, &revoked].map(|key| key.split('_').nth(2).unwrap());
    let log = logged_service.log(&secrets);
    for (request_id, operation, status) in [
        ("none", "listUsers", 401),
        ("revoked", "listUsers", 401),
        ("mistyped", "listUsers", 401),
        ("scope", "createUser", 403),
        ("origin", "listUsers", 403),
        ("preflight", "none", 403),
        ("token", "listUsers", 401),
        ("too-often", "listUsers", 429),
        ("misdirected", "listUsers", 421),
        ("overloaded", "importUsers", 503),
    ] {
        assert_logged_request(&log, request_id, operation, status);
    }
    for reason in [
        "unauthenticated",
        "insufficient-scope",
        "foreign-origin",
        "misdirected-request",
        "failed-authentication",
        "overloaded",
    ] {
        assert_logged_reason(&log, reason);
    }
}

#[test]
fn rejections_of_open_and_limited_services_are_counted_and_logged() {
    let open = LoggedService::start(
        Place::new(Engine::Sqlite),
        &[("ROSTER_RATE_LIMIT_PER_S", "1"), ("ROSTER_RATE_LIMIT_BURST", "3")],
    );
    let proxied = "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Host: canary.example\r\n";
    open.refused(&row("proxied", "GET", proxied), 403, "forwarded-request");
    for _ in 0..3 {
        open.service.ask("GET", "/users", "");
    }
    open.refused(&row("limited", "GET", ""), 429, "rate-limited");
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let metrics = open.service.ask("GET", "/metrics", "").text;
    counted(&metrics, &rejections("forwarded-request"), 1);
    counted(&metrics, &rejections("rate-limited"), 1);
    let log = open.log(&[]);
    assert_logged_request(&log, "proxied", "listUsers", 403);
    assert_logged_request(&log, "limited", "listUsers", 429);
    assert_logged_reason(&log, "forwarded-request");
    assert_logged_reason(&log, "rate-limited");
}

/// Sends a raw request, and returns the head of the response.
fn raw(service: &Process, text: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(service.address()).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let (mut head, mut byte) = (Vec::new(), [0; 1]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    (stream, String::from_utf8(head).unwrap())
}

/// A request for another host.
fn misdirected(service: &Process, request_id: &str) {
    let lines = format!("Host: canary.example\r\nX-Request-Id: {request_id}\r\n");
    let (_, head) = raw(service, &format!("GET /users HTTP/1.1\r\n{lines}\r\n"));
    assert!(head.starts_with("HTTP/1.1 421 "), "{head}");
}

/// An import beyond the maximum.
fn overloaded(service: &Process, request_id: &str, headers: &str) {
    let (_, head) =
        raw(service, &import(service, &format!("{headers}X-Request-Id: {request_id}\r\n")));
    assert!(head.starts_with("HTTP/1.1 503 "), "{head}");
}

/// Starts the maximum number of imports, two for each of the first three callers. The last place is
/// only for a caller without one. They run until they are dropped.
fn full_of_imports(service: &Process, callers: &[String; 5]) -> Vec<TcpStream> {
    let begin = |headers: &String| {
        let (stream, head) = raw(service, &import(service, headers));
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        stream
    };
    callers.iter().take(3).chain(callers).map(begin).collect()
}

fn import(service: &Process, headers: &str) -> String {
    let host = service.address();
    format!(
        "POST /bulk/users HTTP/1.1\r\nHost: {host}\r\n{headers}\
         Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
}
