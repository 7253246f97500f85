//! Streams whose caller loses access while they run.

use std::time::{Duration, Instant};

use roster_core::{
    Stored, UserId,
    list::{Page, PageKey, SortKey},
};
use serde_json::{Value, json};

use super::{
    NDJSON, lines,
    talk::{Talk, authorization},
};
use crate::{
    service::{Backend, Service},
    store::Fault,
};

/// The time after which nothing more is sent. A second is promised; the rest is for a busy machine.
const SHUT_OUT: Duration = Duration::from_millis(1500);

fn line(name: &str) -> String {
    lines(&[json!({ "username": name })])
}

/// Begins an import. One user was created and its result received.
pub(crate) async fn importing(service: &Service, credential: Option<&str>) -> Talk {
    let headers = authorization(credential);
    let headers = format!("{headers}content-type: {NDJSON}\r\ntransfer-encoding: chunked\r\n");
    let mut talk = Talk::begin(service, "POST /bulk/users", &headers).await;
    assert!(talk.head().await.starts_with("200 OK\r\n"));
    let name = format!("u{}", service.head().await.position);
    talk.send(line(&name)).await;
    assert_eq!(talk.line().await.expect("a result")["status"], 201);
    talk
}

/// Begins to send one user: all but the end of its last line.
pub(crate) async fn begin_line(
    service: &Service,
    (method, media_type): (&str, &str),
    text: &str,
    credential: Option<&str>,
) -> Talk {
    let headers = authorization(credential);
    let chunked = "transfer-encoding: chunked\r\n";
    let headers = format!("{headers}content-type: {media_type}\r\n{chunked}");
    let mut talk = Talk::begin(service, &format!("{method} /bulk/users"), &headers).await;
    talk.send(text).await;
    assert!(talk.head().await.starts_with("200 OK\r\n"));
    talk
}

/// Completes the only record of an import, which must not be executed.
pub(crate) async fn line_is_refused(mut talk: Talk, number: u64) {
    talk.try_send("\n").await;
    let (results, whole) = talk.rest().await;
    assert!(!whole, "no end that looks like one");
    let [last] = results.as_slice() else { panic!("{results:?}") };
    assert_eq!((&last["line"], &last["status"]), (&json!(number), &json!(401)), "{last}");
}

/// Begins an endless export. Some users were received.
pub(crate) async fn exporting(service: &Service, credential: Option<&str>) -> Talk {
    let id = UserId::from_bytes([7; 16]);
    let record = br#"{"id":"x","version":1,"username":"ada"}"#;
    let items = vec![Stored { id, version: 1, record: bytes::Bytes::from_static(record) }];
    let next = Some(PageKey { key: SortKey::Id, id });
    service.store.make_page(Page { items, next, position: 3, total: None, examined: None });
    let headers = format!("{}accept: {NDJSON}\r\n", authorization(credential));
    let mut talk = Talk::begin(service, "GET /bulk/users", &headers).await;
    assert!(talk.head().await.starts_with("200 OK\r\n"));
    for _ in 0..10 {
        assert_eq!(talk.line().await.expect("a user")["username"], "ada");
    }
    talk
}

/// Checks that the import ends at its second line, which has the reason and was not executed.
pub(crate) async fn import_ends(service: &Service, talk: Talk, status: u16, code: &str) {
    let (began, before) = (Instant::now(), service.head().await.position);
    let (results, whole) = talk.rest().await;
    assert!(began.elapsed() < SHUT_OUT, "{:?}", began.elapsed());
    assert!(!whole, "no end that looks like one");
    let [last] = results.as_slice() else { panic!("{results:?}") };
    assert_eq!((&last["line"], &last["status"]), (&json!(2), &json!(status)), "{last}");
    // Its line was not executed, so it counts only the one before.
    assert_eq!(last["processed"], 1, "{last}");
    assert_eq!(last["problem"]["code"], code, "{last}");
    assert_eq!(service.head().await.position, before);
}

/// Checks that the export is aborted.
pub(crate) async fn export_ends(talk: Talk) {
    let began = Instant::now();
    let (results, whole) = talk.rest().await;
    assert!(began.elapsed() < SHUT_OUT, "{:?}", began.elapsed());
    assert!(!whole, "no end that looks like one");
    assert!(results.iter().all(|user| user["username"] == "ada"));
}

fn text(key: &Value) -> &str {
    key["key"].as_str().expect("a key")
}

async fn revoke(service: &Service, key: &Value) {
    let id = key["id"].as_str().expect("an id");
    service.delete(&format!("/keys/{id}")).await.expect(204);
}

pub(crate) async fn a_key_that_is_revoked_ends_its_import(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    let [one, other] =
        [service.new_key(&["users:write"]).await, service.new_key(&["users:write"]).await];
    let mut resting = importing(&service, Some(text(&one))).await;
    let mut going_on = importing(&service, Some(text(&one))).await;
    let mut of_other = importing(&service, Some(text(&other))).await;
    revoke(&service, &one).await;
    // One client sends nothing more, not even the end of its line; one sends lines as fast as it
    // can.
    resting.send("{\"username\":").await;
    going_on.send(line("late") + &line("later")).await;
    tokio::join!(
        import_ends(&service, resting, 401, "unauthenticated"),
        import_ends(&service, going_on, 401, "unauthenticated"),
    );
    assert_eq!(service.head().await.live(), 3);
    of_other.send(line("grace")).await;
    assert_eq!(of_other.line().await.expect("a result")["status"], 201);
    of_other.end().await;
    assert!(of_other.rest().await.1, "the other key's import is whole");
}

pub(crate) async fn lines_begun_before_the_end_of_a_key_have_results(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    let key = service.new_key(&["users:write"]).await;
    let mut talk = importing(&service, Some(text(&key))).await;
    // Far more lines than one batch: some are executed, the others are not.
    let many: Vec<Value> = (0..20_000).map(|n| json!({"username": format!("many{n}")})).collect();
    let send = async {
        for some in many.chunks(1_000) {
            // The service may have closed the connection by then.
            talk.try_send(lines(some)).await;
        }
        talk.rest().await
    };
    let revoke = async {
        while service.head().await.position < 100 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        revoke(&service, &key).await;
    };
    let ((results, whole), ()) = tokio::join!(send, revoke);
    assert!(!whole, "no end that looks like one");
    let (last, done) = results.split_last().expect("results");
    assert_eq!(
        (&last["status"], &last["problem"]["code"]),
        (&json!(401), &json!("unauthenticated"))
    );
    assert!(done.iter().all(|result| result["status"] == 201));
    assert!(results.iter().zip(2..).all(|(result, number)| result["line"] == number), "{last}");
    // Exactly the users with a result exist.
    let there = service.head().await.live();
    assert_eq!(there, 1 + i64::try_from(done.len()).expect("a number"));
}

pub(crate) async fn a_key_that_is_revoked_breaks_its_export_off(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    let key = service.new_key(&["users:read"]).await;
    let talk = exporting(&service, Some(text(&key))).await;
    revoke(&service, &key).await;
    export_ends(talk).await;
}

pub(crate) async fn a_key_that_ends_by_itself_ends_its_streams(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    let body = json!({"name": "short", "scopes": ["users:read", "users:write"],
        "expires_at": "2026-01-01T01:00:00Z"});
    let key = service.request("POST", "/keys").json(&body).send().await.expect(201).json();
    let import = importing(&service, Some(text(&key))).await;
    let export = exporting(&service, Some(text(&key))).await;
    service.clock.step(3_600_000);
    tokio::join!(import_ends(&service, import, 401, "unauthenticated"), export_ends(export));
}

pub(crate) async fn the_first_key_ends_the_streams_of_an_open_service(backend: Backend) {
    let service = backend.open().await;
    let import = importing(&service, None).await;
    let export = exporting(&service, None).await;
    service.close().await;
    tokio::join!(import_ends(&service, import, 401, "unauthenticated"), export_ends(export));
}

pub(crate) async fn streams_end_when_keys_cannot_be_read(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    let key = service.new_key(&["users:read", "users:write"]).await;
    let import = importing(&service, Some(text(&key))).await;
    let export = exporting(&service, Some(text(&key))).await;
    service.store.fail_keys(Fault::Unavailable);
    // The keys are cached for a second.
    tokio::time::sleep(Duration::from_millis(500)).await;
    tokio::join!(import_ends(&service, import, 503, "unavailable"), export_ends(export));
    service.store.fail_keys(None);
    service.get("/events").await.expect(200);
}
