//! Requests that wait for events: `wait`.

use std::time::Duration;

use futures_util::future::join_all;
use roster_core::Store as _;
use serde_json::{Value, json};
use tokio::{
    join, select,
    time::{Instant, sleep},
};

use crate::{
    client::Reply,
    service::{Backend, Service, path},
};

const SOON: Duration = Duration::from_millis(300);

/// The target that waits for events after the end of the log.
async fn at_the_end(service: &Service, seconds: u32) -> String {
    let position = service.get("/events").await.header("roster-position").to_owned();
    format!("/events?after={position}&wait={seconds}")
}

fn types(reply: &Reply) -> Vec<String> {
    let page = reply.json();
    let items = page["items"].as_array().expect("items");
    items.iter().map(|event| event["type"].as_str().expect("a type").to_owned()).collect()
}

/// The response to a request that is still waiting when `act` begins.
async fn meanwhile<T>(service: &Service, target: &str, act: impl Future<Output = T>) -> (Reply, T) {
    let began = Instant::now();
    let act = async {
        sleep(SOON).await;
        act.await
    };
    let (reply, acted) = join!(service.get(target), act);
    assert!(began.elapsed() >= SOON, "{target} did not wait");
    (reply, acted)
}

pub(crate) async fn a_wait_ends_with_the_next_event(backend: Backend) {
    let service = backend.open().await;
    let ada = service.user(json!({"username": "ada"})).await;
    let end = at_the_end(&service, 60).await;
    let (reply, _) = meanwhile(&service, &end, service.user(json!({"username": "eve"}))).await;
    assert_eq!(types(&reply.expect(200)), ["user.created"]);
    // There is one already.
    assert_eq!(types(&service.get(&end).await.expect(200)), ["user.created"]);

    let patch = async |name: &str| service.patch(&ada, json!({"name": name})).await.expect(200);
    let history =
        at_the_end(&service, 60).await.replace("/events", &format!("{}/events", path(&ada)));
    let of_both = async {
        service.user(json!({"username": "mary"})).await;
        patch("Ada").await
    };
    let (reply, _) = meanwhile(&service, &history, of_both).await;
    assert_eq!(types(&reply.expect(200)), ["user.updated"]);

    let updates = format!("{}&type=user.updated", at_the_end(&service, 60).await);
    let of_both = async {
        service.user(json!({"username": "grace"})).await;
        sleep(SOON).await;
        patch("Ada Lovelace").await
    };
    let (reply, _) = meanwhile(&service, &updates, of_both).await;
    assert_eq!(types(&reply.expect(200)), ["user.updated"]);
}

pub(crate) async fn a_wait_without_an_event_shows_how_far_the_log_was_read(backend: Backend) {
    let service = backend.open().await;
    service.user(json!({"username": "ada"})).await;
    let deletions = format!("{}&type=user.deleted", at_the_end(&service, 1).await);
    let began = Instant::now();
    let act = service.user(json!({"username": "eve"}));
    let (reply, _) = meanwhile(&service, &deletions, act).await;
    assert!(began.elapsed() >= Duration::from_secs(1));
    let reply = reply.expect(200);
    let page = reply.json();
    assert_eq!((&page["items"], &page["next_cursor"]), (&json!([]), &Value::Null));
    let end = service.get("/events").await;
    assert_eq!(reply.header("roster-position"), end.header("roster-position"));
}

pub(crate) async fn a_wait_is_from_0_to_60_seconds(backend: Backend) {
    let service = backend.open().await;
    for wrong in ["61", "-1", "1.5", "", "soon", "%2B1", "99999999999999999999"] {
        let reply = service.get(&format!("/events?wait={wrong}")).await;
        let problem = reply.refused(400, "invalid-query").json();
        assert_eq!(problem["errors"][0]["parameter"], "wait", "{problem}");
    }
    let began = Instant::now();
    service.get("/events?wait=0").await.expect(200);
    service.request("HEAD", "/events?wait=60").send().await.expect(200);
    // A position that the log does not have is an error at once.
    let ahead = format!("/events?after={}-7&wait=60", service.store.log_id());
    service.get(&ahead).await.refused(410, "position-outlived");
    assert!(began.elapsed() < Duration::from_secs(30));
}

pub(crate) async fn a_wait_ends_when_its_key_is_revoked(backend: Backend) {
    let service = backend.open().await;
    let key = async |name: &str, scopes: Value, by: Option<&str>| {
        let request =
            service.request("POST", "/keys").json(&json!({"name": name, "scopes": scopes}));
        let request = match by {
            Some(key) => request.bearer(key),
            None => request,
        };
        request.send().await.expect(201).json()
    };
    let admin = key("admin", json!(["keys:admin", "events:read"]), None).await;
    let admin = admin["key"].as_str().expect("a key");
    let reader = key("reader", json!(["events:read"]), Some(admin)).await;
    let events = service.request("GET", "/events?wait=60");
    let events = events.bearer(reader["key"].as_str().expect("a key"));
    let began = Instant::now();
    let revoke = async {
        sleep(SOON).await;
        let target = format!("/keys/{}", reader["id"].as_str().expect("an id"));
        service.request("DELETE", &target).bearer(admin).send().await.expect(204);
    };
    let (reply, ()) = join!(events.send(), revoke);
    reply.refused(401, "unauthenticated");
    assert!(began.elapsed() < Duration::from_secs(10));
}

pub(crate) async fn a_wait_ends_when_the_service_stops(backend: Backend) {
    let service = backend.open().await;
    let (reply, ()) = meanwhile(&service, "/events?wait=60", async { service.app.drain() }).await;
    assert_eq!(types(&reply.expect(200)), [""; 0]);
}

pub(crate) async fn a_caller_has_at_most_a_hundred_waits(backend: Backend) {
    let service = backend.open().await;
    let waits = join_all((0..100).map(|_| service.get("/events?wait=60")));
    let beyond = async {
        sleep(SOON).await;
        service.get("/events?wait=60").await.refused(429, "rate-limited");
        // It does not wait.
        service.get("/events").await.expect(200);
        service.user(json!({"username": "ada"})).await;
    };
    let (replies, ()) = join!(waits, beyond);
    for reply in replies {
        assert_eq!(types(&reply.expect(200)), ["user.created"]);
    }
}

pub(crate) async fn a_wait_of_a_tenant_ends_with_an_event_of_that_tenant(backend: Backend) {
    let service = backend.open().await;
    let scopes = ["users:read", "users:write", "events:read", "tenants:admin", "keys:admin"];
    let operator = json!({"name": "operator", "scopes": scopes, "tenants": "all"});
    let operator = service.request("POST", "/keys").json(&operator).send().await.expect(201).json();
    let operator = operator["key"].as_str().expect("a key");
    let send = async |method: &str, target: &str, body: Value| {
        let request = service.request(method, target).bearer(operator);
        let request = if body.is_null() { request } else { request.json(&body) };
        request.send().await
    };
    for name in ["acme", "globex"] {
        send("POST", "/tenants", json!({"name": name})).await.expect(201);
    }
    let create = async |base: &str| {
        let user = json!({"username": "ada"});
        send("POST", &format!("{base}/users"), user).await.expect(201);
    };
    let mut of_acme = Box::pin(send("GET", "/tenants/acme/events?wait=60", Value::Null));
    let others = async {
        create("").await;
        create("/tenants/globex").await;
        sleep(SOON).await;
    };
    select! {
        reply = &mut of_acme => panic!("{}", reply.text()),
        () = others => {}
    }
    let (reply, ()) = join!(of_acme, create("/tenants/acme"));
    let reply = reply.expect(200);
    let page = reply.json();
    assert_eq!((&page["items"][0]["tenant"], &page["items"][1]), (&json!("acme"), &Value::Null));
    let position = reply.header("roster-position");
    let target = format!("/events?tenants=all&wait=60&after={position}");
    let late = async {
        sleep(SOON).await;
        send("POST", "/tenants/globex/users", json!({"username": "eve"})).await.expect(201);
    };
    let (reply, ()) = join!(send("GET", &target, Value::Null), late);
    let page = reply.expect(200).json();
    let mut tenants = page["items"].as_array().expect("events").iter().map(|one| &one["tenant"]);
    assert!(tenants.any(|tenant| tenant == "globex"), "{page}");
}
