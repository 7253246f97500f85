//! Who may call what: each operation against each kind of credential.

use std::time::Duration;

use roster_core::access::Scope;
use roster_http::{
    AdmissionSettings,
    operation::{Need, Operation},
};
use serde_json::{Value, json};

use crate::{
    client::{Reply, Request},
    service::{Backend, Service, Setup, path},
};

/// A target of the route: what it names need not be there.
fn target(route: &str) -> String {
    let known = route.replace("{key_id}", "3hGk9PzQ7a").replace("{code}", "user-not-found");
    let parts = known.split('/').map(|part| if part.starts_with('{') { NOBODY } else { part });
    parts.collect::<Vec<_>>().join("/")
}

/// The id of nobody, in every target that names a user.
pub(crate) const NOBODY: &str = "01a1f84a-963b-7c3e-9a41-5d2e8f604b17";

/// Every operation of every face, with its method and a target.
pub(crate) fn operations() -> Vec<(Operation, String, String)> {
    let case = |operation: Operation| {
        (operation, operation.method().to_string(), target(operation.path()))
    };
    Operation::ALL.iter().copied().map(case).collect()
}

fn body(operation: Operation) -> Option<Value> {
    let users = [Operation::CreateUser, Operation::ReplaceUser, Operation::PatchUser];
    if operation == Operation::CreateKey {
        return Some(json!({"name": "one", "scopes": ["scim"]}));
    }
    users.contains(&operation).then(|| json!({"username": "grace"}))
}

pub(crate) fn asking<'a>(
    service: &'a Service,
    operation: Operation,
    method: &str,
    target: &str,
) -> Request<'a> {
    let request = service.request(method, target);
    match body(operation) {
        Some(body) => request.json(&body),
        None => request,
    }
}

/// Refused for want of a credential that lets in.
fn refused(reply: Reply, operation: Operation) -> Reply {
    let challenge = reply.find("www-authenticate").map(str::to_owned);
    assert!(challenge.is_some_and(|told| told.starts_with("Bearer ")), "{}", operation.id());
    reply.refused(401, "unauthenticated")
}

pub(crate) async fn each_operation_takes_its_scope_and_no_other(backend: Backend) {
    let service = backend.open().await;
    let admin = service.close().await;
    let mut keys = Vec::new();
    for scope in Scope::ALL {
        keys.push((*scope, service.new_key(&[scope.as_str()]).await));
    }
    let before = service.head().await;
    for (operation, method, target) in operations() {
        for (scope, key) in &keys {
            let token = key["key"].as_str().expect("a key");
            let request = asking(&service, operation, &method, &target).bearer(token);
            let reply = request.send().await;
            let place = format!("{} with {}", operation.id(), scope.as_str());
            match operation.needs() {
                Need::Scope(needed) if needed != *scope => {
                    let reply = reply.refused(403, "insufficient-scope");
                    let told = reply.header("www-authenticate");
                    let wanted = format!("scope=\"{}\"", needed.as_str());
                    assert!(told.contains(&wanted), "{place}: {told}");
                }
                Need::Scope(_) | Need::Nothing => {
                    assert!(![401, 403].contains(&reply.status()), "{place}: {}", reply.text());
                }
            }
        }
    }
    // One user was created by the one key that may, and nothing else was touched.
    assert_eq!(service.head().await.position, before.position + 1);
    assert!(admin["id"].is_string());
}

/// Keys that open nothing, each by its fault; the last thing that happens is that time goes by.
async fn bad_keys(service: &Service, whole: &str) -> Vec<(&'static str, String)> {
    let text = |key: &Value| key["key"].as_str().expect("a key").to_owned();
    let at = |key: &Value| format!("/keys/{}", key["id"].as_str().expect("an id"));
    let all: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    let revoked = service.new_key(&all).await;
    service.delete(&at(&revoked)).await.expect(204);
    let rotated = service.new_key(&all).await;
    let rotate = service.request("POST", &format!("{}/rotate?overlap_s=0", at(&rotated)));
    rotate.send().await.expect(200);
    let body = json!({"name": "short", "scopes": all, "expires_at": "2026-01-01T01:00:00Z"});
    let short = service.request("POST", "/keys").json(&body).send().await.expect(201).json();
    service.clock.step(3_600_000);
    let other = u8::from(whole.ends_with('0'));
    let secret = whole.split('_').nth(2).expect("a secret");
    vec![
        ("revoked", text(&revoked)),
        ("expired", text(&short)),
        ("its secret was replaced", text(&rotated)),
        ("mistyped", format!("{}{other}", &whole[..whole.len() - 1])),
        ("cut off", whole[..whole.len() - 1].to_owned()),
        ("changed within", whole.replacen(char::is_numeric, "z", 1)),
        ("without a checksum", whole[..whole.len() - 7].to_owned()),
        ("a secret alone", secret.to_owned()),
        ("nobody's", "rst_0000000000_00000000000000000000000000000000_".to_owned()),
        ("no key", "x".to_owned()),
        ("a token that nobody can judge", "a.b.c".to_owned()),
    ]
}

pub(crate) async fn no_credential_and_no_valid_one_open_nothing(backend: Backend) {
    // More bad credentials are tried here than anybody may.
    let pressure = AdmissionSettings { failed_auth_per_minute: 0, ..AdmissionSettings::default() };
    let service = backend.open_with(Setup { pressure, ..Setup::default() }).await;
    let whole = service.close().await;
    let whole = whole["key"].as_str().expect("a key");
    let bad = bad_keys(&service, whole).await;
    let before = service.head().await;
    for (operation, method, target) in operations() {
        let Need::Scope(_) = operation.needs() else { continue };
        let request = || asking(&service, operation, &method, &target).without("authorization");
        refused(request().send().await, operation);
        for (fault, key) in &bad {
            let reply = request().header("authorization", &format!("Bearer {key}")).send().await;
            let reply = refused(reply, operation);
            assert!(reply.header("www-authenticate").contains("invalid_token"), "{fault}");
            assert!(!reply.text().contains(key) || key.len() < 8, "{fault}: {}", reply.text());
        }
        for line in ["Basic YTpi", whole, "Bearer", ""] {
            refused(request().header("authorization", line).send().await, operation);
        }
        let twice = request().bearer(whole).header("authorization", "Bearer x");
        twice.send().await.refused(400, "invalid-request");
    }
    assert_eq!(service.head().await, before);
    service.get("/users").await.expect(200);
}

/// How a browser sends a request of a page that is not ours.
pub(crate) const FOREIGN_PAGES: [&[(&str, &str)]; 6] = [
    &[("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")],
    &[("origin", "null"), ("sec-fetch-site", "cross-site")],
    &[("origin", "http://roster.test:81"), ("sec-fetch-site", "same-site")],
    &[("origin", "https://evil.example")],
    &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")],
    &[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "no-cors")],
];

/// No operation is carried out for a foreign page, with this credential or without one, and no
/// preflight of it is granted.
pub(crate) async fn foreign_pages_are_kept_out(service: &Service, credential: &str) {
    let before = service.head().await;
    for (operation, method, target) in operations() {
        if operation.is_health() {
            continue;
        }
        let bare = || asking(service, operation, &method, &target).without("authorization");
        for page in FOREIGN_PAGES {
            let preflight = service.request("OPTIONS", &target).without("authorization");
            let preflight = preflight
                .header("access-control-request-method", &method)
                .header("access-control-request-headers", "authorization,content-type");
            for request in [bare(), bare().bearer(credential), preflight] {
                let sent =
                    page.iter().fold(request, |request, (name, value)| request.header(name, value));
                let reply = sent.send().await;
                let reply = reply.refused(403, "foreign-origin");
                let headers = &reply.exchange.response_headers;
                let told = headers.iter().any(|(name, _)| name.starts_with("access-control-"));
                assert!(!told, "{} for {page:?}", operation.id());
            }
        }
    }
    assert_eq!(service.head().await, before);
}

pub(crate) async fn no_foreign_page_acts_with_a_key(backend: Backend) {
    let service = backend.open().await;
    let key = service.close().await;
    foreign_pages_are_kept_out(&service, key["key"].as_str().expect("a key")).await;
}

pub(crate) async fn what_needs_nothing_stays_public(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    for (operation, method, target) in operations() {
        if operation.needs() != Need::Nothing {
            continue;
        }
        let bare = service.request(&method, &target).without("authorization");
        bare.send().await.expect(200);
        // A credential that nobody asked for is not judged.
        let wrong = service.request(&method, &target).bearer("x");
        wrong.send().await.expect(200);
    }
}

pub(crate) async fn a_credential_is_judged_while_the_service_is_open_too(backend: Backend) {
    let service = backend.open().await;
    service.get("/users").await.expect(200);
    let wrong = service.request("GET", "/users").bearer("x").send().await;
    wrong.refused(401, "unauthenticated");
}

pub(crate) async fn the_first_key_closes_the_service_for_good(backend: Backend) {
    let service = backend.open().await;
    let user = service.user(json!({"username": "ada"})).await;
    let key = service.close().await;
    let bare = || service.request("GET", &path(&user)).without("authorization").send();
    bare().await.refused(401, "unauthenticated");
    let id = key["id"].as_str().expect("an id");
    service.delete(&format!("/keys/{id}")).await.expect(204);
    bare().await.refused(401, "unauthenticated");
}

pub(crate) async fn a_proxy_in_front_is_welcome_once_there_are_keys(backend: Backend) {
    let service = backend.open().await;
    let forwarded = || service.request("GET", "/users").header("x-forwarded-for", "192.0.2.1");
    forwarded().send().await.refused(403, "forwarded-request");
    service.close().await;
    forwarded().send().await.expect(200);
    // A page elsewhere is not.
    let foreign = service.request("GET", "/users").header("origin", "https://evil.example");
    foreign.send().await.refused(403, "foreign-origin");
}

pub(crate) async fn a_store_that_loses_its_keys_does_not_open_the_service(backend: Backend) {
    let service = backend.open().await;
    service.user(json!({"username": "ada"})).await;
    let key = service.close().await;
    service.store.lose_keys();
    // The key is checked against the keys of a second ago.
    let mut status = 200;
    for _ in 0..200 {
        status = service.get("/users").await.status();
        if status == 401 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(status, 401, "the store has lost the key");
    assert!(key["id"].is_string() && !service.app.is_open());
    for (operation, method, target) in operations() {
        if let Need::Scope(_) = operation.needs() {
            let bare = asking(&service, operation, &method, &target).without("authorization");
            refused(bare.send().await, operation);
        }
    }
    assert_eq!(service.head().await.position, 1, "nothing else was written");
}

pub(crate) async fn a_service_that_requires_a_key_is_never_open(backend: Backend) {
    let service = backend.open_with(Setup { require_key: true, ..Setup::default() }).await;
    assert!(!service.app.is_open());
    for (operation, method, target) in operations() {
        let bare = || asking(&service, operation, &method, &target);
        match operation.needs() {
            Need::Scope(_) => {
                refused(bare().send().await, operation);
                // A proxy is no reason to refuse: its callers need a key.
                let forwarded = bare().header("x-forwarded-for", "192.0.2.1");
                refused(forwarded.send().await, operation);
            }
            Need::Nothing => {
                bare().send().await.expect(200);
            }
        }
    }
    assert_eq!(service.head().await.position, 0);
}

pub(crate) async fn a_new_key_from_a_locked_address_is_admitted(backend: Backend) {
    let pressure = AdmissionSettings { failed_auth_per_minute: 5, ..AdmissionSettings::default() };
    let service = backend.open_with(Setup { pressure, ..Setup::default() }).await;
    service.close().await;
    let key = service.new_key(&["users:read"]).await;
    let revoked = service.new_key(&["users:read"]).await;
    let at = format!("/keys/{}", revoked["id"].as_str().expect("an id"));
    service.delete(&at).await.expect(204);
    let ask = |token: &str| service.request("GET", "/users").bearer(token).send();
    for _ in 0..5 {
        ask("x").await.refused(401, "unauthenticated");
    }
    ask("x").await.refused(429, "rate-limited");
    // The response to a well-formed guess reveals nothing.
    for _ in 0..50 {
        ask(revoked["key"].as_str().expect("a key")).await.refused(429, "rate-limited");
    }
    ask(key["key"].as_str().expect("a key")).await.expect(200);
    ask("x").await.refused(429, "rate-limited");
}

pub(crate) async fn an_idempotency_key_belongs_to_its_caller(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    let send = |token: String, name: &'static str| {
        let request = service.request("POST", "/users").bearer(&token);
        request.header("idempotency-key", "one").json(&json!({"username": name})).send()
    };
    let mut made = Vec::new();
    for name in ["ada", "grace"] {
        let key = service.new_key(&["users:write"]).await;
        let token = key["key"].as_str().expect("a key").to_owned();
        made.push(send(token, name).await.expect(201).json());
    }
    assert_ne!(made[0]["id"], made[1]["id"]);
}

pub(crate) async fn who_guesses_keys_is_told_to_wait_and_locks_nobody_out(backend: Backend) {
    let pressure = AdmissionSettings { failed_auth_per_minute: 5, ..AdmissionSettings::default() };
    let service = backend.open_with(Setup { pressure, ..Setup::default() }).await;
    service.close().await;
    service.get("/users").await.expect(200);
    let guess = || service.request("GET", "/users").bearer("x").send();
    for _ in 0..5 {
        guess().await.refused(401, "unauthenticated");
    }
    let waits = guess().await.refused(429, "rate-limited");
    assert!(waits.find("retry-after").is_some());
    // A key that has proved itself from here is let through; nobody without one is held up.
    service.get("/users").await.expect(200);
    service.get("/").await.expect(200);
    let bare = service.request("GET", "/users").without("authorization");
    bare.send().await.refused(401, "unauthenticated");
}

pub(crate) async fn each_key_has_an_allowance_of_its_own(backend: Backend) {
    let mut pressure = AdmissionSettings::default();
    (pressure.rate_limit_per_s, pressure.rate_limit_burst) = (1, 6);
    let service = backend.open_with(Setup { pressure, ..Setup::default() }).await;
    service.close().await;
    let one = service.new_key(&["users:read"]).await;
    let one = one["key"].as_str().expect("a key");
    for _ in 0..6 {
        let reply = service.request("GET", "/users").bearer(one).send().await.expect(200);
        assert_eq!(reply.header("ratelimit-policy"), "\"default\";q=6;w=6");
    }
    let refused = service.request("GET", "/users").bearer(one).send().await;
    refused.refused(429, "rate-limited");
    service.get("/users").await.expect(200);
}

pub(crate) async fn a_cursor_belongs_to_its_caller(backend: Backend) {
    let service = backend.open().await;
    let group = service.group("Engines").await;
    for name in ["ada", "grace"] {
        let user = service.user(json!({"username": name})).await;
        service.join(&group, &user).await;
        service.left(json!({"username": format!("gone-{name}")})).await;
        service.group(name).await;
    }
    service.close().await;
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let key = service.new_key(&["users:read", "users:write"]).await;
        tokens.push(key["key"].as_str().expect("a key").to_owned());
    }
    let members = format!("/groups/{}/members", group["id"].as_str().expect("an id"));
    for list in ["/users", "/deleted-users", "/groups", &members] {
        let ask = |token: &str, target: &str| service.request("GET", target).bearer(token).send();
        let first = ask(&tokens[0], &format!("{list}?limit=1")).await.expect(200).json();
        let cursor = first["next_cursor"].as_str().expect("there is more");
        let next = format!("{list}?limit=1&cursor={cursor}");
        ask(&tokens[0], &next).await.expect(200);
        ask(&tokens[1], &next).await.refused(400, "invalid-cursor");
    }
}
