//! PATCH over HTTP: requests of clients and their results (RFC 7644 section 3.5.2).

use serde_json::{Value, json};

use crate::{
    client::Reply,
    service::{Backend, Service},
    support::{
        ENTERPRISE_URN, ROSTER_URN, at, create, named, post, put, read, refused, send, with,
    },
};

fn operations(operations: Value) -> Value {
    let mut body = json!({"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"]});
    body["Operations"] = operations;
    body
}

async fn patch(service: &Service, user: &Value, sent: Value) -> Reply {
    send(service, "PATCH", &at(user), &operations(sent)).send().await
}

pub(crate) async fn a_patch_answers_the_whole_user_and_is_kept(backend: Backend) {
    let service = backend.open().await;
    let user = create(&service, named("ada")).await;
    let now = patch(
        &service,
        &user,
        json!([
        {"op": "add", "path": "title", "value": "Countess"},
        {"op": "replace", "path": "name.givenName", "value": "Ada"},
        {"op": "add", "path": "emails", "value": [{"value": "a@example.com", "type": "work"}]},
        {"op": "add", "path": format!("{ENTERPRISE_URN}:department"), "value": "Engines"}]),
    );
    let reply = now.await.expect(200);
    assert_eq!(reply.header("etag"), "W/\"2\"");
    let now = reply.json();
    assert_eq!(now, read(&service, &at(&user)).await);
    assert_eq!((&now["title"], &now["name"]["givenName"]), (&json!("Countess"), &json!("Ada")));
    assert_eq!(now[ENTERPRISE_URN]["department"], "Engines");
    assert!(now["schemas"].as_array().expect("schemas").contains(&json!(ENTERPRISE_URN)));
    let now = patch(&service, &user, json!([{"op": "remove", "path": ENTERPRISE_URN}])).await;
    assert_eq!(now.expect(200).json().get(ENTERPRISE_URN), None);
}

pub(crate) async fn a_patch_that_changes_nothing_leaves_no_trace(backend: Backend) {
    let service = backend.open().await;
    let user = create(&service, with(named("ada"), json!({"title": "Countess"}))).await;
    let before = service.head().await.position;
    service.clock.step(9000);
    let same = patch(
        &service,
        &user,
        json!([
        {"op": "add", "path": "title", "value": "Countess"},
        {"op": "replace", "value": {"active": true, "id": user["id"]}}]),
    );
    assert_eq!(same.await.expect(200).json(), user);
    assert_eq!(service.head().await.position, before);
}

pub(crate) async fn a_patch_is_executed_completely_or_not_at_all(backend: Backend) {
    let service = backend.open().await;
    let user = create(&service, named("ada")).await;
    let bad = patch(
        &service,
        &user,
        json!([
        {"op": "add", "path": "title", "value": "Countess"},
        {"op": "remove", "path": "userName"}]),
    );
    refused(bad.await, 400, Some("mutability"));
    let bad = patch(
        &service,
        &user,
        json!([
        {"op": "add", "path": "title", "value": "Countess"},
        {"op": "add", "path": "emails", "value": [{"value": "a\u{1}"}]}]),
    );
    refused(bad.await, 400, Some("invalidValue"));
    assert_eq!(read(&service, &at(&user)).await, user);
}

pub(crate) async fn what_providers_send_is_understood(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"emails": [{"value": "a@example.com", "type": "work", "primary": true},
        {"value": "b@example.com", "type": "home"}]});
    let user = create(&service, with(named("ada"), body)).await;
    let one = async |operation: Value| {
        patch(&service, &user, json!([operation])).await.expect(200).json()
    };
    let now = one(json!({"op": "Replace", "path": "active", "value": "False"})).await;
    assert_eq!(now["active"], false);
    let now = one(json!({"op": "replace", "value": {"active": true}})).await;
    assert_eq!(now["active"], true);
    let now = one(json!({"op": "Add", "value": {"name.givenName": "Ada",
        format!("{ENTERPRISE_URN}:employeeNumber"): "7"}}))
    .await;
    assert_eq!(
        (&now["name"]["givenName"], &now[ENTERPRISE_URN]["employeeNumber"]),
        (&json!("Ada"), &json!("7"))
    );
    // The flag moves to the second address: there are never two.
    let path = "emails[type eq \"home\"].primary";
    let now = one(json!({"op": "replace", "path": path, "value": "True"})).await;
    let flags: Vec<bool> = now["emails"]
        .as_array()
        .expect("emails")
        .iter()
        .map(|mail| mail["primary"] == true)
        .collect();
    assert_eq!(flags, [false, true]);
    // A typed value that does not exist is added.
    let path = "phoneNumbers[type eq \"work\"].value";
    let now = one(json!({"op": "Replace", "path": path, "value": "+44 20 1"})).await;
    assert_eq!(now["phoneNumbers"], json!([{"value": "+44 20 1", "type": "work"}]));
    let now =
        one(json!({"op": "Add", "path": format!("{ENTERPRISE_URN}:manager"), "value": "26"})).await;
    assert_eq!(now[ENTERPRISE_URN]["manager"], json!({"value": "26"}));
    let id = json!([{"op": "replace", "path": "id", "value": "mine"}]);
    refused(patch(&service, &user, id).await, 400, Some("mutability"));
    let nobody = json!({"id": "01a1f84a-963b-7c3e-9a41-5d2e8f604b17"});
    let some = json!([{"op": "remove", "path": "title"}]);
    refused(patch(&service, &nobody, some).await, 404, None);
    create(&service, named("bob")).await;
    let taken = json!([{"op": "replace", "path": "userName", "value": "BOB"}]);
    refused(patch(&service, &user, taken).await, 409, Some("uniqueness"));
    assert_eq!(post(&service, named("bob")).await.status(), 409);
}

pub(crate) async fn a_patch_checks_the_named_version(backend: Backend) {
    let service = backend.open().await;
    let user = create(&service, named("ada")).await;
    let send = |tag: &str, title: &str| {
        let body = operations(json!([{"op": "add", "path": "title", "value": title}]));
        send(&service, "PATCH", &at(&user), &body).header("if-match", tag)
    };
    send("W/\"1\"", "a").send().await.expect(200);
    refused(send("W/\"1\"", "b").send().await, 412, None);
    let reply = send("W/\"2\"", "c").header("prefer", "return=minimal").send().await.expect(204);
    assert_eq!(reply.header("etag"), "W/\"3\"");
}

pub(crate) async fn patches_at_once_lose_nothing(backend: Backend) {
    let service = backend.open().await;
    let user = create(&service, named("ada")).await;
    let add = |number: usize| {
        let value = json!([{"value": format!("role{number}")}]);
        patch(&service, &user, json!([{"op": "add", "path": "roles", "value": value}]))
    };
    let replies = futures_util::future::join_all((0..20).map(add)).await;
    for reply in replies {
        reply.expect(200);
    }
    let now = read(&service, &at(&user)).await;
    assert_eq!(now["roles"].as_array().map(Vec::len), Some(20));
    assert_eq!(now["meta"]["version"], "W/\"21\"");
}

pub(crate) async fn a_changed_address_loses_its_proof_unless_the_patch_names_it(backend: Backend) {
    let service = backend.open().await;
    let body =
        json!({"emails": [{"value": "a@example.com"}], ROSTER_URN: {"email_verified": true}});
    let user = create(&service, with(named("ada"), body)).await;
    let mail =
        |value: &str| json!({"op": "replace", "path": "emails", "value": [{"value": value}]});
    let now = patch(&service, &user, json!([mail("b@example.com")])).await.expect(200).json();
    assert_eq!(now[ROSTER_URN]["email_verified"], false);
    let named = json!({"op": "add", "path": format!("{ROSTER_URN}:email_verified"), "value": true});
    let now = patch(&service, &user, json!([mail("c@example.com"), named])).await;
    assert_eq!(now.expect(200).json()[ROSTER_URN]["email_verified"], true);
    let cleared = json!([{"op": "remove", "path": format!("{ROSTER_URN}:email_verified")}]);
    let now = patch(&service, &user, cleared).await.expect(200).json();
    assert_eq!(now[ROSTER_URN].get("email_verified"), None);
}

pub(crate) async fn a_user_expires_by_an_attribute_of_the_extension(backend: Backend) {
    let service = backend.open().await;
    let name = format!("{ROSTER_URN}:expires_at");
    let ending = |at: &str| json!({ROSTER_URN: {"expires_at": at}});
    let body = with(named("ada"), ending("2027-01-31T13:00:00+01:00"));
    let ada = create(&service, body.clone()).await;
    assert_eq!(ada[ROSTER_URN]["expires_at"], "2027-01-31T12:00:00.000Z");
    let eve = create(&service, with(named("eve"), ending("2026-12-31T12:00:00Z"))).await;
    create(&service, named("bob")).await;

    let users = |query: &str| format!("/Users?{query}");
    let names = async |query: &str| {
        let page = read(&service, &users(query)).await;
        let users = page["Resources"].as_array().expect("users").iter();
        users.map(|user| user["userName"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    let sorted = format!("sortBy={}", name.replace(':', "%3A"));
    assert_eq!(names(&sorted).await, ["eve", "ada", "bob"]);
    assert_eq!(names("sortBy=expires_at").await, ["eve", "ada", "bob"]);
    assert_eq!(names(&format!("{sorted}&sortOrder=descending")).await, ["bob", "ada", "eve"]);
    let filter = |test: &str| format!("filter={name}%20{test}").replace(':', "%3A");
    assert_eq!(names(&filter("pr")).await, ["ada", "eve"]);
    assert_eq!(names(&filter("lt%20%222027-01-01T00:00:00Z%22")).await, ["eve"]);

    // A client that does not know the attribute keeps it.
    let after = put(&service, &ada, with(named("ada"), json!({"title": "Countess"}))).await;
    assert_eq!(after.expect(200).json()[ROSTER_URN], ada[ROSTER_URN]);
    let set = |value: Value| json!([{"op": "replace", "path": name, "value": value}]);
    let later = patch(&service, &eve, set(json!("2028-02-29T00:00:00Z"))).await.expect(200).json();
    assert_eq!(later[ROSTER_URN]["expires_at"], "2028-02-29T00:00:00.000Z");
    for wrong in [json!("soon"), json!("2027-02-29T00:00:00Z"), json!("2028-02-29")] {
        refused(patch(&service, &eve, set(wrong)).await, 400, Some("invalidValue"));
    }
    assert_eq!(read(&service, &at(&eve)).await, later);
    let cleared = json!([{"op": "remove", "path": name}]);
    let now = patch(&service, &eve, cleared).await.expect(200).json();
    assert_eq!(now.get(ROSTER_URN), None, "{now}");
}

pub(crate) async fn an_addition_of_nothing_keeps_the_manager(backend: Backend) {
    let service = backend.open().await;
    let own = json!({ENTERPRISE_URN: {"manager": {"value": "77", "displayName": "Boss"}}});
    let user = create(&service, with(named("ada"), own)).await;
    let path = format!("{ENTERPRISE_URN}:manager");
    for nothing in [json!({"value": ""}), json!({"value": null}), json!(null)] {
        let add = json!([{"op": "add", "path": path, "value": nothing}]);
        let now = patch(&service, &user, add).await.expect(200).json();
        assert_eq!(now[ENTERPRISE_URN], user[ENTERPRISE_URN], "{nothing}");
    }
    let replace = json!([{"op": "replace", "path": path, "value": {"value": ""}}]);
    let now = patch(&service, &user, replace).await.expect(200).json();
    assert_eq!(now.get(ENTERPRISE_URN), None);
}

pub(crate) async fn operations_see_an_address_as_a_response_shows_it(backend: Backend) {
    let service = backend.open().await;
    let first = json!({"op": "replace", "path": "emails",
        "value": [{"value": "b@example.com", "primary": true}]});
    let work = r#"emails[type eq "work"]"#;
    for (second, shown, stored) in [
        (
            json!({"op": "replace", "path": format!("{work}.value"), "value": "c@example.com"}),
            json!([{"value": "c@example.com", "type": "work", "primary": true}]),
            json!("work"),
        ),
        (json!({"op": "remove", "path": work}), Value::Null, Value::Null),
        (
            json!({"op": "replace", "path": format!("{work}.display"), "value": "Main"}),
            json!([{"value": "b@example.com", "type": "work", "primary": true, "display": "Main"}]),
            Value::Null,
        ),
        (
            json!({"op": "replace", "path": "title", "value": "Countess"}),
            json!([{"value": "b@example.com", "type": "work", "primary": true}]),
            Value::Null,
        ),
    ] {
        let user = create(&service, named("ada")).await;
        let now = patch(&service, &user, json!([first, second])).await.expect(200).json();
        assert_eq!(now["emails"], shown, "{second}");
        let path = format!("/users/{}", user["id"].as_str().expect("an id"));
        let record = service.get(&path).await.expect(200).json();
        assert_eq!(record["emails"][0]["type"], stored, "{second}");
        service.delete(&path).await.expect(204);
    }
}

pub(crate) async fn an_address_with_and_without_the_type_stays_so(backend: Backend) {
    let service = backend.open().await;
    let twice = json!([{"value": "d@example.com", "type": "work", "display": "Office"},
        {"value": "d@example.com", "primary": true, "display": "Main"}]);
    let user = create(&service, with(named("both"), json!({"emails": twice}))).await;
    assert_eq!(user["emails"], twice);
    assert_eq!(put(&service, &user, user.clone()).await.expect(200).json(), user);
}
