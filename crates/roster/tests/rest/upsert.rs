//! `POST /users` with `on_conflict` and `match`: one user that exists is updated or skipped.

use roster_core::{Guard, Rules, Sharing};
use serde_json::{Value, json};

use crate::{
    client::Reply,
    service::{Backend, Service, Setup, path},
};

async fn post(service: &Service, query: &str, body: &Value) -> Reply {
    service.request("POST", &format!("/users?{query}")).json(body).send().await
}

async fn with_unique_external_ids(backend: &Backend) -> Service {
    let rules = Rules { external_id: Sharing::Unique, ..Rules::default() };
    backend.open_with(Setup { rules, ..Setup::default() }).await
}

pub(crate) async fn a_user_that_exists_is_skipped_replaced_or_merged(backend: Backend) {
    let service = backend.open().await;
    let ada = service.user(json!({"username": "ada", "name": "Ada", "email": "a@x.org"})).await;
    service.user(json!({"username": "grace"})).await;
    let title = json!({"username": "ADA", "title": "T"});
    post(&service, "on_conflict=fail", &title).await.refused(409, "username-taken");

    let skipped = post(&service, "on_conflict=skip", &title).await.expect(200);
    assert_eq!(skipped.json(), ada);
    assert_eq!((skipped.header("etag"), skipped.find("location")), ("\"1\"", None));

    let merged = post(&service, "on_conflict=merge", &title).await.expect(200);
    assert_eq!((merged.header("etag"), merged.find("location")), ("\"2\"", None));
    let merged = merged.json();
    let members = ["id", "username", "name", "title"].map(|name| merged[name].clone());
    assert_eq!(json!(members), json!([ada["id"], "ADA", "Ada", "T"]));
    let again = post(&service, "on_conflict=merge", &title).await.expect(200);
    assert_eq!((again.json(), service.head().await.position), (merged, 3));

    let replaced = post(&service, "on_conflict=replace", &json!({"username": "ada"})).await;
    let replaced = replaced.expect(200).json();
    assert_eq!((&replaced["version"], replaced.get("name")), (&json!(3), None));

    let both = json!({"username": "ada", "email": "new@x.org"});
    let minimal = service.request("POST", "/users?on_conflict=merge").json(&both);
    let minimal = minimal.header("prefer", "return=minimal").send().await.expect(200);
    assert_eq!(minimal.find("preference-applied"), None);
    assert_eq!(minimal.header("etag"), "\"4\"");
    let two = json!({"username": "grace", "email": "new@x.org"});
    for on_conflict in ["replace", "merge"] {
        let query = format!("on_conflict={on_conflict}");
        post(&service, &query, &two).await.refused(409, "username-taken");
        let created = post(&service, &query, &json!({"username": on_conflict})).await.expect(201);
        assert!(created.find("location").is_some());
    }
    for query in ["on_conflict=update", "match=name", "on_conflict=", "match="] {
        let faults = post(&service, query, &title).await.refused(400, "invalid-query").faults();
        assert_eq!(faults[0].1, "invalid-value", "{query}");
    }
    let put = service.request("PUT", "/users/x?on_conflict=skip").json(&title);
    put.send().await.refused(400, "invalid-query");
}

/// The client did not send a username that follows from its address, so only the user that has the
/// address is selected.
pub(crate) async fn a_username_that_was_not_sent_selects_no_user(backend: Backend) {
    let service = backend.open().await;
    let ada = service.user(json!({"username": "d@x.org", "name": "Ada"})).await;
    let bob = json!({"email": "d@x.org", "title": "T"});
    for on_conflict in ["fail", "skip", "merge", "replace"] {
        let query = format!("on_conflict={on_conflict}");
        post(&service, &query, &bob).await.refused(409, "username-taken");
    }
    let grace = service.user(json!({"username": "grace", "email": "d@x.org"})).await;
    for on_conflict in ["skip", "merge", "replace"] {
        let reply = post(&service, &format!("on_conflict={on_conflict}"), &bob).await.expect(200);
        assert_eq!(reply.json()["id"], grace["id"], "{on_conflict}");
    }
    assert_eq!(service.now(&grace).await["username"], "grace");
    assert_eq!(service.now(&ada).await, ada);
}

pub(crate) async fn a_purged_user_is_created_again_with_its_id(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    let ada = service.user(json!({"username": "ada", "email": "a@x.org"})).await;
    let keep = async |body: &Value| post(&service, "keep_ids=true", body).await;
    keep(&ada).await.refused(409, "username-taken");
    let again = post(&service, "keep_ids=true&on_conflict=skip", &ada).await.expect(200);
    assert_eq!(again.json(), ada);
    let eve = json!({"id": ada["id"], "username": "eve"});
    let faults = keep(&eve).await.refused(409, "id-taken").faults();
    assert_eq!(faults, [("/id".to_owned(), "id-taken".to_owned())]);
    let faults = keep(&json!({"username": "eve"})).await.refused(422, "invalid-user").faults();
    assert_eq!(faults, [("/id".to_owned(), "required".to_owned())]);

    let writer = service.new_key(&["users:read", "users:write"]).await;
    let token = writer["key"].as_str().expect("a key");
    for (target, media_type) in
        [("/users", "application/json"), ("/bulk/users", "application/x-ndjson")]
    {
        let request = service.request("POST", &format!("{target}?keep_ids=true")).bearer(token);
        let reply = request.body(media_type, eve.to_string()).send().await;
        reply.refused(403, "insufficient-scope");
    }
    let other = post(&service, "on_conflict=fail", &eve).await.expect(201);
    assert_eq!(other.header("roster-ignored"), "id");

    let kept = path(&ada).replace("/users/", "/deleted-users/");
    service.delete(&path(&ada)).await.expect(204);
    keep(&ada).await.refused(409, "id-taken");
    service.delete(&kept).await.expect(204);
    service.clock.step(60_000);
    let again = keep(&ada).await.expect(201);
    assert_eq!(again.find("roster-ignored"), None);
    let again = again.json();
    let members = ["id", "version", "created_at", "email"].map(|name| again[name].clone());
    assert_eq!(json!(members), json!([ada["id"], 1, ada["created_at"], "a@x.org"]));
    assert_ne!(again["updated_at"], ada["updated_at"]);
    assert_eq!(service.now(&ada).await, again);
}

pub(crate) async fn an_id_of_another_resource_is_not_kept(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"name": "x", "url": "https://hooks.example.com/x"});
    let webhook = service.webhook(body).await;
    let group = service.request("POST", "/groups").json(&json!({"display_name": "Staff"}));
    let group = group.send().await.expect(201).json();
    let keep = async |id: &Value| {
        let body = json!({"id": id, "username": "ada"});
        post(&service, "keep_ids=true", &body).await.refused(409, "id-taken");
    };
    keep(&webhook["id"]).await;
    keep(&group["id"]).await;
    // Their events stay in the log.
    service.delete(&format!("/webhooks/{}", webhook["id"].as_str().expect("an id"))).await;
    service.delete(&format!("/groups/{}", group["id"].as_str().expect("an id"))).await;
    keep(&webhook["id"]).await;
    keep(&group["id"]).await;
}

pub(crate) async fn a_guarded_replacement_that_clears_members_is_428(backend: Backend) {
    let rules = Rules { put: Guard::On, ..Rules::default() };
    let service = backend.open_with(Setup { rules, ..Setup::default() }).await;
    service.user(json!({"username": "ada", "name": "Ada"})).await;
    let title = json!({"username": "ada", "title": "T"});
    let refused = post(&service, "on_conflict=replace", &title).await;
    refused.refused(428, "precondition-required");
    post(&service, "on_conflict=merge", &title).await.expect(200);
}

/// A merge is a patch of the existing user, and a replacement is a PUT. Neither needs the members
/// that only a new user needs.
pub(crate) async fn an_update_needs_no_valid_new_user(backend: Backend) {
    let service = with_unique_external_ids(&backend).await;
    let old = json!({"username": "old", "email": "old@x.org", "external_id": "E1"});
    let old = service.user(old).await;
    let schema = json!({"attributes": [{"name": "badge", "type": "integer", "required": true}]});
    service.request("PUT", "/schema").json(&schema).send().await.expect(200);
    let badge = json!({"username": "new", "title": "a", "attributes": {"badge": 1}});
    let new = service.user(badge).await;
    let title = json!({"username": "new", "title": "b"});
    let merged = post(&service, "on_conflict=merge", &title).await.expect(200).json();
    assert_eq!((&merged["id"], &merged["title"]), (&new["id"], &json!("b")));
    post(&service, "on_conflict=replace", &title).await.refused(422, "invalid-user");
    post(&service, "on_conflict=skip", &title).await.refused(422, "invalid-user");
    // A user that never had the required member may stay without it.
    let email = json!({"email": "OLD@x.org", "title": "c"});
    let replaced = post(&service, "on_conflict=replace&dry_run=true", &email).await.expect(200);
    assert_eq!((&replaced.json()["id"], &replaced.json()["title"]), (&old["id"], &json!("c")));
    let by_external_id = json!({"external_id": "E1", "title": "d"});
    let merged = post(&service, "on_conflict=merge", &by_external_id).await.expect(200).json();
    assert_eq!((&merged["id"], &merged["title"]), (&old["id"], &json!("d")));
    let lines = format!("{title}\n{by_external_id}\n{}\n", json!({"username": "third"}));
    let request = service.request("POST", "/bulk/users?on_conflict=merge");
    let reply = request.body("application/x-ndjson", lines).send().await.expect(200);
    let statuses: Vec<Value> = reply
        .text()
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).expect("JSON");
            line["status"].clone()
        })
        .collect();
    assert_eq!(statuses, [json!(200), json!(200), json!(422), Value::Null]);
}

pub(crate) async fn a_user_is_found_by_its_external_id(backend: Backend) {
    let service = with_unique_external_ids(&backend).await;
    let ada = service.user(json!({"username": "ada", "external_id": "E7"})).await;
    service.user(json!({"username": "grace"})).await;
    let query = |on_conflict: &str| format!("match=external_id&on_conflict={on_conflict}");
    let merged = post(&service, &query("merge"), &json!({"external_id": "E7", "title": "T"})).await;
    let merged = merged.expect(200).json();
    assert_eq!((&merged["id"], &merged["title"]), (&ada["id"], &json!("T")));
    let renamed = json!({"external_id": "E7", "username": "countess"});
    let replaced = post(&service, &query("replace"), &renamed).await.expect(200).json();
    assert_eq!((&replaced["id"], &replaced["username"]), (&ada["id"], &json!("countess")));
    let grace = json!({"external_id": "E8", "username": "grace"});
    for on_conflict in ["skip", "replace", "merge"] {
        let reply = post(&service, &query(on_conflict), &grace).await;
        reply.refused(409, "username-taken");
    }
    let faults = post(&service, &query("merge"), &json!({"username": "x"})).await;
    let faults = faults.refused(422, "invalid-user").faults();
    assert_eq!(faults, [("/external_id".to_owned(), "required".to_owned())]);
    let new = json!({"external_id": "E9", "username": "hedy"});
    post(&service, &query("merge"), &new).await.expect(201);
    // The same in lines.
    let line = "{\"external_id\":\"E9\",\"title\":\"T\"}\n";
    let request = service.request("POST", &format!("/bulk/users?{}", query("merge")));
    let reply = request.body("application/x-ndjson", line).send().await.expect(200);
    assert!(reply.text().contains("\"status\":200,\"id\":"), "{}", reply.text());

    let shared = backend.open().await;
    let faults = post(&shared, &query("skip"), &new).await.refused(422, "invalid-user").faults();
    assert_eq!(faults, [("/external_id".to_owned(), "invalid-value".to_owned())]);
}

pub(crate) async fn a_repeated_request_gets_the_user_again(backend: Backend) {
    let service = backend.open().await;
    let ada = service.user(json!({"username": "ada"})).await;
    for (number, on_conflict) in ["skip", "merge", "replace"].into_iter().enumerate() {
        let body = json!({"username": "ada", "title": "T"});
        let send = async || {
            let target = format!("/users?on_conflict={on_conflict}");
            let request = service.request("POST", &target).json(&body);
            request.header("idempotency-key", &format!("k{number}")).send().await.expect(200)
        };
        let first = send().await;
        let position = service.head().await.position;
        let again = send().await;
        assert_eq!(again.header("idempotent-replayed"), "true", "{on_conflict}");
        assert_eq!(again.json(), first.json(), "{on_conflict}");
        assert_eq!(service.head().await.position, position);
        assert_eq!(first.json()["id"], ada["id"]);
    }
}

pub(crate) async fn a_dry_run_of_an_upsert_changes_nothing(backend: Backend) {
    let service = backend.open().await;
    service.user(json!({"username": "ada", "name": "Ada"})).await;
    let body = json!({"username": "ada", "title": "T"});
    for (on_conflict, name, title) in
        [("skip", json!("Ada"), Value::Null), ("merge", json!("Ada"), json!("T"))]
    {
        let query = format!("dry_run=true&on_conflict={on_conflict}");
        let reply = post(&service, &query, &body).await.expect(200);
        assert_eq!(reply.header("dry-run"), "true");
        let user = reply.json();
        assert_eq!((&user["name"], &user["title"]), (&name, &title), "{on_conflict}");
    }
    assert_eq!(service.head().await.position, 1);
}

pub(crate) async fn an_upsert_needs_to_read_and_takes_no_preconditions(backend: Backend) {
    let service = with_unique_external_ids(&backend).await;
    service.user(json!({"username": "ada", "external_id": ""})).await;
    let body = json!({"username": "ada", "external_id": "", "title": "T"});
    for on_conflict in ["skip", "replace", "merge"] {
        for (header, value) in [("if-match", "\"1\""), ("if-none-match", "*"), ("if-match", "x")] {
            let request = service.request("POST", &format!("/users?on_conflict={on_conflict}"));
            let reply = request.json(&body).header(header, value).send().await;
            reply.refused(400, "invalid-request");
            let lines = service.request("POST", &format!("/bulk/users?on_conflict={on_conflict}"));
            let lines = lines.body("application/x-ndjson", body.to_string()).header(header, value);
            lines.send().await.refused(400, "invalid-request");
        }
        // An empty external id is none.
        let query = format!("match=external_id&on_conflict={on_conflict}");
        let faults = post(&service, &query, &body).await.refused(422, "invalid-user").faults();
        assert_eq!(faults, [("/external_id".to_owned(), "required".to_owned())]);
        let wrong = json!({"external_id": 7, "usernam": "x"});
        let faults = post(&service, &query, &wrong).await.refused(422, "invalid-user").faults();
        assert_eq!(faults[0].0, "/external_id", "{faults:?}");
        assert_eq!(faults[0].1, "wrong-type", "{faults:?}");
    }
    let page = service.get("/users?username=ada").await.json();
    let ada = service.put(&page["items"][0], json!({"username": "ada", "external_id": "E7"}));
    ada.await.expect(200);
    let invalid = json!({"external_id": "E7", "usernam": "x"});
    let query = "match=external_id&on_conflict=skip";
    post(&service, query, &invalid).await.refused(422, "invalid-user");
    let faults = post(&service, "match=external_id", &body).await.refused(400, "invalid-query");
    assert_eq!(faults.faults(), [("match".to_owned(), "conflicting-parameter".to_owned())]);

    service.close().await;
    let writer = service.new_key(&["users:write"]).await;
    let token = writer["key"].as_str().expect("a key");
    for query in ["on_conflict=skip", "on_conflict=skip&dry_run=true", "on_conflict=merge"] {
        let request = service.request("POST", &format!("/users?{query}")).bearer(token);
        let reply = request.json(&json!({"username": "ada"})).send().await;
        reply.refused(403, "insufficient-scope");
    }
    let request = service.request("POST", "/users").bearer(token);
    request.json(&json!({"username": "new"})).send().await.expect(201);
}
