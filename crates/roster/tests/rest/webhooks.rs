//! Webhooks as a resource. `tests/webhooks` sends to real receivers.

use roster_core::{
    Clock as _, Preconditions, Store as _,
    access::{AuditView, Authority},
    webhook::{
        StoredWebhook, WebhookAct, WebhookChange, WebhookDelivery, WebhookId, WebhookStatus,
    },
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{
    events::place,
    service::{Backend, CLOSED_URL, Service},
    tenants_isolation::Tenants,
    transcript::Transcript,
};

const URL: &str = "https://h.example.com/r";

fn at(webhook: &Value) -> String {
    format!("/webhooks/{}", webhook["id"].as_str().expect("an id"))
}

/// Stores two deliveries of a webhook, as the sender does.
async fn save_deliveries(service: &Service, webhook: &Value) {
    let id = WebhookId::parse(webhook["id"].as_str().expect("an id")).expect("an id");
    let stored = service.store.webhooks().webhook(id).await.expect("it answers");
    let StoredWebhook { webhook, progress, .. } = stored.expect("it is there");
    let delivery = |attempt, result| WebhookDelivery {
        id: "0000000000000000-1-3".to_owned(),
        at: service.clock.now(),
        attempt,
        events: 3,
        duration_ms: 17,
        result,
    };
    let new = vec![delivery(2, Ok(204)), delivery(1, Err("no connection: refused".to_owned()))];
    let webhooks = service.store.webhooks();
    let lease = webhooks.take_lease([1; 16]).await.expect("it answers").expect("nobody has it");
    let saved = webhooks.save_progress(id, webhook.version, progress, new, lease).await;
    assert!(saved.expect("it answers"));
}

async fn made(service: &Service) -> Value {
    service.webhook(json!({"name": "search", "url": URL})).await
}

pub(crate) async fn responses_of_webhooks(backend: Backend) {
    let service = backend.open().await;
    let mut page = Transcript::of(&service);
    let body = json!({"name": "search", "url": URL, "types": ["user.*"], "batch_max": 100});
    let created = service.request("POST", "/webhooks").json(&body).send().await;
    page.note("created", &created);
    let target = at(&created.json());
    page.note("one", &service.get(&target).await);
    page.note("all", &service.get("/webhooks").await);
    let patch = json!({"status": "paused", "version": 1});
    page.note("paused", &service.request("PATCH", &target).json(&patch).send().await);
    page.note("an old version", &service.request("PATCH", &target).json(&patch).send().await);
    let dry = format!("{target}?dry_run=true");
    page.note("what a deletion deletes", &service.request("DELETE", &dry).send().await);
    save_deliveries(&service, &created.json()).await;
    let deliveries = format!("{target}/deliveries");
    page.note("deliveries", &service.get(&deliveries).await);
    page.note("deleted", &service.delete(&target).await);
    page.note("no deliveries", &service.get(&deliveries).await);
    page.note("gone", &service.get(&target).await);
    let invalid = json!({"name": "", "url": "ftp://h.example.com", "types": ["users"],
        "batch_max": 101, "payload": "slim", "status": "gone", "after": "1", "colour": 1});
    page.note("invalid", &service.request("POST", "/webhooks").json(&invalid).send().await);
    page.settle("webhooks");
}

pub(crate) async fn a_webhook_is_created_changed_and_deleted(backend: Backend) {
    let service = backend.open().await;
    let webhook = made(&service).await;
    assert_eq!(webhook["types"], json!(["user.*", "group.*", "schema.*", "log.*"]));
    assert_eq!((&webhook["batch_max"], &webhook["payload"]), (&json!(1), &json!("full")));
    let secret = webhook["secret"].as_str().expect("a secret");
    assert!(secret.starts_with("whsec_") && secret.len() == 50, "{secret}");
    let target = at(&webhook);
    let got = service.get(&target).await.expect(200);
    assert_eq!((got.header("etag"), got.json().get("secret")), ("\"1\"", None));
    // What a GET returned is the body of a PUT that changes nothing.
    let same = service.request("PUT", &target).json(&got.json()).send().await.expect(200);
    assert_eq!(same.json()["version"], 1);
    let body = json!({"name": "other", "url": "https://h.example.com/o", "payload": "thin"});
    let put = service.request("PUT", &target).json(&body).send().await.expect(200).json();
    assert_eq!((&put["version"], &put["payload"]), (&json!(2), &json!("thin")));
    let stale = service.request("PUT", &target).header("if-match", "\"1\"").json(&body);
    stale.send().await.refused(412, "version-mismatch");
    let renamed = json!({"name": "third", "batch_max": null, "position": "y"});
    let patched = service.request("PATCH", &target).json(&renamed).send().await.expect(200).json();
    assert_eq!((&patched["name"], &patched["url"]), (&json!("third"), &put["url"]));
    for (method, body) in [("PUT", &patched), ("PATCH", &json!({"name": "tried"}))] {
        let dry = service.request(method, &format!("{target}?dry_run=true")).json(body);
        assert_eq!(dry.send().await.expect(200).header("dry-run"), "true");
        let mut other = body.clone();
        other["id"] = json!("01a21f7f-0000-7000-8000-000000000000");
        let other = service.request(method, &target).json(&other).send().await;
        other.refused(422, "invalid-webhook");
    }
    let replay = Some(json!({"after": put["position"]}));
    for (action, body) in [("rotate", None), ("test", None), ("replay", replay)] {
        let request = service.request("POST", &format!("{target}/{action}"));
        let request = request.header("if-match", "\"1\"");
        let request = if let Some(body) = &body { request.json(body) } else { request };
        request.send().await.refused(412, "version-mismatch");
        let request = service.request("POST", &format!("{target}/{action}"));
        let request = request.header("idempotency-key", "one");
        let request = if let Some(body) = &body { request.json(body) } else { request };
        request.send().await.refused(400, "invalid-idempotency-key");
    }
    assert_eq!(service.get(&target).await.expect(200).json(), patched);
    let held = service.request("DELETE", &target).header("if-match", "\"1\"");
    held.send().await.refused(412, "version-mismatch");
    service.delete(&target).await.expect(204);
    let tried = service.request("POST", "/webhooks?dry_run=true").json(&body).send().await;
    assert_eq!(tried.expect(200).json().get("secret"), None);
    let own =
        json!({"name": "own", "url": URL, "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"});
    let own = service.request("POST", "/webhooks").json(&own).send().await;
    own.refused(422, "invalid-webhook");
    // What was read is no creation: the new webhook would miss the events after the position.
    let copy = service.request("POST", "/webhooks").json(&patched).send().await;
    let faults = copy.refused(422, "invalid-webhook").faults();
    assert_eq!(faults, [("/position".to_owned(), "invalid-value".to_owned())]);
    assert_eq!(service.get("/webhooks").await.json()["items"], json!([]));
    service.delete(&target).await.refused(404, "webhook-not-found");
    service.get("/webhooks/nonsense").await.refused(404, "webhook-not-found");
    let types = ["webhook.created", "webhook.updated", "webhook.updated", "webhook.deleted"];
    let events = service.get("/events?type=webhook.*").await.expect(200).json();
    let told: Vec<_> = events["items"].as_array().expect("events").iter().collect();
    assert_eq!(told.iter().map(|one| &one["type"]).collect::<Vec<_>>(), types);
    assert!(!events.to_string().contains("whsec_"), "no secret");
    let subject = told[0]["subject"].as_str().expect("a subject");
    let history = service.get(&format!("/events?subject={subject}")).await.expect(200).json();
    assert_eq!(history["items"].as_array().map(Vec::len), Some(4));
}

pub(crate) async fn a_url_outside_the_internet_is_rejected(backend: Backend) {
    let service = backend.open().await;
    for url in [
        "https://127.0.0.1/",
        "https://10.0.0.7/r",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::1]:8443/",
        "https://[::ffff:10.0.0.1]/",
        "https://0x7f000001/",
        "https://2130706433/",
        "http://8.8.8.8/",
        "https://ada:s@h.example.com/",
        "https://h.example.com:22/",
        "gopher://h.example.com/",
    ] {
        let body = json!({"name": "x", "url": url});
        let reply = service.request("POST", "/webhooks").json(&body).send().await;
        let faults = reply.refused(422, "invalid-webhook").faults();
        assert_eq!(faults, [("/url".to_owned(), "invalid-value".to_owned())], "{url}");
    }
    let webhook = made(&service).await;
    let patch = json!({"url": "https://10.0.0.7/r"});
    let request = service.request("PATCH", &at(&webhook)).json(&patch);
    request.send().await.refused(422, "invalid-webhook");
    assert_eq!(service.get(&at(&webhook)).await.json()["url"], URL);
}

pub(crate) async fn a_replay_moves_the_position(backend: Backend) {
    let service = backend.open().await;
    service.user(json!({"username": "ada"})).await;
    let webhook = made(&service).await;
    let replay = async |body: Value| {
        service.request("POST", &format!("{}/replay", at(&webhook))).json(&body).send().await
    };
    let start = place(&service, 0);
    let replayed = replay(json!({"after": start})).await.expect(200).json();
    assert_eq!((&replayed["position"], &replayed["version"]), (&json!(start), &json!(2)));
    let beyond = place(&service, 77);
    replay(json!({"after": beyond})).await.refused(410, "position-outlived");
    replay(json!({"after": "0000000000000000-1"})).await.refused(410, "position-outlived");
    for body in [json!({}), json!({"after": "latest"}), json!({"after": 1}), json!([1])] {
        replay(body).await.refused(422, "invalid-webhook");
    }
    let refused = replay(json!({"after": start, "version": 9})).await;
    let problem = refused.refused(422, "invalid-webhook").json();
    assert_eq!(problem["errors"][0]["pointer"], "/version");
    let after = json!({"name": "late", "url": URL, "after": start});
    let late = service.webhook(after).await;
    assert_eq!(late["position"], start);
    let after = json!({"name": "early", "url": URL, "after": beyond});
    let early = service.request("POST", "/webhooks").json(&after).send().await;
    early.refused(410, "position-outlived");
}

pub(crate) async fn a_webhook_whose_events_are_gone_goes_on_after_a_replay_only(backend: Backend) {
    let service = backend.open().await;
    let webhook = made(&service).await;
    let id = WebhookId::parse(webhook["id"].as_str().expect("an id")).expect("an id");
    let change = WebhookChange {
        act: WebhookAct::End(id, WebhookStatus::Stale),
        preconditions: Preconditions::default(),
        at: service.clock.now(),
        caller: Authority::of_the_service().caller("webhooks"),
        audit: AuditView::Nothing,
        all_tenants: true,
        is_dry_run: false,
    };
    service.store.webhooks().change(change).await.expect("it ends");
    let target = at(&webhook);
    let stale = service.get(&target).await.expect(200).json();
    assert_eq!((&stale["status"], &stale["version"]), (&json!("stale"), &json!(2)));
    for (method, body) in [
        ("PATCH", json!({"status": "active"})),
        ("PUT", json!({"name": "search", "url": URL, "status": "active"})),
    ] {
        let active = service.request(method, &target).json(&body).send().await;
        active.refused(409, "webhook-stale");
    }
    let after = json!({"after": place(&service, 0)});
    let replay = service.request("POST", &format!("{target}/replay")).json(&after).send().await;
    assert_eq!(replay.expect(200).json()["status"], "active");
}

pub(crate) async fn lag_is_zero_without_events_to_send(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"name": "groups", "url": URL, "types": ["group.*"]});
    let webhook = service.webhook(body).await;
    let lag = async |service: &Service| {
        let one = service.get(&at(&webhook)).await.json()["lag"].clone();
        let all = service.get("/webhooks").await.json()["items"][0]["lag"].clone();
        assert_eq!(one, all);
        one
    };
    for name in ["ada", "bea"] {
        service.user(json!({"username": name})).await;
    }
    assert_eq!(lag(&service).await, json!(0), "these events are not its own");
    service.group("staff").await;
    // The webhook itself, two users and the group.
    assert_eq!(lag(&service).await, json!(4));
}

pub(crate) async fn a_test_says_what_became_of_it(backend: Backend) {
    let service = backend.open().await;
    let webhook = service.webhook(json!({"name": "x", "url": CLOSED_URL})).await;
    let target = at(&webhook);
    let before = service.get(&target).await.expect(200).json();
    let test = async || service.request("POST", &format!("{target}/test")).send().await;
    let tested = test().await.expect(200).json();
    assert_eq!((&tested["attempt"], tested.get("status")), (&json!(1), None));
    let error = tested["error"].as_str().expect("an error");
    assert!(error.starts_with("no connection"), "{error}");
    assert_eq!(service.get(&target).await.expect(200).json(), before);
    let deliveries = service.get(&format!("{target}/deliveries")).await.expect(200).json();
    assert_eq!(deliveries["items"], json!([]));

    // One that accepts connections, and says nothing.
    let silent = TcpListener::bind("127.9.9.9:0").await.expect("a port");
    let url = format!("http://{}/", silent.local_addr().expect("an address"));
    let patch = service.request("PATCH", &target).json(&json!({"url": url}));
    patch.send().await.expect(200);
    let refused = async {
        let held = [silent.accept().await, silent.accept().await];
        test().await.refused(429, "rate-limited");
        drop(held);
    };
    let (one, two, ()) = tokio::join!(test(), test(), refused);
    for tested in [one, two] {
        let tested = tested.expect(200).json();
        assert!(tested["error"].as_str().is_some_and(|error| error.starts_with("no complete")));
    }
}

pub(crate) async fn a_rotation_returns_a_new_secret(backend: Backend) {
    let service = backend.open().await;
    let webhook = made(&service).await;
    let rotate = |query: &str| service.request("POST", &format!("{}/rotate{query}", at(&webhook)));
    let rotated = rotate("?overlap_s=60").send().await.expect(200).json();
    assert_ne!(rotated["secret"], webhook["secret"]);
    assert!(rotated["former_secret_until"].is_string(), "{rotated}");
    service.clock.step(61_000);
    let later = service.get(&at(&webhook)).await.expect(200).json();
    assert_eq!(later.get("former_secret_until"), None);
    rotate("?overlap_s=-1").send().await.refused(400, "invalid-query");
}

pub(crate) async fn a_webhook_sends_only_what_its_caller_may_read(backend: Backend) {
    let service = backend.open().await;
    service.close_as_operator().await;
    let post = async |key: &Value, body: Value| {
        let key = key["key"].as_str().expect("a key");
        service.request("POST", "/webhooks").bearer(key).json(&body).send().await
    };
    let body = || json!({"name": "x", "url": URL});
    let all = || json!({"name": "x", "url": URL, "tenants": "all"});
    let typed = |types: &str| json!({"name": "x", "url": URL, "types": [types]});
    let blind = service.new_key(&["webhooks:admin"]).await;
    post(&blind, body()).await.refused(403, "insufficient-scope");
    let reader = service.new_key(&["webhooks:admin", "events:read"]).await;
    let made = post(&reader, body()).await.expect(201).json();
    // What sends nothing more needs no scope to read.
    let key = blind["key"].as_str().expect("a key");
    let patch = |body: Value| service.request("PATCH", &at(&made)).bearer(key).json(&body);
    let paused = patch(json!({"status": "paused"})).send().await.expect(200).json();
    assert_eq!(paused["status"], "paused");
    // A paused one keeps its secret and its position.
    let send = |target: String| service.request("POST", &target).bearer(key);
    let rotated = send(format!("{}/rotate", at(&made))).send().await;
    rotated.refused(403, "insufficient-scope");
    let latest = json!({"after": service.get("/users").await.header("roster-position")});
    let replayed = send(format!("{}/replay", at(&made))).json(&latest).send().await;
    replayed.refused(403, "insufficient-scope");
    patch(json!({"status": "active"})).send().await.refused(403, "insufficient-scope");
    patch(json!({"name": "other"})).send().await.refused(403, "insufficient-scope");
    service.request("DELETE", &at(&made)).bearer(key).send().await.expect(204);
    post(&reader, body()).await.expect(201);
    post(&reader, typed("key.*")).await.refused(403, "insufficient-scope");
    post(&reader, all()).await.refused(403, "operator-key-required");
    let auditor = service.new_key(&["webhooks:admin", "events:read", "audit:read"]).await;
    post(&auditor, typed("key.created")).await.expect(201);
    post(&auditor, typed("tenant.*")).await.refused(403, "operator-key-required");
    let scopes = ["webhooks:admin", "events:read", "audit:read"];
    let operator = service.new_operator_key(&scopes).await;
    let of_all = post(&operator, all()).await.expect(201).json();
    post(&operator, typed("tenant.*")).await.expect(201);
    // One for all tenants is not shown to others.
    let key = reader["key"].as_str().expect("a key");
    let target = at(&of_all);
    service.request("GET", &target).bearer(key).send().await.refused(404, "webhook-not-found");
    service.request("DELETE", &target).bearer(key).send().await.refused(404, "webhook-not-found");
    let listed = service.request("GET", "/webhooks").bearer(key).send().await.expect(200).json();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(3));
}

pub(crate) async fn an_open_service_has_no_webhook_of_all_tenants(backend: Backend) {
    let service = backend.open().await;
    let all = json!({"name": "x", "url": URL, "tenants": "all"});
    let typed = json!({"name": "x", "url": URL, "types": ["tenant.*", "user.*"]});
    for body in [all, typed] {
        let reply = service.request("POST", "/webhooks").json(&body).send().await;
        reply.refused(403, "operator-key-required");
    }
    service.get("/events?type=tenant.*").await.refused(403, "operator-key-required");
    service.webhook(json!({"name": "x", "url": URL, "types": ["key.*", "user.*"]})).await;
}

pub(crate) async fn webhooks_are_those_of_a_tenant(backend: Backend) {
    let tenants = Tenants::open(&backend).await;
    let [acme, globex] = &tenants.keys;
    let body = json!({"name": "x", "url": URL});
    let send = async |key: &String, method: &str, target: &str, body: &Value| {
        tenants.send(Some(key.as_str()), method, target, body).await
    };
    let webhook = send(acme, "POST", "/tenants/acme/webhooks", &body).await.expect(201).json();
    let target = format!("/tenants/globex{}", at(&webhook));
    send(globex, "GET", &target, &Value::Null).await.refused(404, "webhook-not-found");
    let listed = send(globex, "GET", "/tenants/globex/webhooks", &Value::Null).await.expect(200);
    assert_eq!(listed.json()["items"], json!([]));
    let all = json!({"name": "x", "url": URL, "tenants": "all"});
    let operator = tenants.operator.clone();
    let refused = send(&operator, "POST", "/tenants/acme/webhooks", &all).await;
    refused.refused(403, "operator-key-required");
    // Their events are never in the log of a tenant.
    for of_service in ["tenant.*", "policy.changed", "settings.*"] {
        let typed = json!({"name": "x", "url": URL, "types": ["user.*", of_service]});
        let refused = send(&operator, "POST", "/tenants/acme/webhooks", &typed).await;
        let refused = refused.refused(422, "invalid-webhook");
        assert_eq!(refused.json()["errors"][0]["pointer"], "/types", "{of_service}");
    }
}

pub(crate) async fn a_tenant_has_at_most_a_hundred_webhooks(backend: Backend) {
    let service = backend.open().await;
    for _ in 0..100 {
        made(&service).await;
    }
    let body = json!({"name": "x", "url": URL});
    let more = service.request("POST", "/webhooks").json(&body).send().await;
    more.refused(409, "too-many-webhooks");
    let key = service.request("POST", "/webhooks").header("idempotency-key", "one").json(&body);
    assert_eq!(key.send().await.status(), 400);
}
