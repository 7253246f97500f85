//! `Idempotency-Key`: a repeated request is executed once and gets the first response.

use roster_core::{Clock as _, Outlived, Store as _, Timestamp, limits::IDEMPOTENCY_KEEP_MS};
use serde_json::{Value, json};

use crate::{
    client::{Reply, Request},
    service::{Backend, Service, kept, path},
    store::Fault,
    transcript::Transcript,
};

const NOBODY: &str = "/users/01a1f84a-963b-7c3e-9a41-5d2e8f604b17";

/// A request with a key, and with a body unless that is null.
fn with_key<'a>(
    service: &'a Service,
    key: &str,
    (method, target, body): (&str, &str, &Value),
) -> Request<'a> {
    let request = service.request(method, target).header("idempotency-key", key);
    if body.is_null() { request } else { request.json(body) }
}

async fn create(service: &Service, key: &str, body: Value) -> Reply {
    with_key(service, key, ("POST", "/users", &body)).send().await
}

/// The comparable parts of a response, and whether it was a replay.
fn comparable(reply: &Reply) -> (bool, u16, Vec<(String, String)>, String) {
    let exchange = &reply.exchange;
    let mut headers = exchange.response_headers.clone();
    headers.retain(|(name, _)| name != "date" && name != "idempotent-replayed");
    headers.sort();
    let replayed = reply.find("idempotent-replayed");
    assert!(matches!(replayed, None | Some("true")), "{replayed:?}");
    (replayed.is_some(), exchange.status, headers, reply.text().to_owned())
}

pub(crate) async fn a_failed_removal_of_a_member_is_not_stored(backend: Backend) {
    let service = backend.open().await;
    let ada = service.user(json!({"username": "ada"})).await;
    let group = service.group("team").await;
    let member = format!("/groups/{}/members/{}", text(&group["id"]), text(&ada["id"]));
    let remove = || with_key(&service, "remove", ("DELETE", &member, &Value::Null)).send();
    remove().await.refused(404, "member-not-found");
    service.join(&group, &ada).await.expect(200);
    assert!(!comparable(&remove().await.expect(204)).0, "a refusal is not stored");
    assert!(comparable(&remove().await.expect(204)).0, "a success is");
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

pub(crate) async fn every_repeated_write_gets_the_first_response(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"username": "ada", "email": "ada@example.com"});
    let first = create(&service, "create", body.clone()).await.expect(201);
    let user = first.json();
    let (live, gone) = (path(&user), kept(&user));
    let restoring = format!("{gone}/restore");
    let mut done = vec![(("create", ("POST", "/users", body)), comparable(&first))];
    let rest: [(&str, (&str, &str, Value), u16); 7] = [
        ("patch", ("PATCH", &live, json!({"name": "Ada", "version": 1})), 200),
        ("put", ("PUT", &live, json!({"username": "ada", "title": "Countess"})), 200),
        ("as it is", ("PATCH", &live, json!({"title": "Countess"})), 200),
        ("delete", ("DELETE", &live, Value::Null), 204),
        ("restore", ("POST", &restoring, Value::Null), 200),
        ("again", ("DELETE", &live, Value::Null), 204),
        ("purge", ("DELETE", &gone, Value::Null), 204),
    ];
    for (key, (method, target, body), status) in rest {
        service.clock.step(1000);
        let key_line = format!("\"{key}\"");
        let reply = with_key(&service, &key_line, (method, target, &body)).send().await;
        let reply = comparable(&reply.expect(status));
        assert!(!reply.0, "{key}");
        let before = service.head().await;
        done.push(((key, (method, target, body)), reply));
        // Each earlier request is replayed, whatever has changed since. A purge deletes the stored
        // results before it.
        for ((key, (method, target, body)), first) in &done {
            if done.len() == 8 && *key != "purge" {
                continue;
            }
            let request = with_key(&service, &format!("\"{key}\""), (*method, *target, body));
            let again = comparable(&request.send().await);
            assert_eq!(again, (true, first.1, first.2.clone(), first.3.clone()), "{key}");
        }
        assert_eq!(service.head().await, before);
    }
    assert_eq!(service.head().await.position, 7);
}

pub(crate) async fn a_purge_deletes_the_stored_results_of_its_user(backend: Backend) {
    let service = backend.open().await;
    let other = create(&service, "other", json!({"username": "grace"})).await.expect(201).json();
    let body = json!({"username": "ada"});
    let user = create(&service, "k", body.clone()).await.expect(201).json();
    service.delete(&path(&user)).await.expect(204);
    // While the deleted user is stored, so is the result.
    let again = create(&service, "k", body.clone()).await.expect(201);
    assert_eq!((again.header("idempotent-replayed"), again.json()), ("true", user.clone()));
    service.delete(&kept(&user)).await.expect(204);
    let new = create(&service, "k", body).await.expect(201);
    assert_eq!(new.find("idempotent-replayed"), None);
    assert_ne!(new.json()["id"], user["id"]);
    let again = create(&service, "other", json!({"username": "grace"})).await.expect(201);
    assert_eq!((again.header("idempotent-replayed"), again.json()), ("true", other));
}

pub(crate) async fn a_key_is_valid_for_one_request_only(backend: Backend) {
    let service = backend.open().await;
    let (one, two) = (
        service.user(json!({"username": "one"})).await,
        service.user(json!({"email": "t@x.org"})).await,
    );
    let (one, two) = (path(&one), path(&two));
    let put = |target: &str, body: &'static str| {
        let request = service.request("PUT", target).header("idempotency-key", "k");
        request.body("application/json", body)
    };
    let body = r#"{"name":"New"}"#;
    put(&one, body).header("if-match", "\"1\"").send().await.expect(200);
    let other_body = put(&one, r#"{"name": "New"}"#).header("if-match", "\"1\"");
    let other_user = put(&two, body).header("if-match", "\"1\"");
    let dry_of_no = put(&format!("{one}?dry_run=false"), body).header("if-match", "\"1\"");
    let patch = service.request("PATCH", &one).header("idempotency-key", "k");
    let patch = patch.body("application/json", body).header("if-match", "\"1\"");
    let other_type = service.request("PUT", &one).header("idempotency-key", "k");
    let other_type = other_type.body("application/json; charset=utf-8", body);
    let nobody = put(NOBODY, body).header("if-match", "\"1\"");
    let delete = service.request("DELETE", &one).header("idempotency-key", "k");
    for (request, why) in [
        (other_body, "a space in the body"),
        (other_user, "another user"),
        (nobody, "a user that is not there"),
        (dry_of_no, "another query"),
        (patch, "another method"),
        (delete.header("if-match", "\"1\""), "another method without a body"),
        (other_type.header("if-match", "\"1\""), "another media type"),
        (put(&one, body), "no If-Match"),
        (put(&one, body).header("if-match", "\"2\""), "another If-Match"),
        (put(&one, body).header("if-match", "*"), "any If-Match"),
        (put(&one, body).header("if-match", "\"1\"").header("if-none-match", "\"9\""), "one more"),
    ] {
        let reply = request.send().await;
        assert_eq!(reply.status(), 422, "{why}");
        let reply = reply.refused(422, "idempotency-key-reused");
        assert_eq!(reply.find("idempotent-replayed"), None);
        assert_eq!(reply.faults(), []);
    }
    // Headers that only change the form of the response are not compared.
    for (name, value) in [("prefer", "return=representation"), ("accept", "application/*")] {
        let same = put(&one, body).header("if-match", "\"1\"").header(name, value);
        assert_eq!(same.send().await.expect(200).header("idempotent-replayed"), "true");
    }
    let minimal = put(&one, body).header("if-match", "\"1\"").header("prefer", "return=minimal");
    let minimal = minimal.send().await.expect(204);
    assert_eq!(minimal.header("idempotent-replayed"), "true");
    assert_eq!((minimal.header("etag"), minimal.text()), ("\"2\"", ""));
    assert_eq!(service.head().await.position, 3);
}

pub(crate) async fn a_replay_comes_before_preconditions(backend: Backend) {
    let service = backend.open().await;
    let user = service.user(json!({"username": "ada"})).await;
    let put = |key: &str, tag: &str| {
        let body = json!({"name": "Ada"});
        with_key(&service, key, ("PUT", &path(&user), &body)).header("if-match", tag).send()
    };
    put("k", "\"1\"").await.expect(200);
    service.patch(&user, json!({"name": "King"})).await.expect(200);
    let again = put("k", "\"1\"").await.expect(200);
    assert_eq!((again.header("etag"), &again.json()["name"]), ("\"2\"", &json!("Ada")));
    put("other", "\"1\"").await.refused(412, "version-mismatch");
    assert_eq!(service.now(&user).await["name"], "King");
    // The same for a version in the body.
    let body = json!({"version": 3, "name": "Augusta"});
    for replayed in [None, Some("true")] {
        let reply = with_key(&service, "body", ("PATCH", &path(&user), &body)).send().await;
        assert_eq!(reply.expect(200).find("idempotent-replayed"), replayed);
    }
    // A request that cannot be parsed is not looked up.
    put("k", "1").await.refused(400, "invalid-request");
}

pub(crate) async fn a_rejected_request_is_executed_again(backend: Backend) {
    let service = backend.open().await;
    let user = service.user(json!({"username": "ada"})).await;
    let send = |method: &'static str, target: &str, body: Value| {
        let target = target.to_owned();
        let service = &service;
        async move { with_key(service, "k", (method, &target, &body)).send().await }
    };
    send("PATCH", NOBODY, json!({"name": "A"})).await.refused(404, "user-not-found");
    send("DELETE", NOBODY, Value::Null).await.refused(404, "user-not-found");
    send("PUT", &path(&user), json!({"version": 7})).await.refused(412, "version-mismatch");
    send("PATCH", &path(&user), json!({"nmae": "A"})).await.refused(422, "invalid-user");
    send("POST", "/users", json!({})).await.refused(422, "invalid-user");
    send("POST", "/users", json!({"username": "ADA"})).await.refused(409, "username-taken");
    let broken = service.request("POST", "/users").header("idempotency-key", "k");
    broken.body("application/json", "{").send().await.refused(400, "malformed-json");
    service.store.fail(Fault::Unavailable);
    send("POST", "/users", json!({"username": "ADA"})).await.refused(503, "unavailable");
    service.store.fail(Fault::Full);
    send("POST", "/users", json!({"username": "ADA"})).await.refused(507, "storage-full");
    service.store.fail(None);
    // Once the name is free the same request succeeds, and this result is stored.
    service.delete(&path(&user)).await.expect(204);
    let first = send("POST", "/users", json!({"username": "ADA"})).await.expect(201);
    assert_eq!(first.find("idempotent-replayed"), None);
    let again = send("POST", "/users", json!({"username": "ADA"})).await.expect(201);
    assert_eq!(again.header("idempotent-replayed"), "true");
    send("POST", "/users", json!({})).await.refused(422, "idempotency-key-reused");
}

pub(crate) async fn a_write_without_a_change_is_replayed(backend: Backend) {
    let service = backend.open().await;
    let user = service.user(json!({"username": "ada", "name": "Ada"})).await;
    let body = json!({"name": "Ada"});
    let put = || with_key(&service, "k", ("PUT", &path(&user), &body)).send();
    let first = comparable(&put().await.expect(200));
    assert_eq!(service.head().await.position, 1);
    service.patch(&user, json!({"name": "King"})).await.expect(200);
    let again = comparable(&put().await.expect(200));
    assert_eq!(again, (true, first.1, first.2, first.3));
    assert_eq!(service.now(&user).await["name"], "King");
}

pub(crate) async fn an_idempotency_key_may_be_quoted_or_bare(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"username": "ada"});
    create(&service, "8e03978e-40d5-43dd-bc93-6894a57f9324", body.clone()).await.expect(201);
    let quoted = create(&service, "\"8e03978e-40d5-43dd-bc93-6894a57f9324\"", body).await;
    assert_eq!(quoted.expect(201).header("idempotent-replayed"), "true");
    let longest = "k".repeat(255);
    for (number, key) in
        ["K", "\"K \"", "\"K\\\"\"", "\"a, b; c\"", &longest, "\"=?<>{}\""].into_iter().enumerate()
    {
        let reply = create(&service, key, json!({"username": format!("u{number}")})).await;
        assert_eq!(reply.expect(201).find("idempotent-replayed"), None, "{key}");
    }
    // Keys are case-sensitive.
    let reply = create(&service, "k", json!({"username": "small"})).await.expect(201);
    assert_eq!(reply.find("idempotent-replayed"), None);
}

pub(crate) async fn an_invalid_key_is_400_on_every_write(backend: Backend) {
    let service = backend.open().await;
    let user = service.user(json!({"username": "ada"})).await;
    let gone = service.left(json!({"username": "gone"})).await;
    let (live, gone, long) = (path(&user), kept(&gone), "k".repeat(256));
    let restoring = format!("{gone}/restore");
    let (body, none) = (json!({"username": "new"}), Value::Null);
    let writes = [
        ("POST", "/users", &body),
        ("PUT", &live, &body),
        ("PATCH", &live, &body),
        ("DELETE", &live, &none),
        ("POST", &restoring, &none),
        ("DELETE", &gone, &none),
    ];
    let quoted = format!("\"{long}\"");
    for key in [
        "",
        "\"\"",
        "\"open",
        "open\"",
        "\"a\" b",
        "a b",
        "a,b",
        "a;b",
        "\"a\\b\"",
        "\u{e9}",
        "\"\u{e9}\"",
        "\"a\tb\"",
        "\"a\", \"b\"",
        &long,
        &quoted,
    ] {
        for write in writes {
            let reply = with_key(&service, key, write).send().await;
            assert_eq!(reply.status(), 400, "{key}: {write:?}");
            reply.refused(400, "invalid-idempotency-key");
        }
    }
    for write in writes {
        let twice = with_key(&service, "a", write).header("idempotency-key", "a");
        twice.send().await.refused(400, "invalid-idempotency-key");
    }
    // Reads ignore the key.
    let read = service.request("GET", &live).header("idempotency-key", "");
    assert_eq!(read.send().await.expect(200).find("idempotent-replayed"), None);
    assert_eq!(service.head().await.position, 3);
}

pub(crate) async fn one_of_many_simultaneous_repetitions_is_executed(backend: Backend) {
    let service = backend.open().await;
    let user = service.user(json!({"username": "counted"})).await;
    let bodies = [json!({"username": "ada"}), json!({"name": "Ada"})];
    let writes = [("POST", "/users".to_owned(), &bodies[0]), ("PATCH", path(&user), &bodies[1])];
    for (method, target, body) in &writes {
        let ask =
            async || comparable(&with_key(&service, method, (method, target, body)).send().await);
        let all: [_; 8] =
            tokio::join!(ask(), ask(), ask(), ask(), ask(), ask(), ask(), ask()).into();
        assert_eq!(all.iter().filter(|reply| !reply.0).count(), 1, "{method}");
        let first = all.iter().find(|reply| !reply.0).expect("the one");
        for reply in &all {
            assert_eq!((reply.1, &reply.2, &reply.3), (first.1, &first.2, &first.3), "{method}");
        }
    }
    assert_eq!(service.head().await.position, 3);
}

pub(crate) async fn a_result_is_stored_for_a_day(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"username": "ada"});
    create(&service, "k", body.clone()).await.expect(201);
    // The clock of this process may be wrong: only housekeeping deletes the result.
    service.clock.step(2 * IDEMPOTENCY_KEEP_MS);
    let again = create(&service, "k", body.clone()).await.expect(201);
    assert_eq!(again.header("idempotent-replayed"), "true");
    let (keys_before, events_before) = (service.clock.now(), Timestamp::from_millis(0));
    service.store.forget(Outlived { keys_before, events_before }).await.expect("it forgets");
    create(&service, "k", body).await.refused(409, "username-taken");
    let reply = create(&service, "k", json!({"username": "grace"})).await.expect(201);
    assert_eq!(reply.find("idempotent-replayed"), None);
}

pub(crate) async fn a_dry_run_ignores_the_idempotency_key(backend: Backend) {
    let service = backend.open().await;
    let dry = |body: Value| {
        let service = &service;
        async move { with_key(service, "k", ("POST", "/users?dry_run=true", &body)).send().await }
    };
    let body = json!({"username": "ada"});
    dry(body.clone()).await.expect(200);
    let first = create(&service, "k", body.clone()).await.expect(201);
    assert_eq!(first.find("idempotent-replayed"), None);
    dry(body).await.refused(409, "username-taken");
    let other = dry(json!({"username": "grace"})).await.expect(200);
    assert_eq!((other.header("dry-run"), other.find("idempotent-replayed")), ("true", None));
}

pub(crate) async fn responses_of_repeated_requests(backend: Backend) {
    let service = backend.open().await;
    let mut page = Transcript::of(&service);
    let body = json!({"username": "ada"});
    let first = create(&service, "\"order 4711\"", body.clone()).await;
    page.note("create", &first);
    let user = first.json();
    service.clock.step(1000);
    service.patch(&user, json!({"name": "Ada"})).await.expect(200);
    page.note("create, once more", &create(&service, "\"order 4711\"", body).await);
    let other = create(&service, "\"order 4711\"", json!({"username": "grace"})).await;
    page.note("another request", &other);
    let (none, live) = (Value::Null, path(&user));
    let delete = || with_key(&service, "order-4712", ("DELETE", &live, &none)).send();
    page.note("delete", &delete().await);
    page.note("delete, once more", &delete().await);
    let reused = with_key(&service, "\"order 4711\"", ("DELETE", &live, &none)).send().await;
    page.note("delete by a key that was used", &reused);
    page.note("no key", &create(&service, "\"order", json!({"username": "grace"})).await);
    page.settle("idempotency");
}
