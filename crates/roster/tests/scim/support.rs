//! Short functions for requests of the suite, and users.

use serde_json::{Value, json};

use crate::{
    client::{Reply, Request},
    service::Service,
};

pub(crate) const USER_URN: &str = "urn:ietf:params:scim:schemas:core:2.0:User";
pub(crate) const GROUP_URN: &str = "urn:ietf:params:scim:schemas:core:2.0:Group";
pub(crate) const ENTERPRISE_URN: &str =
    "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
pub(crate) const ROSTER_URN: &str = "urn:ietf:params:scim:schemas:extension:roster:2.0:User";

/// A request to the SCIM interface.
pub(crate) fn ask<'a>(service: &'a Service, method: &str, target: &str) -> Request<'a> {
    service.request(method, &format!("/scim/v2{target}"))
}

/// A request with a body of SCIM's media type.
pub(crate) fn send<'a>(
    service: &'a Service,
    method: &str,
    target: &str,
    body: &Value,
) -> Request<'a> {
    ask(service, method, target).body("application/scim+json", body.to_string())
}

pub(crate) async fn get(service: &Service, target: &str) -> Reply {
    ask(service, "GET", target).send().await
}

/// The body of a GET, which must succeed.
pub(crate) async fn read(service: &Service, target: &str) -> Value {
    get(service, target).await.expect(200).json()
}

pub(crate) async fn post(service: &Service, body: Value) -> Reply {
    send(service, "POST", "/Users", &body).send().await
}

/// Creates a user, which must succeed.
pub(crate) async fn create(service: &Service, body: Value) -> Value {
    post(service, body).await.expect(201).json()
}

pub(crate) async fn put(service: &Service, user: &Value, body: Value) -> Reply {
    send(service, "PUT", &at(user), &body).send().await
}

/// The path of a user below the base path of SCIM.
pub(crate) fn at(user: &Value) -> String {
    format!("/Users/{}", user["id"].as_str().expect("an id"))
}

/// A user with this name, with the required URN.
pub(crate) fn named(name: &str) -> Value {
    json!({"schemas": [USER_URN], "userName": name})
}

/// The same user with further members.
pub(crate) fn with(mut user: Value, members: Value) -> Value {
    let Value::Object(further) = members else { panic!("an object") };
    user.as_object_mut().expect("an object").extend(further);
    user
}

/// The names of the users on a page.
pub(crate) fn names(page: &Value) -> Vec<&str> {
    let users = page["Resources"].as_array().expect("resources");
    users.iter().map(|user| user["userName"].as_str().expect("a name")).collect()
}

/// Checks an error in SCIM's form (RFC 7644 section 3.12).
#[track_caller]
pub(crate) fn refused(reply: Reply, status: u16, kind: Option<&str>) -> Reply {
    let reply = reply.expect(status);
    let body = reply.json();
    assert_eq!(body["schemas"], json!(["urn:ietf:params:scim:api:messages:2.0:Error"]));
    assert_eq!(body["status"], status.to_string());
    assert_eq!(body.get("scimType").and_then(Value::as_str), kind, "{body}");
    assert!(body["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{body}");
    assert_eq!(reply.header("content-type"), "application/scim+json");
    assert_eq!(reply.header("cache-control"), "no-store");
    reply
}

/// A text, percent-encoded for a query.
pub(crate) fn escaped(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        out.push_str(&format!("%{byte:02X}"));
        out
    })
}
