//! The console: its page, its files, and its sessions.

use std::time::Duration;

use roster_core::{Clock as _, Timestamp};
use serde_json::{Value, json};

use crate::{
    client::{Reply, Request},
    event_streams::{next, open, streaming},
    service::{Backend, Service, Setup},
    store::Fault,
};

const PAGE: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

fn over_tls() -> Setup {
    Setup { base_url: "https://roster.test", ..Setup::default() }
}

/// The two halves of a session.
struct Halves {
    cookie: String,
    proof: String,
}

impl Halves {
    fn of(reply: &Reply) -> Self {
        let (cookie, rest) = reply.header("set-cookie").split_once(';').expect("attributes");
        assert_eq!(rest, " Secure; HttpOnly; SameSite=Strict; Path=/");
        let proof = reply.json()["proof"].as_str().expect("a proof").to_owned();
        Self { cookie: cookie.to_owned(), proof }
    }

    fn on<'a>(&self, request: Request<'a>) -> Request<'a> {
        let request = request.without("authorization").header("cookie", &self.cookie);
        proving(request, &self.proof)
    }

    async fn get(&self, service: &Service, target: &str) -> Reply {
        self.on(service.request("GET", target)).send().await
    }
}

/// A request of the page, with this proof.
fn proving<'a>(request: Request<'a>, proof: &str) -> Request<'a> {
    request.header("roster-console", proof).header("sec-fetch-site", "same-origin")
}

async fn sign_in(service: &Service, key: &Value) -> Halves {
    let key = key["key"].as_str().expect("a key");
    let request = service.request("POST", "/console/session").bearer(key);
    Halves::of(&request.send().await.expect(200))
}

pub(crate) async fn a_browser_gets_the_page(backend: Backend) {
    let service = backend.open().await;
    assert_eq!(service.get("/").await.expect(200).header("content-type"), "application/json");
    for target in ["/", "/console"] {
        let page = service.request("GET", target).header("accept", PAGE).send().await.expect(200);
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        assert_eq!(page.header("cache-control"), "no-cache");
        assert!(page.header("content-security-policy").contains("script-src 'self';"));
        assert_eq!(page.header("cross-origin-opener-policy"), "same-origin");
        assert_eq!(page.header("vary"), "Accept, Accept-Encoding");
        let known = service.request("GET", target).header("accept", PAGE);
        known.header("if-none-match", page.header("etag")).send().await.expect(304);
        let (before, _) = page.text().split_once("/app.js\"").expect("its script");
        let files = before.rsplit_once('"').expect("a URL").1;
        for (file, media) in [("app.js", "text/javascript"), ("app.css", "text/css")] {
            let target = format!("{files}/{file}");
            let file = service.get(&target).await.expect(200);
            let known =
                service.request("GET", &target).header("if-none-match", file.header("etag"));
            known.send().await.expect(304);
            service.get(&format!("{target}?x=1")).await.refused(400, "invalid-query");
            assert_eq!(file.header("content-type"), format!("{media}; charset=utf-8"));
            assert_eq!(file.header("cache-control"), "public, max-age=31536000, immutable");
        }
        for missing in ["nothing.js", "index.html", "ui/nothing.js", "..%2Flib.rs"] {
            service.get(&format!("{files}/{missing}")).await.refused(404, "not-found");
        }
    }
    service.get("/console/0123456789abcdef/app.js").await.refused(404, "not-found");
}

pub(crate) async fn a_service_without_a_console_has_a_page_of_links(backend: Backend) {
    let service = backend.open_with(Setup { console: false, ..over_tls() }).await;
    let page = service.request("GET", "/").header("accept", PAGE).send().await.expect(200);
    assert!(page.text().contains("/docs") && !page.text().contains("<script"));
    service.request("GET", "/console").send().await.refused(404, "not-found");
    service.get("/console/0123456789abcdef/app.js").await.refused(404, "not-found");
    let key = service.close().await;
    let key = key["key"].as_str().expect("a key");
    let request = service.request("POST", "/console/session").bearer(key);
    request.send().await.refused(404, "not-found");
    let renewal = service.request("PUT", "/console/session").bearer(key);
    renewal.send().await.refused(404, "not-found");
    let end = service.request("DELETE", "/console/session");
    end.send().await.refused(404, "not-found");
    let document = service.request("GET", "/").bearer(key).send().await.expect(200).json();
    assert_eq!(document["links"].get("console"), None);
}

pub(crate) async fn a_session_has_the_rights_of_its_key(backend: Backend) {
    let service = backend.open_with(over_tls()).await;
    service.close().await;
    let key = service.new_key(&["users:read"]).await;
    let session = sign_in(&service, &key).await;
    let caller = session.get(&service, "/caller").await.expect(200).json();
    assert_eq!((&caller["kind"], &caller["scopes"]), (&json!("key"), &json!(["users:read"])));
    session.get(&service, "/users").await.expect(200);
    session.get(&service, "/events").await.refused(403, "insufficient-scope");
    let create = service.request("POST", "/users").json(&json!({"username": "ada"}));
    session.on(create).send().await.refused(403, "insufficient-scope");
    service.delete(&format!("/keys/{}", key["id"].as_str().expect("an id"))).await.expect(204);
    session.get(&service, "/users").await.refused(401, "unauthenticated");
}

pub(crate) async fn a_session_needs_both_halves_and_its_own_page(backend: Backend) {
    let service = backend.open_with(over_tls()).await;
    let key = service.close().await;
    let session = sign_in(&service, &key).await;
    let other = sign_in(&service, &key).await;
    let get = || service.request("GET", "/users").without("authorization");
    get().header("cookie", &session.cookie).send().await.refused(401, "unauthenticated");
    proving(get(), &session.proof).send().await.refused(401, "unauthenticated");
    let mixed = get().header("cookie", &session.cookie);
    proving(mixed, &other.proof).send().await.refused(401, "unauthenticated");
    let without_site =
        get().header("cookie", &session.cookie).header("roster-console", &session.proof);
    without_site.send().await.refused(401, "unauthenticated");
    for site in ["cross-site", "same-site"] {
        let foreign = get().header("cookie", &session.cookie).header("sec-fetch-site", site);
        let foreign = foreign.header("roster-console", &session.proof);
        foreign.send().await.refused(403, "foreign-origin");
    }
    // Two cookies, one of them of another service on the host.
    let cookies = format!("roster-81=AAAA; theme=dark; who=Zo\u{eb}; {}", session.cookie);
    proving(get().header("cookie", &cookies), &session.proof).send().await.expect(200);
    let damaged = session.cookie.replacen('=', "=A", 1);
    proving(get().header("cookie", &damaged), &session.proof)
        .send()
        .await
        .refused(401, "unauthenticated");
    let both = session.on(service.request("GET", "/users"));
    let both = both.bearer(key["key"].as_str().expect("a key"));
    both.send().await.refused(400, "invalid-request");
    let twice = session.on(service.request("GET", "/users"));
    let twice = twice.header("roster-console", &session.proof).send().await;
    twice.refused(400, "invalid-request");
    let scim = session.on(service.request("GET", "/scim/v2/Users"));
    assert_eq!(scim.send().await.status(), 401);
}

pub(crate) async fn without_the_keys_nobody_has_a_session(backend: Backend) {
    let service = backend.open_with(over_tls()).await;
    let key = service.close().await;
    let session = sign_in(&service, &key).await;
    for (fault, status, code) in
        [(Fault::Unavailable, 503, "unavailable"), (Fault::Internal, 500, "internal")]
    {
        service.store.fail_keys(fault);
        // The keys are read again.
        tokio::time::sleep(Duration::from_millis(1100)).await;
        let begin = service.request("POST", "/console/session");
        begin.send().await.refused(status, code);
        let renewal = session.on(service.request("PUT", "/console/session"));
        renewal.send().await.refused(status, code);
        service.store.fail_keys(None);
    }
    session.get(&service, "/users").await.expect(200);
}

pub(crate) async fn a_session_ends_when_it_is_idle_and_after_twelve_hours(backend: Backend) {
    let service = backend.open_with(over_tls()).await;
    let key = service.close().await;
    let began = service.clock.now().as_millis();
    let minutes = |count: i64| service.clock.set(Timestamp::from_millis(began + count * 60_000));
    let mut session = sign_in(&service, &key).await;
    for step in 1..=28 {
        minutes(25 * step);
        let renewed =
            session.on(service.request("PUT", "/console/session")).send().await.expect(200);
        assert!(renewed.json().get("proof").is_none());
        let cookie = renewed.header("set-cookie").split(';').next().expect("a cookie");
        cookie.clone_into(&mut session.cookie);
    }
    session.get(&service, "/users").await.expect(200);
    minutes(12 * 60);
    session.get(&service, "/users").await.refused(401, "unauthenticated");
    let out = session.on(service.request("DELETE", "/console/session"));
    assert!(out.send().await.expect(204).header("set-cookie").contains("Max-Age=0"));
    let idle = sign_in(&service, &key).await;
    minutes(12 * 60 + 29);
    idle.get(&service, "/users").await.expect(200);
    minutes(12 * 60 + 30);
    idle.get(&service, "/users").await.refused(401, "unauthenticated");
}

pub(crate) async fn a_stream_ends_twelve_hours_after_the_sign_in(backend: Backend) {
    let service = backend.open_with(over_tls()).await;
    let key = service.close().await;
    let session = sign_in(&service, &key).await;
    let mut stream = open(session.on(streaming(&service, "/events?after=latest"))).await;
    service.clock.step(12 * 3_600_000 - 1);
    service.request("POST", "/users").json(&json!({"username": "ada"})).send().await.expect(201);
    assert!(next(&mut stream).await.contains("user.created"), "it needs no renewal");
    service.clock.step(1);
    let last = next(&mut stream).await;
    assert!(last.starts_with("event: end\n") && last.contains("the session has ended"), "{last}");
}

pub(crate) async fn a_session_begins_with_a_credential_and_ends_in_the_browser(backend: Backend) {
    let service = backend.open_with(over_tls()).await;
    let sign_in_without = service.request("POST", "/console/session").without("authorization");
    sign_in_without.send().await.refused(401, "unauthenticated");
    let key = service.close().await;
    let session = sign_in(&service, &key).await;
    let again = session.on(service.request("POST", "/console/session"));
    again.send().await.refused(400, "invalid-request");
    let renewal = service.request("PUT", "/console/session");
    renewal.send().await.refused(400, "invalid-request");
    let out = session.on(service.request("DELETE", "/console/session")).send().await.expect(204);
    let cookie = "__Host-roster-443=; Secure; HttpOnly; SameSite=Strict; Path=/; Max-Age=0";
    assert_eq!(out.header("set-cookie"), cookie);
    assert_eq!(out.header("clear-site-data"), "\"cache\"");
}

pub(crate) async fn in_clear_text_only_this_machine_signs_in(backend: Backend) {
    let service = backend.open().await;
    let key = service.close().await;
    let key = key["key"].as_str().expect("a key");
    let request = service.request("POST", "/console/session").bearer(key);
    request.send().await.refused(400, "invalid-request");
    let local = Setup { base_url: "http://localhost:7667/v1", ..Setup::default() };
    let service = backend.open_with(local).await;
    let key =
        service.request("POST", "/v1/keys").json(&json!({"name": "a", "scopes": ["keys:admin"]}));
    let key = key.send().await.expect(201).json();
    let key = key["key"].as_str().expect("a key");
    let request =
        service.request("POST", "/v1/console/session").bearer(key).send().await.expect(200);
    assert!(request.header("set-cookie").starts_with("roster-7667-v1="));
    assert!(!request.header("set-cookie").contains("Secure"));
}

pub(crate) async fn a_key_of_a_tenant_signs_in_below_it(backend: Backend) {
    let service = backend.open_with(over_tls()).await;
    service.close_as_operator().await;
    service.tenant(json!({"name": "acme"})).await;
    let body = json!({"name": "theirs", "scopes": ["users:read"]});
    let key =
        service.request("POST", "/tenants/acme/keys").json(&body).send().await.expect(201).json();
    let key = key["key"].as_str().expect("a key");
    let at_root = service.request("POST", "/console/session").bearer(key);
    at_root.send().await.refused(403, "wrong-tenant");
    let reply = service.request("POST", "/tenants/acme/console/session").bearer(key).send().await;
    let reply = reply.expect(200);
    assert_eq!(reply.json()["tenant"], "acme");
    let session = Halves::of(&reply);
    session.get(&service, "/tenants/acme/users").await.expect(200);
    session.get(&service, "/users").await.refused(403, "wrong-tenant");
    let body = json!({"name": "ours", "scopes": ["users:read"], "tenants": "all"});
    let ours = service.request("POST", "/keys").json(&body).send().await.expect(201).json();
    let ours = ours["key"].as_str().expect("a key");
    let reply = service.request("POST", "/tenants/acme/console/session").bearer(ours).send().await;
    let reply = reply.expect(200);
    assert_eq!(reply.json().get("tenant"), None, "it is for all tenants");
    Halves::of(&reply).get(&service, "/users").await.expect(200);
    let renewal = service.request("PUT", "/tenants/acme/console/session");
    session.on(renewal).send().await.expect(200);
    let out = service.request("DELETE", "/console/session");
    session.on(out).send().await.expect(204);
}
