//! The responses when the store fails: a code, and never the cause.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::{
    client::Reply,
    service::{Backend, Service, group_path, kept, member_path, path},
    store::Fault,
};

/// One request of each operation that uses the store.
async fn asking(service: &Service) -> Vec<(&'static str, String)> {
    let user = path(&service.user(json!({"username": "ada"})).await);
    let mut all: Vec<(&str, String)> =
        ["GET", "HEAD", "PUT", "PATCH", "DELETE"].map(|method| (method, user.clone())).to_vec();
    all.extend(["GET", "HEAD", "POST"].map(|method| (method, "/users".to_owned())));
    all.extend(["GET", "HEAD"].map(|method| (method, "/bulk/users".to_owned())));
    let matching = "/bulk/users?username=ada&confirm=1";
    all.extend(["PATCH", "DELETE"].map(|method| (method, matching.to_owned())));
    let gone = kept(&service.left(json!({"username": "grace"})).await);
    all.extend(["GET", "HEAD", "DELETE"].map(|method| (method, gone.clone())));
    all.extend([("POST", format!("{gone}/restore")), ("GET", format!("{user}/events"))]);
    for page in ["/deleted-users", "/bulk/deleted-users", "/events", "/keys"] {
        all.extend(["GET", "HEAD"].map(|method| (method, page.to_owned())));
    }
    let group = service.group("team").await;
    let path = group_path(&group);
    all.extend(["GET", "HEAD", "PUT", "PATCH", "DELETE"].map(|method| (method, path.clone())));
    for page in [
        "/groups".to_owned(),
        "/bulk/groups".to_owned(),
        path + "/members",
        format!("{user}/groups"),
    ] {
        all.extend(["GET", "HEAD"].map(|method| (method, page.clone())));
    }
    all.extend([("POST", "/groups".to_owned()), ("PUT", "/schema".to_owned())]);
    let member = member_path(&group, &group);
    all.extend(["PUT", "DELETE"].map(|method| (method, member.clone())));
    let key = service.close_as_operator().await;
    service.tenant(json!({"name": "acme"})).await;
    all.extend(["GET", "HEAD", "POST"].map(|method| (method, "/tenants".to_owned())));
    let tenant = "/tenants/acme".to_owned();
    all.extend(["GET", "HEAD", "PUT", "PATCH", "DELETE"].map(|method| (method, tenant.clone())));
    service.deleted_tenant("initech").await;
    let deleted = "/deleted-tenants/initech".to_owned();
    all.extend(["GET", "HEAD", "DELETE"].map(|method| (method, deleted.clone())));
    all.extend([("GET", "/deleted-tenants".to_owned()), ("POST", format!("{deleted}/restore"))]);
    all.extend(["GET", "HEAD", "POST"].map(|method| (method, "/webhooks".to_owned())));
    let webhook = webhook(service).await;
    all.extend(["GET", "HEAD", "PUT", "PATCH", "DELETE"].map(|method| (method, webhook.clone())));
    all.extend(["GET", "HEAD"].map(|method| (method, format!("{webhook}/deliveries"))));
    all.extend(["test", "replay", "rotate"].map(|it| ("POST", format!("{webhook}/{it}"))));
    let key = format!("/keys/{}", key["id"].as_str().expect("an id"));
    all.extend([("POST", format!("{key}/rotate")), ("POST", "/keys".to_owned())]);
    all.extend([("GET", key.clone()), ("DELETE", key), ("GET", "/caller".to_owned())]);
    all
}

/// The path of a new webhook.
async fn webhook(service: &Service) -> String {
    let webhook = service.webhook(body_for("/webhooks")).await;
    format!("/webhooks/{}", webhook["id"].as_str().expect("an id"))
}

/// Whether the operation takes no body.
pub(crate) fn is_bodiless(method: &str, target: &str) -> bool {
    let path = target.split('?').next().unwrap_or_default();
    let ends =
        ["/restore", "/rotate", "/test", "/console/session"].iter().any(|end| path.ends_with(end));
    !matches!(method, "POST" | "PUT" | "PATCH") || ends || path.contains("/members/")
}

/// A body that the operation at this path takes.
fn body_for(target: &str) -> Value {
    match target {
        "/keys" => json!({"name": "one", "scopes": ["scim"]}),
        "/schema" => json!({"attributes": []}),
        "/tenants" => json!({"name": "globex"}),
        "/tenants/acme" => json!({"display_name": "Acme"}),
        replay if replay.ends_with("/replay") => json!({"after": "0123456789abcdef-1"}),
        webhook if webhook.starts_with("/webhooks") => {
            json!({"name": "search", "url": "https://h.example.com/r"})
        }
        _ => json!({"username": "g"}),
    }
}

async fn each(backend: &Backend, fault: Fault, status: u16, code: &str) {
    let service = backend.open().await;
    let requests = asking(&service).await;
    service.store.fail(fault);
    for (method, target) in requests {
        let request = service.request(method, &target);
        let body = body_for(&target);
        let request = if is_bodiless(method, &target) { request } else { request.json(&body) };
        let reply = request.send().await.expect(status);
        if method == "HEAD" {
            continue;
        }
        assert_eq!(reply.json()["code"], code, "{fault:?}: {method}");
        assert!(!reply.text().contains("7G") && !reply.text().contains("ada@"), "{}", reply.text());
        let waits = matches!(fault, Fault::Unavailable | Fault::Superseded | Fault::TimedOut);
        assert_eq!(reply.find("retry-after").is_some(), waits, "{fault:?}");
    }
    service.store.fail(None);
    service.get("/users").await.expect(200);
}

pub(crate) async fn an_unavailable_store_is_503_with_retry_after(backend: Backend) {
    each(&backend, Fault::Unavailable, 503, "unavailable").await;
    each(&backend, Fault::Superseded, 503, "unavailable").await;
    each(&backend, Fault::TimedOut, 503, "unavailable").await;
}

pub(crate) async fn stopped_writes_are_503_without_retry_after(backend: Backend) {
    each(&backend, Fault::WritesStopped, 503, "unavailable").await;
}

pub(crate) async fn damage_and_internal_errors_are_500_without_details(backend: Backend) {
    each(&backend, Fault::Corrupt, 500, "internal").await;
    each(&backend, Fault::Internal, 500, "internal").await;
}

pub(crate) async fn a_panicking_handler_is_500_without_details(backend: Backend) {
    let service = backend.open().await;
    service.store.fail(Fault::Panic);
    let reply = service.get("/users").await.refused(500, "internal");
    assert!(!reply.text().contains("7G"));
    service.store.fail(None);
    service.get("/users").await.expect(200);
}

pub(crate) async fn a_full_disk_is_507_on_writes(backend: Backend) {
    let service = backend.open().await;
    let user = service.user(json!({"username": "ada"})).await;
    let gone = kept(&service.left(json!({"username": "grace"})).await);
    let group = service.group("team").await;
    service.store.fail(Fault::Full);
    service.post(json!({"username": "g"})).await.refused(507, "storage-full");
    service.put(&user, json!({"name": "A"})).await.refused(507, "storage-full");
    service.patch(&user, json!({"name": "A"})).await.refused(507, "storage-full");
    service.delete(&path(&user)).await.refused(507, "storage-full");
    service.delete(&gone).await.refused(507, "storage-full");
    let restore = service.request("POST", &format!("{gone}/restore"));
    restore.send().await.refused(507, "storage-full");
    for method in ["PUT", "PATCH", "DELETE"] {
        let request = service.request(method, &group_path(&group));
        let body = json!({"display_name": "g"});
        let request = if method == "DELETE" { request } else { request.json(&body) };
        request.send().await.refused(507, "storage-full");
    }
    let create = service.request("POST", "/groups").json(&json!({"display_name": "g"}));
    create.send().await.refused(507, "storage-full");
    let schema = service.request("PUT", "/schema").json(&body_for("/schema"));
    schema.send().await.refused(507, "storage-full");
    service.join(&group, &user).await.refused(507, "storage-full");
    service.delete(&member_path(&group, &user)).await.refused(507, "storage-full");
    service.store.fail(None);
    let key = service.close_as_operator().await;
    service.tenant(json!({"name": "acme"})).await;
    service.deleted_tenant("initech").await;
    let webhook = webhook(&service).await;
    let [replay, rotation] = ["replay", "rotate"].map(|action| format!("{webhook}/{action}"));
    let key = format!("/keys/{}", key["id"].as_str().expect("an id"));
    service.store.fail(Fault::Full);
    for (method, target) in [
        ("POST", "/tenants"),
        ("PUT", "/tenants/acme"),
        ("PATCH", "/tenants/acme"),
        ("DELETE", "/tenants/acme"),
        ("DELETE", "/deleted-tenants/initech"),
        ("POST", "/deleted-tenants/initech/restore"),
        ("POST", "/webhooks"),
        ("PUT", &webhook),
        ("PATCH", &webhook),
        ("DELETE", &webhook),
        ("POST", &replay),
        ("POST", &rotation),
    ] {
        let write = service.request(method, target);
        let write = if is_bodiless(method, target) { write } else { write.json(&body_for(target)) };
        write.send().await.refused(507, "storage-full");
    }
    let body = body_for("/keys");
    let create = service.request("POST", "/keys").json(&body).send().await;
    create.refused(507, "storage-full");
    let rotate = service.request("POST", &format!("{key}/rotate")).send().await;
    rotate.refused(507, "storage-full");
    service.delete(&key).await.refused(507, "storage-full");
}

pub(crate) async fn readiness_follows_the_store_and_the_disk(backend: Backend) {
    for fault in [
        Fault::Unavailable,
        Fault::WritesStopped,
        Fault::TimedOut,
        Fault::Full,
        Fault::Corrupt,
        Fault::Internal,
    ] {
        let service = backend.open().await;
        service.store.fail(fault);
        service.get("/readyz").await.refused(503, "unavailable");
        service.get("/livez").await.expect(200);
    }
    let service = backend.open().await;
    service.get("/readyz").await.expect(200);
    service.store.fail(Fault::Unavailable);
    readiness_becomes(&service, 503).await;
    service.store.fail(None);
    readiness_becomes(&service, 200).await;
    service.set_room(false);
    service.get("/readyz").await.refused(503, "unavailable");
    service.set_room(true);
    service.get("/readyz").await.expect(200);
}

pub(crate) async fn a_service_whose_last_requests_failed_is_not_ready(backend: Backend) {
    let service = backend.open().await;
    let user = path(&service.user(json!({"username": "ada"})).await);
    service.store.seem_healthy();
    for fault in [Fault::Unavailable, Fault::WritesStopped, Fault::Internal] {
        // The user was created less than three seconds ago.
        sleep(Duration::from_millis(3_100)).await;
        service.get("/readyz").await.expect(200);
        // A read does not fail for lack of room.
        if !matches!(fault, Fault::Full) {
            service.store.fail(fault);
            service.get(&user).await;
            service.get("/readyz").await.refused(503, "unavailable");
            service.store.fail(None);
        }
        service.get(&user).await.expect(200);
        service.get("/readyz").await.expect(200);
        service.store.fail(fault);
        service.post(json!({"username": "mary"})).await;
        service.store.fail(None);
        service.get(&user).await.expect(200);
        service.get("/readyz").await.refused(503, "unavailable");
    }
    // No request follows.
    readiness_becomes(&service, 200).await;
}

pub(crate) async fn a_service_whose_database_was_left_behind_says_so(backend: Backend) {
    let service = backend.open().await;
    let user = path(&service.user(json!({"username": "ada"})).await);
    let says_so = |reply: Reply| {
        let problem = reply.refused(503, "unavailable").json();
        let detail = problem["detail"].as_str().expect("a detail");
        assert!(detail.contains("left behind by a failover"), "{detail}");
    };
    service.store.fail(Fault::Superseded);
    says_so(service.get(&user).await);
    sleep(Duration::from_millis(3_100)).await;
    // The check itself, its result that is kept, and the failures of requests.
    says_so(service.get("/readyz").await);
    says_so(service.get("/readyz").await);
    says_so(service.post(json!({"username": "mary"})).await);
    says_so(service.get("/readyz").await);
    service.store.fail(None);
    readiness_becomes(&service, 200).await;
}

pub(crate) async fn one_failure_among_successes_and_one_damaged_record_leave_it_ready(
    backend: Backend,
) {
    let service = backend.open().await;
    service.store.seem_healthy();
    let user = path(&service.user(json!({"username": "ada"})).await);
    service.get(&user).await.expect(200);
    service.store.fail(Fault::Internal);
    service.get(&user).await.refused(500, "internal");
    service.get("/readyz").await.expect(200);
    sleep(Duration::from_millis(3_100)).await;
    for fault in [Fault::Corrupt, Fault::TimedOut] {
        service.store.fail(fault);
        service.get(&user).await;
        service.get("/readyz").await.expect(200);
    }
}

/// A result of the store is used for a second.
async fn readiness_becomes(service: &Service, status: u16) {
    let began = Instant::now();
    while service.get("/readyz").await.status() != status {
        assert!(began.elapsed() < Duration::from_secs(30), "it is not {status} yet");
        sleep(Duration::from_millis(50)).await;
    }
}

pub(crate) async fn readiness_queries_the_store_once_a_second(backend: Backend) {
    let service = backend.open().await;
    let began = Instant::now();
    for _ in 0..10 {
        let asked = (0..20).map(|_| service.get("/readyz"));
        for reply in join_all(asked).await {
            reply.expect(200);
        }
    }
    let most = usize::try_from(began.elapsed().as_secs()).expect("a number") + 1;
    let questions = service.store.healths();
    assert!((1..=most).contains(&questions), "{questions} questions, not {most}");
}

pub(crate) async fn readiness_sends_one_query_while_the_store_hangs(backend: Backend) {
    let service = backend.open().await;
    service.store.fail(Fault::Hang);
    let began = Instant::now();
    // They disconnect without a response, and so release no place for another query.
    while service.store.healths() == 0 || began.elapsed() < Duration::from_millis(500) {
        let asked = join_all((0..5).map(|_| service.get("/readyz")));
        assert!(timeout(Duration::from_millis(100), asked).await.is_err(), "the store hangs");
    }
    let most = usize::try_from(began.elapsed().as_secs() / 4).expect("a number") + 1;
    assert!(service.store.healths() <= most, "{} questions", service.store.healths());
    service.app.drain();
    service.get("/readyz").await.refused(503, "draining");
    service.store.fail(None);
}

pub(crate) async fn a_draining_service_is_not_ready_and_serves_requests(backend: Backend) {
    let service = backend.open().await;
    service.get("/readyz").await.expect(200);
    service.app.drain();
    let reply = service.get("/readyz").await.refused(503, "draining");
    assert_eq!(reply.find("retry-after"), None);
    service.get("/livez").await.expect(200);
    service.post(json!({"username": "ada"})).await.expect(201);
}

pub(crate) async fn metrics_are_served_while_the_store_is_unavailable(backend: Backend) {
    let service = backend.open().await;
    service.user(json!({"username": "ada", "status": "suspended"})).await;
    let page = service.get("/metrics").await.expect(200);
    assert!(page.text().contains("roster_users{status=\"suspended\"} 1\n"), "{}", page.text());
    assert!(page.text().contains("operation=\"createUser\",status=\"201\""), "{}", page.text());
    assert!(page.text().ends_with("# EOF\n"));
    service.store.fail(Fault::Unavailable);
    service.get("/metrics").await.expect(200);
}

pub(crate) async fn no_caller_is_admitted_whose_key_cannot_be_read(backend: Backend) {
    let service = backend.open().await;
    service.close_as_operator().await;
    service.store.fail_keys(Fault::Unavailable);
    // The keys that were read before count for a second.
    sleep(Duration::from_millis(1100)).await;
    for target in ["/schema", "/metrics"] {
        service.get(target).await.refused(503, "unavailable");
    }
    service.store.fail_keys(None);
    service.get("/schema").await.expect(200);
}

pub(crate) async fn callers_who_wait_for_a_read_of_the_keys_fail_with_it(backend: Backend) {
    const CALLERS: usize = 20;
    let service = backend.open().await;
    service.close_as_operator().await;
    service.store.fail_keys(Fault::Hang);
    // The keys that were read before count for a second.
    sleep(Duration::from_millis(1100)).await;
    let calls = (0..CALLERS).map(|_| async {
        service.get("/schema").await.refused(503, "unavailable");
    });
    let ends = async {
        sleep(Duration::from_millis(500)).await;
        service.store.fail_keys(Fault::Unavailable);
    };
    tokio::join!(join_all(calls), ends);
    // With a read of its own, each caller would wait for those of all others.
    assert!(service.store.key_failures() < CALLERS, "{}", service.store.key_failures());
    service.store.fail_keys(None);
    service.get("/schema").await.expect(200);
}

pub(crate) async fn measurements_also_come_as_plain_text(backend: Backend) {
    let service = backend.open().await;
    service.user(json!({"username": "ada"})).await;
    let request = service.request("GET", "/metrics").header("accept", "text/plain");
    let page = request.send().await.expect(200);
    assert_eq!(page.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    assert_eq!(page.header("vary"), "Accept");
    // The older format declares a counter under the name of its samples, and has no units.
    assert!(page.text().contains("# TYPE roster_http_requests_total counter\n"), "{}", page.text());
    assert!(page.text().contains("\nroster_users{status=\"active\"} 1\n"), "{}", page.text());
    assert!(!page.text().contains("# UNIT") && !page.text().contains("# EOF"));
}
