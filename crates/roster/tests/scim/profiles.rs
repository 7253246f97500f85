//! Tolerant and strict parsing: requests of identity providers are accepted, deviations by strict
//! clients are errors.

use serde_json::{Value, json};

use crate::{
    client::Reply,
    service::{Backend, Service},
    support::{
        ENTERPRISE_URN, GROUP_URN, ROSTER_URN, USER_URN, ask, at, create, escaped, named, names,
        post, read, refused, send, with,
    },
};

pub(crate) async fn booleans_as_strings_are_accepted_at_every_depth(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"active": "False", "roles": [{"value": "a", "primary": "True"}],
        "emails": [{"value": "a@example.com", "primary": "true"}],
        ROSTER_URN: {"email_verified": "TRUE", "attributes": {"kept": "True"}}});
    let user = create(&service, with(named("ada"), body)).await;
    assert_eq!(user["active"], false);
    assert_eq!(user["roles"][0]["primary"], true);
    assert_eq!(user["emails"][0]["primary"], true);
    assert_eq!(user[ROSTER_URN]["email_verified"], true);
    let attributes = format!("{}?attributes={ROSTER_URN}:attributes", at(&user));
    assert_eq!(read(&service, &attributes).await[ROSTER_URN]["attributes"]["kept"], "True");
    let odd = with(named("bob"), json!({"active": "maybe"}));
    refused(post(&service, odd).await, 400, Some("invalidValue"));
}

pub(crate) async fn names_are_case_insensitive(backend: Backend) {
    let service = backend.open().await;
    let urn = ENTERPRISE_URN.to_uppercase();
    let body = json!({"SCHEMAS": [USER_URN], "USERNAME": "ada", "Name": {"GIVENNAME": "A"},
        "EMAILS": [{"Value": "a@example.com", "TYPE": "work"}], urn: {"DEPARTMENT": "d"}});
    let user = create(&service, body).await;
    assert_eq!((&user["userName"], &user["name"]["givenName"]), (&json!("ada"), &json!("A")));
    assert_eq!(user["emails"], json!([{"value": "a@example.com", "type": "work"}]));
    assert_eq!(user[ENTERPRISE_URN]["department"], "d");
    let twice = with(named("bob"), json!({"title": "a", "TITLE": "b"}));
    refused(post(&service, twice).await, 400, Some("invalidSyntax"));
    let twice = with(named("bob"), json!({"name": {"givenName": "a", "GivenName": "b"}}));
    refused(post(&service, twice).await, 400, Some("invalidSyntax"));
}

pub(crate) async fn unknown_attributes_and_schemas_are_ignored(backend: Backend) {
    let service = backend.open().await;
    let foreign = "http://schemas.example.com/2006/11/ResourceManagement/ADSCIM/User";
    let body = json!({"schemas": [USER_URN, foreign], foreign: {"x": 1}, "favourite": "tea",
        "groups": [{"value": "g"}], "password": "secret", "emails": [{"value": "a@example.com",
        "$ref": null, "x": 1}], "name": {"x": 1, "givenName": null},
        "meta": {"resourceType": "User"}});
    let user = create(&service, with(named("ada"), body)).await;
    assert_eq!(user["emails"], json!([{"value": "a@example.com"}]));
    for member in ["favourite", "groups", "password", "name", foreign] {
        assert_eq!(user.get(member), None, "{member}");
    }
    // A body may omit its schemas, and may have dotted or qualified names.
    let dotted = json!({"userName": "bob", "name.givenName": "B", "name.familyName": "T",
        format!("{ENTERPRISE_URN}:department"): "d"});
    let user = create(&service, dotted).await;
    assert_eq!(user["name"], json!({"familyName": "T", "givenName": "B"}));
    assert_eq!(user[ENTERPRISE_URN]["department"], "d");
}

pub(crate) async fn a_dot_may_follow_the_urn_of_a_schema(backend: Backend) {
    let service = backend.open().await;
    let user = create(&service, named("ada")).await;
    let path = format!("{ENTERPRISE_URN}.department");
    let urn = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
    let operations = json!([{"op": "replace", "path": path, "value": "d"}]);
    let body = json!({"schemas": [urn], "Operations": operations});
    let changed = send(&service, "PATCH", &at(&user), &body).send().await.expect(200).json();
    assert_eq!(changed[ENTERPRISE_URN]["department"], "d");
    let filter = format!("{ENTERPRISE_URN}.department eq \"d\"");
    let page = read(&service, &format!("/Users?filter={}", escaped(&filter))).await;
    assert_eq!(names(&page), ["ada"]);
    let selected = format!("{}?attributes={ENTERPRISE_URN}.department", at(&user));
    assert_eq!(read(&service, &selected).await[ENTERPRISE_URN]["department"], "d");
    let body = with(named("bob"), json!({format!("{ENTERPRISE_URN}.department"): "e"}));
    assert_eq!(create(&service, body).await[ENTERPRISE_URN]["department"], "e");
}

pub(crate) async fn one_object_may_come_in_a_list(backend: Backend) {
    let service = backend.open().await;
    let manager = json!({ENTERPRISE_URN: {"manager": [{"value": "m"}]}});
    let user = create(&service, with(named("ada"), manager)).await;
    assert_eq!(user[ENTERPRISE_URN]["manager"]["value"], "m");
    let two = json!({ENTERPRISE_URN: {"manager": [{"value": "m"}, {"value": "n"}]}});
    refused(post(&service, with(named("bob"), two)).await, 400, Some("invalidValue"));
}

pub(crate) async fn a_condition_in_a_projection_is_ignored(backend: Backend) {
    let service = backend.open().await;
    let emails = json!({"emails": [{"value": "a@example.com", "type": "work"}], "title": "t"});
    let user = create(&service, with(named("ada"), emails)).await;
    let names = escaped("emails[type eq \"work\"]");
    let shown = read(&service, &format!("{}?attributes={names}", at(&user))).await;
    assert_eq!((&shown["emails"], shown.get("title")), (&user["emails"], None));
}

pub(crate) async fn a_body_without_a_media_type_is_json(backend: Backend) {
    let service = backend.open().await;
    let bare = ask(&service, "POST", "/Users").bytes(named("ada").to_string());
    bare.unwitnessed().await.expect(201);
    for (name, media) in
        [("bob", "application/json"), ("cid", "application/scim+json; charset=utf-8")]
    {
        let reply = ask(&service, "POST", "/Users").body(media, named(name).to_string());
        reply.send().await.expect(201);
    }
    for media in ["text/plain", "application/x-www-form-urlencoded", "application/xml", ""] {
        let reply = ask(&service, "POST", "/Users").body(media, named("dan").to_string());
        refused(reply.send().await, 415, None);
    }
    let not_json = ask(&service, "POST", "/Users").body("application/scim+json", "{\"userName\":");
    refused(not_json.send().await, 400, Some("invalidSyntax"));
    let no_object = ask(&service, "POST", "/Users").body("application/scim+json", "[1]");
    refused(no_object.send().await, 400, Some("invalidSyntax"));
    let empty = ask(&service, "POST", "/Users").body("application/scim+json", "");
    refused(empty.send().await, 400, Some("invalidSyntax"));
}

pub(crate) async fn invalid_values_of_identity_providers_are_stored_unchanged(backend: Backend) {
    let service = backend.open().await;
    let sent = json!({"locale": "not a locale", "timezone": "GMT+1 or so",
        "preferredLanguage": "-", "profileUrl": "no url", "photos": [{"value": "photo.png"}],
        "addresses": [{"country": "United Kingdom", "type": "work"}],
        "phoneNumbers": [{"value": "ext. none"}]});
    let user = create(&service, with(named("ada"), sent.clone())).await;
    for (member, value) in sent.as_object().expect("an object") {
        assert_eq!(user[member], *value, "{member}");
    }
    // REST accepts its own representation, though it would reject these values in a new user.
    let id = user["id"].as_str().expect("an id");
    let record = service.get(&format!("/users/{id}")).await.expect(200).json();
    let reply = service.request("PUT", &format!("/users/{id}")).json(&record).send().await;
    assert_eq!(reply.expect(200).json(), record);
}

pub(crate) async fn a_manager_is_a_text_or_a_value(backend: Backend) {
    let service = backend.open().await;
    for (name, manager, kept) in [
        ("a", json!("26118915"), json!({"value": "26118915"})),
        (
            "b",
            json!({"value": "26118915", "$ref": "../Users/26118915", "displayName": "J"}),
            json!({"value": "26118915", "$ref": "../Users/26118915", "displayName": "J"}),
        ),
        ("c", json!({"Value": "26118915"}), json!({"value": "26118915"})),
        ("d", json!(""), Value::Null),
        ("e", json!({"value": null}), Value::Null),
    ] {
        let body = json!({ENTERPRISE_URN: {"department": "d", "manager": manager}});
        let user = create(&service, with(named(name), body)).await;
        assert_eq!(user[ENTERPRISE_URN]["manager"], kept, "{name}");
    }
}

pub(crate) async fn an_entry_that_is_sent_as_empty_is_left_out(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"emails": [{"value": "a@example.com"}],
        "phoneNumbers": [{"type": "work", "value": ""}], "roles": {"value": "one"},
        "entitlements": ["bare"], "ims": [{"value": null}]});
    let user = create(&service, with(named("ada"), body)).await;
    assert_eq!(user["emails"], json!([{"value": "a@example.com"}]));
    assert_eq!((user.get("phoneNumbers"), user.get("ims")), (None, None));
    assert_eq!(user["roles"], json!([{"value": "one"}]));
    assert_eq!(user["entitlements"], json!([{"value": "bare"}]));
}

async fn strictly(service: &Service, token: &str, body: &Value) -> Reply {
    let request = ask(service, "POST", "/Users").bearer(token);
    request.body("application/scim+json", body.to_string()).send().await
}

pub(crate) async fn strict_parsing_rejects_deviations(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    let strict = service.new_key(&["scim", "scim:strict"]).await;
    let token = strict["key"].as_str().expect("a key");
    let enterprise = |value: Value| {
        let schemas = json!([USER_URN, ENTERPRISE_URN]);
        json!({"schemas": schemas, "userName": "a", ENTERPRISE_URN: value})
    };
    for (body, kind) in [
        (json!({"userName": "a"}), "invalidSyntax"),
        (json!({"schemas": "x", "userName": "a"}), "invalidSyntax"),
        (json!({"schemas": [ENTERPRISE_URN], "userName": "a"}), "invalidSyntax"),
        (json!({"schemas": [USER_URN, "urn:x"], "userName": "a"}), "invalidSyntax"),
        (with(named("a"), json!({"favourite": "tea"})), "invalidSyntax"),
        (with(named("a"), json!({"name.givenName": "A"})), "invalidSyntax"),
        (with(named("a"), json!({"name": {"x": 1}})), "invalidSyntax"),
        (enterprise(json!({"x": 1})), "invalidSyntax"),
        (with(named("a"), json!({ENTERPRISE_URN: {"department": "d"}})), "invalidSyntax"),
        (with(named("a"), json!({"active": "True"})), "invalidValue"),
        (with(named("a"), json!({"emails": {"value": "a@example.com"}})), "invalidValue"),
        (with(named("a"), json!({"emails": [{"type": "work"}]})), "invalidValue"),
        (with(named("a"), json!({"emails": [null]})), "invalidValue"),
        (with(named("a"), json!({"emails": [{}]})), "invalidValue"),
        (with(named("a"), json!({"password": "secret"})), "invalidValue"),
        (enterprise(json!({"manager": "7"})), "invalidValue"),
        (enterprise(json!({"manager": [{"value": "7"}]})), "invalidValue"),
        (with(named("a"), json!({"locale": "not one"})), "invalidValue"),
    ] {
        let reply = refused(strictly(&service, token, &body).await, 400, Some(kind));
        assert!(!reply.text().contains("secret"), "{}", reply.text());
    }
    // By the standard, names are case-insensitive and read-only attributes are ignored.
    let good = json!({"schemas": [USER_URN, ENTERPRISE_URN], "USERNAME": "ada", "id": "x",
        "groups": [], "meta": {}, ENTERPRISE_URN: {"manager": {"value": "7", "$ref": "x"}}});
    strictly(&service, token, &good).await.expect(201);
    let group = json!({"schemas": [GROUP_URN, "urn:x:bogus"], "displayName": "team"});
    let request = ask(&service, "POST", "/Groups").bearer(token);
    let request = request.body("application/scim+json", group.to_string());
    refused(request.send().await, 400, Some("invalidSyntax"));
    let bare = ask(&service, "POST", "/Users").bearer(token).bytes(named("bob").to_string());
    refused(bare.send().await, 415, None);
    // A body with deviations, from a client with tolerant parsing.
    let tolerant = with(named("cid"), json!({"favourite": "tea", "active": "True"}));
    let other = service.new_key(&["scim"]).await;
    strictly(&service, other["key"].as_str().expect("a key"), &tolerant).await.expect(201);
}
