//! Schema extensions that the operator declares.

use serde_json::{Value, json};

use crate::{
    service::{Backend, Service},
    support::{
        ROSTER_URN, at, create, escaped, get, named, names, post, put, read, refused, send, with,
    },
};

const URN: &str = "urn:ietf:params:scim:schemas:extension:acme:2.0:User";

async fn declare(service: &Service, attributes: Value) {
    let body = json!({"attributes": attributes});
    service.request("PUT", "/schema").json(&body).send().await.expect(200);
}

async fn open(backend: Backend) -> Service {
    let service = backend.open().await;
    let declared = json!([
        {"name": "badge", "type": "string", "scim_schema": URN, "description": "On the door"},
        {"name": "level", "type": "integer", "scim_schema": URN},
        {"name": "remote", "type": "boolean", "scim_schema": URN},
        {"name": "tags", "type": "string", "multi_valued": true, "scim_schema": URN},
        {"name": "inner", "type": "string"},
    ]);
    declare(&service, declared).await;
    service
}

async fn patch(service: &Service, user: &Value, operations: Value) -> Value {
    let body = json!({"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
        "Operations": operations});
    send(service, "PATCH", &at(user), &body).send().await.expect(200).json()
}

pub(crate) async fn a_declared_extension_is_advertised(backend: Backend) {
    let service = open(backend).await;
    let schema = read(&service, &format!("/Schemas/{URN}")).await;
    let attributes = schema["attributes"].as_array().expect("attributes");
    let names: Vec<_> =
        attributes.iter().map(|one| one["name"].as_str().expect("a value")).collect();
    assert_eq!(names, ["badge", "level", "remote", "tags"]);
    let first = json!({"name": "badge", "type": "string", "multiValued": false,
        "description": "On the door", "required": false, "caseExact": false,
        "mutability": "readWrite", "returned": "default", "uniqueness": "none"});
    assert_eq!(attributes[0], first);
    let all = read(&service, "/Schemas").await;
    let ids: Vec<_> =
        all["Resources"].as_array().expect("a value").iter().map(|one| &one["id"]).collect();
    assert!(ids.contains(&&json!(URN)), "{ids:?}");
    let user = read(&service, "/ResourceTypes/User").await;
    let extension = json!({"schema": URN, "required": false});
    assert!(user["schemaExtensions"].as_array().expect("a value").contains(&extension));
    let group = read(&service, "/ResourceTypes/Group").await;
    assert_eq!(group.get("schemaExtensions"), None);
}

pub(crate) async fn declared_attributes_are_created_read_and_replaced(backend: Backend) {
    let service = open(backend).await;
    let extension = json!({"BADGE": 7, "level": "3", "remote": "True", "tags": "a"});
    let user = create(&service, with(named("ada"), json!({URN: extension}))).await;
    let shown = json!({"badge": "7", "level": 3, "remote": true, "tags": ["a"]});
    assert_eq!(user[URN], shown);
    assert!(user["schemas"].as_array().expect("a value").contains(&json!(URN)));
    let record = service.now(&user).await;
    assert_eq!(record["attributes"], shown);
    assert_eq!(read(&service, &at(&user)).await[URN], shown);

    // A PUT that contains the extension replaces it. Other members of `attributes` stay.
    let inner = json!({"attributes": {"inner": "x", "free": {"any": 1}}});
    service.request("PATCH", &crate::service::path(&record)).json(&inner).send().await.expect(200);
    let body = with(named("ada"), json!({URN: {"level": 4}}));
    let user = put(&service, &user, body).await.expect(200).json();
    assert_eq!(user[URN], json!({"level": 4}));
    let kept = json!({"inner": "x", "free": {"any": 1}, "level": 4});
    assert_eq!(service.now(&user).await["attributes"], kept);
    // One that does not contain it keeps it.
    let user = put(&service, &user, named("ada")).await.expect(200).json();
    assert_eq!(user[URN], json!({"level": 4}));
    // What a GET returned can be sent back.
    let same = put(&service, &user, user.clone()).await.expect(200).json();
    assert_eq!(same["meta"]["version"], user["meta"]["version"]);
}

pub(crate) async fn declared_attributes_are_patched(backend: Backend) {
    let service = open(backend).await;
    let user = create(&service, named("ada")).await;
    assert_eq!(user.get(URN), None);
    let path = format!("{URN}:badge");
    let now = patch(&service, &user, json!([{"op": "add", "path": path, "value": "7"}])).await;
    assert_eq!(now[URN], json!({"badge": "7"}));
    // Entra names attributes by URN in the value.
    let value = json!({"displayName": "Ada", format!("{URN}:level"): "3"});
    let now = patch(&service, &user, json!([{"op": "Replace", "value": value}])).await;
    assert_eq!((&now["displayName"], &now[URN]["level"]), (&json!("Ada"), &json!(3)));
    let value = json!({URN: {"tags": ["a"], "remote": "False"}});
    let now = patch(&service, &user, json!([{"op": "add", "value": value}])).await;
    let all = json!({"badge": "7", "level": 3, "tags": ["a"], "remote": false});
    assert_eq!(now[URN], all);
    let tags = format!("{URN}:tags");
    let now = patch(&service, &user, json!([{"op": "add", "path": tags, "value": ["b"]}])).await;
    assert_eq!(now[URN]["tags"], json!(["a", "b"]));
    let now = patch(&service, &user, json!([{"op": "remove", "path": path}])).await;
    assert_eq!(now[URN].get("badge"), None);
    let whole = json!([{"op": "replace", "path": URN, "value": {"level": 5}}]);
    assert_eq!(patch(&service, &user, whole).await[URN]["level"], 5);
    let now = patch(&service, &user, json!([{"op": "remove", "path": URN}])).await;
    assert_eq!(now.get(URN), None);
    assert_eq!(service.now(&user).await.get("attributes"), None);
    let unknown = json!({"Operations": [
        {"op": "add", "path": format!("{URN}:colour"), "value": "red"}]});
    let unknown = send(&service, "PATCH", &at(&user), &unknown).send().await;
    refused(unknown, 400, Some("invalidPath"));
    // Without its URN, with a condition as a path and as a key; and to nothing there is.
    let now = patch(&service, &user, json!([{"op": "add", "value": {"tags": ["a", "b"]}}])).await;
    assert_eq!(now[URN]["tags"], json!(["a", "b"]));
    let value = json!({"tags[value eq \"a\"]": "c"});
    let now = patch(&service, &user, json!([{"op": "replace", "value": value}])).await;
    assert_eq!(now[URN]["tags"], json!(["c", "b"]));
    for operation in [
        json!({"op": "replace", "path": "tags.valu", "value": "d"}),
        json!({"op": "replace", "value": {"tags.valu": "d"}}),
    ] {
        let reply = send(&service, "PATCH", &at(&user), &json!({"Operations": [operation]}));
        refused(reply.send().await, 400, Some("invalidSyntax"));
    }
}

pub(crate) async fn declared_attributes_are_filtered_and_projected(backend: Backend) {
    let service = open(backend).await;
    for (name, badge, level) in [("ada", "7", 1), ("bob", "8", 2)] {
        let extension = json!({URN: {"badge": badge, "level": level}});
        create(&service, with(named(name), extension)).await;
    }
    for (filter, expected) in [
        (format!("{URN}:badge eq \"8\""), vec!["bob"]),
        (format!("{URN}:LEVEL gt 0 and {URN}:badge sw \"7\""), vec!["ada"]),
        (format!("{URN}:tags pr"), vec![]),
    ] {
        let page = read(&service, &format!("/Users?filter={}", escaped(&filter))).await;
        assert_eq!(names(&page), expected, "{filter}");
    }
    let one = read(&service, &format!("/Users?attributes=userName,{URN}:badge")).await;
    assert_eq!(one["Resources"][0][URN], json!({"badge": "7"}));
    let whole = read(&service, &format!("/Users?attributes=userName,{URN}")).await;
    assert_eq!(whole["Resources"][0][URN], json!({"badge": "7", "level": 1}));
    let without = read(&service, &format!("/Users?excludedAttributes={URN}:badge")).await;
    assert_eq!(without["Resources"][0][URN], json!({"level": 1}));
    let none = read(&service, "/Users?attributes=userName").await;
    assert_eq!(none["Resources"][0].get(URN), None);
    let unknown = format!("/Users?filter={}", escaped(&format!("{URN}:colour eq \"red\"")));
    refused(get(&service, &unknown).await, 400, Some("invalidFilter"));
}

pub(crate) async fn declared_attributes_are_checked_and_others_are_dropped(backend: Backend) {
    let service = open(backend).await;
    let wrong = with(named("ada"), json!({URN: {"level": "high", "remote": 1}}));
    let wrong = refused(post(&service, wrong).await, 400, Some("invalidValue"));
    let detail = wrong.json()["detail"].as_str().expect("a value").to_owned();
    assert!(
        detail.contains("attributes.level") && detail.contains("attributes.remote"),
        "{detail}"
    );
    let unknown = json!({URN: {"colour": "red", "level": 1},
        "urn:example:other:User": {"a": 1}, "shoe": 42});
    let user = create(&service, with(named("ada"), unknown.clone())).await;
    assert_eq!((&user[URN], user.get("shoe")), (&json!({"level": 1}), None));
    assert_eq!(dropped(&service).await, "3");
    // A name without its URN is enough where it is declared.
    let bob = create(&service, with(named("bob"), json!({"badge": "9"}))).await;
    assert_eq!(bob[URN], json!({"badge": "9"}));

    service.close().await;
    let strict = service.new_key(&["scim", "scim:strict"]).await;
    let strict = strict["key"].as_str().expect("a key").to_owned();
    let send =
        async |body: Value| send(&service, "POST", "/Users", &body).bearer(&strict).send().await;
    for unknown in [unknown, json!({URN: {"colour": "red"}})] {
        refused(send(with(named("cid"), unknown)).await, 400, Some("invalidSyntax"));
    }
    let schemas = json!([crate::support::USER_URN, URN]);
    let typed = with(named("cid"), json!({"schemas": schemas, URN: {"level": "3"}}));
    refused(send(typed).await, 400, Some("invalidValue"));
    let both = json!([crate::support::USER_URN, URN]);
    let qualified = json!({"schemas": both, format!("{URN}:level"): 3});
    refused(send(with(named("cid"), qualified)).await, 400, Some("invalidSyntax"));
    let schemas = json!({"schemas": both, URN: {"level": 3}});
    let cid = send(with(named("cid"), schemas)).await.expect(201).json();
    // A PATCH may name the schemas, and no qualified key.
    let patch = async |operation: Value| {
        let body = json!({"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
            "Operations": [operation]});
        super::support::send(&service, "PATCH", &at(&cid), &body).bearer(&strict).send().await
    };
    let schemas = json!({"op": "replace", "path": "schemas", "value": both});
    patch(schemas).await.expect(200);
    let value = json!({"schemas": both, URN: {"level": 4}});
    let patched = patch(json!({"op": "replace", "value": value})).await.expect(200).json();
    assert_eq!(patched[URN], json!({"level": 4}));
    let unknown = json!({"op": "replace", "path": "schemas", "value": [URN, "urn:x:y"]});
    refused(patch(unknown).await, 400, Some("invalidValue"));
    let qualified = json!({"op": "replace", "value": {format!("{URN}:level"): 5}});
    refused(patch(qualified).await, 400, Some("invalidSyntax"));
}

/// How many attributes were dropped.
async fn dropped(service: &Service) -> String {
    let reply = service.get("/metrics").await.expect(200);
    let metrics = reply.text();
    let name = "roster_scim_attributes_dropped_total ";
    let line = metrics.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
    line.expect(metrics)
}

pub(crate) async fn dropped_attributes_of_a_patch_and_of_a_group_are_counted(backend: Backend) {
    let service = open(backend).await;
    let user = create(&service, named("ada")).await;
    let operations = json!([
        {"op": "replace", "path": "shoe", "value": 1},
        {"op": "replace", "path": URN, "value": {"colour": "red", "level": 2}},
        {"op": "replace", "value": {"hat": 1, "userName": "ada"}},
    ]);
    assert_eq!(patch(&service, &user, operations).await[URN], json!({"level": 2}));
    assert_eq!(dropped(&service).await, "3");
    let group = json!({"displayName": "team", "colour": "red"});
    let group = send(&service, "POST", "/Groups", &group).send().await.expect(201).json();
    let operations = json!([{"op": "replace", "path": "colour", "value": "red"}]);
    let at_group = format!("/Groups/{}", group["id"].as_str().expect("an id"));
    let body = json!({"Operations": operations});
    send(&service, "PATCH", &at_group, &body).send().await.expect(204);
    assert_eq!(dropped(&service).await, "5");
}

pub(crate) async fn a_bulk_request_sets_declared_attributes(backend: Backend) {
    let service = open(backend).await;
    let user = create(&service, named("ada")).await;
    let body = json!({"schemas": ["urn:ietf:params:scim:api:messages:2.0:BulkRequest"],
    "Operations": [
        {"method": "POST", "path": "/Users", "bulkId": "b",
            "data": with(named("bob"), json!({URN: {"level": 1}}))},
        {"method": "PUT", "path": at(&user),
            "data": with(named("ada"), json!({URN: {"level": 2}}))},
        {"method": "PATCH", "path": at(&user), "data": {
            "schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
            "Operations": [{"op": "add", "path": format!("{URN}:badge"), "value": "7"}]}},
    ]});
    send(&service, "POST", "/Bulk", &body).send().await.expect(200);
    let page = read(&service, "/Users?sortBy=userName").await;
    let shown: Vec<&Value> =
        page["Resources"].as_array().expect("a value").iter().map(|user| &user[URN]).collect();
    assert_eq!(shown, [&json!({"badge": "7", "level": 2}), &json!({"level": 1})]);
}

pub(crate) async fn declared_attributes_can_be_unique_and_an_order(backend: Backend) {
    let service = backend.open().await;
    let declared = json!([
        {"name": "badge", "type": "string", "scim_schema": URN, "unique": true},
        {"name": "level", "type": "integer", "scim_schema": URN, "indexed": true},
    ]);
    let body = json!({"attributes": declared, "indexed_members": ["department"]});
    service.request("PUT", "/schema").json(&body).send().await.expect(200);
    let schema = read(&service, &format!("/Schemas/{URN}")).await;
    let badge = &schema["attributes"][0];
    assert_eq!((&badge["uniqueness"], &badge["caseExact"]), (&json!("server"), &json!(false)));
    assert_eq!(schema["attributes"][1]["caseExact"], true);
    for (name, badge, level) in [("ada", "B1", 2), ("grace", "B2", 3), ("linus", "B3", 1)] {
        let own = json!({"badge": badge, "level": level});
        create(&service, json!({"userName": name, URN: own})).await;
    }
    let taken = json!({"userName": "x", URN: {"badge": "b2"}});
    refused(post(&service, taken).await, 409, Some("uniqueness"));
    let users = |query: &str| format!("/Users?{query}");
    let badge = escaped(&format!("{URN}:badge"));
    let found = read(&service, &users(&format!("filter={badge}%20eq%20%22b3%22"))).await;
    assert_eq!(names(&found), ["linus"]);
    let sorted =
        users(&format!("sortBy={}&sortOrder=descending", escaped(&format!("{URN}:level"))));
    assert_eq!(names(&read(&service, &sorted).await), ["grace", "ada", "linus"]);
    read(&service, &users("sortBy=department")).await;
    let unsorted = get(&service, &users("sortBy=title")).await;
    refused(unsorted, 400, Some("invalidValue"));
}

pub(crate) async fn what_a_response_returned_stays_as_it_is_stored(backend: Backend) {
    let service = backend.open().await;
    let stored = json!({"badge": "line 1\nline 2", "level": "x", "remote": 7,
        "tags": ["a", "a"], "numbers": "x", "none": []});
    service.user(json!({"username": "ada", "attributes": stored})).await;
    let declared = json!([
        {"name": "badge", "type": "string", "scim_schema": URN},
        {"name": "level", "type": "integer", "scim_schema": URN},
        {"name": "remote", "type": "boolean", "scim_schema": URN},
        {"name": "tags", "type": "string", "multi_valued": true, "scim_schema": URN},
        {"name": "numbers", "type": "integer", "multi_valued": true, "scim_schema": URN},
        {"name": "none", "type": "string", "multi_valued": true, "scim_schema": URN},
    ]);
    declare(&service, declared).await;
    let page = read(&service, "/Users").await;
    let user = page["Resources"][0].clone();
    assert_eq!(user[URN], stored);
    let unchanged = put(&service, &user, user.clone()).await.expect(200);
    assert_eq!(unchanged.json(), user, "also the version");
    let mut changed = user.clone();
    changed[URN]["badge"] = json!("other\ntext");
    let changed = put(&service, &user, changed).await.expect(200).json();
    assert_eq!(changed[URN]["badge"], "other text");
    assert_eq!(changed[URN]["numbers"], "x");
    let mut wrong = user.clone();
    wrong[URN]["numbers"] = json!("y");
    refused(put(&service, &user, wrong).await, 400, Some("invalidValue"));
}

pub(crate) async fn a_declared_number_is_compared_with_fractions(backend: Backend) {
    let service = backend.open().await;
    let whole = json!([{"name": "numbers", "type": "integer", "multi_valued": true,
        "scim_schema": URN}]);
    declare(&service, whole).await;
    let user = create(&service, with(named("ada"), json!({URN: {"numbers": [0, 3, 5]}}))).await;
    for (test, left) in [
        ("gt 3.5", json!({"numbers": [0, 3]})),
        ("eq 3.0", json!({"numbers": [0]})),
        ("lt 1e-7", Value::Null),
    ] {
        let path = format!("{URN}:numbers[value {test}]");
        let found = read(&service, &format!("/Users?filter={}", escaped(&path))).await;
        assert_eq!(names(&found), ["ada"], "{path}");
        let now = patch(&service, &user, json!([{"op": "remove", "path": path}])).await;
        assert_eq!(now[URN], left, "{path}");
    }
}

pub(crate) async fn a_declared_attribute_has_one_name_in_a_request(backend: Backend) {
    let service = open(backend).await;
    let both = json!({URN: {"badge": "a"}, ROSTER_URN: {"attributes": {"badge": "b"}}});
    let reply = post(&service, with(named("ada"), both)).await;
    refused(reply, 400, Some("invalidSyntax"));
    let others = json!({URN: {"badge": "a"}, ROSTER_URN: {"attributes": {"inner": "b"}}});
    create(&service, with(named("ada"), others)).await;
}
