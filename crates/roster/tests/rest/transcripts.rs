//! Whole responses, compared with snapshots: every success, and every error at least once.

use roster_core::{Guard, Rules, Sharing};
use roster_server::ServerSettings;
use serde_json::json;

use crate::{
    service::{Backend, Setup, path},
    store::Fault,
    transcript::Transcript,
};

const NOBODY: &str = "/users/01a1f84a-963b-7c3e-9a41-5d2e8f604b17";

pub(crate) async fn responses_of_the_five_endpoints_and_patch(backend: Backend) {
    let service = backend.open().await;
    let mut page = Transcript::of(&service);
    let created = service.post(json!({"email": "ada@example.com", "name": "Ada Lovelace"})).await;
    let user = created.json();
    page.note("create", &created);
    page.note("fetch", &service.get(&path(&user)).await);
    page.note("fetch the head", &service.request("HEAD", &path(&user)).send().await);
    let known = service.request("GET", &path(&user)).header("if-none-match", "\"1\"");
    page.note("fetch what is known", &known.send().await);
    service.clock.step(2000);
    let body = json!({"username": "ada", "name": "Ada King", "version": 1});
    page.note("replace", &service.put(&user, body).await);
    service.clock.step(2000);
    let request = service.request("PATCH", &path(&user)).header("if-match", "\"2\"");
    let merge = r#"{"status":"suspended","attributes":{"team":"core"}}"#;
    let patched = request.body("application/merge-patch+json", merge).send().await;
    page.note("patch", &patched);
    let minimal = service.request("PUT", &path(&user)).header("prefer", "return=minimal");
    page.note("replace, minimal", &minimal.json(&json!({"name": "Ada"})).send().await);
    page.note("delete", &service.delete(&path(&user)).await);
    let minimal = service.request("POST", "/users").header("prefer", "return=minimal");
    page.note("create, minimal", &minimal.json(&json!({"username": "ada"})).send().await);
    page.note("options of the list", &service.request("OPTIONS", "/users").send().await);
    page.note("options of a user", &service.request("OPTIONS", NOBODY).send().await);
    page.settle("users");
}

pub(crate) async fn responses_of_a_list(backend: Backend) {
    let service = backend.open().await;
    for name in ["ada", "grace", "edsger"] {
        service.user(json!({"username": name})).await;
    }
    let mut page = Transcript::of(&service);
    let first = service.get("/users?limit=2&count=true").await;
    page.note("first page", &first);
    let cursor = first.json()["next_cursor"].as_str().expect("more").to_owned();
    let last = service.get(&format!("/users?limit=2&cursor={cursor}")).await;
    page.note("last page", &last);
    let fields = "/users?fields=username&sort=-username&status=active";
    page.note("some members", &service.get(fields).await);
    page.note("nobody", &service.get("/users?email=nobody@example.com").await);
    page.note("head", &service.request("HEAD", "/users").send().await);
    let known = service.request("GET", "/users?limit=2&count=true");
    let known = known.header("if-none-match", first.header("etag"));
    page.note("as it is known", &known.send().await);
    page.settle("list");
}

pub(crate) async fn responses_of_documents(backend: Backend) {
    let service = backend.open().await;
    let mut page = Transcript::of(&service);
    page.note("service document", &service.get("/").await);
    page.note_heads("description", &service.get("/openapi.json").await);
    page.note_heads("reference", &service.get("/docs").await);
    page.note_heads("problems", &service.get("/problems").await);
    let html = service.request("GET", "/problems").header("accept", "text/html");
    page.note_heads("problems, for a person", &html.send().await);
    page.note("a problem", &service.get("/problems/user-not-found").await);
    page.note("a fault", &service.get("/problems/too-long").await);
    let html = service.request("GET", "/problems/too-long").header("accept", "text/html");
    page.note_heads("a fault, for a person", &html.send().await);
    page.note("alive", &service.get("/livez").await);
    page.note("ready", &service.get("/readyz").await);
    page.note_heads("measurements", &service.get("/metrics").await);
    page.settle("documents");
}

pub(crate) async fn responses_to_invalid_users(backend: Backend) {
    let rules = Rules {
        external_id: Sharing::Unique,
        put: Guard::On,
        delete: Guard::On,
        ..Rules::default()
    };
    let service = backend.open_with(Setup { rules, ..Setup::default() }).await;
    let mut page = Transcript::of(&service);
    let taken = json!({"username": "ada", "email": "ada@example.com", "external_id": "e1"});
    let user = service.user(taken.clone()).await;
    page.note("faults", &service.post(json!({"email": "ada", "nmae": "Ada", "name": 1})).await);
    page.note("password", &service.post(json!({"username": "a", "password": "x"})).await);
    page.note("all is taken", &service.post(taken).await);
    let by_email = json!({"email": "ADA@example.com"});
    page.note("an address is taken", &service.post(by_email).await);
    page.note("stale", &service.put(&user, json!({"version": 7})).await);
    page.note("other id", &service.put(&user, json!({"id": "x", "version": 1})).await);
    page.note("members would be cleared", &service.put(&user, json!({"name": "Ada"})).await);
    page.note("delete without a version", &service.delete(&path(&user)).await);
    let held = service.request("DELETE", &path(&user)).header("if-match", "\"7\"");
    page.note("delete another version", &held.send().await);
    let held = service.request("GET", &path(&user)).header("if-match", "7");
    page.note("malformed tag", &held.send().await);
    page.note("nobody", &service.get(NOBODY).await);
    page.note("replace nobody", &service.request("PUT", NOBODY).json(&json!({})).send().await);
    page.settle("refused_users");
}

pub(crate) async fn responses_to_invalid_bodies(backend: Backend) {
    let front = ServerSettings { body_grace_ms: 200, ..ServerSettings::default() };
    let service = backend.open_with(Setup { front, ..Setup::default() }).await;
    let mut page = Transcript::of(&service);
    let post = |kind: &str, body: &str| service.request("POST", "/users").body(kind, body).send();
    page.note("no JSON", &post("application/json", "{\"username\": \"ada\",}").await);
    page.note("no body", &post("application/json", "").await);
    page.note("twice", &post("application/json", r#"{"a":1,"a":2}"#).await);
    page.note("a form", &post("application/x-www-form-urlencoded", "username=ada").await);
    page.note("another type", &post("text/plain", "ada").await);
    page.note("another charset", &post("application/json; charset=utf-16", "{}").await);
    let packed = service.request("POST", "/users").header("content-encoding", "gzip");
    page.note("compressed", &packed.json(&json!({})).send().await);
    let patch = service.request("PATCH", NOBODY).body("application/json-patch+json", "[]");
    page.note("another kind of patch", &patch.send().await);
    let large = vec![b' '; 1024 * 1024 + 1];
    let large = service.request("POST", "/users").body("application/json", large).sending(0);
    page.note_heads("too large", &large.send().await);
    let slow = service.request("POST", "/users").json(&json!({"username": "ada"})).sending(3);
    page.note("too slow", &slow.send().await);
    page.settle("refused_bodies");
}

pub(crate) async fn responses_to_rejected_requests(backend: Backend) {
    let service = backend.open().await;
    let mut page = Transcript::of(&service);
    let get = || service.request("GET", "/users");
    page.note("nothing here", &service.get("/nothing").await);
    page.note("method not offered", &service.delete("/users").await);
    page.note("unknown method", &service.request("BREW", "/users").send().await);
    page.note("no form is acceptable", &get().header("accept", "text/xml").send().await);
    page.note("another host", &get().host("evil.example").send().await);
    page.note("no host", &get().without("host").send().await);
    page.note("foreign origin", &get().header("origin", "https://evil.example").send().await);
    page.note("another site", &get().header("sec-fetch-site", "cross-site").send().await);
    page.note("a proxy", &get().header("x-forwarded-for", "192.0.2.1").send().await);
    page.note("expectation", &get().header("expect", "more").send().await);
    page.note_heads("long target", &service.get(&format!("/users?x={}", "y".repeat(20_000))).await);
    page.note("query", &service.get("/users?limit=0&sort=title&nope=1&status=x&limit=2").await);
    page.note("escape", &service.get("/users?username=%zz").await);
    page.note("cursor", &service.get("/users?cursor=nonsense").await);
    page.note("parameter of a user", &service.get(&format!("{NOBODY}?filter=id+pr")).await);
    page.note("unknown code", &service.get("/problems/nope").await);
    page.settle("refused_requests");
}

pub(crate) async fn responses_to_failures(backend: Backend) {
    let service = backend.open().await;
    let mut page = Transcript::of(&service);
    for fault in [
        Fault::Unavailable,
        Fault::WritesStopped,
        Fault::TimedOut,
        Fault::Full,
        Fault::Corrupt,
        Fault::Internal,
    ] {
        service.store.fail(fault);
        let title = format!("{fault:?}");
        page.note(&title, &service.post(json!({"username": "ada"})).await);
    }
    page.note("not ready", &service.get("/readyz").await);
    page.settle("failures");
}
