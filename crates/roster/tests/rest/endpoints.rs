//! The five endpoints that no version changes, one case for each: its success with the whole
//! response, its errors, and a request without a credential.
//!
//! `./test --endpoints` runs these cases by name, and the README links each of them.

use serde_json::{Value, json};

use crate::{
    client::{Reply, Request},
    service::{Backend, Service, path},
};

/// A valid id that no user has.
const NOBODY: &str = "/users/01a1f84a-963b-7c3e-9a41-5d2e8f604b17";

/// A service that needs a credential, which its requests have, with one user.
async fn service_with_ada(backend: &Backend) -> (Service, Value) {
    let service = backend.open().await;
    service.close().await;
    let ada = service.user(json!({"username": "ada", "email": "ada@example.com"})).await;
    (service, ada)
}

/// Sends the request without its credential, which is refused.
async fn refuses_strangers(service: &Service, method: &str, target: &str, body: Option<&Value>) {
    let request = service.request(method, target).without("authorization");
    let request = body.into_iter().fold(request, Request::json);
    let refused = request.send().await.refused(401, "unauthenticated");
    assert!(refused.header("www-authenticate").starts_with("Bearer"));
}

/// A record as the service shows it, with its tag.
fn is_record(reply: &Reply, expected: &Value) {
    assert_eq!(reply.json(), *expected);
    assert_eq!(reply.header("content-type"), "application/json");
    assert_eq!(reply.header("etag"), format!("\"{}\"", expected["version"]));
}

pub(crate) async fn get_users_lists_the_users(backend: Backend) {
    let (service, ada) = service_with_ada(&backend).await;
    let grace = service.user(json!({"username": "grace"})).await;
    let whole = service.get("/users").await.expect(200);
    assert_eq!(whole.json(), json!({"items": [ada, grace], "next_cursor": null}));
    let first = service.get("/users?limit=1").await.expect(200).json();
    assert_eq!(first["items"], json!([ada]));
    let cursor = first["next_cursor"].as_str().expect("more users");
    let last = service.get(&format!("/users?limit=1&cursor={cursor}")).await.expect(200).json();
    assert_eq!(last["items"], json!([grace]));
    let found = service.get("/users?email=ADA@example.com&fields=username").await.expect(200);
    let shown = json!({"id": ada["id"], "version": 1, "username": "ada"});
    assert_eq!(found.json()["items"], json!([shown]));
    service.get("/users?limit=1001").await.refused(400, "invalid-query");
    service.get("/users?colour=red").await.refused(400, "invalid-query");
    refuses_strangers(&service, "GET", "/users", None).await;
}

pub(crate) async fn post_users_creates_a_user(backend: Backend) {
    let (service, ada) = service_with_ada(&backend).await;
    let body = json!({"username": "grace", "email": "grace@example.com", "name": "Grace Hopper"});
    let created = service.post(body.clone()).await.expect(201);
    let grace = created.json();
    assert_eq!(created.header("location"), path(&grace));
    let expected = json!({
        "id": grace["id"], "version": 1, "status": "active", "username": "grace",
        "name": "Grace Hopper", "email": "grace@example.com",
        "emails": [{"value": "grace@example.com", "primary": true}],
        "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z",
    });
    is_record(&created, &expected);
    is_record(&service.get(&path(&grace)).await.expect(200), &expected);
    // A 409 says which values are taken, and not by whom.
    let taken = service.post(json!({"username": "ADA", "email": "Ada@Example.com"})).await;
    let taken = taken.refused(409, "username-taken");
    let fault = |pointer: &str, code: &str| (pointer.to_owned(), code.to_owned());
    let both = [fault("/username", "username-taken"), fault("/email", "email-taken")];
    assert_eq!(taken.faults(), both);
    assert!(!taken.text().contains(ada["id"].as_str().expect("an id")));
    let invalid = service.post(json!({"email": "ada", "nmae": "Ada"})).await;
    let invalid = invalid.refused(422, "invalid-user");
    let both = [fault("/email", "invalid-email"), fault("/nmae", "unknown-member")];
    assert_eq!(invalid.faults(), both);
    refuses_strangers(&service, "POST", "/users", Some(&body)).await;
    let total = service.get("/users?count=true").await.expect(200).json()["total"].clone();
    assert_eq!(total, 2, "a refused request creates nothing");
}

pub(crate) async fn get_users_user_id_returns_the_user(backend: Backend) {
    let (service, ada) = service_with_ada(&backend).await;
    is_record(&service.get(&path(&ada)).await.expect(200), &ada);
    let known = service.request("GET", &path(&ada)).header("if-none-match", "\"1\"");
    known.send().await.expect(304);
    service.get(NOBODY).await.refused(404, "user-not-found");
    service.get("/users/ada").await.refused(404, "user-not-found");
    refuses_strangers(&service, "GET", &path(&ada), None).await;
}

pub(crate) async fn put_users_user_id_replaces_the_user(backend: Backend) {
    let (service, ada) = service_with_ada(&backend).await;
    service.clock.step(1500);
    let body = json!({"version": 1, "name": "Ada King"});
    let replaced = service.put(&ada, body.clone()).await.expect(200);
    // What the body omits is cleared, except the username and the status.
    let expected = json!({
        "id": ada["id"], "version": 2, "status": "active", "username": "ada", "name": "Ada King",
        "created_at": ada["created_at"], "updated_at": "2026-01-01T00:00:01.500Z",
    });
    is_record(&replaced, &expected);
    service.put(&ada, body.clone()).await.refused(412, "version-mismatch");
    service.put(&ada, json!({"nmae": "Ada"})).await.refused(422, "invalid-user");
    let request = service.request("PUT", NOBODY).json(&body);
    request.send().await.refused(404, "user-not-found");
    refuses_strangers(&service, "PUT", &path(&ada), Some(&body)).await;
    is_record(&service.get(&path(&ada)).await.expect(200), &expected);
}

pub(crate) async fn delete_users_user_id_deletes_the_user(backend: Backend) {
    let (service, ada) = service_with_ada(&backend).await;
    refuses_strangers(&service, "DELETE", &path(&ada), None).await;
    let held = service.request("DELETE", &path(&ada)).header("if-match", "\"7\"");
    held.send().await.refused(412, "version-mismatch");
    let deleted = service.delete(&path(&ada)).await.expect(204);
    assert_eq!(deleted.text(), "");
    service.get(&path(&ada)).await.refused(404, "user-not-found");
    service.delete(&path(&ada)).await.refused(404, "user-not-found");
    let list = service.get("/users").await.expect(200).json();
    assert_eq!(list["items"], json!([]));
    // Its names are free at once.
    service.user(json!({"username": "ada", "email": "ada@example.com"})).await;
}
