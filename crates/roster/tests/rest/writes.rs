//! Creating, replacing, patching and deleting, by the rules of the five endpoints.

use roster_core::{Guard, Rules, Sharing};
use serde_json::{Value, json};

use crate::service::{Backend, Setup, path};

pub(crate) async fn the_location_of_a_new_user_is_its_path(backend: Backend) {
    let service = backend.open().await;
    let reply = service.post(json!({"username": "ada"})).await.expect(201);
    assert_eq!(reply.header("location"), path(&reply.json()));
    assert_eq!(reply.header("etag"), "\"1\"");
    let fetched = service.get(reply.header("location")).await.expect(200);
    assert_eq!(fetched.text(), reply.text());
}

pub(crate) async fn server_set_members_are_ignored_on_a_create(backend: Backend) {
    let service = backend.open().await;
    let id = "01a1f84a-963b-7c3e-9a41-5d2e8f604b17";
    let body = json!({"username": "ada", "id": id, "version": 7, "created_at": "yesterday",
        "updated_at": "later"});
    let user = service.user(body).await;
    assert_ne!(user["id"], id);
    assert_eq!(user["version"], 1);
    assert_eq!(user["created_at"], "2026-01-01T00:00:00.000Z");
}

pub(crate) async fn a_get_response_can_be_edited_and_put_back(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"username": "ada", "name": "Ada", "status": "suspended",
        "emails": [{"value": "a@x.org"}, {"value": "b@x.org", "primary": true, "type": "work"}],
        "phone_number": "+44 20 7946 0958", "attributes": {"team": "core"}});
    let user = service.user(body).await;
    service.clock.step(1500);
    let mut edited = service.now(&user).await;
    edited["name"] = json!("Ada King");
    let reply = service.put(&user, edited.clone()).await.expect(200);
    edited["version"] = json!(2);
    edited["updated_at"] = json!("2026-01-01T00:00:01.500Z");
    assert_eq!(reply.json(), edited);
    assert_eq!(reply.header("etag"), "\"2\"");
}

pub(crate) async fn a_second_put_with_the_same_version_is_rejected(backend: Backend) {
    let service = backend.open().await;
    let read = service.user(json!({"username": "ada"})).await;
    let (mut one, mut other) = (read.clone(), read.clone());
    one["name"] = json!("One");
    other["name"] = json!("Other");
    service.put(&read, one).await.expect(200);
    service.put(&read, other).await.refused(412, "version-mismatch");
    assert_eq!(service.now(&read).await["name"], "One");
}

pub(crate) async fn the_id_of_the_body_must_be_the_one_of_the_path(backend: Backend) {
    let service = backend.open().await;
    let ada = service.user(json!({"username": "ada"})).await;
    let grace = service.user(json!({"username": "grace"})).await;
    let fault = ("/id".to_owned(), "id-mismatch".to_owned());
    let mut body = ada.clone();
    body["id"] = grace["id"].clone();
    let put = service.put(&ada, body).await;
    let patch = service.patch(&ada, json!({"id": grace["id"]})).await;
    for reply in [put, patch] {
        let faults = reply.refused(422, "invalid-user").faults();
        assert_eq!(faults.first(), Some(&fault));
        assert_eq!(faults.len(), 1);
    }
    assert_eq!(service.head().await.position, 2);
}

pub(crate) async fn a_stale_version_in_the_body_is_refused_even_where_nothing_would_change(
    backend: Backend,
) {
    let service = backend.open().await;
    let user = service.user(json!({"username": "ada"})).await;
    service.patch(&user, json!({"name": "Ada"})).await.expect(200);
    let nothing_new = json!({"username": "ada", "name": "Ada", "version": 1});
    service.put(&user, nothing_new).await.refused(412, "version-mismatch");
    let nothing_new = json!({"name": "Ada", "version": 1});
    service.patch(&user, nothing_new).await.refused(412, "version-mismatch");
    service.patch(&user, json!({"version": 3})).await.refused(412, "version-mismatch");
    service.patch(&user, json!({"version": 2})).await.expect(200);
}

pub(crate) async fn a_put_clears_what_it_omits_but_status_and_username(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"username": "ada", "name": "Ada", "email": "a@x.org", "status": "suspended"});
    let user = service.user(body).await;
    let after = service.put(&user, json!({"title": "Countess"})).await.expect(200).json();
    assert_eq!(after["username"], "ada");
    assert_eq!(after["status"], "suspended");
    assert_eq!(after["title"], "Countess");
    assert_eq!((after.get("name"), after.get("email")), (None, None));
}

pub(crate) async fn a_put_creates_no_user(backend: Backend) {
    let service = backend.open().await;
    for id in ["01a1f84a-963b-7c3e-9a41-5d2e8f604b17", "ada", "%2F", "a%00b"] {
        let user = json!({"id": id});
        service.put(&user, json!({"username": "ada"})).await.refused(404, "user-not-found");
        service.patch(&user, json!({"username": "ada"})).await.refused(404, "user-not-found");
        service.delete(&path(&user)).await.refused(404, "user-not-found");
        service.get(&path(&user)).await.refused(404, "user-not-found");
    }
    assert_eq!(service.head().await.position, 0);
}

pub(crate) async fn a_put_without_a_change_stores_nothing(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"username": "ada", "email": "a@x.org", "attributes": {"a": 1}});
    let created = service.post(body.clone()).await.expect(201);
    let user = created.json();
    service.clock.step(60_000);
    for reply in [
        service.put(&user, user.clone()).await,
        service.put(&user, body).await,
        service.patch(&user, json!({})).await,
        service.patch(&user, json!({"name": null, "email": "a@x.org"})).await,
    ] {
        let reply = reply.expect(200);
        assert_eq!(reply.text(), created.text());
        assert_eq!(reply.header("etag"), "\"1\"");
        assert_eq!(reply.header("roster-position"), created.header("roster-position"));
    }
    assert_eq!(service.head().await.position, 1);
}

fn guarded(put: Guard, delete: Guard) -> Setup {
    Setup { rules: Rules { put, delete, ..Rules::default() }, ..Setup::default() }
}

pub(crate) async fn a_guarded_put_without_a_precondition_names_the_members_it_would_clear(
    backend: Backend,
) {
    let service = backend.open_with(guarded(Guard::On, Guard::Off)).await;
    let body = json!({"username": "ada", "name": "Ada", "phone_number": "12", "title": "x"});
    let user = service.user(body).await;
    let refused = service.put(&user, json!({"title": "x"})).await;
    let refused = refused.refused(428, "precondition-required");
    let detail = refused.json()["detail"].as_str().expect("a detail").to_owned();
    assert!(detail.contains("name, ") && detail.contains("phone_number"), "{detail}");
    assert!(!detail.contains("title") && !detail.contains("username"), "{detail}");
    let other = service.request("PUT", &path(&user)).header("if-none-match", "\"9\"");
    other.json(&json!({"title": "x"})).send().await.refused(428, "precondition-required");
    // Nothing would be cleared, or the caller names the version.
    let more = json!({"name": "Ada", "phone_number": "12", "title": "y", "nickname": "A"});
    service.put(&user, more).await.expect(200);
    service.put(&user, json!({"version": 2})).await.expect(200);
    let held = service.request("PUT", &path(&user)).header("if-match", "*");
    held.json(&json!({"name": "Ada"})).send().await.expect(200);
    // A patch names the members that it clears, and the setting does not apply to deletes.
    service.patch(&user, json!({"name": null})).await.expect(200);
    service.delete(&path(&user)).await.expect(204);
}

pub(crate) async fn a_guarded_delete_needs_a_precondition(backend: Backend) {
    let service = backend.open_with(guarded(Guard::Off, Guard::On)).await;
    let user = service.user(json!({"username": "ada"})).await;
    service.delete(&path(&user)).await.refused(428, "precondition-required");
    service.put(&user, json!({"name": "Ada"})).await.expect(200);
    let held = service.request("DELETE", &path(&user)).header("if-match", "\"2\"");
    held.send().await.expect(204);
}

pub(crate) async fn a_deleted_user_frees_its_name_and_address_at_once(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"username": "ada", "email": "ada@example.com"});
    let user = service.user(body.clone()).await;
    service.post(body.clone()).await.refused(409, "username-taken");
    service.delete(&path(&user)).await.expect(204);
    service.get(&path(&user)).await.refused(404, "user-not-found");
    service.delete(&path(&user)).await.refused(404, "user-not-found");
    let listed = service.get("/users").await.expect(200).json();
    assert_eq!(listed["items"], json!([]));
    let heir = service.user(body).await;
    assert_ne!(heir["id"], user["id"]);
}

pub(crate) async fn all_taken_values_are_listed_without_their_holder(backend: Backend) {
    let rules = Rules { external_id: Sharing::Unique, ..Rules::default() };
    let service = backend.open_with(Setup { rules, ..Setup::default() }).await;
    let body = json!({"username": "ada", "email": "ada@x.org", "external_id": "e1"});
    let ada = service.user(body).await;
    let body = json!({"username": "ADA", "email": "Ada@X.org", "external_id": "e1"});
    let reply = service.post(body).await.refused(409, "username-taken");
    let expected = [
        ("/username", "username-taken"),
        ("/email", "email-taken"),
        ("/external_id", "external-id-taken"),
    ];
    let expected = expected.map(|(place, code)| (place.to_owned(), code.to_owned()));
    assert_eq!(reply.faults(), expected);
    assert!(!reply.text().contains(ada["id"].as_str().expect("an id")));
    let grace = service.user(json!({"username": "grace"})).await;
    service.patch(&grace, json!({"email": "ADA@x.org"})).await.refused(409, "email-taken");
    let reply = service.put(&grace, json!({"external_id": "e1"})).await;
    reply.refused(409, "external-id-taken");
}

pub(crate) async fn an_email_that_is_the_username_of_another_user_is_taken(backend: Backend) {
    let service = backend.open().await;
    service.user(json!({"username": "ada@x.org"})).await;
    let reply = service.post(json!({"email": "ada@x.org"})).await.refused(409, "username-taken");
    assert_eq!(reply.faults(), [("/username".to_owned(), "username-taken".to_owned())]);
    let detail = reply.json()["detail"].as_str().expect("a detail").to_owned();
    assert!(detail.contains("give a username"), "{detail}");
    service.user(json!({"email": "ada@x.org", "username": "ada"})).await;
}

pub(crate) async fn shared_mailboxes_are_accepted_if_allowed(backend: Backend) {
    let rules = Rules { email: Sharing::Shared, ..Rules::default() };
    let service = backend.open_with(Setup { rules, ..Setup::default() }).await;
    service.user(json!({"username": "ada", "email": "desk@x.org"})).await;
    service.user(json!({"username": "grace", "email": "desk@x.org"})).await;
    let found = service.get("/users?email=desk@x.org").await.expect(200).json();
    assert_eq!(found["items"].as_array().map(Vec::len), Some(2));
    let document = service.get("/").await.expect(200).json();
    assert_eq!(document["capabilities"]["unique_email"], "none");
}

pub(crate) async fn a_merge_patch_is_accepted_as_both_media_types(backend: Backend) {
    let service = backend.open().await;
    let user = service.user(json!({"username": "ada", "attributes": {"a": 1, "b": 2}})).await;
    let send = |media_type: &'static str, body: Value| {
        let request = service.request("PATCH", &path(&user));
        request.body(media_type, body.to_string()).send()
    };
    let merge = "application/merge-patch+json; charset=UTF-8";
    let after = send(merge, json!({"attributes": {"a": null, "c": 3}})).await.expect(200).json();
    assert_eq!(after["attributes"], json!({"b": 2, "c": 3}));
    let after = send("Application/JSON", json!({"name": "Ada"})).await.expect(200).json();
    assert_eq!(after["name"], "Ada");
    let refused = send("application/json-patch+json", json!([])).await;
    let refused = refused.refused(415, "unsupported-media-type");
    assert!(refused.header("accept-patch").contains("application/merge-patch+json"));
    send("application/json", json!([])).await.refused(422, "invalid-user");
}

pub(crate) async fn return_minimal_omits_the_body_and_sets_preference_applied(backend: Backend) {
    let service = backend.open().await;
    let minimal = |method: &str, target: &str, body: Value| {
        service.request(method, target).header("prefer", "return=minimal").json(&body).send()
    };
    let created = minimal("POST", "/users", json!({"username": "ada"})).await.expect(201);
    let location = created.header("location").to_owned();
    let put = minimal("PUT", &location, json!({"name": "Ada"})).await.expect(204);
    let patched = minimal("PATCH", &location, json!({"name": "A"})).await.expect(204);
    for (reply, tag) in [(&created, "\"1\""), (&put, "\"2\""), (&patched, "\"3\"")] {
        assert_eq!(reply.text(), "");
        assert_eq!(reply.header("preference-applied"), "return=minimal");
        assert_eq!(reply.header("etag"), tag);
        assert_eq!(reply.find("content-type"), None);
    }
    let whole = service.request("PUT", &location).header("prefer", "return=representation");
    let whole = whole.json(&json!({"name": "B"})).send().await.expect(200);
    assert_eq!(whole.header("preference-applied"), "return=representation");
    assert_eq!(whole.json()["name"], "B");
    let other = service.request("PUT", &location).header("prefer", "respond-async");
    assert_eq!(other.json(&json!({})).send().await.expect(200).find("preference-applied"), None);
    minimal("PUT", &location, json!({"nope": 1})).await.refused(422, "invalid-user");
}
