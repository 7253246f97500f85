//! Imports with pauses, interruptions, clients that do not read, and a store that fails.

use std::time::{Duration, Instant};

use roster_http::AdmissionSettings;
use roster_server::ServerSettings;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{NDJSON, counted, import, lines, results_of, talk::Talk};
use crate::{
    service::{Backend, Service, Setup, path},
    store::Fault,
};

fn line(name: &str) -> String {
    lines(&[json!({ "username": name })])
}

/// Waits until so many events are in the log.
async fn until(service: &Service, position: i64) {
    for _ in 0..1500 {
        if service.head().await.position >= position {
            return;
        }
        sleep(Duration::from_millis(20)).await;
    }
    panic!("the log comes to {position}");
}

pub(crate) async fn a_result_follows_its_commit_while_the_stream_rests(backend: Backend) {
    let service = backend.open().await;
    let mut talk = Talk::import(&service, "").await;
    assert!(talk.head().await.starts_with("200 OK\r\n"));
    for number in 1..=3 {
        // In two pieces, and only the second ends the line.
        talk.send(format!("{{\"username\":\"u{number}\"")).await;
        talk.send("}\n").await;
        let result = talk.line().await.expect("a result");
        assert_eq!((&result["line"], &result["status"]), (&json!(number), &json!(201)));
        // Users in the results exist.
        let user = service.get(&path(&result)).await.expect(200).json();
        assert_eq!(user["username"], format!("u{number}"));
    }
    talk.send("{\"username\":\"last\"}").await;
    talk.end().await;
    let (rest, whole) = talk.rest().await;
    assert!(whole);
    assert_eq!((&rest[0]["line"], &rest[0]["status"]), (&json!(4), &json!(201)));
    assert_eq!((&rest[1]["done"], &rest[1]["lines"]), (&json!(true), &json!(4)));
}

pub(crate) async fn pieces_may_be_cut_anywhere(backend: Backend) {
    let service = backend.open().await;
    let body =
        "{\"username\":\"\u{e9}mile\"}\r\n\r\n{\"username\":\n{\"username\":\"\u{1f600}\"}\n";
    for size in [1, 2, 3, 7] {
        let mut talk = Talk::import(&service, "?dry_run=true").await;
        for piece in body.as_bytes().chunks(size) {
            talk.send(piece).await;
        }
        talk.end().await;
        assert!(talk.head().await.contains("dry-run: true\r\n"));
        let (results, whole) = talk.rest().await;
        assert!(whole);
        let results: Vec<(u64, u64)> = counted(results)
            .iter()
            .filter_map(|one| Some((one["line"].as_u64()?, one["status"].as_u64()?)))
            .collect();
        assert_eq!(results, [(1, 201), (3, 400), (4, 422)], "pieces of {size}");
    }
}

pub(crate) async fn results_are_complete_if_the_client_reads_them_last(backend: Backend) {
    let service = backend.open().await;
    let mut talk = Talk::import(&service, "").await;
    let bad = "x\n".repeat(1_000);
    for _ in 0..20 {
        talk.send(&bad).await;
    }
    talk.send(line("ada")).await;
    talk.end().await;
    // All lines were read and executed, though the client has read none of the six megabytes of
    // results.
    until(&service, 1).await;
    talk.head().await;
    let (results, whole) = talk.rest().await;
    assert!(whole);
    let results = counted(results);
    assert_eq!(results.len(), 20_001);
    assert!(results.iter().zip(1..).all(|(result, number)| result["line"] == number));
    assert_eq!(results[20_000]["status"], 201);
}

pub(crate) async fn where_results_find_no_room_an_import_waits_for_its_caller(backend: Backend) {
    let service = backend.open().await;
    service.set_room(false);
    let mut talk = Talk::import(&service, "").await;
    talk.head().await;
    let bad = "x\n".repeat(1_000);
    for _ in 0..40 {
        talk.send(&bad).await;
    }
    talk.send(line("ada")).await;
    talk.end().await;
    // That line comes after twelve megabytes of results.
    sleep(Duration::from_millis(700)).await;
    assert_eq!(service.head().await.position, 0);
    // A single write is no import.
    service.user(json!({"username": "grace"})).await;
    let (results, whole) = talk.rest().await;
    assert!(whole);
    let results = counted(results);
    assert!(results.iter().zip(1..).all(|(result, number)| result["line"] == number));
    assert_eq!((results.len(), &results[40_000]["status"]), (40_001, &json!(201)));
}

pub(crate) async fn complete_lines_are_executed_if_the_stream_breaks(backend: Backend) {
    let service = backend.open().await;
    let mut talk = Talk::import(&service, "").await;
    talk.send(line("ada") + &line("grace") + "{\"username\":\"half\"}").await;
    until(&service, 2).await;
    talk.break_off().await;
    let head = talk.head().await;
    assert!(head.starts_with("200 OK\r\n"), "{head}");
    let (results, whole) = talk.rest().await;
    assert!(!whole, "an import that broke off has no end");
    assert!(results.iter().all(|result| result.get("done").is_none()), "{results:?}");
    assert_eq!(results.len(), 2);
    let names = service.get("/users?fields=username").await.json();
    let names: Vec<&Value> =
        names["items"].as_array().expect("items").iter().map(|user| &user["username"]).collect();
    assert_eq!(names, ["ada", "grace"]);
    // The same stream again, complete.
    let again = line("ada") + &line("grace") + &line("half");
    let results = results_of(import(&service, "?on_conflict=skip", again).await);
    let skipped: Vec<bool> = results.iter().map(|result| result["skipped"] == true).collect();
    assert_eq!(skipped, [true, true, false]);
}

pub(crate) async fn a_caller_that_goes_away_stops_nothing_that_came(backend: Backend) {
    let service = backend.open().await;
    let mut talk = Talk::import(&service, "").await;
    let all: String = (0..600).map(|number| line(&format!("u{number}"))).collect();
    talk.send(all).await;
    talk.end().await;
    until(&service, 1).await;
    drop(talk);
    until(&service, 600).await;
    assert_eq!(service.head().await.position, 600);
}

pub(crate) async fn a_stream_that_stalls_is_broken_off(backend: Backend) {
    let front = ServerSettings { body_grace_ms: 300, ..ServerSettings::default() };
    let service = backend.open_with(Setup { front, ..Setup::default() }).await;
    let mut talk = Talk::import(&service, "").await;
    talk.send(line("ada") + "{\"username\":").await;
    talk.head().await;
    let (results, whole) = talk.rest().await;
    assert!(!whole);
    assert_eq!(results.len(), 1);
    assert_eq!((&results[0]["line"], &results[0]["status"]), (&json!(1), &json!(201)));
}

pub(crate) async fn an_import_that_waits_to_be_asked_is_asked(backend: Backend) {
    let service = backend.open().await;
    let headers = format!("content-type: {NDJSON}\r\nexpect: 100-continue\r\n");
    let chunked = format!("{headers}transfer-encoding: chunked\r\n");
    let mut talk = Talk::begin(&service, "POST /bulk/users", &chunked).await;
    assert!(talk.head().await.starts_with("100 Continue"));
    talk.send(line("ada")).await;
    talk.end().await;
    assert!(talk.head().await.starts_with("200 OK\r\n"));
    let (results, whole) = talk.rest().await;
    assert!(whole);
    assert_eq!(counted(results)[0]["status"], 201);
    // A request rejected because of its head gets no `100 Continue`.
    let mut talk = Talk::begin(&service, "POST /bulk/users?on_conflict=no", &chunked).await;
    assert!(talk.head().await.starts_with("400 Bad Request\r\n"));
}

pub(crate) async fn lines_that_fail_in_the_store_do_not_end_the_stream(backend: Backend) {
    let service = backend.open().await;
    let mut talk = Talk::import(&service, "").await;
    talk.head().await;
    talk.send(line("ada")).await;
    assert_eq!(talk.line().await.expect("a result")["status"], 201);
    let mut number = 1;
    for (fault, status, code) in [
        (Fault::Unavailable, 503, "unavailable"),
        (Fault::TimedOut, 503, "unavailable"),
        (Fault::WritesStopped, 503, "unavailable"),
        (Fault::Internal, 500, "internal"),
    ] {
        service.store.fail(fault);
        talk.send(line("a") + &line("b") + "{\n").await;
        for expected in [(status, code), (status, code), (400, "malformed-json")] {
            number += 1;
            let result = talk.line().await.expect("a result");
            let problem = &result["problem"];
            assert_eq!(result["line"], number, "{fault:?}");
            assert_eq!(
                (&result["status"], &problem["code"]),
                (&json!(expected.0), &json!(expected.1))
            );
            assert!(!result.to_string().contains("7G"), "{result}");
        }
        service.store.fail(None);
    }
    talk.send(line("grace")).await;
    assert_eq!(talk.line().await.expect("a result")["status"], 201);
    talk.end().await;
    let (rest, whole) = talk.rest().await;
    assert!(whole);
    let done = json!({"done": true, "lines": 14, "created": 2, "replaced": 0, "skipped": 0,
        "failed": 12});
    assert_eq!(rest, [done]);
    assert_eq!(service.head().await.position, 2);
}

pub(crate) async fn after_a_full_disk_the_other_lines_are_refused_without_an_attempt(
    backend: Backend,
) {
    let service = backend.open().await;
    let mut talk = Talk::import(&service, "").await;
    talk.head().await;
    service.store.fail(Fault::Full);
    talk.send(line("ada")).await;
    assert_eq!(talk.line().await.expect("a result")["status"], 507);
    // There is room again, but this import is over.
    service.store.fail(None);
    talk.send(line("ben") + "{\n" + &line("cyd")).await;
    for (number, status, code) in
        [(2, 507, "storage-full"), (3, 400, "malformed-json"), (4, 507, "storage-full")]
    {
        let result = talk.line().await.expect("a result");
        let results = (&result["line"], &result["status"], &result["problem"]["code"]);
        assert_eq!(results, (&json!(number), &json!(status), &json!(code)));
    }
    talk.end().await;
    let (rest, whole) = talk.rest().await;
    assert!(whole);
    let done = json!({"done": true, "lines": 4, "created": 0, "replaced": 0, "skipped": 0,
        "failed": 4});
    assert_eq!(rest, [done]);
    assert_eq!(service.head().await.position, 0);
    let again = import(&service, "", line("ada")).await.expect(200);
    assert!(again.text().contains("\"status\":201"), "{}", again.text());
}

pub(crate) async fn no_line_is_executed_if_the_caller_cannot_be_checked(backend: Backend) {
    let service = backend.open().await;
    service.get("/users").await.expect(200);
    for (fault, status, code) in
        [(Fault::Unavailable, 503, "unavailable"), (Fault::Internal, 500, "internal")]
    {
        service.store.fail_keys(fault);
        // The keys are cached for a second.
        sleep(Duration::from_millis(1_100)).await;
        let refused = import(&service, "", line("ada")).await.refused(status, code);
        assert!(!refused.text().contains("7G"), "{}", refused.text());
        let groups = service.request("POST", "/bulk/groups");
        let groups = groups.body(super::NDJSON, "{\"display_name\":\"team\"}").send().await;
        groups.refused(status, code);
        service.store.fail_keys(None);
        assert_eq!(service.head().await.position, 0);
    }
    assert_eq!(results_of(import(&service, "", line("ada")).await)[0]["status"], 201);
}

/// The text of a new key that may write.
async fn writer(service: &Service) -> String {
    let key = service.new_key(&["users:write", "users:read"]).await;
    key["key"].as_str().expect("a key").to_owned()
}

pub(crate) async fn only_so_many_imports_run_at_a_time(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    let mut running = Vec::new();
    for (number, count) in [2, 2, 2, 1, 1].into_iter().enumerate() {
        let key = writer(&service).await;
        // The last place is for a caller without one.
        for _ in 0..count {
            let mut talk = Talk::import_by(&service, "", Some(&key)).await;
            assert!(talk.head().await.starts_with("200 OK\r\n"));
            running.push(talk);
        }
        if number == 3 {
            let mut second = Talk::import_by(&service, "", Some(&key)).await;
            assert!(second.head().await.starts_with("503 "));
        }
    }
    let refused = import(&service, "", line("ada")).await.refused(503, "overloaded");
    assert_eq!(refused.header("retry-after"), "5");
    assert!(refused.text().contains("too many imports are running"), "{}", refused.text());
    // Single writes and running imports continue.
    service.user(json!({"username": "ada"})).await;
    for (number, talk) in running.iter_mut().enumerate() {
        talk.send(line(&format!("u{number}"))).await;
        assert_eq!(talk.line().await.expect("a result")["status"], 201);
    }
    let mut first = running.remove(0);
    first.end().await;
    assert!(first.rest().await.1);
    is_let_in_again(&service).await;
}

pub(crate) async fn the_slowest_import_ends_when_another_caller_waits(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    let mut running = Vec::new();
    for count in [2, 2, 2, 1, 1] {
        let key = writer(&service).await;
        for _ in 0..count {
            let mut talk = Talk::import_by(&service, "", Some(&key)).await;
            assert!(talk.head().await.starts_with("200 OK\r\n"));
            running.push(talk);
        }
    }
    // A younger import does not end.
    import(&service, "", line("ada")).await.refused(503, "overloaded");
    sleep(Duration::from_millis(5_100)).await;
    assert_eq!(import(&service, "", line("ada")).await.status(), 200);
    let mut ended = 0;
    for (number, mut talk) in running.into_iter().enumerate() {
        talk.send(line(&format!("u{number}"))).await;
        let result = talk.line().await.expect("a result");
        if result["status"] != 201 {
            ended += 1;
            assert_eq!((&result["line"], &result["status"]), (&json!(1), &json!(503)));
            assert_eq!(result["problem"]["code"], "overloaded");
        }
    }
    assert_eq!(ended, 1);
}

async fn is_let_in_again(service: &Service) {
    for attempt in 0.. {
        let reply = import(service, "?on_conflict=skip", line("ada")).await;
        if reply.status() == 200 {
            break;
        }
        assert!(attempt < 500, "the place of one that is done is free");
        sleep(Duration::from_millis(10)).await;
    }
}

pub(crate) async fn one_caller_has_two_imports_at_a_time(backend: Backend) {
    let service = backend.open().await;
    let mut running = Vec::new();
    for _ in 0..2 {
        let mut talk = Talk::import(&service, "").await;
        assert!(talk.head().await.starts_with("200 OK\r\n"));
        running.push(talk);
    }
    let refused = import(&service, "", line("ada")).await.refused(429, "rate-limited");
    assert_eq!(refused.header("retry-after"), "5");
    assert!(refused.text().contains("imports of this caller"), "{}", refused.text());
    let mut first = running.remove(0);
    first.end().await;
    assert!(first.rest().await.1);
    is_let_in_again(&service).await;
}

pub(crate) async fn blank_lines_do_not_keep_an_import_alive(backend: Backend) {
    let front = ServerSettings { body_grace_ms: 300, ..ServerSettings::default() };
    let service = backend.open_with(Setup { front, ..Setup::default() }).await;
    let endless_line = vec![b'x'; 70_000];
    for filler in [&b"\n\r\n \n\t\n"[..], b"        ", &endless_line] {
        let mut talk = Talk::import(&service, "").await;
        assert!(talk.head().await.starts_with("200 OK\r\n"));
        // Far more bytes than the minimum speed requires, but no line.
        let filler = filler.repeat(2_000 / filler.len().min(2_000));
        let ended = async {
            for _ in 0..600 {
                talk.try_send(&filler).await;
                sleep(Duration::from_millis(50)).await;
                if talk.is_over().await {
                    return true;
                }
            }
            false
        };
        assert!(ended.await, "the import is broken off");
    }
}

pub(crate) async fn an_import_beyond_its_callers_limit_slows_down(backend: Backend) {
    let pressure = AdmissionSettings {
        rate_limit_per_s: 2,
        rate_limit_burst: 4,
        ..AdmissionSettings::default()
    };
    let service = backend.open_with(Setup { pressure, ..Setup::default() }).await;
    let (began, mut talk) = (Instant::now(), Talk::import(&service, "").await);
    assert!(talk.head().await.starts_with("200 OK\r\n"));
    talk.send((0..8).map(|number| line(&format!("u{number}"))).collect::<String>() + "\n\n").await;
    // The last line has no line end.
    talk.send(line("last").trim_end()).await;
    talk.end().await;
    let (results, whole) = talk.rest().await;
    assert!(whole);
    let results = counted(results);
    assert!(results.iter().all(|result| result["status"] == 201), "{results:?}");
    assert_eq!(results.len(), 9);
    // Four at once, the request itself among them; five more at two a second.
    assert!(began.elapsed() >= Duration::from_millis(2_400), "{:?}", began.elapsed());
}
