//! The guards before the routes, and the checks of a body before it is read.

use roster_core::UserId;
use roster_server::ServerSettings;
use serde_json::json;

use crate::{
    access::{NOBODY, operations},
    client::REQUEST_ID,
    service::{Backend, Service, Setup, kept, path},
};

/// An unused group id.
const NO_GROUP: &str = "/groups/019a9f2e-0000-7000-8000-000000000000";

/// An unused webhook id.
const NO_WEBHOOK: &str = "/webhooks/019a9f2e-0000-7000-8000-000000000000";
const NO_REPLAY: &str = "/webhooks/019a9f2e-0000-7000-8000-000000000000/replay";

/// Each operation that takes a body, with a path.
fn with_body(user: &str) -> [(&'static str, &str); 16] {
    [
        ("POST", "/users"),
        ("PUT", user),
        ("PATCH", user),
        ("PATCH", "/bulk/users?username=ada&confirm=1"),
        ("POST", "/keys"),
        ("POST", "/groups"),
        ("PUT", NO_GROUP),
        ("PATCH", NO_GROUP),
        ("PUT", "/schema"),
        ("POST", "/tenants"),
        ("PUT", "/tenants/acme"),
        ("PATCH", "/tenants/acme"),
        ("POST", "/webhooks"),
        ("PUT", NO_WEBHOOK),
        ("PATCH", NO_WEBHOOK),
        ("POST", NO_REPLAY),
    ]
}

/// One request of each guarded operation, on existing users.
pub(crate) async fn guarded(service: &Service) -> Vec<(String, String)> {
    let user = path(&service.user(json!({"username": "ada"})).await);
    let gone = kept(&service.left(json!({"username": "grace"})).await);
    let nobody = |root: &str| format!("{root}/{NOBODY}");
    let (live, left) = (nobody("/users"), nobody("/deleted-users"));
    let about = |target: String| target.replace(&live, &user).replace(&left, &gone);
    let all = operations().into_iter().filter(|(operation, ..)| !operation.is_health());
    all.map(|(_, method, target)| (method, about(target))).collect()
}

pub(crate) async fn an_unknown_host_is_421(backend: Backend) {
    let service = backend.open().await;
    for (method, target) in guarded(&service).await {
        let reply = service.request(&method, &target).host("evil.example").send().await;
        reply.refused(421, "misdirected-request");
    }
    for host in ["roster.test.evil.example", "evil.roster.test", "128.0.0.1", "0.0.0.0"] {
        let reply = service.request("GET", "/users").host(host).send().await;
        reply.refused(421, "misdirected-request");
    }
    assert_eq!(service.head().await.position, 3);
}

pub(crate) async fn configured_hosts_are_accepted_with_any_port(backend: Backend) {
    let service = backend.open().await;
    for host in [
        "roster.test",
        "Roster.TEST:80",
        "directory.example",
        "directory.example:8443",
        "localhost",
        "localhost:9",
        "127.0.0.1:8080",
        "[::1]:8080",
    ] {
        service.request("GET", "/users").host(host).send().await.expect(200);
    }
}

pub(crate) async fn a_host_with_a_port_is_accepted_with_that_port_only(backend: Backend) {
    let service = backend.open().await;
    let get = |host: &str| service.request("GET", "/users").host(host).send();
    get("port.example:8443").await.expect(200);
    get("PORT.example:8443").await.expect(200);
    for host in ["port.example", "port.example:80", "port.example:8444", "port.example:"] {
        get(host).await.refused(421, "misdirected-request");
    }
}

pub(crate) async fn exactly_one_valid_host_is_needed(backend: Backend) {
    let service = backend.open().await;
    let get = || service.request("GET", "/users");
    get().without("host").send().await.refused(400, "invalid-request");
    get().header("host", "roster.test").send().await.refused(400, "invalid-request");
    for host in ["", "a b", "user@roster.test", "roster.test:x", "roster.test:70000"] {
        get().host(host).send().await.expect(400);
    }
}

pub(crate) async fn an_absolute_form_target_is_checked_like_the_host(backend: Backend) {
    let service = backend.open().await;
    let absolute = |authority: &str| service.request("GET", &format!("http://{authority}/livez"));
    // Not checked with the description, which has only paths.
    assert_eq!(absolute("roster.test").unwitnessed().await.status(), 200);
    let users = service.request("GET", "http://evil.example/users");
    assert_eq!(users.unwitnessed().await.status(), 421);
    // The target overrides Host (RFC 9112 section 3.2.2).
    let users = service.request("GET", "http://roster.test/users").host("evil.example");
    assert_eq!(users.unwitnessed().await.status(), 200);
}

pub(crate) async fn a_request_of_a_foreign_web_page_is_rejected(backend: Backend) {
    let service = backend.open().await;
    for (method, target) in guarded(&service).await {
        for origin in ["https://evil.example", "null", "http://roster.test:81", "roster.test"] {
            let reply = service.request(&method, &target).header("origin", origin).send().await;
            reply.refused(403, "foreign-origin");
        }
        for site in ["cross-site", "same-site", "surprise"] {
            let request = service.request(&method, &target).header("sec-fetch-site", site);
            request.send().await.refused(403, "foreign-origin");
        }
    }
    let own = service.request("GET", "/users").header("origin", "http://roster.test");
    let reply = own.header("sec-fetch-site", "same-origin").send().await.expect(200);
    assert_eq!(reply.find("access-control-allow-origin"), None);
    service.request("GET", "/users").header("sec-fetch-site", "none").send().await.expect(200);
}

pub(crate) async fn a_foreign_link_may_navigate_to_a_page(backend: Backend) {
    let service = backend.open().await;
    let navigate = |target: &str| {
        let request = service.request("GET", target).header("sec-fetch-site", "cross-site");
        request.header("sec-fetch-mode", "navigate").send()
    };
    for target in ["/", "/docs", "/problems", "/problems/user-not-found"] {
        navigate(target).await.expect(200);
    }
    for target in ["/users", "/metrics", "/openapi.json"] {
        navigate(target).await.refused(403, "foreign-origin");
    }
    let framed = service.request("GET", "/docs").header("sec-fetch-site", "cross-site");
    framed.header("sec-fetch-mode", "no-cors").send().await.refused(403, "foreign-origin");
}

pub(crate) async fn a_request_through_a_proxy_is_rejected(backend: Backend) {
    let service = backend.open().await;
    for (method, target) in guarded(&service).await {
        for header in [
            "forwarded",
            "x-forwarded-for",
            "x-forwarded-proto",
            "x-forwarded",
            "x-real-ip",
            "via",
            "cf-connecting-ip",
            "x-client-ip",
            "x-cluster-client-ip",
            "true-client-ip",
            "x-envoy-external-address",
            "x-original-for",
            "fastly-client-ip",
            "x-azure-clientip",
            "x-arr-log-id",
            "x-amzn-trace-id",
            "x-amz-cf-id",
            "fly-client-ip",
            "x-vercel-id",
            "client-ip",
        ] {
            let request = service.request(&method, &target).header(header, "192.0.2.1");
            request.send().await.refused(403, "forwarded-request");
        }
    }
}

pub(crate) async fn health_accepts_any_host(backend: Backend) {
    let service = backend.open().await;
    for target in ["/livez", "/readyz"] {
        let request = service.request("GET", target).host("10.0.0.7:8080");
        let request = request.header("x-forwarded-for", "192.0.2.1").header("expect", "a miracle");
        request.send().await.expect(200);
        service.request("GET", target).without("host").send().await.expect(200);
    }
}

pub(crate) async fn limits_are_checked_before_the_routes(backend: Backend) {
    let service = backend.open().await;
    let long = "x".repeat(20_000);
    for (method, target) in guarded(&service).await {
        let reply = service.request(&method, &format!("{target}?x={long}")).send().await;
        reply.refused(414, "uri-too-long");
        let below = format!("/tenants/acme{target}?x={}", "x".repeat(16_384 - target.len() - 10));
        service.request(&method, &below).send().await.refused(414, "uri-too-long");
        let reply = service.request(&method, &target).header("expect", "200-ok").send().await;
        reply.refused(417, "expectation-failed");
        let reply = service.request(&method, &target).header("x-long", &"y".repeat(300_000));
        assert_eq!(reply.send().await.expect(431).text(), "");
    }
}

pub(crate) async fn expect_100_continue_is_honoured(backend: Backend) {
    let service = backend.open().await;
    let request = service.request("POST", "/users").header("expect", "100-continue");
    request.json(&json!({"username": "ada"})).send().await.expect(201);
}

pub(crate) async fn only_json_in_utf8_is_accepted(backend: Backend) {
    let service = backend.open().await;
    service.close_as_operator().await;
    let user = path(&service.user(json!({"username": "ada"})).await);
    let body = r#"{"username":"grace"}"#;
    for (method, target) in with_body(&user) {
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/json; charset=latin-1",
            "application/jsonp",
            "json",
            "",
        ] {
            let reply = service.request(method, target).body(kind, body).send().await;
            reply.refused(415, "unsupported-media-type");
        }
        let bare = service.request(method, target).bytes(body).send().await;
        bare.refused(415, "unsupported-media-type");
        let twice = service.request(method, target).body("application/json", body);
        let twice = twice.header("content-type", "application/json").send().await;
        twice.refused(415, "unsupported-media-type");
        let packed = service.request(method, target).header("content-encoding", "gzip");
        let packed = packed.body("application/json", body).send().await;
        let packed = packed.refused(415, "unsupported-media-type");
        assert_eq!(packed.header("accept-encoding"), "identity");
    }
    let form = service.request("POST", "/users").body("application/x-www-form-urlencoded", body);
    let form = form.send().await.refused(415, "unsupported-media-type");
    assert!(form.json()["detail"].as_str().is_some_and(|detail| detail.contains("--json")));
    assert_eq!(form.header("accept"), "application/json");
    let form = service.request("PUT", &user).body("application/x-ndjson", body);
    let form = form.send().await.refused(415, "unsupported-media-type");
    assert_eq!(form.header("accept"), "application/json");
    assert_eq!(service.head().await.position, 2, "a user and a key");
}

pub(crate) async fn malformed_json_is_rejected(backend: Backend) {
    let service = backend.open().await;
    service.close_as_operator().await;
    let user = path(&service.user(json!({"username": "ada"})).await);
    let deep = format!("{{\"attributes\":{}{}}}", "[".repeat(65), "]".repeat(65));
    let bodies: [&[u8]; 11] = [
        b"",
        b"{",
        b"{} {}",
        br#"{"username":"a","username":"b"}"#,
        br#"{"username":"a","attributes":{"x":1,"x":2}}"#,
        b"\xef\xbb\xbf{\"username\":\"a\"}",
        br#"{"attributes":{"x":NaN}}"#,
        br#"{"name":"\ud800"}"#,
        b"{\"name\":\"\xff\"}",
        br#"{"attributes":{"x":123456789012345678901234567890}}"#,
        deep.as_bytes(),
    ];
    for (method, target) in with_body(&user) {
        for body in bodies {
            let reply = service.request(method, target).body("application/json", body);
            reply.send().await.refused(400, "malformed-json");
        }
    }
}

pub(crate) async fn a_content_length_over_one_mebibyte_is_rejected(backend: Backend) {
    let service = backend.open().await;
    service.close_as_operator().await;
    let user = path(&service.user(json!({"username": "ada"})).await);
    let body = format!("{{\"name\":\"{}\"}}", "x".repeat(1024 * 1024));
    for (method, target) in with_body(&user) {
        let request = service.request(method, target).body("application/json", body.as_str());
        // No byte of the body is sent: only the length is checked.
        let reply = request.sending(0).send().await.refused(413, "body-too-large");
        assert_eq!(reply.header("connection"), "close");
    }
}

pub(crate) async fn a_body_about_keys_tenants_or_webhooks_has_the_stated_limit(backend: Backend) {
    let service = backend.open().await;
    service.close_as_operator().await;
    let limits = &service.get("/").await.expect(200).json()["limits"];
    let most = limits["admin_body_bytes_max"].as_u64().expect("a limit");
    let length = usize::try_from(most).expect("a length");
    for target in ["/keys", "/tenants", "/webhooks"] {
        let body = format!("{{{}}}", " ".repeat(length - 1));
        let request = service.request("POST", target).body("application/json", body.as_str());
        request.sending(0).send().await.refused(413, "body-too-large");
        let request = service.request("POST", target).body("application/json", &body[1..]);
        request.send().await.refused(400, "malformed-json");
    }
}

pub(crate) async fn a_stalled_body_is_aborted(backend: Backend) {
    let front = ServerSettings { body_grace_ms: 200, ..ServerSettings::default() };
    let service = backend.open_with(Setup { front, ..Setup::default() }).await;
    service.close_as_operator().await;
    let user = path(&service.user(json!({"username": "ada"})).await);
    for (method, target) in with_body(&user) {
        let request = service.request(method, target).json(&json!({"username": "grace"}));
        let reply = request.sending(5).send().await.refused(408, "body-too-slow");
        assert_eq!(reply.header("connection"), "close");
    }
    for (method, target) in without_body() {
        let request = service.request(method, &target).json(&json!({"version": 1}));
        request.sending(5).send().await.refused(408, "body-too-slow");
    }
}

/// The operations that change something and take no body, for records that do not exist.
fn without_body() -> Vec<(&'static str, String)> {
    let id = UserId::from_bytes([1; 16]);
    let user = [
        ("DELETE", format!("/users/{id}")),
        ("DELETE", format!("/deleted-users/{id}")),
        ("POST", format!("/deleted-users/{id}/restore")),
        ("DELETE", format!("/groups/{id}")),
        ("PUT", format!("/groups/{id}/members/{id}")),
        ("DELETE", format!("/groups/{id}/members/{id}")),
        ("DELETE", format!("/webhooks/{id}")),
        ("POST", format!("/webhooks/{id}/test")),
        ("POST", format!("/webhooks/{id}/rotate")),
    ];
    let others = [
        ("DELETE", "/keys/aaaaaaaaaa"),
        ("POST", "/keys/aaaaaaaaaa/rotate"),
        ("DELETE", "/tenants/acme"),
        ("DELETE", "/deleted-tenants/acme"),
        ("POST", "/deleted-tenants/acme/restore"),
    ];
    let others = others.map(|(method, target)| (method, target.to_owned()));
    user.into_iter().chain(others).collect()
}

pub(crate) async fn a_body_is_refused_where_none_is_taken(backend: Backend) {
    let service = backend.open().await;
    service.close_as_operator().await;
    for (method, target) in without_body() {
        for body in [&br#"{"version":1}"#[..], b"[]", b"nothing", &[b' '; 100]] {
            let request = service.request(method, &target).body("application/json", body);
            let reply = request.send().await.refused(400, "invalid-request");
            let detail = reply.json()["detail"].to_string();
            assert!(detail.contains("takes no body"), "{method} {target}: {detail}");
        }
        for nothing in [&b"{}"[..], b" null\n", b""] {
            let request = service.request(method, &target).body("application/json", nothing);
            let status = request.send().await.status();
            assert_ne!(status, 400, "{method} {target}");
        }
    }
}

pub(crate) async fn a_valid_request_id_is_kept_and_an_invalid_one_replaced(backend: Backend) {
    let service = backend.open().await;
    let kept = service.get("/nothing").await.refused(404, "not-found");
    assert_eq!(kept.header("x-request-id"), REQUEST_ID);
    let mut made = Vec::new();
    for id in ["two words", "{}", ""] {
        let request = service.request("GET", "/nothing").without("x-request-id");
        let reply = request.header("x-request-id", id).send().await;
        made.push(reply.header("x-request-id").to_owned());
    }
    assert_ne!(made[0], made[1]);
    assert!(made.iter().all(|id| !id.is_empty()));
}
