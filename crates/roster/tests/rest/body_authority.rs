//! Requests whose caller loses access while the body is being sent.
//!
//! The cases come from the route table: every operation with a request body, in each of its media
//! types. All but the last byte of each body is sent, then the caller loses access, then the last
//! byte is sent.

use roster_core::UserSchema;
use std::time::Duration;

use roster_http::{description, operation::Operation};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use crate::{
    bulk::shut_out::{begin_line, line_is_refused},
    client::Begun,
    service::{Backend, Service, group_path, path},
};

const NDJSON: &str = "application/x-ndjson";
const CSV: &str = "text/csv";
const USER_URN: &str = "urn:ietf:params:scim:schemas:core:2.0:User";
const GROUP_URN: &str = "urn:ietf:params:scim:schemas:core:2.0:Group";

/// The user and the group that the requests would change.
struct Fixture {
    user: Value,
    group: Value,
    webhook: Value,
}

impl Fixture {
    async fn new(service: &Service) -> Self {
        let user = service.user(json!({"username": "ada"})).await;
        let webhook = json!({"name": "search", "url": "https://h.example.com/r"});
        let webhook = service.webhook(webhook).await;
        Self { user, group: service.group("engineers").await, webhook }
    }

    /// A target of a route, at which there is something to change.
    fn target(&self, route: &str) -> String {
        let id = |text: String| text.rsplit('/').next().unwrap_or_default().to_owned();
        let (user, group) = (id(path(&self.user)), id(group_path(&self.group)));
        let in_path = if route.contains("Groups") { &group } else { &user };
        let route = route.replace("{user_id}", &user).replace("{group_id}", &group);
        let route = route.replace("{id}", in_path).replace("{member_id}", &user);
        let webhook = self.webhook["id"].as_str().unwrap_or_default();
        let route = route.replace("{webhook_id}", webhook);
        route.replace("{key_id}", "3hGk9PzQ7a").replace("{tenant}", "acme")
    }

    /// A body for which the operation would succeed.
    fn body(operation: Operation) -> Value {
        let scim_user = json!({"schemas": [USER_URN], "userName": "grace"});
        let scim_group = json!({"schemas": [GROUP_URN], "displayName": "painters"});
        let scim_patch = |path: &str, value: &str| {
            json!({
                "schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
                "Operations": [{"op": "replace", "path": path, "value": value}],
            })
        };
        match operation.id() {
            "createUser" | "replaceUser" | "patchUser" => json!({"username": "grace"}),
            "patchUsers" => json!({"name": "Ada"}),
            "createGroup" | "replaceGroup" | "patchGroup" => json!({"display_name": "painters"}),
            "createTenant" => json!({"name": "globex"}),
            "replaceTenant" | "patchTenant" => json!({"display_name": "Acme"}),
            "createKey" => json!({"name": "mine", "scopes": ["keys:admin"]}),
            "createWebhook" | "replaceWebhook" | "patchWebhook" => {
                json!({"name": "mine", "url": "https://h.example.com/mine"})
            }
            "replayWebhook" => json!({"after": "0000000000000000-0"}),
            "replaceSchema" => json!({"attributes": [{"name": "badge", "type": "string"}]}),
            "scimCreateUser" | "scimReplaceUser" => scim_user,
            "scimPatchUser" => scim_patch("userName", "grace"),
            "scimCreateGroup" | "scimReplaceGroup" => scim_group,
            "scimPatchGroup" => scim_patch("displayName", "painters"),
            "scimSearch" | "scimSearchUsers" | "scimSearchGroups" => {
                json!({"schemas": ["urn:ietf:params:scim:api:messages:2.0:SearchRequest"]})
            }
            "scimBulk" => json!({
                "schemas": ["urn:ietf:params:scim:api:messages:2.0:BulkRequest"],
                "Operations": [{"method": "POST", "path": "/Users", "data": scim_user}],
            }),
            other => panic!("{other} has a body now: give it one here"),
        }
    }
}

/// An operation with a request body, in one of its media types.
struct Upload {
    operation: Operation,
    method: String,
    route: &'static str,
    media_type: String,
}

/// Every operation whose description has a request body, in each of its media types.
fn uploads() -> Vec<Upload> {
    let document = description::openapi("http://roster.test", &UserSchema::default());
    let document: Value = serde_json::from_slice(&document).expect("the document is JSON");
    let mut uploads = Vec::new();
    for operation in Operation::ALL.iter().copied() {
        let (method, route) = (operation.method().to_string(), operation.path());
        let described = &document["paths"][route][method.to_ascii_lowercase()];
        assert_eq!(described["operationId"], operation.id());
        let body = &described["requestBody"];
        let kinds = [&body["content"], &body["x-other-content"]];
        let kinds = kinds.into_iter().filter_map(Value::as_object);
        for media_type in kinds.flat_map(|content| content.keys()) {
            let (method, media_type) = (method.clone(), media_type.clone());
            uploads.push(Upload { operation, method, route, media_type });
        }
    }
    assert!(uploads.len() >= 28, "{} are known", uploads.len());
    uploads
}

/// The operations that change something and have no request body, each with its target.
fn without_body(fixture: &Fixture) -> Vec<(Operation, String, String)> {
    let with_body: Vec<Operation> = uploads().iter().map(|upload| upload.operation).collect();
    let changing = Operation::ALL.iter().copied();
    let changing = changing
        .filter(|operation| !operation.method().is_safe() && !with_body.contains(operation));
    let case = |operation: Operation| {
        (operation, operation.method().to_string(), fixture.target(operation.path()))
    };
    changing.map(case).collect()
}

/// The data that callers could have changed, without the times of last use of keys.
async fn everything(service: &Service) -> Vec<Value> {
    let mut all = vec![json!(service.head().await.position)];
    for target in ["/users", "/groups", "/tenants", "/webhooks"] {
        all.push(service.get(target).await.expect(200).json());
    }
    let keys = service.get("/keys").await.expect(200).json();
    let ids = keys["items"].as_array().expect("keys").iter().map(|key| key["id"].clone());
    all.push(ids.collect());
    all
}

/// Begins every upload, runs `change`, and finishes the uploads. Each must be rejected and change
/// nothing.
async fn nothing_is_done_after<F: Future<Output = ()>>(
    service: &Service,
    key: Option<&str>,
    change: impl FnOnce() -> F,
) {
    let fixture = Fixture::new(service).await;
    if key.is_some() {
        service.tenant(json!({"name": "acme"})).await;
    }
    let mut begun: Vec<(Operation, Begun<'_>)> = Vec::new();
    let mut imports = Vec::new();
    for Upload { operation, method, route, media_type } in uploads() {
        if media_type == NDJSON || media_type == CSV {
            let id = fixture.user["id"].as_str().expect("an id");
            // A caller has two streams of lines at a time.
            let (text, number) = match (operation.id(), media_type.as_str()) {
                ("importUsers", NDJSON) => (json!({"username": "grace"}).to_string(), 1),
                ("patchUsers", CSV) => (format!("id,name\r\n{id},Ada"), 2),
                _ => continue,
            };
            let talk = begin_line(service, (&method, &media_type), &text, key).await;
            imports.push((talk, number));
            continue;
        }
        // Only a key can change tenants.
        if operation.is_of_operator() && key.is_none() {
            continue;
        }
        let mut target = fixture.target(route);
        if operation == Operation::PatchUsers {
            target.push_str("?username=ada&confirm=1");
        }
        let request = service.request(&method, &target).without("authorization");
        let request = request.body(&media_type, Fixture::body(operation).to_string());
        let request = match key {
            Some(key) => request.bearer(key),
            None => request,
        };
        begun.push((operation, request.begin().await));
    }
    assert_eq!(imports.len(), 2, "users are created as lines and patched as rows");
    for (operation, method, target) in without_body(&fixture) {
        // Others ignore what is sent as a body.
        if !operation.takes_no_body() || (operation.is_of_operator() && key.is_none()) {
            continue;
        }
        let request = service.request(&method, &target).without("authorization");
        let request = request.body("application/json", "{}");
        let request = match key {
            Some(key) => request.bearer(key),
            None => request,
        };
        begun.push((operation, request.begin().await));
    }
    let matching = service.request("DELETE", "/bulk/users?username=ada&confirm=1");
    let matching = matching.without("authorization").body("application/json", "{}");
    let matching = match key {
        Some(key) => matching.bearer(key),
        None => matching,
    };
    begun.push((Operation::DeleteUsers, matching.begin().await));
    change().await;
    let before = everything(service).await;
    for (operation, begun) in begun {
        let reply = begun.finish().await;
        assert_eq!(reply.status(), 401, "{}: {}", operation.id(), reply.text());
        let challenge = reply.find("www-authenticate").map(str::to_owned);
        assert!(challenge.is_some_and(|told| told.starts_with("Bearer ")), "{}", operation.id());
        reply.refused(401, "unauthenticated");
    }
    for (import, number) in imports {
        line_is_refused(import, number).await;
    }
    assert_eq!(everything(service).await, before);
}

/// Every scope but `scim:strict`, which takes fewer bodies.
fn scopes() -> Vec<&'static str> {
    let all = roster_core::access::Scope::ALL.iter().map(|scope| scope.as_str());
    all.filter(|scope| *scope != "scim:strict").collect()
}

pub(crate) async fn a_key_revoked_during_the_body_is_rejected(backend: Backend) {
    let service = backend.open().await;
    service.close_as_operator().await;
    let key = service.new_operator_key(&scopes()).await;
    let (id, text) = (key["id"].as_str().expect("an id"), key["key"].as_str());
    let revoke = async || drop(service.delete(&format!("/keys/{id}")).await.expect(204));
    nothing_is_done_after(&service, text, revoke).await;
}

pub(crate) async fn a_key_that_expires_during_the_body_is_rejected(backend: Backend) {
    let service = backend.open().await;
    service.close_as_operator().await;
    let body = json!({"name": "short", "scopes": scopes(), "tenants": "all",
        "expires_at": "2026-01-01T01:00:00Z"});
    let key = service.request("POST", "/keys").json(&body).send().await.expect(201).json();
    let expire = async || service.clock.step(3_600_000);
    nothing_is_done_after(&service, key["key"].as_str(), expire).await;
}

pub(crate) async fn the_first_key_rejects_uploads_without_a_credential(backend: Backend) {
    let service = backend.open().await;
    let close = async || drop(service.close_as_operator().await);
    nothing_is_done_after(&service, None, close).await;
}

pub(crate) async fn an_ignored_body_is_not_waited_for(backend: Backend) {
    let service = backend.open().await;
    let fixture = Fixture::new(&service).await;
    let ignored = without_body(&fixture).into_iter().filter(|(one, ..)| one.is_scim());
    let operations: Vec<_> = ignored.collect();
    assert_eq!(operations.len(), 2, "users and groups are deleted");
    for (operation, method, target) in operations {
        let mut stream = TcpStream::connect(service.address).await.expect("it listens");
        let host = &service.host;
        let head = format!("{method} {target} HTTP/1.1\r\nhost: {host}\r\ncontent-length: 9\r\n");
        stream.write_all(format!("{head}\r\n").as_bytes()).await.expect("the head is taken");
        let mut first = [0; 1];
        let came = timeout(Duration::from_secs(30), stream.read(&mut first)).await;
        let came = came.unwrap_or_else(|_| panic!("{} waits for a body", operation.id()));
        assert_eq!(came.expect("an answer"), 1, "{}", operation.id());
    }
}

pub(crate) async fn a_revoked_key_rejects_no_body_of_another_key(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    let [one, other] = [service.new_key(&scopes()).await, service.new_key(&scopes()).await];
    let request = service.request("POST", "/users").json(&json!({"username": "grace"}));
    let begun = request.bearer(other["key"].as_str().expect("a key")).begin().await;
    let id = one["id"].as_str().expect("an id");
    service.delete(&format!("/keys/{id}")).await.expect(204);
    begun.finish().await.expect(201);
    let events = service.get("/events?type=user.created").await.expect(200).json();
    let actor = events["items"][0]["actor"].as_str().expect("an actor");
    assert!(actor.ends_with(other["id"].as_str().expect("an id")), "{actor}");
}
