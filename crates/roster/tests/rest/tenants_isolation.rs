//! Tenants are kept apart: each operation with credentials of another tenant, and with ids of
//! another tenant.

use std::time::Duration;

use roster_core::access::Scope;
use roster_http::operation::Operation;
use serde_json::{Value, json};

use crate::{
    access::{NOBODY, operations, request_for},
    client::Reply,
    service::{Backend, Engine, Service},
};

/// A service with an operator and two tenants, each with a key of every scope.
pub(crate) struct Tenants {
    pub(crate) service: Service,
    pub(crate) operator: String,
    /// A key of the default tenant.
    pub(crate) default: String,
    pub(crate) keys: [String; 2],
}

const NAMES: [&str; 2] = ["acme", "globex"];

fn text(key: &Value) -> String {
    key["key"].as_str().expect("a key").to_owned()
}

impl Tenants {
    pub(crate) async fn open(backend: &Backend) -> Self {
        Self::of(backend.open().await).await
    }

    async fn of(service: Service) -> Self {
        let scopes: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
        let body = |name: &str| json!({"name": name, "scopes": scopes});
        let operator = json!({"name": "operator", "scopes": scopes, "tenants": "all"});
        let operator = service.request("POST", "/keys").json(&operator).send().await.expect(201);
        let operator = text(&operator.json());
        let create = async |target: &str, body: &Value| {
            let request = service.request("POST", target).bearer(&operator).json(body);
            request.send().await.expect(201).json()
        };
        let default = text(&create("/keys", &body("default")).await);
        let mut keys = Vec::new();
        for name in NAMES {
            create("/tenants", &json!({"name": name})).await;
            keys.push(text(&create(&format!("/tenants/{name}/keys"), &body(name)).await));
        }
        let keys = [keys[0].clone(), keys[1].clone()];
        Self { service, operator, default, keys }
    }

    pub(crate) async fn send(
        &self,
        key: Option<&str>,
        method: &str,
        target: &str,
        body: &Value,
    ) -> Reply {
        let request = self.service.request(method, target).without("authorization");
        let request = match key {
            Some(key) => request.bearer(key),
            None => request,
        };
        let request = if body.is_null() { request } else { request.json(body) };
        request.send().await
    }

    /// A user and a group in each place, with the same names. Returns the ids of users and groups.
    async fn populate(&self) -> Vec<[String; 2]> {
        let mut ids = Vec::new();
        let bases = ["", "/tenants/acme", "/tenants/globex"];
        for base in bases {
            let key = Some(self.operator.as_str());
            let user = json!({"username": "ada", "email": "ada@example.com"});
            let user = self.send(key, "POST", &format!("{base}/users"), &user).await.expect(201);
            let group = json!({"display_name": "Staff"});
            let group = self.send(key, "POST", &format!("{base}/groups"), &group).await.expect(201);
            let id = |reply: &Reply| reply.json()["id"].as_str().expect("an id").to_owned();
            ids.push([id(&user), id(&group)]);
        }
        ids
    }
}

/// What a caller sees of a response, apart from what differs between any two.
fn seen(reply: &Reply) -> (u16, Vec<(String, String)>, String) {
    let except = ["date", "x-request-id", "ratelimit", "roster-position"];
    let headers = reply.exchange.response_headers.iter();
    let headers = headers.filter(|(name, _)| !except.contains(&name.as_str())).cloned().collect();
    let body = reply.text().to_owned();
    let body = match reply.find("x-request-id") {
        Some(id) => body.replace(id, "REQUEST"),
        None => body,
    };
    (reply.status(), headers, body)
}

fn is_of_tenants(operation: Operation) -> bool {
    !operation.is_of_service()
}

pub(crate) async fn a_key_reaches_its_tenant_alone(backend: Backend) {
    let tenants = Tenants::open(&backend).await;
    tenants.populate().await;
    let service = &tenants.service;
    let send = async |operation: Operation, method: &str, target: &str, key: Option<&str>| {
        let request = request_for(service, operation, method, target).without("authorization");
        match key {
            Some(key) => request.bearer(key).send().await,
            None => request.send().await,
        }
    };
    for (operation, method, target) in operations() {
        if !is_of_tenants(operation) {
            continue;
        }
        let place = operation.id();
        let below = |tenant: &str| format!("/tenants/{tenant}{target}");
        for key in [Some(tenants.keys[0].as_str()), Some(&tenants.default), None] {
            let other = send(operation, &method, &below("globex"), key).await;
            let unknown = send(operation, &method, &below("nobody"), key).await;
            let wrong = send(operation, &method, &below("%2e%2e"), key).await;
            assert_eq!(seen(&other), seen(&unknown), "{place}");
            assert_eq!(seen(&other), seen(&wrong), "{place}");
            assert_eq!(other.status(), if key.is_some() { 404 } else { 401 }, "{place}");
        }
        if operation.needs() != roster_http::operation::Need::Nothing {
            let key = Some(tenants.keys[0].as_str());
            let elsewhere = send(operation, &method, &target, key).await;
            assert_eq!(elsewhere.status(), 403, "{place}");
        }
        // With a key of the tenant and one of the operator the response is that of the default one.
        let of_default = send(operation, &method, &target, Some(&tenants.operator)).await.status();
        for (key, tenant) in
            [(&tenants.keys[0], "acme"), (&tenants.operator, "acme"), (&tenants.keys[1], "globex")]
        {
            let own = send(operation, &method, &below(tenant), Some(key)).await.status();
            if operation != Operation::CreateUser {
                assert_eq!(own, of_default, "{place} below {tenant}");
            }
        }
    }
}

pub(crate) async fn ids_of_another_tenant_are_unknown(backend: Backend) {
    let tenants = Tenants::open(&backend).await;
    let ids = tenants.populate().await;
    let [user, group] = &ids[1];
    let [own_user, own_group] = &ids[2];
    let before = tenants.send(Some(&tenants.keys[0]), "GET", "/tenants/acme/users", &Value::Null);
    let before = before.await.json();
    let requests = [
        ("GET", "/users/USER", Value::Null),
        ("PUT", "/users/USER", json!({"username": "eve"})),
        ("PATCH", "/users/USER", json!({"title": "T"})),
        ("DELETE", "/users/USER", Value::Null),
        ("GET", "/users/USER/events", Value::Null),
        ("GET", "/users/USER/groups", Value::Null),
        ("POST", "/deleted-users/USER/restore", Value::Null),
        ("DELETE", "/deleted-users/USER", Value::Null),
        ("GET", "/groups/GROUP", Value::Null),
        ("PATCH", "/groups/GROUP", json!({"display_name": "X"})),
        ("DELETE", "/groups/GROUP", Value::Null),
        ("GET", "/groups/GROUP/members", Value::Null),
        ("PUT", "/groups/GROUP/members/USER", Value::Null),
        ("GET", "/scim/v2/Users/USER", Value::Null),
        ("DELETE", "/scim/v2/Users/USER", Value::Null),
        ("GET", "/scim/v2/Groups/GROUP", Value::Null),
    ];
    for (method, template, body) in &requests {
        for (key, base) in [(&tenants.keys[1], "/tenants/globex"), (&tenants.default, "")] {
            let of = |user: &str, group: &str| {
                format!("{base}{}", template.replace("USER", user).replace("GROUP", group))
            };
            let other = tenants.send(Some(key), method, &of(user, group), body).await;
            let unknown = tenants.send(Some(key), method, &of(NOBODY, NOBODY), body).await;
            let named = |reply: &Reply, ids: [&str; 2]| {
                let (status, headers, body) = seen(reply);
                (status, headers, body.replace(ids[0], "ID").replace(ids[1], "ID"))
            };
            let shown = named(&other, [user, group]);
            assert_eq!(shown, named(&unknown, [NOBODY, NOBODY]), "{method} {template}");
            assert_eq!(shown.0, 404, "{method} {template}");
        }
    }
    // A member of another tenant joins no group, and is no match of a filter.
    let key = Some(tenants.keys[1].as_str());
    let member = format!("/tenants/globex/groups/{own_group}/members/{user}");
    tenants.send(key, "PUT", &member, &Value::Null).await.refused(404, "member-not-found");
    let filter = format!("/tenants/globex/users?filter=groups.value%20eq%20%22{group}%22");
    let page = tenants.send(key, "GET", &filter, &Value::Null).await.expect(200).json();
    assert_eq!(page["items"], json!([]));
    let by_id = format!("/tenants/globex/users?id={user}&id={own_user}");
    let page = tenants.send(key, "GET", &by_id, &Value::Null).await.expect(200).json();
    assert_eq!(page["items"].as_array().map(Vec::len), Some(1));
    let after = tenants.send(Some(&tenants.keys[0]), "GET", "/tenants/acme/users", &Value::Null);
    assert_eq!(after.await.json(), before);
}

pub(crate) async fn a_tenant_has_links_cursors_and_events_of_its_own(backend: Backend) {
    let tenants = Tenants::open(&backend).await;
    let key = Some(tenants.keys[0].as_str());
    for n in 0..3 {
        for base in ["/tenants/acme", "/tenants/globex", ""] {
            let user = json!({"username": format!("user {n}")});
            let target = format!("{base}/users");
            let made = tenants.send(Some(&tenants.operator), "POST", &target, &user).await;
            let location = made.expect(201).header("location").to_owned();
            assert!(location.starts_with(&format!("{target}/")), "{location}");
        }
    }
    let page = tenants.send(key, "GET", "/tenants/acme/users?limit=2", &Value::Null).await;
    let link = page.header("link").to_owned();
    assert!(link.starts_with("</tenants/acme/users?limit=2&cursor="), "{link}");
    let cursor = page.json()["next_cursor"].as_str().expect("a cursor").to_owned();
    let next = |base: &str| format!("{base}/users?limit=2&cursor={cursor}");
    let last = tenants.send(key, "GET", &next("/tenants/acme"), &Value::Null).await.expect(200);
    assert_eq!(last.json()["items"].as_array().map(Vec::len), Some(1));
    let operator = Some(tenants.operator.as_str());
    for base in ["/tenants/globex", ""] {
        let other = tenants.send(operator, "GET", &next(base), &Value::Null).await;
        other.refused(400, "invalid-cursor");
    }
    let events = tenants.send(key, "GET", "/tenants/acme/events?limit=2", &Value::Null).await;
    let link = events.header("link").to_owned();
    assert!(link.starts_with("</tenants/acme/events?"), "{link}");
    for event in events.expect(200).json()["items"].as_array().expect("events") {
        assert_eq!(event["tenant"], "acme");
        let source = event["source"].as_str().expect("a source");
        assert!(source.ends_with("/tenants/acme"), "{source}");
    }
    let events = tenants.send(operator, "GET", "/events?type=user.*,group.*", &Value::Null).await;
    let events = events.expect(200).json();
    let events = events["items"].as_array().expect("events").clone();
    assert_eq!(events.len(), 3);
    assert!(events.iter().all(|event| event.get("tenant").is_none()));
    let scim = tenants.send(key, "GET", "/tenants/acme/scim/v2/Users", &Value::Null).await;
    for user in scim.expect(200).json()["Resources"].as_array().expect("users") {
        let location = user["meta"]["location"].as_str().expect("a location");
        assert!(location.contains("/tenants/acme/scim/v2/Users/"), "{location}");
    }
    let service = tenants.send(key, "GET", "/tenants/acme/", &Value::Null).await.expect(200).json();
    let users = service["links"]["users"].as_str().expect("a link");
    assert!(users.ends_with("/tenants/acme/users"), "{users}");
    assert!(service["links"].get("tenants").is_none());
}

pub(crate) async fn the_declared_members_of_a_tenant_are_its_own(backend: Backend) {
    let tenants = Tenants::open(&backend).await;
    let [acme, globex] = &tenants.keys;
    for (base, member) in [("", "of_default"), ("/tenants/acme", "of_acme")] {
        let schema = json!({"attributes": [{"name": member, "type": "string"}]});
        let target = format!("{base}/schema");
        tenants.send(Some(&tenants.operator), "PUT", &target, &schema).await.expect(200);
    }
    let shown = async |key: &str, base: &str| {
        let mut shown = Vec::new();
        for path in ["/openapi.json", "/openapi-3.0.json"] {
            let target = format!("{base}{path}");
            let page = tenants.send(Some(key), "GET", &target, &Value::Null).await.expect(200);
            shown.push(["of_default", "of_acme"].map(|member| page.text().contains(member)));
        }
        assert_eq!(shown[0], shown[1]);
        shown[0]
    };
    assert_eq!(shown(&tenants.operator, "").await, [true, false]);
    assert_eq!(shown(&tenants.default, "").await, [true, false]);
    assert_eq!(shown(acme, "").await, [false, false]);
    assert_eq!(shown(globex, "").await, [false, false]);
    assert_eq!(shown(acme, "/tenants/acme").await, [false, true]);
    assert_eq!(shown(globex, "/tenants/globex").await, [false, false]);
    // Equal requests of two tenants have unequal tags, also where the lists are equal.
    let tag = async |base: &str| {
        let target = format!("{base}/groups");
        let page = tenants.send(Some(&tenants.operator), "GET", &target, &Value::Null).await;
        page.expect(200).header("etag").to_owned()
    };
    assert_ne!(tag("/tenants/acme").await, tag("/tenants/globex").await);
}

pub(crate) async fn keys_of_the_operator_are_in_the_hands_of_the_operator(backend: Backend) {
    let tenants = Tenants::open(&backend).await;
    let list = async |key: &str, base: &str| {
        let keys = tenants.send(Some(key), "GET", &format!("{base}/keys"), &Value::Null).await;
        let keys = keys.expect(200).json()["items"].as_array().expect("keys").clone();
        keys.iter().map(|key| key["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    // They have one time of creation, so their order is that of random ids.
    let mut all = list(&tenants.operator, "").await;
    all.sort();
    assert_eq!(all, ["default", "operator"]);
    assert_eq!(list(&tenants.default, "").await, ["default"]);
    assert_eq!(list(&tenants.keys[0], "/tenants/acme").await, ["acme"]);
    assert_eq!(list(&tenants.operator, "/tenants/acme").await, ["acme"]);
    let id =
        |key: &str| key.trim_start_matches("rst_").split('_').next().expect("an id").to_owned();
    let operator = id(&tenants.operator);
    for (key, base) in [(&tenants.default, ""), (&tenants.keys[0], "/tenants/acme")] {
        for (method, rest) in [("GET", ""), ("DELETE", ""), ("POST", "/rotate")] {
            let target = format!("{base}/keys/{operator}{rest}");
            let reply = tenants.send(Some(key), method, &target, &Value::Null).await;
            reply.refused(404, "key-not-found");
        }
        let body = json!({"name": "one more", "scopes": ["users:read"], "tenants": "all"});
        let reply = tenants.send(Some(key), "POST", &format!("{base}/keys"), &body).await;
        reply.refused(403, "operator-key-required");
    }
    let other = format!("/tenants/acme/keys/{}", id(&tenants.keys[1]));
    let reply = tenants.send(Some(&tenants.keys[0]), "DELETE", &other, &Value::Null).await;
    reply.refused(404, "key-not-found");
    let below = json!({"name": "one more", "scopes": ["users:read"], "tenants": "all"});
    let operator = Some(tenants.operator.as_str());
    let reply = tenants.send(operator, "POST", "/tenants/acme/keys", &below).await;
    let detail = reply.refused(403, "operator-key-required").json()["detail"].clone();
    assert!(detail.as_str().is_some_and(|detail| detail.contains("not of a tenant")), "{detail}");
    let caller = tenants.send(operator, "GET", "/tenants/acme/caller", &Value::Null).await;
    assert_eq!(caller.expect(200).json()["name"], "operator");
    let wrong = json!({"name": "x", "scopes": ["users:read"], "tenants": "acme"});
    let reply = tenants.send(Some(&tenants.operator), "POST", "/keys", &wrong).await;
    reply.refused(422, "invalid-key");
}

pub(crate) async fn a_suspended_tenant_serves_the_operator_alone(backend: Backend) {
    let tenants = Tenants::open(&backend).await;
    let suspend = |status: &str| json!({"status": status});
    let patch = async |status: &str| {
        let request = tenants.service.request("PATCH", "/tenants/acme").bearer(&tenants.operator);
        request.json(&suspend(status)).send().await.expect(200)
    };
    let read =
        async |key: &str, target: &str| tenants.send(Some(key), "GET", target, &Value::Null).await;
    patch("suspended").await;
    let own = read(&tenants.keys[0], "/tenants/acme/users").await;
    own.refused(403, "tenant-suspended");
    assert_eq!(read(&tenants.keys[0], "/tenants/acme/scim/v2/Users").await.status(), 403);
    read(&tenants.operator, "/tenants/acme/users").await.expect(200);
    read(&tenants.keys[1], "/tenants/globex/users").await.expect(200);
    patch("active").await;
    read(&tenants.keys[0], "/tenants/acme/users").await.expect(200);
}

#[test]
fn a_suspension_by_another_process_is_seen_within_a_second() {
    crate::run(Engine::Postgres, async |backend| {
        let mut services = backend.open_processes(2).await;
        let other = services.pop().expect("a second one");
        let tenants = Tenants::of(services.pop().expect("a first one")).await;
        let read = async || {
            other.request("GET", "/tenants/acme/users").bearer(&tenants.keys[0]).send().await
        };
        for (status, expected) in [("suspended", 403), ("active", 200)] {
            // The other process has the tenant in memory now.
            read().await;
            let patch = tenants.service.request("PATCH", "/tenants/acme").bearer(&tenants.operator);
            patch.json(&json!({"status": status})).send().await.expect(200);
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(read().await.status(), expected);
        }
    });
}

pub(crate) async fn a_tenant_has_at_most_its_maximum_of_users(backend: Backend) {
    let tenants = Tenants::open(&backend).await;
    let request = tenants.service.request("PATCH", "/tenants/acme").bearer(&tenants.operator);
    request.json(&json!({"users_max": 1})).send().await.expect(200);
    let key = Some(tenants.keys[0].as_str());
    let create = async |name: &str| {
        tenants.send(key, "POST", "/tenants/acme/users", &json!({"username": name})).await
    };
    create("ada").await.expect(201);
    create("grace").await.refused(403, "quota-exceeded");
    let body = json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": "grace"
    });
    let scim = tenants.send(key, "POST", "/tenants/acme/scim/v2/Users", &body).await;
    assert_eq!(scim.status(), 403);
    create("ada").await.refused(409, "username-taken");
}

pub(crate) async fn the_operator_reads_the_events_of_all_tenants(backend: Backend) {
    let open = backend.open().await;
    open.get("/events?tenants=all").await.refused(403, "operator-key-required");
    let tenants = Tenants::open(&backend).await;
    tenants.populate().await;
    let operator = Some(tenants.operator.as_str());
    let get = async |key, target: &str| tenants.send(key, "GET", target, &Value::Null).await;
    let of_users = "/events?tenants=all&type=user.*,group.*";
    let (mut target, mut events) = (format!("{of_users}&limit=4"), Vec::new());
    loop {
        let page = get(operator, &target).await.expect(200);
        let body = page.json();
        events.extend(body["items"].as_array().expect("items").clone());
        let Some(cursor) = body["next_cursor"].as_str() else { break };
        assert!(page.header("link").contains("tenants=all"), "{}", page.header("link"));
        target = format!("{of_users}&limit=4&cursor={cursor}");
    }
    let seen: Vec<_> = events
        .iter()
        .map(|event| {
            let tenant = event.get("tenant").and_then(Value::as_str).unwrap_or("");
            let source = event["source"].as_str().expect("a source");
            assert_eq!(source.ends_with(&format!("/tenants/{tenant}")), !tenant.is_empty());
            (tenant, event["type"].as_str().expect("a type"))
        })
        .collect();
    let created = ["user.created", "group.created"];
    let expected: Vec<_> =
        ["", "acme", "globex"].iter().flat_map(|of| created.map(|kind| (*of, kind))).collect();
    assert_eq!(seen, expected);
    let groups = get(operator, "/events?tenants=all&type=group.created").await.expect(200).json();
    assert_eq!(groups["items"].as_array().map(Vec::len), Some(3));

    get(Some(&tenants.default), "/events?tenants=all").await.refused(403, "operator-key-required");
    get(Some(&tenants.keys[0]), "/events?tenants=all").await.refused(403, "wrong-tenant");
    let id = events[0]["data"]["user_id"].as_str().expect("an id");
    for target in [
        "/events?tenants=acme".to_owned(),
        format!("/events?tenants=all&user_id={id}"),
        format!("/users/{id}/events?tenants=all"),
        "/tenants/acme/events?tenants=all".to_owned(),
    ] {
        get(operator, &target).await.refused(400, "invalid-query");
    }

    let send = async |method, target: &str| {
        tenants.send(operator, method, target, &Value::Null).await.expect(204);
    };
    send("DELETE", "/tenants/acme").await;
    send("DELETE", "/deleted-tenants/acme").await;
    let page = get(operator, of_users).await.expect(200).json();
    let purged: Vec<_> = page["items"]
        .as_array()
        .expect("items")
        .iter()
        .filter(|event| event["tenant"].as_str().is_some_and(|tenant| tenant.starts_with('#')))
        .collect();
    assert_eq!(purged.len(), 2);
    for event in purged {
        assert_eq!((event["data"].get("user"), event["data"].get("group")), (None, None));
    }
}
