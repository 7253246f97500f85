//! Tokens of an issuer: what they allow, and which are rejected.

mod attacks;
mod issuer;
mod issuer_keys;

pub(crate) use issuer_keys::{
    a_key_that_is_replaced_under_its_id_is_fetched,
    a_known_key_waits_for_no_fetch_and_many_requests_cause_one,
    a_set_without_a_key_is_fetched_again_after_a_second,
    a_token_is_rejected_once_its_key_leaves_the_set,
    an_unreachable_issuer_is_503_until_it_responds, invalid_documents_of_an_issuer_are_rejected,
    keys_are_fetched_again_after_the_clock_was_set_back,
    keys_of_an_unreachable_issuer_are_used_for_a_day,
    keys_that_cannot_be_used_do_not_refuse_the_others, rotated_issuer_keys_are_fetched,
};

use std::time::Duration;

use roster_core::{
    Clock as _, TenantId, TenantName,
    access::{Authority, Expiry, KeyDraft, KeyService, Permit, Scope, Scopes},
};
use roster_http::{AdmissionSettings, operation::Need};
use serde_json::{Value, json};

use crate::{
    access::{foreign_pages_are_rejected, operations, request_for},
    bulk::shut_out,
    client::Reply,
    service::{Backend, Service, Setup, path},
};
use attacks::Forge;
use issuer::{AUDIENCE, Issuer, Signer, base64};
use roster_jwt::{TokenIssuer, TokenTenant};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

/// A service that trusts an issuer.
struct Trusting {
    service: Service,
    issuer: Issuer,
}

impl Trusting {
    async fn new(backend: &Backend, keys: Vec<Value>) -> Self {
        Self::with(backend, keys, |trusted| trusted).await
    }

    async fn with(
        backend: &Backend,
        keys: Vec<Value>,
        set: impl FnOnce(TokenIssuer) -> TokenIssuer,
    ) -> Self {
        let issuer = Issuer::open(keys).await;
        let issuers = vec![set(issuer.trusted())];
        // After many bad tokens the address would be locked, but these tests need each one to be
        // verified.
        let failed_auth_per_minute = 0;
        Self::open(backend, issuer, issuers, failed_auth_per_minute).await
    }

    async fn open(
        backend: &Backend,
        issuer: Issuer,
        issuers: Vec<TokenIssuer>,
        failed_auth_per_minute: u32,
    ) -> Self {
        let pressure = AdmissionSettings { failed_auth_per_minute, ..AdmissionSettings::default() };
        let service = backend.open_with(Setup { pressure, issuers, ..Setup::default() }).await;
        Self { service, issuer }
    }

    fn claims(&self) -> Value {
        self.issuer.claims(self.service.clock.now().as_millis())
    }

    /// A token of this key, valid from now on.
    fn token(&self, signer: &Signer, kid: &str) -> String {
        let alg = if matches!(signer, Signer::Rsa(_)) { "RS256" } else { "ES256" };
        let header = json!({"alg": alg, "kid": kid});
        signer.token(&header.to_string(), &self.claims().to_string())
    }

    /// Lists users with a token.
    async fn ask(&self, token: &str) -> Reply {
        self.service.request("GET", "/users").bearer(token).send().await
    }

    async fn status(&self, token: &str) -> u16 {
        self.ask(token).await.status()
    }

    /// Repeats the request until it has this status. Something in the background changes it.
    async fn wait_for_status(&self, token: &str, status: u16) {
        for _ in 0..500 {
            if self.status(token).await == status {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{status} never came");
    }
}

pub(crate) async fn every_forged_token_is_rejected(backend: Backend) {
    let trusting = Trusting::new(&backend, Vec::new()).await;
    let forge = Forge {
        rsa: Signer::rsa(),
        other: Signer::other_rsa(),
        p256: Signer::p256(),
        ed25519: Signer::ed25519(),
        claims: trusting.claims(),
        now: trusting.service.clock.now().as_millis() / 1000,
    };
    trusting.issuer.set(|answers| answers.keys = forge.published());
    for good in forge.all_good() {
        trusting.ask(&good).await.expect(200);
    }
    let attacks = forge.attacks();
    assert!(attacks.len() >= 80, "{}", attacks.len());
    for (name, token, words) in attacks {
        let reply = trusting.ask(&token).await;
        assert_eq!(reply.status(), 401, "{name}: {}", reply.text());
        let reply = reply.refused(401, "unauthenticated");
        let detail = reply.json()["detail"].as_str().expect("a detail").to_owned();
        assert!(detail.contains(words), "{name}: {detail}");
        assert!(reply.header("www-authenticate").contains("error=\"invalid_token\""), "{name}");
        let parts = token.split('.').filter(|part| part.len() > 3);
        assert!(!parts.into_iter().any(|part| reply.text().contains(part)), "{name}");
    }
    trusting.ask(&forge.good()).await.expect(200);
}

pub(crate) async fn each_scope_of_a_token_allows_its_operations_only(backend: Backend) {
    let signer = Signer::p256();
    let trusting = Trusting::new(&backend, vec![signer.jwk("one")]).await;
    let service = &trusting.service;
    let of = |change: &dyn Fn(&mut Value)| {
        let mut claims = trusting.claims();
        change(&mut claims);
        signer.token(r#"{"alg":"ES256","kid":"one"}"#, &claims.to_string())
    };
    let mut tampered = of(&|_| ());
    tampered.replace_range(tampered.len() - 8..tampered.len() - 4, "AAAA");
    let claims = trusting.claims().to_string();
    let none = format!("{}.{}.", base64(br#"{"alg":"none"}"#), base64(claims.as_bytes()));
    let bad = [
        of(&|claims| claims["aud"] = json!("elsewhere")),
        of(&|claims| claims["exp"] = json!(1)),
        of(&|claims| claims["nbf"] = json!(claims["exp"].as_i64())),
        of(&|claims| claims["iss"] = json!("https://issuer.example.com")),
        tampered,
        none,
        signer.token(r#"{"alg":"HS256","kid":"one"}"#, &claims),
        signer.token(r#"{"alg":"ES384","kid":"one"}"#, &claims),
        signer.token(r#"{"alg":"ES256","kid":"two"}"#, &claims),
    ];
    for (operation, method, target) in operations() {
        let send = |token: String| {
            let request = request_for(service, operation, &method, &target).bearer(&token);
            async move { request.send().await }
        };
        let Need::Scopes(needed) = operation.needs() else { continue };
        for token in &bad {
            send(token.clone()).await.refused(401, "unauthenticated");
        }
        send(of(&|claims| claims["scope"] = json!("openid"))).await.expect(403);
        for scope in Scope::ALL {
            let reply = send(of(&|claims| claims["scope"] = json!(scope.as_str()))).await;
            let place = format!("{} with {}", operation.id(), scope.as_str());
            if needed == [*scope] && !operation.is_of_operator() {
                assert!(![401, 403].contains(&reply.status()), "{place}: {}", reply.text());
            } else {
                assert_eq!(reply.status(), 403, "{place}");
            }
        }
    }
}

pub(crate) async fn a_subject_learns_who_it_is(backend: Backend) {
    let signer = Signer::p256();
    let trusting = Trusting::new(&backend, vec![signer.jwk("one")]).await;
    let token = trusting.token(&signer, "one");
    let caller = trusting.service.request("GET", "/caller").bearer(&token).send().await;
    let caller = caller.expect(200).json();
    assert_eq!((&caller["kind"], &caller["open"]), (&json!("subject"), &json!(false)));
    let actor = format!("jwt:{}", caller["name"].as_str().expect("a name"));
    assert_eq!(caller["actor"], actor);
    assert!(caller["expires_at"].is_string() && caller["scopes"].is_array(), "{caller}");
}

pub(crate) async fn a_foreign_page_with_a_token_is_403(backend: Backend) {
    let signer = Signer::p256();
    let trusting = Trusting::new(&backend, vec![signer.jwk("one")]).await;
    let token = trusting.token(&signer, "one");
    foreign_pages_are_rejected(&trusting.service, &token).await;
    trusting.ask(&token).await.expect(200);
}

pub(crate) async fn scopes_are_read_from_the_configured_claim(backend: Backend) {
    let signer = Signer::p256();
    let trusting = Trusting::with(&backend, vec![signer.jwk("one")], |trusted| TokenIssuer {
        scope_claim: "roles".to_owned(),
        scope_prefix: "roster:".to_owned(),
        ..trusted
    });
    let trusting = trusting.await;
    for (roles, status) in [
        (json!("openid roster:users:read"), 200),
        (json!(["openid", "roster:users:read"]), 200),
        (json!([["roster:users:read"], 7]), 403),
        (json!("users:read"), 403),
        (json!("roster:users:read,roster:users:write"), 403),
        (json!({"roster:users:read": true}), 403),
        (Value::Null, 403),
    ] {
        let mut claims = trusting.claims();
        claims["roles"] = roles.clone();
        let token = signer.token(r#"{"alg":"ES256","kid":"one"}"#, &claims.to_string());
        assert_eq!(trusting.status(&token).await, status, "{roles}");
    }
}

pub(crate) async fn with_an_issuer_every_request_needs_a_credential(backend: Backend) {
    let signer = Signer::p256();
    let trusting = Trusting::new(&backend, vec![signer.jwk("one")]).await;
    let service = &trusting.service;
    service.get("/users").await.refused(401, "unauthenticated");
    assert!(!service.app.is_open());
    // Keys can be created with a token, and work in addition to it.
    let token = trusting.token(&signer, "one");
    let key = json!({"name": "one", "scopes": ["users:read"]});
    let made = service.request("POST", "/keys").bearer(&token).json(&key).send().await;
    let made = made.expect(201).json();
    assert_eq!(made["created_by"], "jwt:ada");
    trusting.ask(made["key"].as_str().expect("a key")).await.expect(200);
    trusting.ask(&token).await.expect(200);
}

pub(crate) async fn the_change_log_names_the_subject_that_acted(backend: Backend) {
    let signer = Signer::p256();
    let trusting = Trusting::new(&backend, vec![signer.jwk("one")]).await;
    let service = &trusting.service;
    let subject = "a".repeat(255);
    let mut claims = trusting.claims();
    claims["sub"] = json!(subject);
    let token = signer.token(r#"{"alg":"ES256","kid":"one"}"#, &claims.to_string());
    let asked = |method, target: &str| service.request(method, target).bearer(&token);
    let user = asked("POST", "/users").json(&json!({"username": "ada"})).send().await;
    let user = user.expect(201).json();
    asked("DELETE", &path(&user)).send().await.expect(204);
    let events = asked("GET", "/events").send().await.expect(200).json();
    let events = events["items"].as_array().expect("events").clone();
    assert_eq!(events.len(), 2);
    assert!(events.iter().all(|event| event["actor"] == format!("jwt:{subject}")));
}

/// Runs all of them concurrently.
async fn futures<T>(asked: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    futures_util::future::join_all(asked).await
}

pub(crate) async fn a_cached_token_is_rejected_when_it_expires(backend: Backend) {
    let signer = Signer::p256();
    let trusting = Trusting::new(&backend, vec![signer.jwk("one")]).await;
    let clock = &trusting.service.clock;
    let mut claims = trusting.claims();
    claims["exp"] = json!(clock.now().as_millis() / 1000 - 30);
    // Within the leeway, which ends in half a minute.
    let token = signer.token(r#"{"alg":"ES256","kid":"one"}"#, &claims.to_string());
    trusting.ask(&token).await.expect(200);
    clock.step(29_999);
    trusting.ask(&token).await.expect(200);
    clock.step(1);
    trusting.ask(&token).await.refused(401, "unauthenticated");
}

pub(crate) async fn a_token_that_expires_ends_its_streams(backend: Backend) {
    let signer = Signer::p256();
    let trusting = Trusting::new(&backend, vec![signer.jwk("one")]).await;
    let service = &trusting.service;
    let token = trusting.token(&signer, "one");
    let import = shut_out::importing(service, Some(&token)).await;
    let export = shut_out::exporting(service, Some(&token)).await;
    // Five minutes and a minute of leeway. The token was cached all the time.
    service.clock.step(6 * MINUTE - 1);
    tokio::time::sleep(Duration::from_millis(600)).await;
    service.request("GET", "/events").bearer(&token).send().await.expect(200);
    service.clock.step(1);
    let import = shut_out::import_ends(service, import, 401, "unauthenticated");
    tokio::join!(import, shut_out::export_ends(export));
}

/// Creates a key for all tenants as `roster keys create` does: with an issuer, no request without a
/// credential creates the first one.
async fn operator_key(service: &Service) -> String {
    let keys = KeyService::new(service.store.clone(), service.clock.clone(), TenantId::DEFAULT);
    let now = service.clock.now();
    let draft = KeyDraft::of("operator", Scopes::all(), Expiry::Default, now).expect("a valid key");
    let draft = KeyDraft { has_all_tenants: true, ..draft };
    let made =
        keys.create(Permit::of_the_service(), draft, &Authority::of_the_service(), "r").await;
    made.expect("there is room").1.reveal().to_owned()
}

pub(crate) async fn a_token_is_for_the_tenant_that_it_names(backend: Backend) {
    let signer = Signer::p256();
    let trusting = Trusting::with(&backend, vec![signer.jwk("one")], |trusted| TokenIssuer {
        tenant: TokenTenant::Claim("org".to_owned()),
        ..trusted
    });
    let Trusting { service, issuer } = trusting.await;
    let operator = operator_key(&service).await;
    *service.key.lock().expect("a lock") = Some(operator);
    service.tenant(json!({"name": "acme", "external_id": "cus_7"})).await;
    service.tenant(json!({"name": "globex", "external_id": "twice"})).await;
    // The name of another tenant counts, not this external id.
    service.tenant(json!({"name": "initech", "external_id": "acme"})).await;
    service.tenant(json!({"name": "hooli", "external_id": "twice"})).await;
    // A deleted tenant keeps its name.
    service.deleted_tenant("gone").await;
    service.tenant(json!({"name": "umbrella", "external_id": "gone"})).await;
    let token = |org: Value| {
        let mut claims = issuer.claims(service.clock.now().as_millis());
        claims["org"] = org;
        signer.token(r#"{"alg":"ES256","kid":"one"}"#, &claims.to_string())
    };
    let status = async |org: Value, target: &str| {
        service.request("GET", target).bearer(&token(org)).send().await.status()
    };
    for (org, own) in [("acme", "acme"), ("cus_7", "acme"), ("globex", "globex")] {
        assert_eq!(status(json!(org), &format!("/tenants/{own}/users")).await, 200, "{org}");
        assert_eq!(status(json!(org), "/tenants/initech/users").await, 404, "{org}");
        assert_eq!(status(json!(org), "/users").await, 403, "{org}");
        assert_eq!(status(json!(org), "/tenants").await, 403, "{org}");
    }
    for org in [json!("nobody"), json!("twice"), json!("gone"), json!(""), json!(7), json!(null)] {
        for target in ["/users", "/tenants/acme/users", "/tenants/umbrella/users"] {
            assert_eq!(status(org.clone(), target).await, 401, "{org}");
        }
    }
    let refused = service.request("GET", "/users").bearer(&token(json!("nobody"))).send().await;
    let refused = refused.refused(401, "unauthenticated").json();
    assert_eq!(refused["detail"], "the tenant of the token does not exist");
    let create = service.request("POST", "/tenants/acme/users").bearer(&token(json!("cus_7")));
    create.json(&json!({"username": "ada"})).send().await.expect(201);
    let caller = service.request("GET", "/tenants/acme/caller").bearer(&token(json!("acme")));
    assert_eq!(caller.send().await.expect(200).json()["tenant"], "acme");
}

pub(crate) async fn all_tokens_of_an_issuer_may_be_for_one_tenant(backend: Backend) {
    let signer = Signer::p256();
    let trusting = Trusting::with(&backend, vec![signer.jwk("one")], |trusted| TokenIssuer {
        tenant: TokenTenant::Named(TenantName::parse("acme").expect("a name")),
        ..trusted
    });
    let trusting = trusting.await;
    let token = trusting.token(&signer, "one");
    trusting.ask(&token).await.refused(401, "unauthenticated");
    let operator = operator_key(&trusting.service).await;
    *trusting.service.key.lock().expect("a lock") = Some(operator);
    trusting.service.tenant(json!({"name": "acme"})).await;
    trusting.ask(&token).await.refused(403, "wrong-tenant");
    let users = trusting.service.request("GET", "/tenants/acme/users").bearer(&token);
    users.send().await.expect(200);
}

pub(crate) async fn several_issuers_are_kept_separate(backend: Backend) {
    let (one, two) = (Signer::p256(), Signer::p256());
    let staff = Issuer::open(vec![one.jwk("one")]).await;
    let partners = Issuer::open(vec![two.jwk("one")]).await;
    let issuers = vec![
        TokenIssuer { name: "staff".to_owned(), ..staff.trusted() },
        TokenIssuer {
            name: "partners".to_owned(),
            audience: "api://roster".to_owned(),
            scope_claim: "scp".to_owned(),
            ..partners.trusted()
        },
    ];
    let service = backend.open_with(Setup { issuers, ..Setup::default() }).await;
    let now = service.clock.now().as_millis();
    let token = |signer: &Signer, claims: &Value| {
        signer.token(r#"{"alg":"ES256","kid":"one"}"#, &claims.to_string())
    };
    let of_staff = staff.claims(now);
    let mut of_partners = partners.claims(now);
    of_partners["aud"] = json!("api://roster");
    of_partners["scp"] = of_partners["scope"].take();
    // The same subject of two issuers is two callers, also for idempotency keys.
    let create = |token: String, name: &'static str| {
        let request = service.request("POST", "/users").bearer(&token);
        request.header("idempotency-key", "one").json(&json!({"username": name})).send()
    };
    let ada = create(token(&one, &of_staff), "ada").await.expect(201).json();
    let grace = create(token(&two, &of_partners), "grace").await.expect(201).json();
    assert_ne!(ada["id"], grace["id"]);
    let reader = service.request("GET", "/events").bearer(&token(&one, &of_staff));
    let events = reader.send().await.expect(200).json();
    assert_eq!(events["items"][0]["actor"], "staff:ada");
    assert_eq!(events["items"][1]["actor"], "partners:ada");
    // A key signs only for its own issuer, and settings of one issuer do not apply to another.
    for (signer, claims, change) in [
        (&one, &of_partners, json!({})),
        (&two, &of_staff, json!({})),
        (&one, &of_staff, json!({"iss": of_partners["iss"]})),
        (&one, &of_staff, json!({"aud": "api://roster"})),
        (&two, &of_partners, json!({"aud": AUDIENCE})),
    ] {
        let mut claims = claims.clone();
        for (name, value) in change.as_object().expect("claims") {
            claims[name] = value.clone();
        }
        let reply = service.request("GET", "/users").bearer(&token(signer, &claims)).send().await;
        reply.refused(401, "unauthenticated");
    }
    of_partners["scope"] = of_partners["scp"].take();
    let unscoped = service.request("GET", "/users").bearer(&token(&two, &of_partners));
    unscoped.send().await.refused(403, "insufficient-scope");
    // An unreachable issuer affects only its own tokens.
    staff.set(|answers| answers.away = true);
    let unknown_key = one.token(r#"{"alg":"ES256","kid":"new"}"#, &of_staff.to_string());
    service.clock.step(MINUTE);
    let away = service.request("GET", "/users").bearer(&unknown_key).send().await;
    away.refused(503, "unavailable");
    of_partners["scp"] = of_partners["scope"].take();
    service.request("GET", "/users").bearer(&token(&two, &of_partners)).send().await.expect(200);
}

pub(crate) async fn a_fresh_token_from_a_locked_address_is_admitted(backend: Backend) {
    let (signer, forger) = (Signer::p256(), Signer::p256());
    let issuer = Issuer::open(vec![signer.jwk("one")]).await;
    let issuers = vec![issuer.trusted()];
    let trusting = Trusting::open(&backend, issuer, issuers, 5).await;
    let with = |change: &dyn Fn(&mut Value)| {
        let mut claims = trusting.claims();
        change(&mut claims);
        signer.token(r#"{"alg":"ES256","kid":"one"}"#, &claims.to_string())
    };
    // The issuer's keys are fetched before the address is locked.
    trusting.wait_for_status(&with(&|claims| claims["jti"] = json!("first")), 200).await;
    for _ in 0..5 {
        trusting.ask("a.b.c").await.refused(401, "unauthenticated");
    }
    trusting.ask("a.b.c").await.refused(429, "rate-limited");
    for (name, bad) in [
        ("of an unknown issuer", with(&|claims| claims["iss"] = json!("https://a.example"))),
        ("of an unknown key", trusting.token(&signer, "two")),
        ("forged", trusting.token(&forger, "one")),
        ("for somebody else", with(&|claims| claims["aud"] = json!("elsewhere"))),
    ] {
        let reply = trusting.ask(&bad).await;
        assert_eq!(reply.status(), 429, "{name}: {}", reply.text());
    }
    for n in 0..3 {
        let fresh = with(&|claims| claims["jti"] = json!(n));
        trusting.ask(&fresh).await.expect(200);
    }
    // Forged tokens are verified up to the allowance of the address, and then rejected.
    for _ in 0..100 {
        trusting.ask(&trusting.token(&forger, "one")).await.refused(429, "rate-limited");
    }
    let again = with(&|claims| claims["jti"] = json!("last"));
    trusting.wait_for_status(&again, 200).await;
}
