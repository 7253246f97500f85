//! `PATCH` and `DELETE /bulk/users`: changes of many users, by lines and by conditions.

use std::time::Duration;

use roster_http::AdmissionSettings;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    NDJSON, lines, read,
    talk::{Talk, authorization},
};
use crate::{
    client::Reply,
    service::{Backend, Service, Setup},
};

/// Sends lines with ids.
async fn send(service: &Service, method: &str, query: &str, body: &[Value]) -> Reply {
    let request = service.request(method, &format!("/bulk/users{query}"));
    request.body(NDJSON, lines(body)).send().await
}

/// The results of a response, without the last line, which must have these counts.
#[track_caller]
fn results(reply: Reply, counts: &Value) -> Vec<Value> {
    let reply = reply.expect(200);
    assert_eq!(reply.header("content-type"), NDJSON);
    let mut results: Vec<Value> = reply.text().lines().map(read).collect();
    let done = results.pop().expect("a last line");
    assert_eq!((&done["done"], &done["lines"]), (&json!(true), &json!(results.len())));
    super::count_up(&results);
    for (name, count) in counts.as_object().expect("counts") {
        assert_eq!(&done[name], count, "{name}");
    }
    results
}

async fn with_users(backend: &Backend) -> (Service, Vec<Value>) {
    let service = backend.open().await;
    let mut users = Vec::new();
    for (name, status) in [("ada", "active"), ("grace", "suspended"), ("hedy", "suspended")] {
        users.push(service.user(json!({"username": name, "status": status})).await);
    }
    service.clock.step(1000);
    (service, users)
}

fn id(user: &Value) -> &str {
    user["id"].as_str().expect("an id")
}

/// A result: its line, status, id and version, or the code of its problem.
fn short(result: &Value) -> Value {
    match result["problem"]["code"].as_str() {
        Some(code) => json!([result["line"], result["status"], code]),
        None => json!([result["line"], result["status"], result["id"], result["version"]]),
    }
}

pub(crate) async fn each_line_patches_the_user_that_it_names(backend: Backend) {
    let (service, users) = with_users(&backend).await;
    let (ada, grace, hedy) = (id(&users[0]), id(&users[1]), id(&users[2]));
    let body = [
        json!({"id": ada, "title": "T"}),
        json!({"id": ada, "title": "T"}),
        json!({"id": grace, "version": 1, "username": "countess"}),
        json!({"id": grace, "version": 1, "title": "late"}),
        json!({"id": hedy, "username": "ADA"}),
        json!({"id": hedy, "emial": "x"}),
        json!({"id": "0190d1c2-8000-7000-8000-000000000001", "title": "T"}),
        json!({"id": "nobody"}),
        json!({"title": "T"}),
        json!([]),
    ];
    let counts = json!({"patched": 2, "unchanged": 1, "failed": 7});
    let dry = results(
        send(&service, "PATCH", "?dry_run=true", &body).await,
        &json!({
            // A dry run compares each line with the stored user.
            "patched": 4, "unchanged": 0, "failed": 6,
        }),
    );
    assert_eq!(short(&dry[0]), json!([1, 200, ada, 2]));
    assert_eq!(service.head().await.position, 3);
    let results = results(send(&service, "PATCH", "", &body).await, &counts);
    let expected = json!([
        [1, 200, ada, 2],
        [2, 200, ada, 2],
        [3, 200, grace, 2],
        [4, 412, "version-mismatch"],
        [5, 409, "username-taken"],
        [6, 422, "invalid-user"],
        [7, 404, "user-not-found"],
        [8, 422, "invalid-user"],
        [9, 422, "invalid-user"],
        [10, 422, "invalid-user"],
    ]);
    assert_eq!(json!(results.iter().map(short).collect::<Vec<_>>()), expected);
    assert_eq!(service.now(&users[1]).await["username"], "countess");
    assert_eq!(service.head().await.position, 5);
    let tagged = service.request("PATCH", "/bulk/users").header("if-match", "\"1\"");
    let tagged = tagged.body(NDJSON, lines(&body)).send().await;
    tagged.refused(412, "version-mismatch");
    let marked = service.request("PATCH", "/bulk/users").header("idempotency-key", "k");
    let marked = marked.body(NDJSON, lines(&body)).send().await;
    marked.refused(400, "invalid-idempotency-key");
    send(&service, "PATCH", "?on_conflict=skip", &body).await.refused(400, "invalid-query");
}

pub(crate) async fn each_line_deletes_the_user_that_it_names(backend: Backend) {
    let (service, users) = with_users(&backend).await;
    let (ada, grace) = (id(&users[0]), id(&users[1]));
    let body = [
        json!({"id": ada, "version": 2}),
        json!({"id": ada, "version": 1}),
        json!({"id": ada}),
        json!({"id": grace, "version": "1"}),
        json!({"id": grace, "title": "T"}),
        json!({"id": 7}),
        json!({"id": grace}),
    ];
    let all = json!({"deleted": 3, "failed": 4});
    results(send(&service, "DELETE", "?dry_run=true", &body).await, &all);
    assert_eq!(service.head().await.position, 3);
    let counts = json!({"deleted": 2, "failed": 5});
    let results = results(send(&service, "DELETE", "", &body).await, &counts);
    let expected = json!([
        [1, 412, "version-mismatch"],
        [2, 204, ada, 2],
        [3, 404, "user-not-found"],
        [4, 422, "invalid-user"],
        [5, 422, "invalid-user"],
        [6, 422, "invalid-user"],
        [7, 204, grace, 2],
    ]);
    assert_eq!(json!(results.iter().map(short).collect::<Vec<_>>()), expected);
    let deleted = service.get("/deleted-users").await.expect(200).json();
    assert_eq!(deleted["items"].as_array().map(Vec::len), Some(2));
}

/// A change of the users that match.
async fn matching(service: &Service, method: &str, query: &str, patch: Option<Value>) -> Reply {
    let request = service.request(method, &format!("/bulk/users?{query}"));
    match patch {
        Some(patch) => request.json(&patch).send().await,
        None => request.send().await,
    }
}

pub(crate) async fn users_that_match_are_changed_once_their_number_is_confirmed(backend: Backend) {
    let (service, users) = with_users(&backend).await;
    let patch = || Some(json!({"title": "T", "status": "active"}));
    let filter = "filter=status%20eq%20%22suspended%22";
    let dry = matching(&service, "PATCH", &format!("{filter}&dry_run=true"), patch()).await;
    let dry = dry.expect(200);
    assert_eq!(dry.header("dry-run"), "true");
    let dry = dry.json();
    assert_eq!((&dry["count"], &dry["failed"]), (&json!(2), &json!([])));
    let shown = dry["items"].as_array().expect("users");
    assert_eq!(shown.len(), 2);
    assert!(shown.iter().all(|user| user["title"] == "T" && user["version"] == 2), "{dry}");

    let faults = matching(&service, "PATCH", filter, patch()).await;
    let faults = faults.refused(400, "invalid-query").faults();
    assert_eq!(faults, [("confirm".to_owned(), "required".to_owned())]);
    for wrong in ["1", "3"] {
        let query = format!("{filter}&confirm={wrong}");
        matching(&service, "PATCH", &query, patch()).await.refused(409, "count-mismatch");
        matching(&service, "DELETE", &query, None).await.refused(409, "count-mismatch");
    }
    assert_eq!(service.head().await.position, 3);

    let reply = matching(&service, "PATCH", &format!("{filter}&confirm=2"), patch()).await;
    let patched = results(reply, &json!({"patched": 2, "unchanged": 0, "failed": 0}));
    let expected = json!([[1, 200, id(&users[1]), 2], [2, 200, id(&users[2]), 2]]);
    assert_eq!(json!(patched.iter().map(short).collect::<Vec<_>>()), expected);
    for user in &users[1..] {
        let now = service.now(user).await;
        assert_eq!((&now["title"], &now["status"]), (&json!("T"), &json!("active")));
    }
    let reply = matching(&service, "DELETE", "filter=title%20pr&confirm=2", None).await;
    results(reply, &json!({"deleted": 2, "failed": 0}));
    let left = service.get("/users").await.expect(200).json();
    assert_eq!(left["items"], json!([users[0]]));
    let none = matching(&service, "DELETE", "filter=title%20pr&confirm=0", None).await;
    results(none, &json!({"deleted": 0, "failed": 0}));
    let all = matching(&service, "DELETE", "filter=id%20pr&confirm=1", None).await;
    results(all, &json!({"deleted": 1, "failed": 0}));
}

pub(crate) async fn a_change_without_a_condition_changes_nobody(backend: Backend) {
    let (service, users) = with_users(&backend).await;
    let rows = [
        ("", "filter", "required"),
        ("confirm=3", "filter", "required"),
        ("dry_run=true", "filter", "required"),
        ("username=ada&confirm=-1", "confirm", "invalid-value"),
        ("username=ada&confirm=", "confirm", "invalid-value"),
        ("username=ada&confirm=1&confirm=1", "confirm", "duplicate-parameter"),
        ("username=ada&limit=1&confirm=1", "limit", "conflicting-parameter"),
        ("username=ada&q=ada&confirm=1", "q", "conflicting-parameter"),
        ("username=ada&sort=name&confirm=1", "sort", "conflicting-parameter"),
        ("usrname=ada&confirm=1", "usrname", "unknown-parameter"),
    ];
    for (query, parameter, code) in rows {
        for (method, patch) in [("PATCH", Some(json!({"title": "T"}))), ("DELETE", None)] {
            let reply = matching(&service, method, query, patch).await;
            let faults = reply.refused(400, "invalid-query").faults();
            assert_eq!(faults, [(parameter.to_owned(), code.to_owned())], "{method} {query}");
        }
    }
    for method in ["PATCH", "DELETE"] {
        let request =
            || service.request(method, "/bulk/users?username=ada&confirm=1").json(&json!({}));
        request().header("if-match", "\"1\"").send().await.refused(412, "version-mismatch");
        request().header("if-none-match", "*").send().await.refused(412, "version-mismatch");
        request().header("if-none-match", "x").send().await.refused(400, "invalid-request");
        request().header("accept", "text/html").send().await.refused(406, "not-acceptable");
        let packed = service.request(method, "/bulk/users").header("content-encoding", "gzip");
        packed.body(NDJSON, "").send().await.refused(415, "unsupported-media-type");
        let both = service.request(method, "/bulk/users?username=ada").body(NDJSON, "");
        let faults = both.send().await.refused(400, "invalid-query").faults();
        assert_eq!(faults, [("username".to_owned(), "conflicting-parameter".to_owned())]);
    }
    let marked = service.request("DELETE", "/bulk/users?username=ada&confirm=1");
    let marked = marked.header("idempotency-key", "k").send().await;
    marked.refused(400, "invalid-idempotency-key");
    let bad = matching(&service, "DELETE", "filter=x%20is%201&confirm=1", None).await;
    bad.refused(400, "invalid-filter");
    let form = service.request("PATCH", "/bulk/users?username=ada&confirm=1");
    form.body("text/plain", "{}").send().await.refused(415, "unsupported-media-type");
    let [unknown, removed] = [json!({"emial": "x"}), json!({"emial": null})];
    let [wrong, one] = [json!({"email": 7}), json!({"version": 1})];
    for patch in [json!([]), unknown, removed, wrong, one] {
        let reply = matching(&service, "PATCH", "username=nobody&confirm=0", Some(patch)).await;
        reply.refused(422, "invalid-user");
    }
    let broken = service.request("PATCH", "/bulk/users?username=ada&confirm=1");
    broken.body("application/json", "{").send().await.refused(400, "malformed-json");
    let all = service.get("/users").await.expect(200).json();
    assert_eq!(all["items"], json!(users));
}

pub(crate) async fn a_dry_run_shows_the_users_that_would_fail(backend: Backend) {
    let (service, users) = with_users(&backend).await;
    let patch = Some(json!({"username": "ada"}));
    let query = "filter=status%20eq%20%22suspended%22";
    let dry = matching(&service, "PATCH", &format!("{query}&dry_run=true"), patch.clone()).await;
    let dry = dry.expect(200).json();
    assert_eq!((&dry["count"], &dry["items"]), (&json!(2), &json!([])));
    let failed = dry["failed"].as_array().expect("users");
    let codes: Vec<_> = failed.iter().map(|one| (&one["id"], &one["problem"]["code"])).collect();
    let code = json!("username-taken");
    assert_eq!(codes, [(&users[1]["id"], &code), (&users[2]["id"], &code)]);
    let reply = matching(&service, "PATCH", &format!("{query}&confirm=2"), patch).await;
    let failed = results(reply, &json!({"patched": 0, "unchanged": 0, "failed": 2}));
    let ids: Vec<_> = failed.iter().map(|result| &result["id"]).collect();
    assert_eq!(ids, [&users[1]["id"], &users[2]["id"]]);
}

pub(crate) async fn a_change_by_conditions_also_needs_to_read(backend: Backend) {
    let (service, _) = with_users(&backend).await;
    service.close().await;
    let key = service.new_key(&["users:write"]).await;
    let request = service.request("DELETE", "/bulk/users?username=ada&confirm=1");
    let reply = request.bearer(key["key"].as_str().expect("a key")).send().await;
    reply.refused(403, "insufficient-scope");
    let both = service.new_key(&["users:write", "users:read"]).await;
    let request = service.request("DELETE", "/bulk/users?username=ada&confirm=1");
    let reply = request.bearer(both["key"].as_str().expect("a key")).send().await;
    results(reply, &json!({"deleted": 1, "failed": 0}));
}

pub(crate) async fn a_patch_of_many_users_has_the_size_of_a_user(backend: Backend) {
    let (service, _) = with_users(&backend).await;
    let nulls: serde_json::Map<String, Value> =
        (0..8000).map(|n| (format!("a{n:06}"), Value::Null)).collect();
    let patch = Some(json!({"attributes": nulls}));
    let reply = matching(&service, "PATCH", "username=ada&dry_run=true", patch).await;
    let faults = reply.refused(422, "invalid-user").faults();
    assert_eq!(faults, [(String::new(), "user-too-large".to_owned())]);
}

pub(crate) async fn a_dry_run_of_lines_is_compared_with_stored_users_alone(backend: Backend) {
    let (service, users) = with_users(&backend).await;
    let (ada, grace) = (id(&users[0]), id(&users[1]));
    let body = [
        json!({"id": ada, "username": "n1"}),
        json!({"id": ada, "username": "n2"}),
        json!({"id": grace, "username": "n1"}),
    ];
    for query in ["?dry_run=true", ""] {
        let counts = json!({"patched": 3, "unchanged": 0, "failed": 0});
        results(send(&service, "PATCH", query, &body).await, &counts);
    }
}

pub(crate) async fn a_limited_change_reports_each_batch_and_blocks_no_import(backend: Backend) {
    let pressure = AdmissionSettings {
        rate_limit_per_s: 1,
        rate_limit_burst: 1_200,
        ..AdmissionSettings::default()
    };
    let service = backend.open_with(Setup { pressure, ..Setup::default() }).await;
    let users: Vec<Value> = (0..1_100).map(|n| json!({"username": format!("u{n}")})).collect();
    let import = service.request("POST", "/bulk/users").body(NDJSON, lines(&users)).send().await;
    assert!(import.expect(200).text().contains(r#""created":1100,"#));
    service.close().await;
    let [limited, other] = [
        service.new_key(&["users:read", "users:write"]).await,
        service.new_key(&["users:write"]).await,
    ];
    let token = limited["key"].as_str().expect("a key");
    // Most of the limit is spent, so the run waits after its first batches.
    let bad: Vec<Value> = (0..500).map(|_| json!({"id": "none"})).collect();
    let bad = service.request("PATCH", "/bulk/users").body(NDJSON, lines(&bad));
    bad.bearer(token).send().await.expect(200);
    let request = "DELETE /bulk/users?filter=id%20pr&confirm=1100";
    let mut stream = Talk::begin(&service, request, &authorization(Some(token))).await;
    assert!(stream.head().await.starts_with("200 OK\r\n"));
    // The results of the batches that were charged arrive although the next one has to wait.
    for number in 1..=512 {
        assert_eq!(stream.line().await.expect("a result")["line"], number);
    }
    let import = service.request("POST", "/bulk/users").body(NDJSON, "{\"username\":\"one\"}\n");
    let import = import.bearer(other["key"].as_str().expect("a key")).send();
    let import = timeout(Duration::from_secs(20), import).await.expect("a result");
    assert!(import.expect(200).text().contains(r#""created":1,"#));
    // The key ends, and so does the run, with the reason.
    let id = limited["id"].as_str().expect("an id");
    service.delete(&format!("/keys/{id}")).await.expect(204);
    let (rest, whole) = stream.rest().await;
    let [last] = rest.as_slice() else { panic!("{rest:?}") };
    assert_eq!((&last["line"], &last["status"], whole), (&json!(513), &json!(401), false));
}

/// No version covers the groups of a user.
pub(crate) async fn users_that_have_left_a_group_since_are_not_changed(backend: Backend) {
    let pressure = AdmissionSettings {
        rate_limit_per_s: 20,
        rate_limit_burst: 1_200,
        ..AdmissionSettings::default()
    };
    let service = backend.open_with(Setup { pressure, ..Setup::default() }).await;
    let users: Vec<Value> = (0..768).map(|n| json!({"username": format!("u{n}")})).collect();
    let import = service.request("POST", "/bulk/users").body(NDJSON, lines(&users)).send().await;
    let created = import.expect(200).text().lines().map(read).collect::<Vec<_>>();
    let members: Vec<Value> = created
        .iter()
        .filter_map(|result| result.get("id"))
        .map(|id| json!({"value": id}))
        .collect();
    assert_eq!(members.len(), 768);
    service.close().await;
    let scim = |method, target: &str, body: &Value| {
        service.request(method, target).body("application/scim+json", body.to_string())
    };
    let body = json!({"schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"],
        "displayName": "Team", "members": members});
    let group = scim("POST", "/scim/v2/Groups", &body).send().await.expect(201).json();
    let group = id(&group);
    let limited = service.new_key(&["users:read", "users:write"]).await;
    let token = limited["key"].as_str().expect("a key");
    // Most of the limit is spent, so the run waits for seconds before its last batch.
    let bad: Vec<Value> = (0..500).map(|_| json!({"id": "none"})).collect();
    let bad = service.request("PATCH", "/bulk/users").body(NDJSON, lines(&bad));
    bad.bearer(token).send().await.expect(200);
    let filter = format!("filter=groups.value%20eq%20%22{group}%22&confirm=768");
    let request = format!("DELETE /bulk/users?{filter}");
    let mut stream = Talk::begin(&service, &request, &authorization(Some(token))).await;
    assert!(stream.head().await.starts_with("200 OK\r\n"));
    for number in 1..=512 {
        assert_eq!(stream.line().await.expect("a result")["status"], 204, "{number}");
    }
    let body = json!({"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
        "Operations": [{"op": "remove", "path": "members"}]});
    scim("PATCH", &format!("/scim/v2/Groups/{group}"), &body).send().await.expect(204);
    let (mut rest, whole) = stream.rest().await;
    let done = rest.pop().expect("a last line");
    assert!(whole && rest.len() == 256 && rest.iter().all(|result| result["status"] == 412));
    assert_eq!((&done["deleted"], &done["failed"]), (&json!(512), &json!(256)));
}

pub(crate) async fn the_collection_of_single_users_changes_none_of_them(backend: Backend) {
    let (service, users) = with_users(&backend).await;
    let line = format!("{}\n", json!({"id": users[0]["id"], "title": "T"}));
    for target in ["/users", "/users?username=ada&confirm=1", "/users?username=ada&dry_run=true"] {
        for method in ["PATCH", "DELETE"] {
            let request = || service.request(method, target);
            for request in
                [request(), request().json(&json!({})), request().body(NDJSON, line.as_str())]
            {
                let reply = request.send().await.refused(405, "method-not-allowed");
                assert_eq!(reply.header("allow"), "GET, HEAD, POST, OPTIONS", "{method} {target}");
            }
        }
    }
    for (target, allow) in [
        ("/bulk/users", "GET, HEAD, POST, PATCH, DELETE, OPTIONS"),
        ("/bulk/groups", "GET, HEAD, POST, OPTIONS"),
        ("/bulk/deleted-users", "GET, HEAD, OPTIONS"),
        ("/groups", "GET, HEAD, POST, OPTIONS"),
    ] {
        let reply = service.request("PUT", target).json(&json!({})).send().await;
        let reply = reply.refused(405, "method-not-allowed");
        assert_eq!(reply.header("allow"), allow, "{target}");
    }
    let all = service.get("/users").await.expect(200).json();
    assert_eq!(all["items"], json!(users));
}
