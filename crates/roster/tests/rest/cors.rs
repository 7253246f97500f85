//! CORS: pages of listed origins may call with a key, and no other page learns anything.

use roster_core::UserSchema;
use std::collections::BTreeSet;

use roster_http::description;
use serde_json::{Value, json};

use crate::{
    client::{Reply, Request},
    service::{Backend, Service, Setup, path},
};

const ADMIN: &str = "https://admin.example";
const OTHER: &str = "http://localhost:3000";

async fn listing(backend: &Backend) -> Service {
    backend.open_with(Setup { cors_origins: &[ADMIN, OTHER], ..Setup::default() }).await
}

/// A request as a browser sends it for a page of this origin.
fn from_page<'a>(service: &'a Service, method: &str, target: &str, origin: &str) -> Request<'a> {
    let request = service.request(method, target).header("origin", origin);
    request.header("sec-fetch-site", "cross-site").header("sec-fetch-mode", "cors")
}

/// The preflight of a browser.
fn preflight<'a>(service: &'a Service, wanted: &str, target: &str, origin: &str) -> Request<'a> {
    let request = from_page(service, "OPTIONS", target, origin).without("authorization");
    let request = request.header("access-control-request-method", wanted);
    request.header("access-control-request-headers", "authorization,content-type")
}

fn names(list: &str) -> BTreeSet<&str> {
    list.split(',').map(str::trim).collect()
}

/// The CORS headers of a response.
fn told(reply: &Reply) -> Vec<&str> {
    let headers = reply.exchange.response_headers.iter();
    let names = headers.map(|(name, _)| name.as_str());
    names.filter(|name| name.starts_with("access-control-")).collect()
}

fn varies(reply: &Reply) -> bool {
    let by_origin = ("vary".to_owned(), "Origin".to_owned());
    reply.exchange.response_headers.contains(&by_origin)
}

fn granted(reply: &Reply, origin: &str) {
    assert_eq!(reply.header("access-control-allow-origin"), origin);
    assert!(names(reply.header("access-control-expose-headers")).contains("etag"));
    assert_eq!(reply.find("access-control-allow-credentials"), None);
    assert!(varies(reply));
}

pub(crate) async fn a_page_must_name_the_media_type_of_a_scim_body(backend: Backend) {
    let service = listing(&backend).await;
    service.close().await;
    let body = json!({"userName": "ada"}).to_string();
    let bare = from_page(&service, "POST", "/scim/v2/Users", ADMIN).bytes(body.clone());
    assert_eq!(bare.unwitnessed().await.status(), 415);
    let foreign = from_page(&service, "POST", "/scim/v2/Users", "https://x.example").bytes(body);
    assert_eq!(foreign.unwitnessed().await.status(), 403);
}

pub(crate) async fn pages_of_a_listed_origin_read_and_write_with_a_key(backend: Backend) {
    let service = listing(&backend).await;
    service.close().await;
    for (origin, name) in [(ADMIN, "ada"), (OTHER, "grace")] {
        let create = from_page(&service, "POST", "/users", origin);
        let created = create.json(&json!({"username": name})).send().await.expect(201);
        granted(&created, origin);
        let target = path(&created.json());
        granted(&from_page(&service, "GET", &target, origin).send().await.expect(200), origin);
        granted(&from_page(&service, "GET", "/users", origin).send().await.expect(200), origin);
        granted(&from_page(&service, "DELETE", &target, origin).send().await.expect(204), origin);
    }
    granted(&from_page(&service, "GET", "/livez", ADMIN).send().await.expect(200), ADMIN);
    // Other clients get the same responses as without CORS, plus `Vary` for caches.
    let plain = service.get("/users").await.expect(200);
    assert!(told(&plain).is_empty() && varies(&plain));
}

pub(crate) async fn a_preflight_names_the_methods_of_its_path(backend: Backend) {
    let service = listing(&backend).await;
    let user = path(&service.user(json!({"username": "ada"})).await);
    service.close().await;
    for (target, methods) in [
        ("/users", "GET, HEAD, POST, OPTIONS"),
        ("/bulk/users", "GET, HEAD, POST, PATCH, DELETE, OPTIONS"),
        (&user, "GET, HEAD, PUT, PATCH, DELETE, OPTIONS"),
        ("/events", "GET, HEAD, OPTIONS"),
    ] {
        let reply = preflight(&service, "PUT", target, ADMIN).send().await.expect(204);
        granted(&reply, ADMIN);
        assert_eq!(reply.header("access-control-allow-methods"), methods);
        assert!(names(reply.header("access-control-allow-headers")).contains("authorization"));
        assert_eq!(reply.header("access-control-max-age"), "7200");
    }
    let reply = preflight(&service, "GET", "/nothing", ADMIN).send().await;
    granted(&reply.refused(404, "not-found"), ADMIN);
    let bare = from_page(&service, "OPTIONS", "/users", ADMIN).send().await.expect(204);
    assert_eq!(bare.find("access-control-allow-methods"), None);
}

pub(crate) async fn an_unlisted_origin_gets_no_cors_headers(backend: Backend) {
    let service = listing(&backend).await;
    let user = path(&service.user(json!({"username": "ada"})).await);
    service.close().await;
    let before = service.head().await.position;
    for origin in [
        "https://evil.example",
        "http://admin.example",
        "https://admin.example:8443",
        "https://admin.example.evil.example",
        "https://evil.admin.example",
        "https://ADMIN.example",
        "https://admin.example/",
        "https://admin.example, https://evil.example",
        "http://localhost",
        "null",
        "*",
        "",
    ] {
        for (method, target) in [("GET", "/users"), ("DELETE", &user), ("GET", "/docs")] {
            let reply = from_page(&service, method, target, origin).send().await;
            let reply = reply.refused(403, "foreign-origin");
            assert!(told(&reply).is_empty(), "{origin}");
            assert!(varies(&reply), "{origin}");
            let reply = preflight(&service, method, target, origin).send().await;
            assert!(told(&reply.refused(403, "foreign-origin")).is_empty(), "{origin}");
        }
    }
    let both = from_page(&service, "GET", "/users", ADMIN).header("origin", OTHER).send().await;
    assert!(told(&both.refused(403, "foreign-origin")).is_empty());
    // A resource that a page embeds is requested without `Origin`, and is rejected for a listed
    // origin too.
    let loaded = service.request("GET", "/users").header("sec-fetch-site", "cross-site");
    assert!(told(&loaded.send().await.refused(403, "foreign-origin")).is_empty());
    let elsewhere = from_page(&service, "GET", "/users", ADMIN).host("evil.example").send().await;
    elsewhere.refused(421, "misdirected-request");
    assert_eq!(service.head().await.position, before);
}

pub(crate) async fn no_origin_is_listed_until_a_key_exists(backend: Backend) {
    let service = listing(&backend).await;
    let requests = [("GET", "/users"), ("POST", "/users"), ("POST", "/keys"), ("GET", "/")];
    for (method, target) in requests {
        let reply = from_page(&service, method, target, ADMIN).json(&json!({})).send().await;
        assert!(told(&reply.refused(403, "foreign-origin")).is_empty());
        let reply = preflight(&service, method, target, ADMIN).send().await;
        assert!(told(&reply.refused(403, "foreign-origin")).is_empty());
    }
    service.close().await;
    granted(&from_page(&service, "GET", "/users", ADMIN).send().await.expect(200), ADMIN);
}

pub(crate) async fn an_error_response_has_cors_headers(backend: Backend) {
    let service = listing(&backend).await;
    service.close().await;
    let page = |method, target| from_page(&service, method, target, ADMIN);
    let nobody = page("GET", "/users").without("authorization").send().await;
    let nobody = nobody.refused(401, "unauthenticated");
    granted(&nobody, ADMIN);
    assert!(names(nobody.header("access-control-expose-headers")).contains("www-authenticate"));
    let bad = page("POST", "/users").json(&json!({"password": "x"})).send().await;
    granted(&bad.expect(422), ADMIN);
    granted(&page("GET", "/users/ada").send().await.refused(404, "user-not-found"), ADMIN);
    granted(&page("PUT", "/users").send().await.refused(405, "method-not-allowed"), ADMIN);
    let form = page("POST", "/users").body("text/plain", r#"{"username":"ada"}"#).send().await;
    granted(&form.refused(415, "unsupported-media-type"), ADMIN);
}

/// The names below every member called `headers`.
fn documented(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if let Some(headers) = value.as_object().filter(|_| name == "headers") {
                    let references = headers.values().any(|header| header.get("$ref").is_some());
                    let names = headers.keys().map(|name| name.to_ascii_lowercase());
                    found.extend(names.filter(|_| references));
                }
                documented(value, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| documented(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

pub(crate) async fn a_page_may_read_and_send_every_documented_header(backend: Backend) {
    let service = listing(&backend).await;
    service.close().await;
    let reply = preflight(&service, "GET", "/users", ADMIN).send().await.expect(204);
    let document: Value =
        serde_json::from_slice(&description::openapi("http://roster.test", &UserSchema::default()))
            .expect("JSON");
    let mut answered = BTreeSet::new();
    documented(&document, &mut answered);
    assert!(answered.len() > 10, "{answered:?}");
    let exposed = names(reply.header("access-control-expose-headers"));
    // Those of the console's sessions are for its own pages.
    let own = ["cache-control", "clear-site-data", "set-cookie"];
    for name in answered.iter().filter(|name| !own.contains(&name.as_str())) {
        assert!(exposed.contains(name.as_str()), "{name}");
    }
    let allowed = names(reply.header("access-control-allow-headers"));
    let parameters = document["components"]["parameters"].as_object().expect("parameters");
    let sent = parameters.values().filter(|one| one["in"] == "header");
    let sent: Vec<String> =
        sent.map(|one| one["name"].as_str().expect("a name").to_ascii_lowercase()).collect();
    assert!(sent.len() > 3, "{sent:?}");
    for name in &sent {
        assert!(allowed.contains(name.as_str()), "{name}");
    }
}
