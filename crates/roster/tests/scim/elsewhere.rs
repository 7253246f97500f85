//! Requests at which other servers are known to fail, as clients send them.

use serde_json::{Value, json};

use crate::{
    client::Reply,
    service::{Backend, Service},
    support::{
        ENTERPRISE_URN, at, create, escaped, get, named, names, put, read, refused, send, with,
    },
};

async fn patch(service: &Service, user: &Value, operations: Value) -> Reply {
    let urn = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
    let body = json!({"schemas": [urn], "Operations": operations});
    send(service, "PATCH", &at(user), &body).send().await
}

async fn strictly_patched(service: &Service, user: &Value, operations: Value) -> Reply {
    let strict = service.new_key(&["scim", "scim:strict"]).await;
    let urn = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
    let body = json!({"schemas": [urn], "Operations": operations});
    let request = send(service, "PATCH", &at(user), &body);
    request.bearer(strict["key"].as_str().expect("a key")).send().await
}

async fn with_two_addresses(service: &Service) -> Value {
    let emails = json!([{"value": "a@work.example", "type": "work", "primary": true},
        {"value": "a@home.example", "type": "home"}]);
    create(service, with(named("ada"), json!({"title": "Countess", "emails": emails}))).await
}

/// The filter as part of a URL.
fn filtered(filter: &str) -> String {
    format!("/Users?filter={}", escaped(filter))
}

pub(crate) async fn active_is_switched_off_by_a_text(backend: Backend) {
    let service = backend.open().await;
    let user = create(&service, named("ada")).await;
    let off = json!([{"op": "Replace", "path": "active", "value": "False"}]);
    let now = patch(&service, &user, off).await.expect(200).json();
    assert_eq!(now["active"], false);
    let record = service.get(&format!("/users/{}", user["id"].as_str().expect("an id"))).await;
    assert_eq!(record.expect(200).json()["status"], "suspended");
}

pub(crate) async fn a_patch_without_a_path_takes_dotted_and_qualified_names(backend: Backend) {
    let service = backend.open().await;
    let user = create(&service, named("ada")).await;
    let value = json!({"name.givenName": "Ada", "displayName": "A",
        format!("{ENTERPRISE_URN}:employeeNumber"): "7"});
    let now = patch(&service, &user, json!([{"op": "replace", "value": value}])).await;
    let now = now.expect(200).json();
    assert_eq!((&now["name"], &now["displayName"]), (&json!({"givenName": "Ada"}), &json!("A")));
    assert_eq!(now[ENTERPRISE_URN], json!({"employeeNumber": "7"}));
}

pub(crate) async fn another_address_that_becomes_primary_is_the_only_one(backend: Backend) {
    let service = backend.open().await;
    let user = with_two_addresses(&service).await;
    let path = "emails[type eq \"home\"].primary";
    let flag = json!([{"op": "replace", "path": path, "value": true}]);
    let now = patch(&service, &user, flag).await.expect(200).json();
    let primary = |at: usize| now["emails"][at]["primary"] == true;
    assert_eq!((primary(0), primary(1)), (false, true));
    let record = service.get(&format!("/users/{}", user["id"].as_str().expect("an id"))).await;
    assert_eq!(record.expect(200).json()["email"], "a@home.example");
}

pub(crate) async fn tolerant_parsing_adds_a_missing_typed_value_on_replace(backend: Backend) {
    let service = backend.open().await;
    let user = with_two_addresses(&service).await;
    let path = "emails[type eq \"other\"].value";
    let missing = json!([{"op": "replace", "path": path, "value": "a@other.example"}]);
    let now = patch(&service, &user, missing.clone()).await.expect(200).json();
    assert_eq!(now["emails"][2], json!({"type": "other", "value": "a@other.example"}));
    put(&service, &user, user.clone()).await.expect(200);
    let reply = strictly_patched(&service, &user, missing).await;
    refused(reply, 400, Some("noTarget"));
}

pub(crate) async fn adding_to_a_typed_value_that_is_not_there_makes_it(backend: Backend) {
    let service = backend.open().await;
    let user = with_two_addresses(&service).await;
    let path = "phoneNumbers[type eq \"mobile\"].value";
    let add = json!([{"op": "Add", "path": path, "value": "+44 20 1"}]);
    let now = patch(&service, &user, add).await.expect(200).json();
    assert_eq!(now["phoneNumbers"], json!([{"type": "mobile", "value": "+44 20 1"}]));
    let path = "emails[type eq \"other\"].value";
    let add = json!([{"op": "add", "path": path, "value": "a@other.example"}]);
    let now = strictly_patched(&service, &user, add).await.expect(200).json();
    assert_eq!(now["emails"][2], json!({"type": "other", "value": "a@other.example"}));
}

pub(crate) async fn a_user_name_cannot_be_removed(backend: Backend) {
    let service = backend.open().await;
    let user = create(&service, named("ada")).await;
    let remove = json!([{"op": "remove", "path": "userName"}]);
    refused(patch(&service, &user, remove).await, 400, Some("mutability"));
    assert_eq!(read(&service, &at(&user)).await, user);
}

pub(crate) async fn an_id_is_never_replaced_and_an_equal_one_is_passed_over(backend: Backend) {
    let service = backend.open().await;
    let user = create(&service, named("ada")).await;
    let replace = |id: Value| json!([{"op": "replace", "path": "id", "value": id}]);
    refused(patch(&service, &user, replace(json!("mine"))).await, 400, Some("mutability"));
    let same = patch(&service, &user, replace(user["id"].clone())).await;
    assert_eq!(same.expect(200).json(), user);
}

pub(crate) async fn a_second_operation_that_fails_takes_the_first_back(backend: Backend) {
    let service = backend.open().await;
    let user = with_two_addresses(&service).await;
    let before = service.head().await.position;
    let operations = json!([{"op": "replace", "path": "title", "value": "Lady"},
        {"op": "replace", "path": "emails[type eq \"none\"]", "value": 7}]);
    let reply = patch(&service, &user, operations).await.expect(400);
    refused(reply, 400, Some("invalidValue"));
    assert_eq!(read(&service, &at(&user)).await, user);
    assert_eq!(service.head().await.position, before);
}

pub(crate) async fn a_put_upon_another_version_is_refused(backend: Backend) {
    let service = backend.open().await;
    let user = create(&service, named("ada")).await;
    let title = |title: &str| with(named("ada"), json!({"title": title}));
    put(&service, &user, title("a")).await.expect(200);
    let late = send(&service, "PUT", &at(&user), &title("b")).header("if-match", "W/\"1\"");
    refused(late.send().await, 412, None);
    assert_eq!(read(&service, &at(&user)).await["title"], "a");
}

pub(crate) async fn a_count_of_zero_returns_only_the_total(backend: Backend) {
    let service = backend.open().await;
    create(&service, named("ada")).await;
    let page = read(&service, "/Users?count=0").await;
    assert_eq!((&page["totalResults"], names(&page)), (&json!(1), vec![]));
}

pub(crate) async fn discovery_is_not_filtered(backend: Backend) {
    let service = backend.open().await;
    for target in ["/Schemas", "/ResourceTypes", "/ServiceProviderConfig"] {
        let filtered = format!("{target}?filter=name%20eq%20%22User%22");
        refused(get(&service, &filtered).await, 403, None);
    }
}

pub(crate) async fn a_bare_cursor_begins_a_walk(backend: Backend) {
    let service = backend.open().await;
    create(&service, named("ada")).await;
    create(&service, named("bob")).await;
    let page = read(&service, "/Users?cursor&count=1").await;
    let next = page["nextCursor"].as_str().expect("a cursor");
    assert_eq!(names(&page), ["ada"]);
    let page = read(&service, &format!("/Users?cursor={next}&count=1")).await;
    assert_eq!((names(&page), page.get("nextCursor")), (vec!["bob"], None));
}

pub(crate) async fn filters_that_others_misread_are_read_by_the_letter(backend: Backend) {
    let service = backend.open().await;
    let members = json!({"title": "Countess", "displayName": "a \"b\" \\ c",
        ENTERPRISE_URN: {"manager": {"value": "7"}}});
    create(&service, with(named("ada"), members)).await;
    create(&service, with(named("bob"), json!({"active": false}))).await;
    for (filter, expected) in [
        (format!("schemas eq \"{ENTERPRISE_URN}\""), &["ada"][..]),
        (format!("{ENTERPRISE_URN}:manager.value eq \"7\""), &["ada"]),
        ("displayName eq \"a \\\"b\\\" \\\\ c\"".to_owned(), &["ada"]),
        ("title pr".to_owned(), &["ada"]),
        ("active eq true".to_owned(), &["ada"]),
        ("not (title pr)".to_owned(), &["bob"]),
        ("not(title pr)".to_owned(), &["bob"]),
    ] {
        assert_eq!(names(&read(&service, &filtered(&filter)).await), expected, "{filter}");
    }
    for filter in [
        "userName eq",
        "\"ada\" eq userName",
        "userName eq \"ada\" and",
        "userName regex \"a\"",
        "userName eq 'ada'",
    ] {
        refused(get(&service, &filtered(filter)).await, 400, Some("invalidFilter"));
    }
}
