//! `dry_run`: everything is checked as in a write, and nothing is stored.

use roster_core::{Guard, Rules, Sharing};
use serde_json::{Value, json};

use crate::{
    client::{Reply, Request},
    service::{Backend, Service, Setup, kept, path},
    transcript::Transcript,
};

const NOBODY: &str = "/users/01a1f84a-963b-7c3e-9a41-5d2e8f604b17";

/// All that a caller can see of the collection.
async fn visible(service: &Service) -> Vec<String> {
    let mut seen = Vec::new();
    for target in ["/users?count=true", "/deleted-users?count=true", "/events", "/users?q=new"] {
        seen.push(service.get(target).await.expect(200).text().to_owned());
    }
    seen
}

/// Checks the response of a dry run.
fn is_rehearsal(reply: &Reply) {
    assert_eq!(reply.header("dry-run"), "true");
    assert_eq!(reply.header("content-type"), "application/json");
    assert_eq!(reply.header("cache-control"), "private, no-cache");
    for name in ["etag", "location", "idempotent-replayed", "preference-applied"] {
        assert_eq!(reply.find(name), None, "{name}");
    }
}

pub(crate) async fn a_dry_run_returns_the_result_of_the_write(backend: Backend) {
    let service = backend.open().await;
    let user = service.user(json!({"username": "ada", "email": "ada@x.org", "name": "Ada"})).await;
    let live = path(&user);
    let writes = [
        ("POST", "/users", json!({"email": "New@x.org", "attributes": {"a": [1, 2.5, null]}})),
        ("PUT", &live, json!({"email": "new@y.org", "title": "New", "email_verified": true})),
        ("PATCH", &live, json!({"status": "suspended", "emails": [], "title": null})),
        ("PATCH", &live, json!({"status": "suspended"})),
        ("PUT", &live, json!({"name": "E\u{301}va", "version": 3})),
    ];
    for (method, target, body) in writes {
        let before = visible(&service).await;
        let head = service.head().await;
        let dry = service.request(method, &format!("{target}?dry_run=true")).json(&body);
        let dry = dry.send().await.expect(200);
        is_rehearsal(&dry);
        assert!(dry.header("roster-position").ends_with(&format!("-{}", head.position)));
        assert_eq!((visible(&service).await, service.head().await), (before, head), "{method}");
        let real = service.request(method, target).json(&body).send().await;
        assert_eq!(real.find("dry-run"), None);
        let mut expected = real.json();
        if method == "POST" {
            // Only the id of a user that is created is another one.
            expected["id"] = dry.json()["id"].clone();
            assert_ne!(expected, real.json());
        }
        assert_eq!(dry.json(), expected, "{method} {body}");
    }
    assert_eq!(service.head().await.position, 5);
}

/// A record at another version.
fn at_version(record: &Value, version: i64) -> Value {
    let mut record = record.clone();
    record["version"] = json!(version);
    record
}

pub(crate) async fn a_dry_run_of_a_delete_returns_the_user(backend: Backend) {
    let service = backend.open().await;
    let user = service.user(json!({"username": "ada", "attributes": {"n": 1e2}})).await;
    let other = service.left(json!({"username": "grace"})).await;
    let before = visible(&service).await;
    let restoring = format!("{}/restore", kept(&other));
    for (method, target, record) in [
        ("DELETE", path(&user), at_version(&user, 2)),
        ("POST", restoring, at_version(&other, 3)),
        ("DELETE", kept(&other), at_version(&other, 2)),
    ] {
        let target = format!("{target}?dry_run=true");
        let reply = service.request(method, &target).send().await.expect(200);
        is_rehearsal(&reply);
        assert_eq!(reply.json(), record, "{method}");
    }
    assert_eq!(visible(&service).await, before);
}

/// Failing requests of every kind, on ada at version 1 and grace, who has `g@x.org`.
fn faulty<'a>(service: &'a Service, ada: &str, query: &str) -> Vec<(Request<'a>, u16)> {
    let to = |method: &str, path: &str| service.request(method, &format!("{path}{query}"));
    let json = |method: &str, path: &str, body: Value| to(method, path).json(&body);
    let taken = json!({"username": "GRACE", "email": "G@x.org", "external_id": "e",
        "version": 1});
    vec![
        (json("POST", "/users", taken.clone()), 409),
        (json("PUT", ada, taken), 409),
        (json("PATCH", ada, json!({"email": "g@x.org"})), 409),
        (json("POST", "/users", json!({})), 422),
        (json("POST", "/users", json!({"username": "", "email": "a", "nmae": 1})), 422),
        (json("PUT", ada, json!({"id": "x", "version": 1})), 422),
        (json("PATCH", ada, json!({"username": "a b c\u{0}"})), 422),
        (json("PATCH", ada, json!([])), 422),
        (json("PUT", ada, json!({"version": 2})), 412),
        (json("PUT", ada, json!({})).header("if-match", "\"2\""), 412),
        (json("PATCH", ada, json!({})).header("if-none-match", "*"), 412),
        (to("DELETE", ada).header("if-match", "W/\"1\""), 412),
        (json("PUT", ada, json!({})), 428),
        (to("DELETE", ada), 428),
        (json("PUT", NOBODY, json!({"name": "N"})), 404),
        (json("PATCH", NOBODY, json!({"name": "N"})), 404),
        (to("DELETE", NOBODY), 404),
        (to("DELETE", "/users/ada"), 404),
        (to("POST", "/users").body("application/json", "{\"username\":\"x\""), 400),
        (json("PATCH", ada, json!({})).header("if-match", "1"), 400),
        (json("POST", "/users", json!({"username": "x"})).header("idempotency-key", ""), 400),
        (to("POST", "/users").body("text/plain", "ada"), 415),
        (json("PATCH", ada, json!({})).header("content-encoding", "gzip"), 415),
        (json("POST", "/users", json!({"username": "x"})).header("accept", "text/html"), 406),
    ]
}

pub(crate) async fn a_dry_run_returns_the_error_of_the_write(backend: Backend) {
    let rules = Rules {
        external_id: Sharing::Unique,
        put: Guard::On,
        delete: Guard::On,
        ..Rules::default()
    };
    let service = backend.open_with(Setup { rules, ..Setup::default() }).await;
    let ada = path(&service.user(json!({"username": "ada", "name": "Ada"})).await);
    let grace = json!({"username": "grace", "email": "g@x.org", "external_id": "e"});
    service.user(grace).await;
    let (dry, real) = (faulty(&service, &ada, "?dry_run=true"), faulty(&service, &ada, ""));
    for (number, ((dry, status), (real, _))) in dry.into_iter().zip(real).enumerate() {
        let dry = dry.send().await;
        let real = real.send().await;
        assert_eq!((dry.status(), real.status()), (status, status), "{number}: {}", dry.text());
        assert_eq!(dry.text(), real.text(), "{number}");
        let headers = |reply: &Reply| {
            let mut headers = reply.exchange.response_headers.clone();
            headers.retain(|(name, _)| name != "date");
            headers
        };
        assert_eq!(headers(&dry), headers(&real), "{number}");
    }
    assert_eq!(service.head().await.position, 2);
}

pub(crate) async fn dry_run_must_be_true_or_false(backend: Backend) {
    let service = backend.open().await;
    let user = service.user(json!({"username": "ada"})).await;
    let live = path(&user);
    let rows = [
        ("dry_run=yes", "dry_run", "invalid-value"),
        ("dry_run=TRUE", "dry_run", "invalid-value"),
        ("dry_run=1", "dry_run", "invalid-value"),
        ("dry_run=", "dry_run", "invalid-value"),
        ("dry_run", "dry_run", "invalid-value"),
        ("dry_run=true+", "dry_run", "invalid-value"),
        ("dry_run=false&dry_run=true", "dry_run", "duplicate-parameter"),
        ("dry-run=true", "dry-run", "unknown-parameter"),
        ("dryRun=true", "dryRun", "unknown-parameter"),
        ("on_conflicts=skip", "on_conflicts", "unknown-parameter"),
    ];
    for (query, parameter, code) in rows {
        for (method, target) in
            [("POST", "/users"), ("PUT", live.as_str()), ("PATCH", &live), ("DELETE", &live)]
        {
            let request = service.request(method, &format!("{target}?{query}"));
            let request =
                if method == "DELETE" { request } else { request.json(&json!({"username": "n"})) };
            let faults = request.send().await.refused(400, "invalid-query").faults();
            assert_eq!(faults, [(parameter.to_owned(), code.to_owned())], "{method} {query}");
        }
    }
    for target in [live.clone(), "/users".to_owned()] {
        let reply = service.get(&format!("{target}?dry_run=true")).await;
        reply.refused(400, "invalid-query");
    }
    assert_eq!(service.head().await.position, 1);
    let real = service.request("PATCH", &format!("{live}?dry_run=false"));
    let real = real.json(&json!({"name": "Ada"})).send().await.expect(200);
    assert_eq!((real.find("dry-run"), real.header("etag")), (None, "\"2\""));
    service.request("DELETE", &format!("{live}?dry_run=%66alse")).send().await.expect(204);
    assert_eq!(service.head().await.position, 3);
}

pub(crate) async fn a_dry_run_always_returns_the_user(backend: Backend) {
    let service = backend.open().await;
    let user = service.user(json!({"username": "ada"})).await;
    let rows = [("POST", "/users".to_owned()), ("PUT", path(&user)), ("PATCH", path(&user))];
    for (method, target) in rows {
        let request = service.request(method, &format!("{target}?dry_run=true"));
        let request = request.header("prefer", "return=minimal");
        let reply = request.json(&json!({"username": "new"})).send().await.expect(200);
        is_rehearsal(&reply);
        assert_eq!(reply.json()["username"], "new");
    }
}

pub(crate) async fn responses_of_dry_runs(backend: Backend) {
    let service = backend.open().await;
    let mut page = Transcript::of(&service);
    let user = service.user(json!({"username": "ada", "name": "Ada"})).await;
    let dry = |method: &str, path: &str| service.request(method, &format!("{path}?dry_run=true"));
    let body = json!({"email": "grace@example.com"});
    page.note("create", &dry("POST", "/users").json(&body).send().await);
    let body = json!({"username": "ADA"});
    page.note("create who is there", &dry("POST", "/users").json(&body).send().await);
    let live = path(&user);
    page.note("replace", &dry("PUT", &live).json(&json!({"title": "Countess"})).send().await);
    page.note("patch", &dry("PATCH", &live).json(&json!({"status": "suspended"})).send().await);
    let held = dry("PATCH", &live).header("if-match", "\"7\"").json(&json!({"name": "A"}));
    page.note("patch another version", &held.send().await);
    page.note("delete", &dry("DELETE", &live).send().await);
    let request = service.request("DELETE", &format!("{live}?dry_run=yes"));
    page.note("neither true nor false", &request.send().await);
    page.note("fetch", &service.get(&live).await);
    page.settle("dry_run");
}
