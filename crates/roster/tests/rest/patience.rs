//! Waiting times: the configured maximum, or a shorter one that the client prefers.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::time::timeout;

use crate::{
    access::{operations, request_for},
    client::Reply,
    service::{Backend, Service, Setup, path},
    store::Fault,
};

/// Longer than a request with `wait=0` takes, and much shorter than the store hangs.
const SOON: Duration = Duration::from_secs(10);

fn late(reply: Reply, expected: &str) {
    let reply = reply.refused(503, "unavailable");
    assert_eq!(reply.header("retry-after"), "1");
    let told = reply.json()["detail"].as_str().expect("a detail").to_owned();
    assert_eq!(told, expected);
}

pub(crate) async fn a_read_is_aborted_after_the_wait_of_its_caller(backend: Backend) {
    let service = backend.open().await;
    let user = path(&service.user(json!({"username": "ada"})).await);
    service.close_as_operator().await;
    service.store.fail(Fault::Hang);
    let mut late_ones = 0;
    for (operation, method, target) in operations() {
        let safe = method == "GET";
        // Keys are tested elsewhere. The metrics are returned without those of the store.
        let of_keys = target.starts_with("/keys") || target == "/caller";
        if !safe || operation.is_probe() || of_keys {
            continue;
        }
        let target = target.replace("/users/01a1f84a-963b-7c3e-9a41-5d2e8f604b17", &user);
        let request = request_for(&service, operation, &method, &target).header("prefer", "wait=0");
        let began = Instant::now();
        let reply = request.send().await;
        assert!(began.elapsed() < SOON, "{target}");
        // Static documents do not use the store.
        if ![200, 404, 501].contains(&reply.status()) {
            late(reply, "there was no result within 0 s, the time in Prefer: wait");
            late_ones += 1;
        }
    }
    assert!(late_ones >= 9, "{late_ones}");
    service.store.fail(None);
    let reply = service.request("GET", &user).header("prefer", "wait=0").send().await;
    assert!([200, 503].contains(&reply.status()), "at hand or not: {}", reply.text());
}

pub(crate) async fn a_read_is_aborted_after_the_configured_wait(backend: Backend) {
    let read_wait_max = Duration::from_millis(300);
    let service = backend.open_with(Setup { read_wait_max, ..Setup::default() }).await;
    let limits = service.get("/").await.expect(200).json()["limits"].clone();
    assert_eq!(limits["read_wait_max_ms"], 300);
    service.get("/users").await.expect(200);
    service.store.fail(Fault::Hang);
    for prefer in ["wait=60", "wait=soon", "return=minimal"] {
        let began = Instant::now();
        let reply = service.request("GET", "/users").header("prefer", prefer).send().await;
        let reply = reply.refused(503, "unavailable");
        assert!(!reply.text().contains("the time in Prefer"), "{prefer}: {}", reply.text());
        assert!(began.elapsed() >= read_wait_max && began.elapsed() < SOON);
    }
}

pub(crate) async fn a_search_takes_no_longer_than_a_list(backend: Backend) {
    let body = json!({"schemas": ["urn:ietf:params:scim:api:messages:2.0:SearchRequest"]});
    let bounded = Setup { read_wait_max: Duration::from_millis(300), ..Setup::default() };
    for (setup, prefer) in [(bounded, "wait=60"), (Setup::default(), "wait=0")] {
        let service = backend.open_with(setup).await;
        service.store.fail(Fault::Hang);
        for target in ["/.search", "/Users/.search", "/Groups/.search"] {
            let request = service.request("POST", &format!("/scim/v2{target}"));
            let request = request.body("application/scim+json", body.to_string());
            let reply = timeout(SOON, request.header("prefer", prefer).send()).await;
            let reply = reply.unwrap_or_else(|_| panic!("{target} with {prefer} is not answered"));
            reply.refused(503, "unavailable");
        }
        service.store.fail(None);
    }
}

/// One write of each kind, on an existing user and a deleted one.
async fn writes(service: &Service) -> Vec<(&'static str, String)> {
    let user = path(&service.user(json!({"username": "ada"})).await);
    let gone = service.left(json!({"username": "grace"})).await;
    let gone = crate::service::kept(&gone);
    vec![
        ("POST", "/users".to_owned()),
        ("PUT", user.clone()),
        ("PATCH", user.clone()),
        ("DELETE", user),
        ("POST", format!("{gone}/restore")),
        ("DELETE", gone),
    ]
}

pub(crate) async fn a_write_that_did_not_begin_in_time_is_not_executed(backend: Backend) {
    let service = backend.open().await;
    let writes = writes(&service).await;
    let before = service.head().await;
    service.store.fail(Fault::Hang);
    for (method, target) in &writes {
        for dry in ["", "?dry_run=true"] {
            let request = service.request(method, &format!("{target}{dry}"));
            let body = matches!(*method, "POST" | "PUT" | "PATCH") && !target.ends_with("/restore");
            let request = if body { request.json(&json!({"username": "mary"})) } else { request };
            // One waits as long as preferred, the others not at all.
            let seconds = u64::from(*method == "PUT");
            let prefer = format!("return=minimal, wait={seconds}");
            let began = Instant::now();
            let reply = request.header("prefer", &prefer).send().await;
            late(reply, &format!("nothing was changed: it could not begin within {seconds} s"));
            assert!(began.elapsed() >= Duration::from_secs(seconds) && began.elapsed() < SOON);
        }
    }
    service.store.fail(None);
    // By now all of them would have been executed.
    service.user(json!({"username": "last"})).await;
    let after = service.head().await;
    assert_eq!((after.position, after.active), (before.position + 1, before.active + 1));
}

pub(crate) async fn health_and_metrics_respond_while_the_store_hangs(backend: Backend) {
    let service = backend.open().await;
    service.get("/users").await.expect(200);
    service.store.fail(Fault::Hang);
    for (target, status) in [("/livez", 200), ("/readyz", 503), ("/metrics", 200)] {
        let began = Instant::now();
        service.get(target).await.expect(status);
        assert!(began.elapsed() < SOON, "{target}");
    }
}

pub(crate) async fn a_read_within_its_wait_is_served(backend: Backend) {
    let service = backend.open().await;
    service.get("/users").await.expect(200);
    service.store.fail(Fault::Hang);
    let user = json!({"username": "ada"});
    let write = service.request("POST", "/users").json(&user).header("prefer", "wait=60").send();
    let read = service.request("GET", "/users").header("prefer", "wait=60").send();
    let held_up = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        service.store.fail(None);
    };
    let (write, read, ()) = tokio::join!(write, read, held_up);
    write.expect(201);
    read.expect(200);
}
