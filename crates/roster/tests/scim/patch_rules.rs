//! The rules of PATCH, by their numbers (RFC 7644 section 3.5.2).

use serde_json::{Value, json};

use crate::{
    client::Reply,
    service::{Backend, Service},
    support::{ENTERPRISE_URN, ROSTER_URN, at, create, get, named, read, refused, send, with},
};

const URN: &str = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

async fn patch(service: &Service, user: &Value, operations: Value) -> Reply {
    let body = json!({"schemas": [URN], "Operations": operations});
    send(service, "PATCH", &at(user), &body).send().await
}

/// The user after operations, which must succeed.
async fn after(service: &Service, user: &Value, operations: Value) -> Value {
    patch(service, user, operations).await.expect(200).json()
}

async fn ada(service: &Service) -> Value {
    let members = json!({"title": "Countess", "name": {"givenName": "Ada", "familyName": "King"},
        "emails": [{"value": "ada@work.example", "type": "work", "primary": true},
            {"value": "ada@home.example", "type": "home"}]});
    create(service, with(named("ada"), members)).await
}

pub(crate) async fn p1_operations_are_in_order_and_atomic(backend: Backend) {
    let service = backend.open().await;
    let user = ada(&service).await;
    let replace = |value: &str| json!({"op": "replace", "path": "title", "value": value});
    let now = after(&service, &user, json!([replace("A"), replace("B")])).await;
    assert_eq!(now["title"], "B");
    for bad in [
        json!({"op": "replace", "path": "id", "value": "x"}),
        json!({"op": "remove", "path": "userName"}),
        json!({"op": "replace", "path": "active", "value": "maybe"}),
    ] {
        patch(&service, &user, json!([replace("C"), bad])).await.expect(400);
    }
    assert_eq!(read(&service, &at(&user)).await, now);
    refused(patch(&service, &user, json!([])).await, 400, Some("invalidSyntax"));
    let without = json!([{"path": "title", "value": "x"}]);
    refused(patch(&service, &user, without).await, 400, Some("invalidSyntax"));
}

pub(crate) async fn p2_a_removal_needs_a_path_and_others_do_not(backend: Backend) {
    let service = backend.open().await;
    let user = ada(&service).await;
    let department = format!("{ENTERPRISE_URN}:department");
    let now = after(
        &service,
        &user,
        json!([{"op": "add", "value": {"nickName": "A", department: "Engines"}},
            {"op": "replace", "value": {"active": false}}]),
    );
    let now = now.await;
    assert_eq!((&now["nickName"], &now["active"]), (&json!("A"), &json!(false)));
    assert_eq!(now[ENTERPRISE_URN]["department"], "Engines");
    refused(patch(&service, &user, json!([{"op": "remove"}])).await, 400, Some("noTarget"));
}

pub(crate) async fn p3_a_path_that_is_none_is_refused(backend: Backend) {
    let service = backend.open().await;
    let user = ada(&service).await;
    for path in
        ["emails[type eq \"work\"", "title title", "!", "title[type eq \"work\"]", "emails]"]
    {
        let operations = json!([{"op": "replace", "path": path, "value": "x"}]);
        refused(patch(&service, &user, operations).await, 400, Some("invalidPath"));
    }
    let operations = json!([{"op": "replace", "path": "emails[type is \"work\"]", "value": "x"}]);
    refused(patch(&service, &user, operations).await, 400, Some("invalidFilter"));
}

pub(crate) async fn p4_adding_appends_merges_and_leaves_what_is_there(backend: Backend) {
    let service = backend.open().await;
    let user = ada(&service).await;
    service.clock.step(1000);
    let same = json!([
        {"op": "add", "path": "emails", "value": [{"value": "ADA@home.example", "type": "home"}]},
        {"op": "add", "path": "title", "value": "Countess"}]);
    assert_eq!(after(&service, &user, same).await, user, "version and moment too");
    let more = json!([
        {"op": "add", "path": "emails", "value": {"value": "ada@x.example", "type": "other"}},
        {"op": "add", "path": "name", "value": {"middleName": "Augusta"}}]);
    let now = after(&service, &user, more).await;
    assert_eq!(now["emails"].as_array().map(Vec::len), Some(3));
    let name = json!({"givenName": "Ada", "familyName": "King", "middleName": "Augusta"});
    assert_eq!(now["name"], name);
    assert_ne!(now["meta"]["lastModified"], user["meta"]["lastModified"]);
}

pub(crate) async fn p5_removing_unassigns_but_not_what_is_required(backend: Backend) {
    let service = backend.open().await;
    let user = ada(&service).await;
    for path in ["userName", "id", "meta", "schemas"] {
        let operations = json!([{"op": "remove", "path": path}]);
        refused(patch(&service, &user, operations).await, 400, Some("mutability"));
    }
    let nobody = json!([{"op": "remove", "path": "emails[value eq \"nobody@x.example\"]"}]);
    assert_eq!(after(&service, &user, nobody).await, user);
    let now = after(
        &service,
        &user,
        json!([{"op": "remove", "path": "emails[type eq \"home\"]"},
            {"op": "remove", "path": "name.givenName"}, {"op": "remove", "path": "title"}]),
    );
    let now = now.await;
    assert_eq!(now["emails"].as_array().map(Vec::len), Some(1));
    assert_eq!((now.get("title"), &now["name"]), (None, &json!({"familyName": "King"})));
    let now = after(&service, &user, json!([{"op": "remove", "path": "emails"}])).await;
    assert_eq!(now.get("emails"), None);
}

pub(crate) async fn p6_replacing_adds_merges_and_misses(backend: Backend) {
    let service = backend.open().await;
    let user = ada(&service).await;
    let operations = json!([{"op": "replace", "path": "nickName", "value": "A"},
        {"op": "replace", "path": "name", "value": {"givenName": "A."}},
        {"op": "replace", "path": "emails[type eq \"home\"].value", "value": "a@x.example"}]);
    let now = after(&service, &user, operations).await;
    assert_eq!((&now["nickName"], &now["name"]["familyName"]), (&json!("A"), &json!("King")));
    assert_eq!(now["emails"][1], json!({"value": "a@x.example", "type": "home"}));

    let missing = |kind: &str| {
        let path = format!("emails[type eq \"{kind}\"].value");
        json!([{"op": "replace", "path": path, "value": format!("{kind}@x.example")}])
    };
    // Clients with tolerant parsing set it like this for the first time.
    let now = after(&service, &user, missing("other")).await;
    assert_eq!(now["emails"][2], json!({"type": "other", "value": "other@x.example"}));
    let strict = service.new_key(&["scim", "scim:strict"]).await;
    let body = json!({"schemas": [URN], "Operations": missing("third")});
    let request = send(&service, "PATCH", &at(&user), &body);
    let reply = request.bearer(strict["key"].as_str().expect("a key")).send().await;
    refused(reply, 400, Some("noTarget"));
}

pub(crate) async fn p7_becoming_primary_takes_the_flag_from_the_others(backend: Backend) {
    let service = backend.open().await;
    let user = ada(&service).await;
    let flag =
        json!([{"op": "replace", "path": "emails[type eq \"home\"].primary", "value": true}]);
    let now = after(&service, &user, flag).await;
    assert_eq!(now["emails"][0]["primary"], false);
    assert_eq!(now["emails"][1]["primary"], true);
    let add = json!([{"op": "add", "path": "emails",
        "value": {"value": "ada@x.example", "primary": true}}]);
    let now = after(&service, &user, add).await;
    let flagged = now["emails"].as_array().expect("a list").iter();
    assert_eq!(flagged.filter(|email| email["primary"] == true).count(), 1);
    assert_eq!(now["emails"][2]["primary"], true);
}

pub(crate) async fn p8_what_the_service_makes_is_refused(backend: Backend) {
    let service = backend.open().await;
    let user = ada(&service).await;
    let status = format!("{ROSTER_URN}:status");
    for (path, value) in [("id", "x"), ("meta.version", "x"), (status.as_str(), "suspended")] {
        let operations = json!([{"op": "replace", "path": path, "value": value}]);
        refused(patch(&service, &user, operations).await, 400, Some("mutability"));
    }
    let equal = json!([{"op": "replace", "path": "id", "value": user["id"]},
        {"op": "replace", "value": {"id": user["id"], "meta": user["meta"]}}]);
    assert_eq!(after(&service, &user, equal).await, user);
}

pub(crate) async fn p9_an_attribute_of_an_extension_brings_its_urn(backend: Backend) {
    let service = backend.open().await;
    let user = ada(&service).await;
    let urns = |user: &Value| user["schemas"].as_array().expect("URNs").clone();
    assert!(!urns(&user).contains(&json!(ENTERPRISE_URN)));
    let path = format!("{ENTERPRISE_URN}:manager");
    let add = json!([{"op": "add", "path": path, "value": {"value": "m"}}]);
    assert!(urns(&after(&service, &user, add).await).contains(&json!(ENTERPRISE_URN)));
    let remove = json!([{"op": "remove", "path": path}]);
    assert!(!urns(&after(&service, &user, remove).await).contains(&json!(ENTERPRISE_URN)));
}

pub(crate) async fn p10_the_answer_is_the_user_or_nothing_by_wish(backend: Backend) {
    let service = backend.open().await;
    let user = ada(&service).await;
    let body = |title: &str| {
        let operation = json!({"op": "replace", "path": "title", "value": title});
        json!({"schemas": [URN], "Operations": [operation]})
    };
    let whole = send(&service, "PATCH", &at(&user), &body("A")).send().await.expect(200);
    assert_eq!(whole.json(), get(&service, &at(&user)).await.expect(200).json());
    let request = send(&service, "PATCH", &at(&user), &body("B"));
    let nothing = request.header("prefer", "return=minimal").send().await.expect(204);
    assert_eq!(nothing.text(), "");
    let target = format!("{}?attributes=title", at(&user));
    let request = send(&service, "PATCH", &target, &body("C"));
    let some = request.header("prefer", "return=minimal").send().await.expect(200).json();
    assert_eq!((&some["title"], some.get("userName")), (&json!("C"), None));
}
