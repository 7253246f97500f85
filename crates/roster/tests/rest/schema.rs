//! The schema of users: `/schema`.

use serde_json::{Value, json};

use crate::{
    client::Reply,
    service::{Backend, Service, path},
};

async fn replace(service: &Service, attributes: Value) -> Reply {
    let body = json!({"attributes": attributes});
    service.request("PUT", "/schema").json(&body).send().await
}

pub(crate) async fn a_schema_is_read_replaced_and_read_again(backend: Backend) {
    let service = backend.open().await;
    let first = service.get("/schema").await.expect(200);
    assert_eq!((first.header("etag"), &first.json()["attributes"]), ("\"1\"", &json!([])));
    let members = first.json()["members"].clone();
    let names: Vec<&str> = members
        .as_array()
        .expect("a value")
        .iter()
        .map(|one| one["name"].as_str().expect("a value"))
        .collect();
    assert!(names.starts_with(&["id", "version", "status", "expires_at", "username"]), "{names:?}");
    let emails = members
        .as_array()
        .expect("a value")
        .iter()
        .find(|one| one["name"] == "emails")
        .expect("a value");
    assert_eq!(
        (&emails["multi_valued"], &emails["parts"][0]["name"]),
        (&json!(true), &json!("value"))
    );

    // The response to a GET can be edited and sent back.
    let mut edited = first.json();
    edited["attributes"] = json!([{"name": "badge", "type": "string", "description": null}]);
    let written = service.request("PUT", "/schema").json(&edited).send().await.expect(200);
    let declared = json!([{"name": "badge", "type": "string", "multi_valued": false,
        "required": false, "indexed": false, "unique": false, "case_exact": false}]);
    assert_eq!((written.header("etag"), &written.json()["attributes"]), ("\"2\"", &declared));
    assert_eq!(written.json()["members"], members);
    let got = service.get("/schema").await.expect(200);
    assert_eq!(got.json(), written.json());
    let known = service.request("GET", "/schema").header("if-none-match", "\"2\"");
    known.send().await.expect(304);
    let other = service.request("GET", "/schema").header("if-match", "\"1\"");
    other.send().await.refused(412, "version-mismatch");
    let stale = service.request("PUT", "/schema").json(&edited).send().await;
    stale.refused(412, "version-mismatch");
    let stale = service.request("PUT", "/schema").header("if-match", "\"1\"");
    let stale = stale.json(&json!({"attributes": []})).send().await;
    stale.refused(412, "version-mismatch");
    // An equal schema changes nothing.
    let same = replace(&service, declared.clone()).await.expect(200);
    assert_eq!(same.header("etag"), "\"2\"");
    let dry = service.request("PUT", "/schema?dry_run=true").json(&json!({"attributes": []}));
    let dry = dry.send().await.expect(200);
    assert_eq!((dry.header("dry-run"), &dry.json()["attributes"]), ("true", &json!([])));
    assert_eq!((&dry.json()["version"], dry.find("etag")), (&json!(3), None));
    let minimal = service.request("PUT", "/schema").header("prefer", "return=minimal");
    let minimal = minimal.json(&json!({"attributes": []})).send().await.expect(204);
    assert_eq!(minimal.header("etag"), "\"3\"");
}

pub(crate) async fn an_invalid_schema_lists_all_its_errors(backend: Backend) {
    let service = backend.open().await;
    let attributes = json!([{"name": "1", "type": "text"}, {"name": "a"}, 7]);
    let refused = replace(&service, attributes).await.refused(422, "invalid-schema");
    let at = |place: &str, code: &str| (place.to_owned(), code.to_owned());
    let expected = [
        at("/attributes/0/name", "invalid-value"),
        at("/attributes/0/type", "invalid-value"),
        at("/attributes/1/type", "required"),
        at("/attributes/2", "wrong-type"),
    ];
    assert_eq!(refused.faults(), expected);
    let empty = service.request("PUT", "/schema").json(&json!({})).send().await;
    assert_eq!(empty.refused(422, "invalid-schema").faults(), [at("/attributes", "required")]);
    assert_eq!(service.get("/schema").await.expect(200).header("etag"), "\"1\"");
}

pub(crate) async fn declared_members_are_checked_and_found(backend: Backend) {
    let service = backend.open().await;
    let before = service.user(json!({"username": "old", "attributes": {"level": "x"}})).await;
    let declared = json!([
        {"name": "level", "type": "integer", "required": true},
        {"name": "since", "type": "date_time"},
        {"name": "tags", "type": "string", "multi_valued": true},
    ]);
    replace(&service, declared).await.expect(200);
    let post = async |body: Value| service.request("POST", "/users").json(&body).send().await;
    let wrong = json!({"username": "ada", "attributes":
        {"level": "7", "since": "today", "tags": ["a", 1], "other": {"any": "thing"}}});
    let at = |place: &str, code: &str| (place.to_owned(), code.to_owned());
    let expected = [
        at("/attributes/level", "wrong-type"),
        at("/attributes/since", "invalid-value"),
        at("/attributes/tags/1", "wrong-type"),
    ];
    assert_eq!(post(wrong).await.refused(422, "invalid-user").faults(), expected);
    let missing = post(json!({"username": "ada"})).await.refused(422, "invalid-user");
    assert_eq!(missing.faults(), [at("/attributes/level", "required")]);
    let right = json!({"username": "ada", "attributes":
        {"level": 7, "since": "2026-01-02T03:04:05Z", "tags": ["a"], "other": {"any": "thing"}}});
    let ada = post(right).await.expect(201).json();
    let found = service.get("/users?filter=attributes.level%20eq%207").await.expect(200).json();
    assert_eq!(found["items"][0]["id"], ada["id"]);
    // Values that were stored before are not checked until they change.
    let title = service.request("PATCH", &path(&before)).json(&json!({"title": "T"}));
    title.send().await.expect(200);
    let changed = json!({"attributes": {"level": "y"}});
    let changed = service.request("PATCH", &path(&before)).json(&changed).send().await;
    changed.refused(422, "invalid-user");
    // A line of an import is checked as a single user is.
    let lines = "{\"username\":\"b\"}\n{\"username\":\"c\",\"attributes\":{\"level\":1}}\n";
    let lines = service.request("POST", "/bulk/users").body("application/x-ndjson", lines);
    let lines = lines.send().await.expect(200);
    let results: Vec<Value> =
        lines.text().lines().map(|line| serde_json::from_str(line).expect("a value")).collect();
    assert_eq!(results[0]["problem"]["code"], "invalid-user", "{results:?}");
    assert!(results[1]["id"].is_string(), "{results:?}");
}

pub(crate) async fn the_schema_has_a_scope_of_its_own(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    let reader = service.new_key(&["users:read"]).await;
    let writer = service.new_key(&["users:write", "keys:admin"]).await;
    let operator = service.new_key(&["schema:write", "events:read"]).await;
    let secret = |key: &Value| key["key"].as_str().expect("a value").to_owned();
    let body = json!({"attributes": []});
    let put = async |key: &Value| {
        service.request("PUT", "/schema").bearer(&secret(key)).json(&body).send().await
    };
    let got = service.request("GET", "/schema").bearer(&secret(&reader)).send().await;
    got.expect(200);
    put(&reader).await.refused(403, "insufficient-scope");
    put(&writer).await.refused(403, "insufficient-scope");
    // The schema is shown to callers that may read it.
    put(&operator).await.expect(204);
}

pub(crate) async fn the_change_log_and_the_description_follow_the_schema(backend: Backend) {
    let service = backend.open().await;
    service.user(json!({"username": "ada"})).await;
    let declared = json!([{"name": "badge", "type": "integer", "multi_valued": true,
        "description": "On the door", "required": true, "indexed": false, "unique": false,
        "case_exact": false}]);
    replace(&service, declared.clone()).await.expect(200);
    let page = service.get("/events?type=schema.updated").await.expect(200).json();
    let event = &page["items"][0];
    assert_eq!(page["items"].as_array().expect("a value").len(), 1);
    assert_eq!((&event["type"], &event["subject"]), (&json!("schema.updated"), &json!("schema")));
    assert_eq!(event["data"]["version"], 2);
    assert_eq!(event["data"]["schema"]["attributes"], declared);
    assert_eq!(event["data"].get("user_id"), None);
    let nobody = "/users/00000000-0000-0000-0000-000000000000/events";
    service.get(nobody).await.refused(404, "user-not-found");

    let described = service.get("/openapi.json").await.expect(200).json();
    let expected = json!({"type": "array", "items": {"type": "integer", "format": "int64"},
        "description": "On the door Required."});
    let properties = |schema: &str| {
        let schema = &described["components"]["schemas"][schema]["properties"];
        schema["attributes"]["properties"]["badge"].clone()
    };
    assert_eq!((properties("User"), properties("ListedUser")), (expected.clone(), expected));
    // Writes remove a member by null.
    for schema in ["UserCreate", "UserReplace", "UserPatch"] {
        assert_eq!(properties(schema)["type"], json!(["array", "null"]), "{schema}");
    }
    replace(&service, json!([])).await.expect(200);
    let described = service.get("/openapi.json").await.expect(200).json();
    let attributes = &described["components"]["schemas"]["User"]["properties"]["attributes"];
    assert_eq!(attributes.get("properties"), None);
}

pub(crate) async fn a_repeated_schema_request_is_executed_once(backend: Backend) {
    let service = backend.open().await;
    let put = async |attributes: Value| {
        let request = service.request("PUT", "/schema").header("idempotency-key", "\"one\"");
        request.json(&json!({"attributes": attributes})).send().await
    };
    let declared = json!([{"name": "badge", "type": "string"}]);
    let first = put(declared.clone()).await.expect(200);
    replace(&service, json!([])).await.expect(200);
    let again = put(declared).await.expect(200);
    assert_eq!((again.header("idempotent-replayed"), again.json()), ("true", first.json()));
    put(json!([])).await.refused(422, "idempotency-key-reused");
}

pub(crate) async fn only_readers_of_users_see_declared_members_in_the_description(
    backend: Backend,
) {
    let service = backend.open().await;
    service.close().await;
    let long = "\u{10ffff}".repeat(2_048);
    let members: Vec<Value> = (0..100)
        .map(|number| format!("secret{number}"))
        .map(|name| json!({"name": name, "type": "string", "description": long}))
        .collect();
    let body = json!({"attributes": members});
    service.request("PUT", "/schema").json(&body).send().await.expect(200);
    let reader = service.new_key(&["users:read"]).await;
    let writer = service.new_key(&["users:write", "schema:write"]).await;
    let secret = |key: &Value| key["key"].as_str().expect("a key").to_owned();
    let ask = || service.request("GET", "/openapi.json").without("authorization");
    let bare = ask().send().await.expect(200);
    for other in [ask().bearer(&secret(&writer)), ask().bearer("x")] {
        let other = other.send().await.expect(200);
        assert_eq!((other.header("etag"), other.text()), (bare.header("etag"), bare.text()));
    }
    assert!(!bare.text().contains("secret1") && !bare.text().contains('\u{10ffff}'));
    let whole = ask().bearer(&secret(&reader)).send().await.expect(200);
    assert!(whole.text().contains("secret99"));
    assert!(whole.text().len() < bare.text().len() + 1024 * 1024, "{}", whole.text().len());
    assert_eq!(whole.header("vary"), "Authorization, Accept-Encoding");
    let known = ask().bearer(&secret(&writer)).header("if-none-match", whole.header("etag"));
    known.send().await.expect(200);
}
