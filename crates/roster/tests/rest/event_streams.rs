//! Events as a stream of server-sent events.

use std::time::Duration;

use futures_util::future::join_all;
use roster_core::Store as _;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::{
    client::{Arriving, Request},
    events::place,
    service::{Backend, Service, path},
};

pub(crate) fn streaming<'a>(service: &'a Service, target: &str) -> Request<'a> {
    service.request("GET", target).header("accept", "text/event-stream")
}

/// The stream after its first frame.
pub(crate) async fn open(request: Request<'_>) -> Arriving {
    let mut stream = request.stream().await;
    assert_eq!(stream.status, 200, "{:?}", stream.headers);
    let start = header(&stream, "roster-position").expect("a position").to_owned();
    assert_eq!(next(&mut stream).await, format!("retry: 2000\nid: {start}"));
    stream
}

/// The next frame, which must come soon.
pub(crate) async fn next(stream: &mut Arriving) -> String {
    let frame = timeout(Duration::from_secs(10), stream.frame()).await.expect("a frame");
    frame.expect("the stream goes on")
}

/// The id and the event of the next frame.
pub(crate) async fn event(stream: &mut Arriving) -> (String, Value) {
    let frame = next(stream).await;
    let (id, data) = frame.split_once('\n').expect("two lines");
    let data = data.strip_prefix("data: ").expect("data");
    let event: Value = serde_json::from_str(data).expect("JSON");
    let id = id.strip_prefix("id: ").expect("an id").to_owned();
    assert_eq!(event["id"], *id);
    (id, event)
}

fn header<'a>(stream: &'a Arriving, name: &str) -> Option<&'a str> {
    let header = stream.headers.iter().find(|(known, _)| known == name);
    header.map(|(_, value)| value.as_str())
}

pub(crate) async fn a_stream_has_each_event_once_and_continues_where_it_was_cut(backend: Backend) {
    let service = backend.open().await;
    for n in 0..3 {
        service.user(json!({"username": format!("u{n}")})).await;
    }
    let page = service.get("/events").await.json();
    let request = streaming(&service, "/events").header("accept-encoding", "gzip");
    let mut stream = open(request).await;
    assert_eq!(header(&stream, "content-type"), Some("text/event-stream"));
    assert_eq!(header(&stream, "content-encoding"), None);
    assert_eq!(header(&stream, "vary"), Some("Accept"));
    assert_eq!(header(&stream, "roster-position").map(|at| at.ends_with("-0")), Some(true));
    let mut ids = Vec::new();
    for expected in page["items"].as_array().expect("items") {
        let (id, event) = event(&mut stream).await;
        assert_eq!(event, *expected);
        ids.push(id);
    }
    // More than a page of a stream, while it waits.
    let lines = (0..500).map(|n| format!("{{\"username\":\"m{n}\"}}\n"));
    let lines = lines.collect::<Vec<_>>().concat();
    let import = service.request("POST", "/bulk/users").body("application/x-ndjson", lines);
    import.send().await.expect(200);
    for n in 0..500 {
        assert_eq!(event(&mut stream).await.1["data"]["user"]["username"], format!("m{n}"));
    }
    drop(stream);
    let mut resumed =
        open(streaming(&service, "/events?after=latest").header("last-event-id", &ids[0])).await;
    assert_eq!(header(&resumed, "roster-position"), Some(ids[0].as_str()));
    assert_eq!(event(&mut resumed).await.0, ids[1]);
    assert_eq!(event(&mut resumed).await.0, ids[2]);
}

/// Streams share what they read at the end of the log.
pub(crate) async fn many_streams_have_each_event_once(backend: Backend) {
    let service = backend.open().await;
    let mut streams = Vec::new();
    for n in 0..8 {
        streams.push((n, open(streaming(&service, "/events?after=latest")).await));
        service.user(json!({"username": format!("u{n}")})).await;
    }
    let metrics = service.get("/metrics").await.expect(200);
    let count = "roster_transfers_running{kind=\"subscriber\"} 8\n";
    assert!(metrics.text().contains(count), "{}", metrics.text());
    let writes = (8..60).map(|n| service.post(json!({"username": format!("u{n}")})));
    for reply in join_all(writes).await {
        reply.expect(201);
    }
    let page = service.get("/events?limit=100").await.json();
    let expected = page["items"].as_array().expect("items");
    for (start, stream) in &mut streams {
        for expected in &expected[*start..] {
            assert_eq!(event(stream).await.1, *expected);
        }
    }
}

pub(crate) async fn a_stream_has_the_events_that_are_selected(backend: Backend) {
    let service = backend.open().await;
    let ada = service.user(json!({"username": "ada"})).await;
    let mut latest = open(streaming(&service, "/events?after=latest")).await;
    let mut updates = open(streaming(&service, "/events?type=user.updated")).await;
    let mut of_ada = open(streaming(&service, &format!("{}/events", path(&ada)))).await;
    let group = service.group("Staff").await;
    service.patch(&ada, json!({"name": "Ada"})).await.expect(200);
    let kind = async |stream: &mut Arriving| event(stream).await.1["type"].clone();
    assert_eq!(kind(&mut latest).await, "group.created");
    assert_eq!(kind(&mut latest).await, "user.updated");
    assert_eq!(kind(&mut updates).await, "user.updated");
    assert_eq!(kind(&mut of_ada).await, "user.created");
    assert_eq!(kind(&mut of_ada).await, "user.updated");
    let target = format!("/events?group_id={}", group["id"].as_str().expect("an id"));
    assert_eq!(kind(&mut open(streaming(&service, &target)).await).await, "group.created");
    // JSON for a client that does not ask for a stream.
    let any = service.request("GET", "/events").header("accept", "*/*").send().await.expect(200);
    assert_eq!(any.header("content-type"), "application/json");
    let page = service.get("/events?after=latest").await.expect(200);
    assert_eq!(page.json()["items"], json!([]));
    let head = service.request("HEAD", "/events").header("accept", "text/event-stream");
    let head = head.send().await.expect(200);
    assert_eq!(head.header("content-type"), "text/event-stream");
}

/// A stream without news sends a frame every 15 seconds.
pub(crate) async fn a_heartbeat_is_past_the_events_that_are_not_selected(backend: Backend) {
    let service = backend.open().await;
    let mut stream = open(streaming(&service, "/events?type=group.*")).await;
    service.group("Staff").await;
    assert_eq!(event(&mut stream).await.0, place(&service, 1));
    for n in 0..3 {
        service.user(json!({"username": format!("u{n}")})).await;
    }
    let frame = timeout(Duration::from_secs(25), stream.frame()).await.expect("a heartbeat");
    assert_eq!(frame, Some(format!("id: {}", place(&service, 4))));
}

pub(crate) async fn a_stream_that_cannot_begin_is_a_problem(backend: Backend) {
    let service = backend.open().await;
    service.user(json!({"username": "ada"})).await;
    let position = format!("{}-1", service.store.log_id());
    for name in ["limit=1", "wait=1", &format!("cursor={position}")] {
        let reply = streaming(&service, &format!("/events?{name}")).send().await;
        let problem = reply.refused(400, "invalid-query").json();
        let (name, _) = name.split_once('=').expect("a value");
        assert_eq!(problem["errors"][0]["parameter"], *name, "{problem}");
    }
    let resumed = |id: &str| streaming(&service, "/events").header("last-event-id", id);
    resumed("7").send().await.refused(400, "invalid-request");
    let twice = resumed(&position).header("last-event-id", &position);
    twice.unwitnessed().await.refused(400, "invalid-request");
    let ahead = position.replace("-1", "-9");
    resumed(&ahead).send().await.refused(410, "position-outlived");
    resumed("0000000000000000-1").send().await.refused(410, "position-outlived");
    let mut none = open(resumed("")).await;
    assert_eq!(event(&mut none).await.0, position);
    let nobody = "/users/01a1f84a-963b-7c3e-9a41-5d2e8f604b17/events";
    streaming(&service, nobody).send().await.refused(404, "user-not-found");
}

pub(crate) async fn a_stream_ends_when_its_key_is_revoked(backend: Backend) {
    let service = backend.open().await;
    let admin = service.new_key(&["keys:admin", "users:write", "events:read"]).await;
    let admin = admin["key"].as_str().expect("a key");
    let reader = json!({"name": "reader", "scopes": ["events:read"]});
    let reader = service.request("POST", "/keys").bearer(admin).json(&reader).send().await;
    let reader = reader.expect(201).json();
    let key = reader["key"].as_str().expect("a key");
    let mut stream = open(streaming(&service, "/events").bearer(key)).await;
    let target = format!("/keys/{}", reader["id"].as_str().expect("an id"));
    service.request("DELETE", &target).bearer(admin).send().await.expect(204);
    let revoked = Instant::now();
    let user = service.request("POST", "/users").bearer(admin).json(&json!({"username": "ada"}));
    user.send().await.expect(201);
    let last = next(&mut stream).await;
    let problem = last.strip_prefix("event: end\ndata: ").expect("the end");
    let problem: Value = serde_json::from_str(problem).expect("JSON");
    assert_eq!((&problem["code"], &problem["status"]), (&json!("unauthenticated"), &json!(401)));
    assert_eq!(stream.frame().await, None);
    assert!(revoked.elapsed() < Duration::from_secs(5));
}

pub(crate) async fn a_stream_ends_when_the_service_stops(backend: Backend) {
    let service = backend.open().await;
    let mut stream = open(streaming(&service, "/events")).await;
    service.app.drain();
    let last = next(&mut stream).await;
    let retry: u64 = last.strip_prefix("retry: ").expect("a time").parse().expect("a number");
    assert!((500..=2000).contains(&retry), "{retry}");
    assert_eq!(stream.frame().await, None);
}

/// The client has not read what was there before the service was about to stop.
pub(crate) async fn a_stream_that_is_behind_ends_when_the_service_stops(backend: Backend) {
    let service = backend.open().await;
    let text = "x".repeat(15_000);
    let line = |n| format!("{{\"username\":\"m{n}\",\"attributes\":{{\"x\":\"{text}\"}}}}\n");
    let lines = (0..1000).map(line).collect::<Vec<_>>().concat();
    let import = service.request("POST", "/bulk/users").body("application/x-ndjson", lines);
    import.send().await.expect(200);
    let mut stream = open(streaming(&service, "/events")).await;
    event(&mut stream).await;
    service.app.drain();
    let mut events = 1;
    let last = loop {
        let frame = next(&mut stream).await;
        if frame.starts_with("retry: ") {
            break frame;
        }
        events += 1;
    };
    assert!(events < 1000, "it was sent to its end, then {last}");
    assert_eq!(stream.frame().await, None);
}

pub(crate) async fn a_stream_of_a_tenant_has_the_events_of_that_tenant(backend: Backend) {
    let service = backend.open().await;
    let scopes = ["users:write", "events:read", "tenants:admin", "keys:admin"];
    let operator = service.new_operator_key(&scopes).await;
    let operator = operator["key"].as_str().expect("a key");
    let send = async |method: &str, target: &str, body: Value| {
        let request = service.request(method, target).bearer(operator);
        request.json(&body).send().await
    };
    for name in ["acme", "globex"] {
        send("POST", "/tenants", json!({"name": name})).await.expect(201);
    }
    let key = json!({"name": "reader", "scopes": ["events:read"]});
    let key = send("POST", "/tenants/acme/keys", key).await.expect(201).json();
    let key = key["key"].as_str().expect("a key");
    let mut own = open(streaming(&service, "/tenants/acme/events").bearer(key)).await;
    let mut all = open(streaming(&service, "/events?tenants=all").bearer(operator)).await;
    for base in ["", "/tenants/globex", "/tenants/acme"] {
        let user = json!({"username": "ada"});
        send("POST", &format!("{base}/users"), user).await.expect(201);
    }
    assert_eq!(event(&mut own).await.1["tenant"], "acme");
    for tenant in [Value::Null, json!("globex"), json!("acme")] {
        assert_eq!(event(&mut all).await.1["tenant"], tenant);
    }
    send("PATCH", "/tenants/acme", json!({"status": "suspended"})).await.expect(200);
    let last = next(&mut own).await;
    assert!(last.starts_with("event: end\n") && last.contains("\"tenant-suspended\""), "{last}");
    assert_eq!(own.frame().await, None);
}

pub(crate) async fn a_stream_ends_when_another_tenant_has_the_name(backend: Backend) {
    let service = backend.open().await;
    let scopes = ["users:write", "events:read", "tenants:admin"];
    let operator = service.new_operator_key(&scopes).await;
    let operator = operator["key"].as_str().expect("a key");
    let send = async |method: &str, target: &str| {
        let request = service.request(method, target).bearer(operator);
        let is_new = method == "POST";
        let request = if is_new { request.json(&json!({"name": "acme"})) } else { request };
        request.send().await.expect(if is_new { 201 } else { 204 })
    };
    send("POST", "/tenants").await;
    let mut stream = open(streaming(&service, "/tenants/acme/events").bearer(operator)).await;
    send("DELETE", "/tenants/acme").await;
    send("DELETE", "/deleted-tenants/acme").await;
    send("POST", "/tenants").await;
    let last = next(&mut stream).await;
    assert!(last.starts_with("event: end\n") && last.contains("\"tenant-not-found\""), "{last}");
    assert_eq!(stream.frame().await, None);
}

pub(crate) async fn a_caller_has_at_most_a_hundred_streams(backend: Backend) {
    let service = backend.open().await;
    let mut streams = Vec::new();
    for _ in 0..100 {
        streams.push(open(streaming(&service, "/events?after=latest")).await);
    }
    streaming(&service, "/events").send().await.refused(429, "rate-limited");
    service.user(json!({"username": "ada"})).await;
    for stream in &mut streams {
        event(stream).await;
    }
}
