//! Entity tags and conditional requests (RFC 9110 sections 8.8 and 13).

use serde_json::{Value, json};

use crate::{
    client::Reply,
    service::{Backend, Service, path},
};

async fn at_version_two(service: &Service) -> Value {
    let user = service.user(json!({"username": "ada"})).await;
    service.patch(&user, json!({"name": "Ada"})).await.expect(200).json()
}

async fn conditional(
    service: &Service,
    method: &str,
    user: &Value,
    held: &[(&str, &str)],
    body: Option<Value>,
) -> Reply {
    let mut request = service.request(method, &path(user));
    for (name, value) in held {
        request = request.header(name, value);
    }
    match body {
        Some(body) => request.json(&body).send().await,
        None => request.send().await,
    }
}

pub(crate) async fn the_tag_of_a_user_is_its_version_and_strong(backend: Backend) {
    let service = backend.open().await;
    let user = at_version_two(&service).await;
    let reply = service.get(&path(&user)).await.expect(200);
    assert_eq!(reply.header("etag"), "\"2\"");
    assert_eq!(reply.json()["version"], 2);
}

pub(crate) async fn if_match_accepts_the_named_versions(backend: Backend) {
    let service = backend.open().await;
    let user = at_version_two(&service).await;
    let rows = [
        ("\"2\"", true),
        ("\"1\", \"2\"", true),
        ("W/\"1\" ,\"2\"", true),
        ("*", true),
        ("\"1\"", false),
        // A weak tag never matches strongly (RFC 9110 section 13.1.1).
        ("W/\"2\"", false),
        ("\"02\"", false),
        ("\"abc\"", false),
    ];
    for (tags, holds) in rows {
        let held = [("if-match", tags)];
        for (method, body) in [
            ("GET", None),
            ("HEAD", None),
            ("PUT", Some(json!({"name": "Ada"}))),
            ("PATCH", Some(json!({"name": "Ada"}))),
        ] {
            let reply = conditional(&service, method, &user, &held, body).await;
            assert_eq!(reply.status(), if holds { 200 } else { 412 }, "{method} {tags}");
        }
        if !holds {
            let reply = conditional(&service, "DELETE", &user, &held, None).await;
            reply.refused(412, "version-mismatch");
        }
    }
    let lines = [("if-match", "\"1\""), ("if-match", "\"2\"")];
    conditional(&service, "GET", &user, &lines, None).await.expect(200);
    conditional(&service, "DELETE", &user, &lines, None).await.expect(204);
}

pub(crate) async fn if_none_match_answers_a_read_304_and_a_write_412(backend: Backend) {
    let service = backend.open().await;
    let user = at_version_two(&service).await;
    let rows = [
        ("\"2\"", true),
        ("W/\"2\"", true),
        ("\"7\", W/\"2\"", true),
        ("*", true),
        ("\"1\"", false),
        ("\"x\"", false),
    ];
    for (tags, holds) in rows {
        let held = [("if-none-match", tags)];
        for method in ["GET", "HEAD"] {
            let reply = conditional(&service, method, &user, &held, None).await;
            let reply = reply.expect(if holds { 304 } else { 200 });
            assert_eq!(reply.header("etag"), "\"2\"");
            assert_eq!(reply.header("cache-control"), "private, no-cache");
            assert_eq!(reply.find("content-type").is_some(), !holds);
        }
        let body = json!({"name": "Ada"});
        let reply = conditional(&service, "PUT", &user, &held, Some(body)).await;
        reply.expect(if holds { 412 } else { 200 });
    }
    conditional(&service, "DELETE", &user, &[("if-none-match", "*")], None).await.expect(412);
}

pub(crate) async fn if_match_is_evaluated_before_if_none_match(backend: Backend) {
    let service = backend.open().await;
    let user = at_version_two(&service).await;
    let other = [("if-match", "\"1\""), ("if-none-match", "\"2\"")];
    conditional(&service, "GET", &user, &other, None).await.refused(412, "version-mismatch");
    let same = [("if-match", "\"2\""), ("if-none-match", "\"2\"")];
    conditional(&service, "GET", &user, &same, None).await.expect(304);
}

pub(crate) async fn header_and_body_version_must_both_hold(backend: Backend) {
    let service = backend.open().await;
    let user = at_version_two(&service).await;
    let put = |tags: &'static str, version: i64| {
        let request = service.request("PUT", &path(&user)).header("if-match", tags);
        request.json(&json!({"name": "Ada", "version": version})).send()
    };
    put("\"2\"", 1).await.refused(412, "version-mismatch");
    put("\"1\"", 2).await.refused(412, "version-mismatch");
    put("\"2\"", 2).await.expect(200);
}

pub(crate) async fn a_malformed_tag_is_rejected_and_never_ignored(backend: Backend) {
    let service = backend.open().await;
    let user = at_version_two(&service).await;
    for header in ["if-match", "if-none-match"] {
        for tags in ["2", "", "\"2", "'2'", "*, \"2\"", "\"2\" \"3\"", "w/\"2\""] {
            for (method, body) in [
                ("GET", None),
                ("PUT", Some(json!({}))),
                ("PATCH", Some(json!({}))),
                ("DELETE", None),
            ] {
                let held = [(header, tags)];
                let reply = conditional(&service, method, &user, &held, body).await;
                reply.refused(400, "invalid-request");
            }
        }
    }
    assert_eq!(service.now(&user).await, user);
}

pub(crate) async fn webhooks_and_tenants_are_read_under_preconditions(backend: Backend) {
    let service = backend.open().await;
    service.close_as_operator().await;
    service.tenant(json!({"name": "acme"})).await;
    let webhook = json!({"name": "search", "url": "https://h.example.com/r"});
    let webhook = service.webhook(webhook).await;
    let webhook = format!("/webhooks/{}", webhook["id"].as_str().expect("an id"));
    let get = async |target: &str, name: &str, value: &str| {
        service.request("GET", target).header(name, value).send().await
    };
    for target in [webhook.as_str(), "/tenants/acme"] {
        for tags in ["\"1\"", "\"2\", \"1\"", "*"] {
            get(target, "if-match", tags).await.expect(200);
        }
        get(target, "if-match", "\"2\"").await.refused(412, "version-mismatch");
        // Counters change without a new version.
        get(target, "if-none-match", "\"1\"").await.expect(200);
        for name in ["if-match", "if-none-match"] {
            get(target, name, "1").await.refused(400, "invalid-request");
        }
    }
    let deliveries = format!("{webhook}/deliveries");
    for list in ["/webhooks", &deliveries, "/tenants", "/deleted-tenants"] {
        get(list, "if-match", "\"1\"").await.refused(412, "version-mismatch");
    }
    service.request("DELETE", "/tenants/acme").send().await.expect(204);
    get("/deleted-tenants/acme", "if-match", "\"1\"").await.refused(412, "version-mismatch");
    get("/deleted-tenants/acme", "if-match", "\"2\"").await.expect(200);
}

pub(crate) async fn an_unknown_user_is_404_whatever_the_preconditions(backend: Backend) {
    let service = backend.open().await;
    let nobody = json!({"id": "01a1f84a-963b-7c3e-9a41-5d2e8f604b17"});
    for held in [("if-match", "*"), ("if-match", "\"1\""), ("if-none-match", "*")] {
        for (method, body) in [("GET", None), ("PUT", Some(json!({}))), ("DELETE", None)] {
            let reply = conditional(&service, method, &nobody, &[held], body).await;
            reply.refused(404, "user-not-found");
        }
    }
}

pub(crate) async fn a_stale_version_is_reported_before_errors_of_the_user(backend: Backend) {
    let service = backend.open().await;
    let user = at_version_two(&service).await;
    let held = [("if-match", "\"1\"")];
    let invalid = json!({"email": "nope"});
    let reply = conditional(&service, "PUT", &user, &held, Some(invalid)).await;
    let detail = reply.refused(412, "version-mismatch").json()["detail"].clone();
    assert!(detail.as_str().is_some_and(|detail| detail.contains("version 2")), "{detail}");
}
