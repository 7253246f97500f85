//! Who may call what: each operation against each kind of credential.

use roster_core::access::Scope;
use roster_http::{
    PressureSettings,
    router::{Need, Operation, ROUTES},
};
use serde_json::{Value, json};

use crate::{
    client::{Reply, Request},
    service::{Service, Setup, Stage, path},
};

/// A target of the route: what it names need not be there.
fn target(route: &str) -> String {
    route
        .replace("{user_id}", "01a1f84a-963b-7c3e-9a41-5d2e8f604b17")
        .replace("{key_id}", "3hGk9PzQ7a")
        .replace("{code}", "user-not-found")
}

/// Every operation with its method and a target.
pub(crate) fn operations() -> Vec<(Operation, String, String)> {
    let mut all = Vec::new();
    for route in ROUTES {
        for (method, operation) in route.offers {
            all.push((*operation, method.to_string(), target(route.path)));
        }
    }
    all
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

pub(crate) async fn each_operation_takes_its_scope_and_no_other(stage: Stage) {
    let service = stage.open().await;
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

pub(crate) async fn no_credential_and_no_valid_one_open_nothing(stage: Stage) {
    // More bad credentials are tried here than anybody may.
    let pressure = PressureSettings { failed_auth_per_minute: 0, ..PressureSettings::default() };
    let service = stage.open_with(Setup { pressure, ..Setup::default() }).await;
    service.close().await;
    let revoked = service.new_key(&["users:read", "users:write", "keys:admin"]).await;
    let id = revoked["id"].as_str().expect("an id");
    service.delete(&format!("/keys/{id}")).await.expect(204);
    let revoked = revoked["key"].as_str().expect("a key");
    let whole = service.close().await;
    let whole = whole["key"].as_str().expect("a key");
    let mistyped = format!("{}{}", &whole[..whole.len() - 1], u8::from(whole.ends_with('0')));
    let stranger = "rst_0000000000_00000000000000000000000000000000_";
    for (operation, method, target) in operations() {
        let Need::Scope(_) = operation.needs() else { continue };
        let request = || asking(&service, operation, &method, &target).without("authorization");
        refused(request().send().await, operation);
        for token in [revoked, &mistyped, stranger, "x", "a.b.c"] {
            let reply = request().header("authorization", &format!("Bearer {token}")).send().await;
            let reply = refused(reply, operation);
            assert!(reply.header("www-authenticate").contains("invalid_token"), "{token}");
            assert!(!reply.text().contains(token) || token.len() < 8, "{}", reply.text());
        }
        for line in ["Basic YTpi", whole, "Bearer", ""] {
            refused(request().header("authorization", line).send().await, operation);
        }
        let twice = request().bearer(whole).header("authorization", "Bearer x");
        twice.send().await.refused(400, "invalid-request");
    }
}

pub(crate) async fn what_needs_nothing_stays_public(stage: Stage) {
    let service = stage.open().await;
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

pub(crate) async fn a_credential_is_judged_while_the_service_is_open_too(stage: Stage) {
    let service = stage.open().await;
    service.get("/users").await.expect(200);
    let wrong = service.request("GET", "/users").bearer("x").send().await;
    wrong.refused(401, "unauthenticated");
}

pub(crate) async fn the_first_key_closes_the_service_for_good(stage: Stage) {
    let service = stage.open().await;
    let user = service.user(json!({"username": "ada"})).await;
    let key = service.close().await;
    let bare = || service.request("GET", &path(&user)).without("authorization").send();
    bare().await.refused(401, "unauthenticated");
    let id = key["id"].as_str().expect("an id");
    service.delete(&format!("/keys/{id}")).await.expect(204);
    bare().await.refused(401, "unauthenticated");
}

pub(crate) async fn a_proxy_in_front_is_welcome_once_there_are_keys(stage: Stage) {
    let service = stage.open().await;
    let forwarded = || service.request("GET", "/users").header("x-forwarded-for", "192.0.2.1");
    forwarded().send().await.refused(403, "forwarded-request");
    service.close().await;
    forwarded().send().await.expect(200);
    // A page elsewhere is not.
    let foreign = service.request("GET", "/users").header("origin", "https://evil.example");
    foreign.send().await.refused(403, "foreign-origin");
}

pub(crate) async fn an_idempotency_key_belongs_to_its_caller(stage: Stage) {
    let service = stage.open().await;
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

pub(crate) async fn who_guesses_keys_is_told_to_wait_and_locks_nobody_out(stage: Stage) {
    let pressure = PressureSettings { failed_auth_per_minute: 5, ..PressureSettings::default() };
    let service = stage.open_with(Setup { pressure, ..Setup::default() }).await;
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

pub(crate) async fn each_key_has_an_allowance_of_its_own(stage: Stage) {
    let mut pressure = PressureSettings::default();
    (pressure.rate_limit_per_s, pressure.rate_limit_burst) = (1, 6);
    let service = stage.open_with(Setup { pressure, ..Setup::default() }).await;
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
