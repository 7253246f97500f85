//! Repeated writes over SCIM, and writes with a limited wait.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    client::{Reply, Request},
    service::{Backend, Service},
    store::Fault,
    support::{ask, at, create, get, named, post, read, refused, send, with},
};

/// Longer than a request with `wait=0` takes, and much shorter than the store hangs.
const SOON: Duration = Duration::from_secs(10);

fn patch(operations: &Value) -> Value {
    json!({"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], "Operations": operations})
}

/// A PATCH with an idempotency key.
fn with_key<'a>(service: &'a Service, target: &str, operations: &Value, key: &str) -> Request<'a> {
    let request = send(service, "PATCH", target, &patch(operations));
    let request = request.header("idempotency-key", key);
    if target.starts_with("/Groups") {
        request.header("prefer", "return=representation")
    } else {
        request
    }
}

/// Checks that a response is the replay of the first one.
#[track_caller]
fn assert_replayed(again: Reply, first: &Reply) {
    let again = again.expect(first.status());
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(first.find("idempotent-replayed"), None);
    assert_eq!(again.header("etag"), first.header("etag"));
    assert_eq!(again.text(), first.text());
}

async fn group(service: &Service, name: &str, members: Value) -> Value {
    let body = json!({"schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"],
        "displayName": name, "members": members});
    send(service, "POST", "/Groups", &body).send().await.expect(201).json()
}

fn group_at(group: &Value) -> String {
    format!("/Groups/{}", group["id"].as_str().expect("an id"))
}

pub(crate) async fn a_repeated_patch_of_a_user_is_executed_once(backend: Backend) {
    let service = backend.open().await;
    let place = at(&create(&service, named("ada")).await);
    let title = json!([{"op": "add", "path": "title", "value": "Countess"}]);
    let first = with_key(&service, &place, &title, "k1").send().await.expect(200);
    assert_replayed(with_key(&service, &place, &title, "k1").send().await, &first);
    let lady = json!([{"op": "add", "path": "title", "value": "Lady"}]);
    refused(with_key(&service, &place, &lady, "k1").send().await, 422, None);
    send(&service, "PATCH", &place, &patch(&lady)).send().await.expect(200);
    let before = service.head().await.position;
    assert_replayed(with_key(&service, &place, &title, "k1").send().await, &first);
    assert_eq!(service.head().await.position, before);
    assert_eq!(read(&service, &place).await["title"], "Lady", "it was not executed again");
    // Without a change, and without a body.
    let minimal = || with_key(&service, &place, &lady, "k2").header("prefer", "return=minimal");
    let first = minimal().send().await.expect(204);
    assert_replayed(minimal().send().await, &first);
}

pub(crate) async fn a_patch_is_replayed_even_if_it_would_fail_now(backend: Backend) {
    let service = backend.open().await;
    let address = json!({"emails": [{"value": "ada@example.com", "type": "home"}]});
    let place = at(&create(&service, with(named("ada"), address)).await);
    let moved = json!([{"op": "replace", "path": "emails[value sw \"ada@example.com\"].value",
        "value": "ada@example.org"}]);
    let held = || with_key(&service, &place, &moved, "k1").header("if-match", "W/\"1\"");
    let one = held().send().await.expect(200);
    let two = with_key(&service, &place, &json!([{"op": "remove", "path": "emails"}]), "k2");
    let two = two.send().await.expect(200);
    let other = with_key(&service, &place, &moved, "k3").send().await;
    refused(other, 400, Some("noTarget"));
    assert_replayed(held().send().await, &one);
    // The same key with another request fails because of the key, not because of the filter.
    refused(with_key(&service, &place, &moved, "k1").send().await, 422, None);
    ask(&service, "DELETE", &place).send().await.expect(204);
    assert_replayed(held().send().await, &one);
    let again = with_key(&service, &place, &json!([{"op": "remove", "path": "emails"}]), "k2");
    assert_replayed(again.send().await, &two);
    refused(with_key(&service, &place, &moved, "k4").send().await, 404, None);
    refused(with_key(&service, "/Users/x", &moved, "k1").send().await, 404, None);
}

pub(crate) async fn a_repeated_patch_of_a_group_is_executed_once(backend: Backend) {
    let service = backend.open().await;
    let ada = create(&service, named("ada")).await;
    let place = group_at(&group(&service, "Engines", json!([])).await);
    let join = json!([{"op": "add", "path": "members", "value": [{"value": ada["id"]}]}]);
    let held = || with_key(&service, &place, &join, "k1").header("if-match", "W/\"1\"");
    let first = held().send().await.expect(200);
    assert_replayed(held().send().await, &first);
    let rename = json!([{"op": "replace", "path": "displayName", "value": "Looms"}]);
    refused(with_key(&service, &place, &rename, "k1").send().await, 422, None);
    let second = with_key(&service, &place, &rename, "k2").send().await.expect(200);
    assert_replayed(with_key(&service, &place, &rename, "k2").send().await, &second);
    let before = service.head().await.position;
    let again = held().send().await.expect(200);
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.json()["displayName"], "Engines", "as it was then");
    ask(&service, "DELETE", &place).send().await.expect(204);
    let again = held().send().await.expect(200);
    assert_eq!(again.header("etag"), first.header("etag"));
    assert_eq!(service.head().await.position, before + 1);
    refused(with_key(&service, &place, &rename, "k3").send().await, 404, None);
}

pub(crate) async fn of_simultaneous_equal_patches_one_is_executed(backend: Backend) {
    let service = backend.open().await;
    let address = json!({"emails": [{"value": "a0@example.com"}]});
    let place = at(&create(&service, with(named("ada"), address)).await);
    for n in 0..20 {
        let path = format!("emails[value sw \"a{n}@\"].value");
        let value = format!("a{}@example.com", n + 1);
        let moved = json!([{"op": "replace", "path": path, "value": value}]);
        let send = || with_key(&service, &place, &moved, &value).send();
        let replies = tokio::join!(send(), send(), send());
        let replies = [replies.0.expect(200), replies.1.expect(200), replies.2.expect(200)];
        let replayed = |reply: &&Reply| reply.find("idempotent-replayed").is_some();
        assert_eq!(replies.iter().filter(replayed).count(), 2);
        assert!(replies.iter().all(|reply| reply.text() == replies[0].text()));
    }
    assert_eq!(read(&service, &place).await["meta"]["version"], "W/\"21\"");
}

pub(crate) async fn a_bulk_request_takes_no_idempotency_key(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"schemas": ["urn:ietf:params:scim:api:messages:2.0:BulkRequest"],
        "Operations": [{"method": "POST", "path": "/Users", "bulkId": "ada",
            "data": named("ada")}]});
    for key in ["k1", "\"k 1\"", "no key, but one all the same"] {
        let request = send(&service, "POST", "/Bulk", &body).header("idempotency-key", key);
        refused(request.send().await, 400, None);
    }
    assert_eq!(read(&service, "/Users?count=0").await["totalResults"], 0);
    send(&service, "POST", "/Bulk", &body).send().await.expect(200);
}

pub(crate) async fn a_write_that_did_not_begin_in_time_is_not_made(backend: Backend) {
    let service = backend.open().await;
    let user = at(&create(&service, named("ada")).await);
    let team = group_at(&group(&service, "Engines", json!([])).await);
    let before = service.head().await;
    let title = patch(&json!([{"op": "add", "path": "title", "value": "Countess"}]));
    let rename = patch(&json!([{"op": "replace", "path": "displayName", "value": "Looms"}]));
    let looms = json!({"schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"],
        "displayName": "Looms"});
    service.store.fail(Fault::Hang);
    for (method, target, body) in [
        ("POST", "/Users", Some(named("mary"))),
        ("PUT", &*user, Some(with(named("ada"), json!({"title": "Countess"})))),
        ("PATCH", &*user, Some(title)),
        ("DELETE", &*user, None),
        ("POST", "/Groups", Some(looms.clone())),
        ("PUT", &*team, Some(looms)),
        ("PATCH", &*team, Some(rename)),
        ("DELETE", &*team, None),
    ] {
        let request = match &body {
            Some(body) => send(&service, method, target, body),
            None => ask(&service, method, target),
        };
        let began = Instant::now();
        let reply = refused(request.header("prefer", "wait=0").send().await, 503, None);
        assert!(began.elapsed() < SOON, "{method} {target}");
        assert_eq!(reply.header("retry-after"), "1");
        let detail = reply.json()["detail"].clone();
        assert_eq!(detail, "nothing was changed: it could not begin within 0 s", "{method}");
    }
    service.store.fail(None);
    // By now all of them would have been executed.
    post(&service, named("last")).await.expect(201);
    let after = service.head().await;
    assert_eq!((after.position, after.active), (before.position + 1, before.active + 1));
    get(&service, &user).await.expect(200);
}
