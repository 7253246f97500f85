//! Methods and paths: HEAD, OPTIONS, unsupported methods, and unknown paths.

use std::collections::BTreeSet;

use roster_http::operation::routes;
use serde_json::json;

use crate::{
    client::Reply,
    failures::is_bodiless,
    service::{Backend, CLOSED_URL, Service, group_path, kept, member_path, path},
};

/// A webhook that does not exist.
const WEBHOOK: &str = "/webhooks/019a9f2e-0000-7000-8000-000000000000";
const REPLAY: &str = "/webhooks/019a9f2e-0000-7000-8000-000000000000/replay";
const DELIVERIES: &str = "/webhooks/019a9f2e-0000-7000-8000-000000000000/deliveries";
const TEST: &str = "/webhooks/019a9f2e-0000-7000-8000-000000000000/test";
const WEBHOOKS: [(&str, &str); 8] = [
    ("GET", "/webhooks"),
    ("POST", "/webhooks"),
    ("GET", WEBHOOK),
    ("PUT", WEBHOOK),
    ("PATCH", WEBHOOK),
    ("GET", DELIVERIES),
    ("POST", TEST),
    ("POST", REPLAY),
];
const PAGES: [(&str, &str); 5] = [
    ("GET", "/metrics"),
    ("GET", "/console"),
    ("POST", "/console/session"),
    ("PUT", "/console/session"),
    ("DELETE", "/console/session"),
];
const ROTATION: &str = "/webhooks/019a9f2e-0000-7000-8000-000000000000/rotate";

/// Every path, with values for its template.
async fn targets(service: &Service) -> Vec<(String, String)> {
    let key = service.close_as_operator().await;
    service.tenant(json!({"name": "acme"})).await;
    service.deleted_tenant("globex").await;
    let key = format!("/keys/{}", key["id"].as_str().expect("an id"));
    let user = service.user(json!({"username": "ada"})).await;
    let gone = service.left(json!({"username": "grace"})).await;
    let group = service.group("team").await;
    let webhook = json!({"name": "search", "url": CLOSED_URL});
    let webhook = service.webhook(webhook).await;
    let webhook = format!("/webhooks/{}", webhook["id"].as_str().expect("an id"));
    let filled = |template: &str| match template {
        "/users/{user_id}" => path(&user),
        "/users/{user_id}/events" => path(&user) + "/events",
        "/users/{user_id}/groups" => path(&user) + "/groups",
        "/deleted-users/{user_id}" => kept(&gone),
        "/deleted-users/{user_id}/restore" => kept(&gone) + "/restore",
        "/tenants/{tenant}" => "/tenants/acme".to_owned(),
        "/deleted-tenants/{tenant}" => "/deleted-tenants/globex".to_owned(),
        "/deleted-tenants/{tenant}/restore" => "/deleted-tenants/globex/restore".to_owned(),
        "/webhooks/{webhook_id}" => webhook.clone(),
        "/webhooks/{webhook_id}/deliveries" => format!("{webhook}/deliveries"),
        "/webhooks/{webhook_id}/test" => format!("{webhook}/test"),
        "/webhooks/{webhook_id}/replay" => format!("{webhook}/replay"),
        "/webhooks/{webhook_id}/rotate" => format!("{webhook}/rotate"),
        "/keys/{key_id}" => key.clone(),
        "/keys/{key_id}/rotate" => format!("{key}/rotate"),
        "/groups/{group_id}" => group_path(&group),
        "/groups/{group_id}/members" => group_path(&group) + "/members",
        "/groups/{group_id}/members/{member_id}" => member_path(&group, &user),
        "/problems/{code}" => "/problems/user-not-found".to_owned(),
        "/console/{digest}/{file}" => format!("/console/{}/app.js", roster_console::digest()),
        other => other.to_owned(),
    };
    let rest = routes().into_iter().filter(|route| !route.operations[0].is_scim());
    rest.map(|route| (filled(route.path), route.allow)).collect()
}

/// The names and values of all headers, except those that another request changes.
fn steady(reply: &Reply, except: &[&str]) -> BTreeSet<(String, String)> {
    let headers = reply.exchange.response_headers.iter();
    let steady = headers.filter(|(name, _)| name != "date" && !except.contains(&name.as_str()));
    steady.cloned().collect()
}

pub(crate) async fn head_is_get_without_the_body(backend: Backend) {
    let service = backend.open().await;
    for (target, allow) in targets(&service).await {
        if !allow.starts_with("GET, HEAD") {
            continue;
        }
        let get = service.get(&target).await.expect(200);
        let head = service.request("HEAD", &target).send().await.expect(200);
        assert_eq!(head.text(), "");
        // The page of a list is not read for HEAD, and the metrics count this request.
        let except: &[&str] = match target.as_str() {
            "/users" | "/deleted-users" | "/groups" | "/metrics" => &["content-length"],
            part if part.starts_with("/bulk/") => &["transfer-encoding"],
            part if part.ends_with("/members") || part.ends_with("/groups") => &["content-length"],
            _ => &[],
        };
        assert_eq!(steady(&head, except), steady(&get, except), "{target}");
        assert_ne!(head.find("content-length"), Some("0"), "{target}");
    }
}

pub(crate) async fn head_checks_all_that_get_checks(backend: Backend) {
    let service = backend.open().await;
    let nobody = "/users/01a1f84a-963b-7c3e-9a41-5d2e8f604b17";
    for (target, accept, status) in [
        (nobody, "*/*", 404),
        ("/users/ada", "*/*", 404),
        ("/users?limit=0", "*/*", 400),
        ("/users?cursor=x", "*/*", 400),
        ("/users", "text/html", 406),
        ("/users", "application/x-ndjson", 406),
        ("/bulk/users?limit=0", "*/*", 400),
        ("/bulk/users?cursor=x", "*/*", 400),
        ("/bulk/users", "application/json", 406),
        ("/bulk/groups?sort=display_name", "*/*", 400),
        ("/bulk/deleted-users?count=true&q=x", "*/*", 400),
        ("/deleted-users?sort=id", "*/*", 400),
        ("/deleted-users?cursor=x", "*/*", 400),
        ("/deleted-users/ada", "*/*", 404),
        ("/groups/x", "*/*", 404),
        ("/groups?sort=name", "*/*", 400),
        ("/groups?cursor=x", "*/*", 400),
        ("/groups/01a1f84a-963b-7c3e-9a41-5d2e8f604b17/members", "*/*", 404),
        ("/tenants?limit=0", "*/*", 403),
        ("/events?after=x", "*/*", 400),
        ("/events?after=0123456789abcdef-1", "*/*", 410),
        ("/events", "text/html", 406),
        ("/users/ada/events", "*/*", 404),
        ("/docs?x=1", "*/*", 400),
        ("/problems/nope", "*/*", 404),
        ("/nothing", "*/*", 404),
    ] {
        let head = service.request("HEAD", target).header("accept", accept).send().await;
        let get = service.request("GET", target).header("accept", accept).send().await;
        assert_eq!(head.expect(status).text(), "");
        get.expect(status);
    }
}

pub(crate) async fn head_of_a_list_reads_no_page(backend: Backend) {
    let service = backend.open().await;
    service.user(json!({"username": "ada"})).await;
    service.user(json!({"username": "grace"})).await;
    let before = service.store.pages();
    let head = service.request("HEAD", "/users?limit=1&sort=name&count=true").send().await;
    let head = head.expect(200);
    assert_eq!(service.store.pages(), before);
    service.request("HEAD", "/deleted-users?count=true").send().await.expect(200);
    assert_eq!(service.store.pages(), before);
    let get = service.get("/users?limit=1&sort=name&count=true").await.expect(200);
    assert_eq!(service.store.pages(), before + 1);
    assert_eq!(head.header("etag"), get.header("etag"));
    assert_eq!(head.header("roster-position"), get.header("roster-position"));
}

pub(crate) async fn options_lists_every_supported_method(backend: Backend) {
    let service = backend.open().await;
    for (target, allow) in targets(&service).await {
        let reply = service.request("OPTIONS", &target).send().await.expect(204);
        assert_eq!(reply.header("allow"), allow);
        assert_eq!(reply.find("accept-patch").is_some(), allow.contains("PATCH"));
        let takes_lines = reply.find("accept-patch").is_some_and(|it| it.contains("ndjson"));
        assert_eq!(takes_lines, target == "/bulk/users");
    }
    let reply = service.request("OPTIONS", "*").send().await.expect(204);
    assert_eq!(reply.header("allow"), "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    service.request("OPTIONS", "/nothing").send().await.refused(404, "not-found");
}

pub(crate) async fn an_unsupported_method_is_405_with_allow(backend: Backend) {
    let service = backend.open().await;
    for (target, allow) in targets(&service).await {
        for method in ["POST", "PUT", "PATCH", "DELETE", "TRACE", "QUERY"] {
            if allow.split(", ").any(|offered| offered == method) {
                continue;
            }
            let reply = service.request(method, &target).send().await;
            let reply = reply.refused(405, "method-not-allowed");
            assert_eq!(reply.header("allow"), allow, "{method} {target}");
        }
    }
}

pub(crate) async fn an_unknown_method_is_501(backend: Backend) {
    let service = backend.open().await;
    for method in ["BREW", "get", "PROPFIND"] {
        let reply = service.request(method, "/users").send().await;
        reply.refused(501, "method-not-implemented");
    }
}

pub(crate) async fn a_path_is_compared_exactly(backend: Backend) {
    let service = backend.open().await;
    for target in [
        "/users/",
        "//users",
        "/Users",
        "/users/a/b",
        "/%75sers",
        "/user",
        "/users;x",
        "/users//events",
        "/users/a/events/",
        "/deleted-users/",
        "/deleted-users/a/Restore",
        "/deleted-users/a/events",
        "/events/1",
        "/groups/",
        "/groups/a/members/",
        "/groups/a/members/b/c",
        "/bulk",
        "/bulk/",
        "/bulk/users/",
        "/bulk/users/a",
        "/bulk/events",
    ] {
        service.get(target).await.refused(404, "not-found");
    }
}

pub(crate) async fn a_path_that_is_nearly_one_of_ours_is_named(backend: Backend) {
    let service = backend.open().await;
    for (target, meant) in [
        ("/users/", "/users"),
        ("//users", "/users"),
        ("/Users", "/users"),
        ("/USERS/x/Events/", "/users/{user_id}/events"),
        ("/bulk/Users", "/bulk/users"),
        ("/bulk/deleted-users/", "/bulk/deleted-users"),
        ("/Metrics", "/metrics"),
        ("/scim/v2/users", "/scim/v2/Users"),
    ] {
        let reply = service.get(target).await.expect(404).json();
        let detail = format!("paths are compared exactly, and this one is not {meant}");
        assert_eq!(reply["detail"], detail, "{target}");
    }
    for target in ["/people", "/users//events", "/users/a/b"] {
        let reply = service.get(target).await.expect(404).json();
        let detail = "nothing is at this path; the service document is at /";
        assert_eq!(reply["detail"], detail, "{target}");
    }
}

pub(crate) async fn an_unknown_parameter_is_refused_with_the_one_that_was_meant(backend: Backend) {
    let service = backend.open().await;
    let user = path(&service.user(json!({"username": "ada"})).await);
    let group = group_path(&service.group("team").await);
    for (method, target, typed, meant) in [
        ("GET", "/users", "limt", Some("limit")),
        ("GET", "/users", "userName", Some("username")),
        ("GET", "/users", "colour", None),
        ("POST", "/users", "dryrun", Some("dry_run")),
        ("GET", "/bulk/users", "limt", Some("limit")),
        ("GET", "/bulk/groups", "displayName", Some("display_name")),
        ("GET", "/bulk/deleted-users", "sotr", Some("sort")),
        ("PATCH", &user, "dry-run", Some("dry_run")),
        ("GET", &user, "limt", None),
        ("GET", &format!("{user}/events"), "afer", Some("after")),
        ("GET", "/groups", "displayName", Some("display_name")),
        ("GET", &format!("{group}/members"), "cusror", Some("cursor")),
        ("GET", "/deleted-users", "sorted", None),
        ("GET", "/deleted-users", "sotr", Some("sort")),
        ("GET", "/events", "user-id", Some("user_id")),
    ] {
        let request = service.request(method, &format!("{target}?{typed}=1"));
        let request = if method == "GET" { request } else { request.json(&json!({})) };
        let reply = request.send().await.refused(400, "invalid-query").json();
        let detail = reply["errors"][0]["detail"].as_str().expect("a detail");
        let suggested = detail.split_once("; did you mean ").map(|(_, rest)| rest);
        let expected = meant.map(|meant| format!("{meant}?"));
        assert_eq!(suggested, expected.as_deref(), "{method} {target}?{typed}: {detail}");
    }
}

pub(crate) async fn an_unknown_parameter_is_refused_everywhere(backend: Backend) {
    let service = backend.open().await;
    service.close_as_operator().await;
    let user = service.user(json!({"username": "ada"})).await;
    let body = json!({"username": "edsger"});
    let group = service.group("team").await;
    let (members, member) = (group_path(&group) + "/members", member_path(&group, &user));
    let (group, user) = (group_path(&group), path(&user));
    let gone = kept(&service.left(json!({"username": "grace"})).await);
    let (restore, events) = (format!("{gone}/restore"), format!("{user}/events"));
    let groups = format!("{user}/groups");
    for (method, target) in [
        ("GET", "/users"),
        ("POST", "/users"),
        ("GET", &user),
        ("PUT", &user),
        ("PATCH", &user),
        ("DELETE", &user),
        ("GET", "/schema"),
        ("PUT", "/schema"),
        ("GET", &groups),
        ("GET", "/groups"),
        ("POST", "/groups"),
        ("GET", &group),
        ("PUT", &group),
        ("PATCH", &group),
        ("DELETE", &group),
        ("GET", &members),
        ("PUT", &member),
        ("DELETE", &member),
        ("GET", "/deleted-users"),
        ("GET", "/bulk/users"),
        ("GET", "/bulk/groups"),
        ("GET", "/bulk/deleted-users"),
        ("GET", &gone),
        ("DELETE", &gone),
        ("POST", &restore),
        ("GET", "/tenants"),
        ("POST", "/tenants"),
        ("GET", "/tenants/acme"),
        ("PUT", "/tenants/acme"),
        ("PATCH", "/tenants/acme"),
        ("DELETE", "/tenants/acme"),
        ("GET", "/deleted-tenants"),
        ("GET", "/deleted-tenants/globex"),
        ("DELETE", "/deleted-tenants/globex"),
        ("POST", "/deleted-tenants/globex/restore"),
        ("DELETE", WEBHOOK),
        ("GET", "/events"),
        ("GET", &events),
        ("GET", "/"),
        ("GET", "/openapi.json"),
        ("GET", "/openapi-3.0.json"),
        ("GET", "/docs"),
        ("GET", "/problems"),
        ("GET", "/problems/internal"),
    ]
    .into_iter()
    .chain(WEBHOOKS)
    .chain(PAGES)
    {
        let request = service.request(method, &format!("{target}?offset=3&x=%20"));
        let request = if is_bodiless(method, target) { request } else { request.json(&body) };
        let reply = request.send().await.refused(400, "invalid-query");
        let unknown = |name: &str| (name.to_owned(), "unknown-parameter".to_owned());
        assert_eq!(reply.faults(), [unknown("offset"), unknown("x")], "{method} {target}");
    }
    assert_eq!(service.head().await.position, 5);
}

pub(crate) async fn an_invalid_percent_escape_in_the_query_is_rejected(backend: Backend) {
    let service = backend.open().await;
    for query in ["username=%", "username=%f", "username=%zz", "%ff=1", "username=%C3"] {
        service.get(&format!("/users?{query}")).await.refused(400, "invalid-query");
    }
}

pub(crate) async fn only_an_acceptable_media_type_is_sent(backend: Backend) {
    let service = backend.open().await;
    service.close_as_operator().await;
    let user = service.user(json!({"username": "ada"})).await;
    let group = service.group("team").await;
    let (members, member) = (group_path(&group) + "/members", member_path(&group, &user));
    let (group, user) = (group_path(&group), path(&user));
    let gone = kept(&service.left(json!({"username": "grace"})).await);
    let (restore, events) = (format!("{gone}/restore"), format!("{user}/events"));
    let groups = format!("{user}/groups");
    for (method, target) in [
        ("GET", "/users"),
        ("POST", "/users"),
        ("GET", &user),
        ("PUT", &user),
        ("PATCH", &user),
        ("GET", "/schema"),
        ("PUT", "/schema"),
        ("GET", &groups),
        ("GET", "/groups"),
        ("POST", "/groups"),
        ("GET", &group),
        ("PUT", &group),
        ("PATCH", &group),
        ("GET", &members),
        ("PUT", &member),
        ("GET", "/deleted-users"),
        ("GET", "/bulk/users"),
        ("GET", "/bulk/groups"),
        ("GET", "/bulk/deleted-users"),
        ("GET", &gone),
        ("POST", &restore),
        ("GET", "/tenants"),
        ("POST", "/tenants"),
        ("GET", "/tenants/acme"),
        ("PUT", "/tenants/acme"),
        ("PATCH", "/tenants/acme"),
        ("GET", "/deleted-tenants"),
        ("GET", "/deleted-tenants/globex"),
        ("POST", "/deleted-tenants/globex/restore"),
        ("POST", ROTATION),
        ("GET", "/events"),
        ("GET", &events),
        ("GET", "/"),
        ("GET", "/openapi.json"),
        ("GET", "/openapi-3.0.json"),
        ("GET", "/docs"),
        ("GET", "/problems"),
        ("GET", "/problems/internal"),
    ]
    .into_iter()
    .chain(WEBHOOKS)
    .chain(PAGES)
    {
        let request = service.request(method, target).header("accept", "image/png, text/*;q=0");
        let request = if method == "GET" { request } else { request.json(&json!({})) };
        request.send().await.refused(406, "not-acceptable");
    }
    let lenient = service.request("GET", &user).header("accept", "text/html, */*;q=0.1");
    assert_eq!(lenient.send().await.expect(200).header("content-type"), "application/json");
}
