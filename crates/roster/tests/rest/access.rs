//! Access: each operation with each kind of credential.

use std::time::Duration;

use futures_util::future::join_all;
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

/// A target of the route, whose resources need not exist.
fn target(route: &str) -> String {
    let known = route.replace("{key_id}", "3hGk9PzQ7a").replace("{code}", "user-not-found");
    let known = known.replace("{tenant}", "nobody");
    let known = known.replace("{digest}/{file}", &format!("{}/app.js", roster_console::digest()));
    let parts = known.split('/').map(|part| if part.starts_with('{') { NOBODY } else { part });
    parts.collect::<Vec<_>>().join("/")
}

/// An unused id, for every target that names a user.
pub(crate) const NOBODY: &str = "01a1f84a-963b-7c3e-9a41-5d2e8f604b17";

/// Every operation of both interfaces, with its method and a target.
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

pub(crate) fn request_for<'a>(
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

/// Checks a 401 and its challenge.
fn refused(reply: Reply, operation: Operation) -> Reply {
    let challenge = reply.find("www-authenticate").map(str::to_owned);
    assert!(
        challenge.is_some_and(|challenge_text| challenge_text.starts_with("Bearer ")),
        "{}",
        operation.id()
    );
    reply.refused(401, "unauthenticated")
}

pub(crate) async fn each_operation_needs_its_scope_and_no_other(backend: Backend) {
    let service = backend.open().await;
    let admin = service.close_as_operator().await;
    let mut keys = Vec::new();
    for scope in Scope::ALL {
        keys.push((*scope, service.new_key(&[scope.as_str()]).await, false));
        keys.push((*scope, service.new_operator_key(&[scope.as_str()]).await, true));
    }
    let before = service.head().await;
    for (operation, method, target) in operations() {
        for (scope, key, is_operator) in &keys {
            let token = key["key"].as_str().expect("a key");
            let request = request_for(&service, operation, &method, &target).bearer(token);
            let reply = request.send().await;
            let place = format!("{} with {}", operation.id(), scope.as_str());
            match operation.needs() {
                Need::Scopes(needed) if needed != [*scope] => {
                    let reply = reply.refused(403, "insufficient-scope");
                    let challenge_text = reply.header("www-authenticate");
                    let needed: Vec<_> = needed.iter().map(|scope| scope.as_str()).collect();
                    let wanted = format!("scope=\"{}\"", needed.join(" "));
                    assert!(challenge_text.contains(&wanted), "{place}: {challenge_text}");
                }
                Need::Scopes(_) if operation.is_of_operator() && !is_operator => {
                    reply.refused(403, "operator-key-required");
                }
                Need::Scopes(_) | Need::Caller | Need::Nothing => {
                    assert!(![401, 403].contains(&reply.status()), "{place}: {}", reply.text());
                }
            }
        }
    }
    // The one key that may created one user. No other user changed.
    let after = service.head().await;
    assert_eq!((after.live(), after.deleted), (before.live() + 1, before.deleted));
    assert!(admin["id"].is_string());
}

/// Invalid keys, each with its defect. At the end the clock advances, so that one key expires.
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
        ("an unknown key", "rst_0000000000_00000000000000000000000000000000_".to_owned()),
        ("no key", "x".to_owned()),
        ("a token of no issuer", "a.b.c".to_owned()),
    ]
}

pub(crate) async fn a_missing_or_invalid_credential_is_401(backend: Backend) {
    // This test sends more bad credentials than the default limit allows.
    let pressure = AdmissionSettings { failed_auth_per_minute: 0, ..AdmissionSettings::default() };
    let service = backend.open_with(Setup { pressure, ..Setup::default() }).await;
    let whole = service.close().await;
    let whole = whole["key"].as_str().expect("a key");
    let bad = bad_keys(&service, whole).await;
    let before = service.head().await;
    for (operation, method, target) in operations() {
        if operation.needs() == Need::Nothing {
            continue;
        }
        let request =
            || request_for(&service, operation, &method, &target).without("authorization");
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

/// The headers that a browser sends for a page of another origin.
pub(crate) const FOREIGN_PAGES: [&[(&str, &str)]; 6] = [
    &[("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")],
    &[("origin", "null"), ("sec-fetch-site", "cross-site")],
    &[("origin", "http://roster.test:81"), ("sec-fetch-site", "same-site")],
    &[("origin", "https://evil.example")],
    &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")],
    &[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "no-cors")],
];

/// No operation is executed for a foreign page, with this credential or without one, and no
/// preflight succeeds.
pub(crate) async fn foreign_pages_are_rejected(service: &Service, credential: &str) {
    let before = service.head().await;
    for (operation, method, target) in operations() {
        if operation.is_health() {
            continue;
        }
        let bare = || request_for(service, operation, &method, &target).without("authorization");
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
                let challenge_text =
                    headers.iter().any(|(name, _)| name.starts_with("access-control-"));
                assert!(!challenge_text, "{} for {page:?}", operation.id());
            }
        }
    }
    assert_eq!(service.head().await, before);
}

pub(crate) async fn a_foreign_page_with_a_key_is_403(backend: Backend) {
    let service = backend.open().await;
    let key = service.close().await;
    foreign_pages_are_rejected(&service, key["key"].as_str().expect("a key")).await;
}

pub(crate) async fn operations_without_a_scope_stay_public(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    for (operation, method, target) in operations() {
        if operation.needs() != Need::Nothing {
            continue;
        }
        let bare = service.request(&method, &target).without("authorization");
        assert!(matches!(bare.send().await.status(), 200 | 204), "{}", operation.id());
        // These operations do not check credentials.
        let wrong = service.request(&method, &target).bearer("x");
        assert!(matches!(wrong.send().await.status(), 200 | 204), "{}", operation.id());
    }
}

pub(crate) async fn an_open_service_rejects_an_invalid_credential(backend: Backend) {
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

pub(crate) async fn of_many_first_keys_at_once_one_is_created(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"name": "first", "scopes": ["keys:admin"], "tenants": "all"});
    let create = || service.request("POST", "/keys").json(&body).send();
    let replies = join_all((0..8).map(|_| create())).await;
    let mut statuses: Vec<u16> = replies.iter().map(Reply::status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 401, 401, 401, 401, 401, 401, 401]);
    assert_eq!(service.head().await.position, 1);
}

pub(crate) async fn requests_through_a_proxy_are_served_once_a_key_exists(backend: Backend) {
    let service = backend.open().await;
    let forwarded = || service.request("GET", "/users").header("x-forwarded-for", "192.0.2.1");
    forwarded().send().await.refused(403, "forwarded-request");
    service.close().await;
    forwarded().send().await.expect(200);
    // Pages of other origins are still rejected.
    let foreign = service.request("GET", "/users").header("origin", "https://evil.example");
    foreign.send().await.refused(403, "foreign-origin");
}

pub(crate) async fn a_store_that_loses_its_keys_does_not_open_the_service(backend: Backend) {
    let service = backend.open().await;
    service.user(json!({"username": "ada"})).await;
    let key = service.close().await;
    service.store.lose_keys();
    // The keys are cached for a second.
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
        if operation.needs() != Need::Nothing {
            let bare = request_for(&service, operation, &method, &target).without("authorization");
            refused(bare.send().await, operation);
        }
    }
    assert_eq!(service.head().await.position, 2, "no request wrote anything");
}

pub(crate) async fn a_service_that_requires_a_key_is_never_open(backend: Backend) {
    let service = backend.open_with(Setup { require_key: true, ..Setup::default() }).await;
    assert!(!service.app.is_open());
    for (operation, method, target) in operations() {
        let bare = || request_for(&service, operation, &method, &target);
        match operation.needs() {
            Need::Scopes(_) | Need::Caller => {
                refused(bare().send().await, operation);
                // Requests through a proxy are not rejected, because they need a key anyway.
                let forwarded = bare().header("x-forwarded-for", "192.0.2.1");
                refused(forwarded.send().await, operation);
            }
            Need::Nothing => {
                assert!(matches!(bare().send().await.status(), 200 | 204), "{}", operation.id());
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

pub(crate) async fn guesses_are_429_and_lock_out_no_other_caller(backend: Backend) {
    let pressure = AdmissionSettings { failed_auth_per_minute: 5, ..AdmissionSettings::default() };
    let service = backend.open_with(Setup { pressure, ..Setup::default() }).await;
    service.close().await;
    let key = service.new_key(&["users:read"]).await;
    let padded = format!("Bearer {}  ", key["key"].as_str().expect("a key"));
    let sending = |line: &str| {
        let request = service.request("GET", "/users").without("authorization");
        request.header("authorization", line).send()
    };
    let padded = || sending(&padded);
    service.get("/users").await.expect(200);
    padded().await.expect(200);
    // HTTP/2 keeps the spaces behind a value.
    let guess = || sending("Bearer x  ");
    for _ in 0..5 {
        guess().await.refused(401, "unauthenticated");
    }
    let waits = guess().await.refused(429, "rate-limited");
    assert!(waits.find("retry-after").is_some());
    // A key that was accepted from this address still works, and so do requests that need no key.
    service.get("/users").await.expect(200);
    padded().await.expect(200);
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
        let page = format!("{list}?limit=1");
        let first = ask(&tokens[0], &page).await.expect(200);
        // A tag means the page with its cursor, so it belongs to the caller too.
        for (token, status) in [(&tokens[0], 304), (&tokens[1], 200)] {
            let again = service.request("GET", &page).bearer(token);
            again.header("if-none-match", first.header("etag")).send().await.expect(status);
        }
        let first = first.json();
        let cursor = first["next_cursor"].as_str().expect("there is more");
        let next = format!("{list}?limit=1&cursor={cursor}");
        ask(&tokens[0], &next).await.expect(200);
        ask(&tokens[1], &next).await.refused(400, "invalid-cursor");
    }
}
