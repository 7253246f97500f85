//! Disclosure: no response contains a record, an id, a version or a count that the scopes of its
//! caller do not allow. Every operation is tried with every kind of write.

use roster_core::{Head, access::Scope};
use roster_http::operation::{Need, Operation};
use serde_json::{Value, json};

use crate::{
    client::{Reply, Request},
    service::{Backend, Service, group_path, kept, member_path, path},
};

const NDJSON: &str = "application/x-ndjson";
/// A text in every stored record, which no request contains.
const HIDDEN: &str = "Hidden";
/// The address of the stored user, which requests contain.
const ADDRESS: &str = "ada@x.org";

/// What is stored: a user in a group, a deleted user, and a declared member.
struct Stored {
    user: Value,
    group: Value,
    left: Value,
    schema: Value,
}

impl Stored {
    async fn new(service: &Service) -> Self {
        let attributes = json!([{"name": "badge", "type": "string", "description": HIDDEN}]);
        let schema = json!({"attributes": attributes});
        service.request("PUT", "/schema").json(&schema).send().await.expect(200);
        let user = service.user(json!({"email": ADDRESS, "name": HIDDEN, "title": "old"})).await;
        service.patch(&user, json!({"title": "new"})).await.expect(200);
        let group = json!({"display_name": "team", "external_id": HIDDEN});
        let group = service.request("POST", "/groups").json(&group).send().await.expect(201).json();
        service.join(&group, &user).await.expect(200);
        let left = service.left(json!({"username": "grace", "name": HIDDEN})).await;
        Self { user, group, left, schema }
    }

    fn ids(&self) -> Vec<&str> {
        let id = |record: &'_ Value| record["id"].as_str().map(str::len);
        assert!([&self.user, &self.group, &self.left].iter().all(|one| id(one) == Some(36)));
        [&self.user, &self.group, &self.left].iter().filter_map(|one| one["id"].as_str()).collect()
    }

    /// The path of an operation about these records.
    fn target(&self, operation: Operation) -> String {
        let member = member_path(&self.group, &self.user);
        match operation.path() {
            route if route.starts_with("/users/{user_id}") => {
                route.replace("/users/{user_id}", &path(&self.user))
            }
            route if route.starts_with("/deleted-users/{user_id}") => {
                route.replace("/deleted-users/{user_id}", &kept(&self.left))
            }
            "/groups/{group_id}/members/{member_id}" => member,
            route if route.starts_with("/groups/{group_id}") => {
                route.replace("/groups/{group_id}", &group_path(&self.group))
            }
            route => {
                let id = if route.contains("Groups") { &self.group } else { &self.user };
                let id = id["id"].as_str().expect("an id");
                let route = route.replace("{id}", id).replace("{code}", "user-not-found");
                let route = route.replace("{key_id}", "3hGk9PzQ7a").replace("{tenant}", "acme");
                route.replace("{name}", "User")
            }
        }
    }
}

/// A request of an operation. None of them changes what is stored.
struct Trial {
    query: String,
    headers: Vec<(&'static str, &'static str)>,
    body: Option<(&'static str, String)>,
}

fn trial(query: &str, body: Option<(&'static str, String)>) -> Trial {
    Trial { query: query.to_owned(), headers: Vec::new(), body }
}

/// Every way to write nothing: unchanged, in a dry run, and rejected by a precondition.
fn writes(body: Option<&Value>, is_unchanged: bool) -> Vec<Trial> {
    let body = || body.map(|body| ("application/json", body.to_string()));
    let mut trials = vec![trial("?dry_run=true", body())];
    if is_unchanged {
        trials.push(trial("", body()));
        for header in [("prefer", "return=representation"), ("prefer", "return=minimal")] {
            trials.push(Trial { headers: vec![header], ..trial("", body()) });
        }
        for _ in 0..2 {
            let key = vec![("idempotency-key", "the same")];
            trials.push(Trial { headers: key, ..trial("", body()) });
        }
    }
    for header in [("if-match", "\"99\""), ("if-none-match", "*")] {
        trials.push(Trial { headers: vec![header], ..trial("", body()) });
    }
    trials
}

fn lines(query: &str, lines: &[Value]) -> Trial {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    trial(query, Some((NDJSON, lines.join("\n"))))
}

/// A body that means the stored user.
fn existing() -> Value {
    json!({"email": ADDRESS, "title": "new"})
}

/// Every query with which that body changes nothing.
fn upserts() -> Vec<String> {
    let mut queries = Vec::new();
    for upsert in ["skip", "merge", "replace"] {
        for dry in ["", "&dry_run=true"] {
            // A replacement would change the user.
            if upsert != "replace" || !dry.is_empty() {
                queries.push(format!("?on_conflict={upsert}{dry}"));
            }
        }
    }
    queries
}

#[expect(clippy::wildcard_enum_match_arm, reason = "other operations have one kind of trial")]
fn trials(operation: Operation, stored: &Stored) -> Vec<Trial> {
    let user = &stored.user["id"];
    let version = |version: i64| json!({"id": user, "version": version, "title": "new"});
    match operation {
        Operation::CreateUser => {
            let same = Some(("application/json", existing().to_string()));
            let mut trials = vec![trial("", same.clone())];
            trials.extend(upserts().iter().map(|query| trial(query, same.clone())));
            trials
        }
        Operation::ImportUsers => {
            let body = json!({"email": ADDRESS, "title": "new", "name": null});
            let mut trials: Vec<Trial> =
                upserts().iter().map(|query| lines(query, &[existing()])).collect();
            trials.push(lines("", &[existing(), body.clone(), json!({"username": 7})]));
            trials.push(lines("?dry_run=true", &[body]));
            trials
        }
        Operation::PatchUsers => {
            let all = [json!({"id": user}), version(99), version(2)];
            let conditions = "?username=ada&dry_run=true";
            let patch = Some(("application/json", "{}".to_owned()));
            vec![lines("", &all), lines("?dry_run=true", &all), trial(conditions, patch)]
        }
        Operation::DeleteUsers => {
            let stale = json!({"id": user, "version": 99});
            let dry = lines("?dry_run=true", &[json!({"id": user}), stale.clone()]);
            vec![lines("", &[stale]), dry, trial("?username=ada&dry_run=true", None)]
        }
        Operation::ReplaceUser => writes(Some(&json!({"username": "x", "title": "x"})), false),
        Operation::PatchUser | Operation::PatchGroup => writes(Some(&json!({})), true),
        Operation::CreateGroup | Operation::ReplaceGroup => {
            writes(Some(&json!({"display_name": "team"})), false)
        }
        Operation::ReplaceSchema => writes(Some(&stored.schema), true),
        Operation::PutMember => writes(None, true),
        Operation::DeleteUser
        | Operation::PurgeUser
        | Operation::RestoreUser
        | Operation::DeleteGroup
        | Operation::DeleteMember => writes(None, false),
        Operation::ScimBulk => {
            let operation =
                json!({"method": "PATCH", "path": format!("/Users/{user}"), "data": {}});
            let bulk = json!({"Operations": [operation]});
            vec![trial("", Some(("application/scim+json", bulk.to_string())))]
        }
        other if other.method().as_str() == "GET" => {
            vec![
                trial("", None),
                Trial { headers: vec![("if-match", "\"99\"")], ..trial("", None) },
            ]
        }
        _ => vec![trial("", Some(("application/json", "{}".to_owned())))],
    }
}

/// Whether these scopes allow what the response of this operation contains.
fn is_allowed(operation: Operation, scopes: &[Scope]) -> bool {
    let has = |scope: Scope| scopes.contains(&scope);
    let is_read =
        |needed: &[Scope]| needed == [Scope::EventsRead] || needed == [Scope::MetricsRead];
    match operation.needs() {
        _ if has(Scope::UsersRead) => true,
        Need::Scopes([Scope::Scim]) => has(Scope::Scim),
        Need::Scopes(needed) => is_read(needed) && needed.iter().all(|scope| has(*scope)),
        Need::Caller | Need::Nothing => false,
    }
}

/// The versions in a JSON tree.
fn versions(tree: &Value) -> usize {
    match tree {
        Value::Object(members) => {
            usize::from(members.contains_key("version"))
                + members.values().map(versions).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(versions).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn check(operation: Operation, stored: &Stored, sent: &str, reply: &Reply, place: &str) {
    let headers: Vec<String> = reply
        .exchange
        .response_headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    let text = format!("{}\n{}", headers.join("\n"), reply.text());
    assert!(!text.contains(HIDDEN), "{place}: {text}");
    for id in stored.ids().into_iter().filter(|id| !sent.contains(id)) {
        assert!(!text.contains(id), "{place}: {text}");
    }
    let is_public = matches!(operation.needs(), Need::Nothing | Need::Caller);
    if is_public || operation == Operation::ListKeys {
        return;
    }
    for number in [stored.user["version"].as_i64(), Some(2), Some(3)].into_iter().flatten() {
        assert!(!text.contains(&format!("version {number}")), "{place}: {text}");
    }
    // A dry run of a create shows what the request would create.
    let creates = operation == Operation::CreateGroup && reply.status() < 300;
    if creates {
        return;
    }
    assert_eq!(reply.find("etag"), None, "{place}: {text}");
    assert_eq!(reply.find("roster-position"), None, "{place}: {text}");
    for line in reply.text().lines() {
        let tree: Value = serde_json::from_str(line).unwrap_or_default();
        assert_eq!((versions(&tree), tree.get("count")), (0, None), "{place}: {text}");
        assert!(tree["unchanged"].as_u64().is_none_or(|count| count == 0), "{place}: {text}");
    }
}

fn request<'s>(
    service: &'s Service,
    (method, target): (&str, &str),
    trial: &Trial,
    token: &str,
) -> Request<'s> {
    let mut request = service.request(method, &format!("{target}{}", trial.query)).bearer(token);
    for (name, value) in &trial.headers {
        request = request.header(name, value);
    }
    match &trial.body {
        Some((media_type, body)) => request.body(media_type, body.clone()),
        None => request,
    }
}

/// Each scope alone, with the scopes to write, and with all others.
fn scope_sets() -> Vec<Vec<Scope>> {
    let writes = [Scope::UsersWrite, Scope::UsersPurge, Scope::SchemaWrite];
    let others = || Scope::ALL.iter().copied().filter(|scope| *scope != Scope::UsersRead);
    let mut sets: Vec<Vec<Scope>> = Scope::ALL.iter().map(|scope| vec![*scope]).collect();
    sets.push(writes.to_vec());
    sets.push(others().filter(|scope| *scope != Scope::Scim).collect());
    sets.push(others().collect());
    sets
}

pub(crate) async fn no_response_shows_more_than_the_scopes_of_its_caller_allow(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    let stored = Stored::new(&service).await;
    let before = service.head().await;
    for scopes in scope_sets() {
        let names: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
        let key = service.new_key(&names).await;
        let token = key["key"].as_str().expect("a key");
        for operation in Operation::ALL.iter().copied() {
            let (method, target) = (operation.method().to_string(), stored.target(operation));
            // The scope of SCIM includes reading, and its requests would change the records.
            if operation.is_scim() && scopes.contains(&Scope::Scim) {
                continue;
            }
            for trial in trials(operation, &stored) {
                let mut methods = vec![method.as_str()];
                methods.extend((method == "GET").then_some("HEAD"));
                for method in methods {
                    let place =
                        format!("{method} {target}{} {:?} {names:?}", trial.query, trial.headers);
                    let reply = request(&service, (method, &target), &trial, token).send().await;
                    let sent = format!("{target} {:?}", trial.body);
                    if !is_allowed(operation, &scopes) {
                        check(operation, &stored, &sent, &reply, &place);
                    }
                }
            }
        }
    }
    let keys = i64::try_from(scope_sets().len()).expect("a number");
    let expected = Head { position: before.position + keys, ..before };
    assert_eq!(service.head().await, expected, "no trial changed anything");
}

pub(crate) async fn a_caller_that_may_read_sees_the_result_of_each_write(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    let stored = Stored::new(&service).await;
    let key = service.new_key(&["users:read", "users:write", "users:purge", "schema:write"]).await;
    let token = key["key"].as_str().expect("a key");
    for operation in [
        Operation::PatchUser,
        Operation::ReplaceUser,
        Operation::DeleteUser,
        Operation::RestoreUser,
        Operation::PurgeUser,
        Operation::PatchGroup,
        Operation::DeleteGroup,
        Operation::PutMember,
        Operation::DeleteMember,
        Operation::ReplaceSchema,
    ] {
        let (method, target) = (operation.method().to_string(), stored.target(operation));
        let dry = trials(operation, &stored).swap_remove(0);
        let reply = request(&service, (&method, &target), &dry, token).send().await.expect(200);
        let is_replaced = operation == Operation::ReplaceUser;
        assert!(reply.text().contains(HIDDEN) != is_replaced, "{method} {target}");
        assert!(reply.json()["version"].is_i64(), "{method} {target}");
    }
}

pub(crate) async fn a_caller_that_only_writes_gets_what_it_creates_and_nothing_else(
    backend: Backend,
) {
    let service = backend.open().await;
    service.close().await;
    let key = service.new_key(&["users:write"]).await;
    let token = key["key"].as_str().expect("a key");
    let send = |method: &str, target: &str, body: &Value| {
        service.request(method, target).bearer(token).json(body).send()
    };
    let made = send("POST", "/users", &json!({"username": "ada", "name": "Ada"})).await.expect(201);
    assert_eq!((made.header("etag"), &made.json()["name"]), ("\"1\"", &json!("Ada")));
    let user = path(&made.json());
    for (method, body) in [("PATCH", json!({"title": "x"})), ("PUT", json!({"name": "Ada"}))] {
        let written = send(method, &user, &body).await.expect(204);
        assert_eq!((written.find("etag"), written.text()), (None, ""));
        assert!(written.find("roster-position").is_some());
        let again = send(method, &user, &body).await.expect(204);
        assert_eq!(again.find("roster-position"), None);
    }
    let body = "{\"username\":\"ada\",\"title\":\"y\"}\n{\"username\":\"grace\"}\n";
    let request = service.request("POST", "/bulk/users?on_conflict=merge").bearer(token);
    let reply = request.body(NDJSON, body).send().await.expect(200);
    let lines: Vec<Value> =
        reply.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines[0], json!({"line": 1, "processed": 1, "status": 200}));
    assert_eq!((&lines[1]["status"], &lines[1]["version"]), (&json!(201), &json!(1)));
    assert_eq!((&lines[2]["created"], &lines[2]["replaced"]), (&json!(1), &json!(1)));
    let id = made.json()["id"].clone();
    let body = format!("{}\n{}\n", json!({"id": id, "title": "z"}), json!({"id": id}));
    let request = service.request("PATCH", "/bulk/users").bearer(token);
    let reply = request.body(NDJSON, body).send().await.expect(200);
    let expected = "{\"line\":1,\"processed\":1,\"status\":200}\n\
         {\"line\":2,\"processed\":2,\"status\":200}\n\
         {\"done\":true,\"lines\":2,\"patched\":2,\"unchanged\":0,\"failed\":0}\n";
    assert_eq!(reply.text(), expected);
    let reader = service.new_key(&["users:read"]).await;
    for scopes in [reader, key.clone()] {
        let token = scopes["key"].as_str().expect("a key");
        let list = service.request("GET", "/deleted-users").bearer(token).send().await;
        let list = list.refused(403, "insufficient-scope");
        assert!(list.header("www-authenticate").contains("scope=\"users:read users:write\""));
    }
}
