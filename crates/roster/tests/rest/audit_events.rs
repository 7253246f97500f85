//! Audit events: who sees them, and how they are selected.

use serde_json::{Value, json};

use crate::{
    event_streams::{event, open, streaming},
    service::{Backend, Service},
    tenants_isolation::Tenants,
    transcript::Transcript,
};

fn items(page: &Value) -> Vec<Value> {
    page["items"].as_array().expect("items").clone()
}

/// The type and the subject of each audit event that a key sees.
async fn audited(tenants: &Tenants, key: &str, target: &str) -> Vec<(String, String)> {
    let page = tenants.send(Some(key), "GET", target, &Value::Null).await.expect(200).json();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let told = items(&page).into_iter().map(|one| (text(&one["type"]), text(&one["subject"])));
    told.filter(|(kind, _)| !kind.starts_with("user.") && !kind.starts_with("group.")).collect()
}

/// The id in the text of a key.
fn id_of(key: &str) -> &str {
    key.split('_').nth(1).expect("an id")
}

fn created(key: &str) -> (String, String) {
    ("key.created".to_owned(), format!("keys/{}", id_of(key)))
}

async fn rotate_and_revoke(service: &Service) -> Value {
    let key = service.new_key(&["users:read"]).await;
    let target = format!("/keys/{}", key["id"].as_str().expect("an id"));
    service.clock.step(1000);
    service.request("POST", &format!("{target}/rotate?overlap_s=60")).send().await.expect(200);
    service.clock.step(1000);
    service.delete(&target).await.expect(204);
    service.delete(&target).await.expect(204);
    key
}

pub(crate) async fn responses_of_audit_events(backend: Backend) {
    let service = backend.open().await;
    let mut page = Transcript::of(&service);
    let operator = service.new_operator_key(&["tenants:admin", "audit:read", "events:read"]).await;
    let operator = operator["key"].as_str().expect("a key").to_owned();
    let send = async |method: &str, target: &str, body: Value| {
        let request = service.request(method, target).bearer(&operator);
        let request = if body.is_null() { request } else { request.json(&body) };
        request.send().await
    };
    let acme = json!({"name": "acme", "display_name": "Acme Ltd", "users_max": 5});
    send("POST", "/tenants", acme).await.expect(201);
    send("PATCH", "/tenants/acme", json!({"status": "suspended"})).await.expect(200);
    page.note("keys and tenants", &send("GET", "/events", Value::Null).await);
    send("DELETE", "/tenants/acme", Value::Null).await.expect(204);
    send("POST", "/deleted-tenants/acme/restore", Value::Null).await.expect(200);
    send("DELETE", "/tenants/acme", Value::Null).await.expect(204);
    send("DELETE", "/deleted-tenants/acme", Value::Null).await.expect(204);
    page.note("after a purge", &send("GET", "/events?type=tenant.*", Value::Null).await);
    page.settle("audit_events");
}

pub(crate) async fn audit_events_need_a_scope_of_their_own(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    let revoked = rotate_and_revoke(&service).await;
    let reader = service.new_key(&["events:read"]).await;
    let auditor = service.new_key(&["events:read", "audit:read"]).await;
    let only_auditor = service.new_key(&["audit:read"]).await;
    let get = async |key: &Value, target: &str| {
        let key = key["key"].as_str().expect("a key");
        service.request("GET", target).bearer(key).send().await
    };
    let page = get(&reader, "/events").await.expect(200);
    assert_eq!(page.json()["items"], json!([]));
    assert!(page.header("roster-position").ends_with("-7"), "it reaches the end of the log");
    for target in [
        "/events?type=key.created",
        "/events?type=user.created,key.*",
        "/events?type=policy.changed",
        "/events?subject=settings",
        "/events?subject=keys/aaaaaaaaaa",
        "/events?subject=tenants/acme",
    ] {
        let refused = get(&reader, target).await.refused(403, "insufficient-scope");
        let challenge = refused.header("www-authenticate");
        assert!(challenge.contains("scope=\"audit:read\""), "{target}: {challenge}");
    }
    get(&only_auditor, "/events").await.refused(403, "insufficient-scope");

    let seen = items(&get(&auditor, "/events").await.expect(200).json());
    assert_eq!(seen.len(), 7);
    let target = format!("/events?subject=keys/{}", revoked["id"].as_str().expect("an id"));
    let history = items(&get(&auditor, &target).await.expect(200).json());
    let states: Vec<_> = history
        .iter()
        .map(|event| (&event["type"], &event["data"]["key"]["status"]))
        .map(|(kind, state)| (kind.as_str().expect("a type"), state.as_str().expect("a state")))
        .collect();
    let expected =
        [("key.created", "active"), ("key.rotated", "active"), ("key.revoked", "revoked")];
    assert_eq!(states, expected, "the second revocation changed nothing");
    assert!(!history.iter().any(|event| event.to_string().contains("rst_")), "no secret");
}

pub(crate) async fn hidden_events_take_no_places_of_a_page(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    let reader = service.new_key(&["events:read"]).await;
    for n in 0..3 {
        for _ in 0..4 {
            service.new_key(&["users:read"]).await;
        }
        service.user(json!({"username": format!("u{n}")})).await;
    }
    service.new_key(&["users:read"]).await;
    let key = reader["key"].as_str().expect("a key");
    for (sort, names) in [("position", ["u0", "u1", "u2"]), ("-position", ["u2", "u1", "u0"])] {
        let mut target = format!("/events?limit=1&sort={sort}");
        for name in names {
            let page = service.request("GET", &target).bearer(key).send().await.expect(200).json();
            assert_eq!(items(&page).len(), 1, "{target}");
            assert_eq!(page["items"][0]["data"]["user"]["username"], name);
            let cursor = page["next_cursor"].as_str().unwrap_or_default();
            target = format!("/events?limit=1&sort={sort}&cursor={cursor}");
        }
    }
}

pub(crate) async fn each_caller_sees_the_audit_events_of_its_own_keys(backend: Backend) {
    let tenants = Tenants::open(&backend).await;
    let Tenants { operator, default, keys: [of_acme, of_globex], .. } = &tenants;
    let tenant = |name: &str| ("tenant.created".to_owned(), format!("tenants/{name}"));
    let own = [created(operator), created(default), tenant("acme"), tenant("globex")];
    assert_eq!(audited(&tenants, operator, "/events").await, own);
    assert_eq!(audited(&tenants, default, "/events").await, [created(default)]);
    assert_eq!(audited(&tenants, of_acme, "/tenants/acme/events").await, [created(of_acme)]);
    assert_eq!(audited(&tenants, operator, "/tenants/acme/events").await, [created(of_acme)]);
    let mut all = audited(&tenants, operator, "/events?tenants=all").await;
    all.sort();
    let mut expected = own.to_vec();
    expected.extend([created(of_acme), created(of_globex)]);
    expected.sort();
    assert_eq!(all, expected);
    let get = async |key: &String, target| {
        tenants.send(Some(key.as_str()), "GET", target, &Value::Null).await
    };
    for target in ["/events?type=tenant.*", "/events?subject=tenants/acme"] {
        get(default, target).await.refused(403, "operator-key-required");
    }
    let elsewhere = "/tenants/acme/events?subject=tenants/globex";
    get(of_acme, elsewhere).await.refused(403, "operator-key-required");
    assert_eq!(get(operator, elsewhere).await.expect(200).json()["items"], json!([]));
}

pub(crate) async fn audit_events_can_be_selected_by_subject(backend: Backend) {
    let tenants = Tenants::open(&backend).await;
    let operator = tenants.operator.as_str();
    let send = async |method, target: &str| {
        tenants.send(Some(operator), method, target, &Value::Null).await
    };
    let subjects = async |target: &str| audited(&tenants, operator, target).await;
    let of_acme = [("tenant.created".to_owned(), "tenants/acme".to_owned())];
    assert_eq!(subjects("/events?subject=tenants/acme").await, of_acme);
    assert_eq!(subjects("/events?subject=tenants/nobody").await, []);
    assert_eq!(subjects("/events?subject=policy").await, []);
    let key = format!("/events?subject=keys/{}", id_of(&tenants.default));
    assert_eq!(subjects(&key).await, [created(&tenants.default)]);
    assert_eq!(subjects(&format!("{key}&type=key.revoked")).await, []);
    assert_eq!(subjects("/events?sort=-position&type=key.*&limit=1").await.len(), 1);

    send("DELETE", "/tenants/acme").await.expect(204);
    send("DELETE", "/deleted-tenants/acme").await.expect(204);
    assert_eq!(subjects("/events?subject=tenants/acme").await, [], "the name is forgotten");
    let purged = subjects("/events?subject=tenants/%231").await;
    let kinds: Vec<&str> = purged.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["tenant.created", "tenant.deleted", "tenant.purged"]);
    assert!(purged.iter().all(|(_, subject)| subject == "tenants/#1"), "{purged:?}");
    let page = send("GET", "/events?subject=tenants/%231").await.expect(200);
    assert!(!page.text().contains("acme"), "{}", page.text());
    for target in ["keys/short", "keys/aaaaaaaaa%C3%A9", "tenants/Acme", "tenants/%23x", "keys"] {
        let target = format!("/events?subject={target}");
        send("GET", &target).await.refused(400, "invalid-query");
    }
}

pub(crate) async fn streams_of_one_tenant_differ_by_scope(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    let stream = async |scopes: &[&str]| {
        let key = service.new_key(scopes).await;
        let key = key["key"].as_str().expect("a key").to_owned();
        open(streaming(&service, "/events?after=latest").bearer(&key)).await
    };
    let mut readers = [stream(&["events:read"]).await, stream(&["events:read"]).await];
    let mut auditor = stream(&["events:read", "audit:read"]).await;
    for n in 0..3 {
        service.new_key(&["users:read"]).await;
        service.user(json!({"username": format!("u{n}")})).await;
        for reader in &mut readers {
            assert_eq!(event(reader).await.1["data"]["user"]["username"], format!("u{n}"));
        }
        let kinds = [event(&mut auditor).await.1, event(&mut auditor).await.1];
        assert_eq!([&kinds[0]["type"], &kinds[1]["type"]], ["key.created", "user.created"]);
    }
}

pub(crate) async fn a_dry_run_of_a_tenant_is_no_audit_event(backend: Backend) {
    let service = backend.open().await;
    let operator = service.new_operator_key(&["tenants:admin"]).await;
    let operator = operator["key"].as_str().expect("a key");
    let request = service.request("POST", "/tenants?dry_run=true").bearer(operator);
    request.json(&json!({"name": "acme"})).send().await.expect(200);
    assert_eq!(service.head().await.position, 1);
}
