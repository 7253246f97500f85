//! Deleted users: stored for a while, listed, restored, and purged.

use roster_core::{Guard, Rules, Sharing};
use serde_json::{Value, json};

use crate::{
    client::Reply,
    service::{Backend, Service, Setup, kept, path},
    transcript::Transcript,
};

const NOBODY: &str = "/deleted-users/01a1f84a-963b-7c3e-9a41-5d2e8f604b17";
const DAY: i64 = 86_400_000;

fn restoring(user: &Value) -> String {
    kept(user) + "/restore"
}

async fn restore(service: &Service, user: &Value) -> Reply {
    service.request("POST", &restoring(user)).send().await
}

/// The usernames of a page.
fn names(reply: &Reply) -> Vec<String> {
    let items = reply.json()["items"].as_array().cloned().expect("items");
    items.iter().map(|user| user["username"].as_str().expect("a name").to_owned()).collect()
}

/// The usernames of all pages, by the links.
async fn walk(service: &Service, query: &str) -> Vec<String> {
    let mut target = format!("/deleted-users?{query}");
    let mut all = Vec::new();
    for _ in 0..50 {
        let reply = service.get(&target).await.expect(200);
        all.extend(names(&reply));
        let cursor = reply.json()["next_cursor"].as_str().map(str::to_owned);
        let Some(cursor) = cursor else {
            assert_eq!(reply.find("link"), None);
            return all;
        };
        assert!(reply.header("link").contains(&format!("cursor={cursor}>; rel=\"next\"")));
        target = format!("/deleted-users?{query}&cursor={cursor}");
    }
    panic!("the list ends");
}

pub(crate) async fn responses_of_deleted_users(backend: Backend) {
    let service = backend.open().await;
    let mut page = Transcript::of(&service);
    let ada = service.left(json!({"email": "ada@example.com", "name": "Ada"})).await;
    service.clock.step(1000);
    let grace = service.left(json!({"username": "grace"})).await;
    page.note("list", &service.get("/deleted-users?count=true").await);
    page.note("first page", &service.get("/deleted-users?limit=1&sort=deleted_at").await);
    page.note("list, head", &service.request("HEAD", "/deleted-users").send().await);
    let tag = service.get("/deleted-users").await.header("etag").to_owned();
    let known = service.request("GET", "/deleted-users").header("if-none-match", &tag);
    page.note("list, as it is known", &known.send().await);
    page.note("fetch", &service.get(&kept(&ada)).await);
    let known = service.request("GET", &kept(&ada)).header("if-none-match", "\"2\"");
    page.note("fetch what is known", &known.send().await);
    let dry = format!("{}?dry_run=true", restoring(&ada));
    page.note("restore, dry", &service.request("POST", &dry).send().await);
    let held = service.request("POST", &restoring(&ada)).header("if-match", "\"1\"");
    page.note("restore another version", &held.send().await);
    service.clock.step(1000);
    let marked = || service.request("POST", &restoring(&ada)).header("idempotency-key", "\"k\"");
    page.note("restore", &marked().send().await);
    page.note("restore, once more", &marked().send().await);
    let elsewhere = service.request("DELETE", &kept(&grace)).header("idempotency-key", "\"k\"");
    page.note("the key of another request", &elsewhere.send().await);
    page.note("restore who is there", &restore(&service, &ada).await);
    service.user(json!({"username": "GRACE"})).await;
    page.note("restore whose name is held", &restore(&service, &grace).await);
    let dry = format!("{}?dry_run=true", kept(&grace));
    page.note("purge, dry", &service.delete(&dry).await);
    page.note("purge", &service.delete(&kept(&grace)).await);
    page.note("fetch who was purged", &service.get(&kept(&grace)).await);
    page.note("nobody is left", &service.get("/deleted-users?count=true").await);
    page.note("query", &service.get("/deleted-users?limit=0&sort=name&status=active").await);
    page.note("cursor", &service.get("/deleted-users?cursor=nonsense").await);
    page.settle("deleted_users");
}

pub(crate) async fn a_deleted_user_is_kept_with_the_moments_of_leaving_and_purge(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"email": "ada@example.com", "name": "Ada", "attributes": {"x": [1, "}"]}});
    let user = service.user(body).await;
    service.clock.step(5000);
    service.delete(&path(&user)).await.expect(204);
    service.get(&path(&user)).await.refused(404, "user-not-found");
    let reply = service.get(&kept(&user)).await.expect(200);
    assert_eq!(reply.header("etag"), "\"2\"");
    assert_eq!(reply.header("cache-control"), "private, no-cache");
    let mut expected = user.clone();
    expected["version"] = json!(2);
    expected["updated_at"] = json!("2026-01-01T00:00:05.000Z");
    expected["deleted_at"] = json!("2026-01-01T00:00:05.000Z");
    expected["purge_at"] = json!("2026-01-31T00:00:05.000Z");
    assert_eq!(reply.json(), expected);
    let listed = service.get("/deleted-users").await.expect(200);
    assert_eq!(listed.json()["items"], json!([expected]));
    // It is no longer in the collection.
    assert_eq!(service.get("/users?email=ada@example.com").await.json()["items"], json!([]));
}

pub(crate) async fn the_last_deleted_users_are_first_and_each_once(backend: Backend) {
    let service = backend.open().await;
    for name in ["a", "b", "c", "d", "e"] {
        service.left(json!({"username": name})).await;
        // Two are deleted at the same time: their ids decide the order.
        service.clock.step(if name == "b" { 0 } else { 1000 });
    }
    let order = ["a", "b", "c", "d", "e"];
    for limit in [1, 2, 3, 5, 6] {
        let mut last_first = walk(&service, &format!("limit={limit}")).await;
        last_first.reverse();
        assert_eq!(last_first, order, "by {limit}");
        let first_first = walk(&service, &format!("limit={limit}&sort=deleted_at")).await;
        assert_eq!(first_first, order, "by {limit}");
        let named = walk(&service, &format!("sort=-deleted_at&limit={limit}&count=false")).await;
        assert_eq!(named, ["e", "d", "c", "b", "a"]);
    }
}

pub(crate) async fn a_walk_over_deleted_users_goes_on_when_the_last_one_is_purged(
    backend: Backend,
) {
    let service = backend.open().await;
    let mut users = Vec::new();
    for name in ["a", "b", "c", "d"] {
        users.push(service.left(json!({"username": name})).await);
        service.clock.step(1000);
    }
    let first = service.get("/deleted-users?limit=2&sort=deleted_at&count=true").await;
    assert_eq!((names(&first), &first.json()["total"]), (vec!["a".into(), "b".into()], &json!(4)));
    service.delete(&kept(&users[1])).await.expect(204);
    restore(&service, &users[2]).await.expect(200);
    let link = first.header("link");
    let next = link.trim_start_matches('<').split('>').next().expect("a target");
    let second = service.get(next).await.expect(200);
    assert_eq!((names(&second), &second.json()["total"]), (vec!["d".into()], &json!(2)));
}

pub(crate) async fn a_cursor_of_deleted_users_is_valid_for_its_list_and_order(backend: Backend) {
    let service = backend.open().await;
    for name in ["a", "b", "c"] {
        service.left(json!({"username": name})).await;
        service.user(json!({"username": name})).await;
    }
    let cursor = |reply: &Reply| reply.json()["next_cursor"].as_str().expect("more").to_owned();
    let deleted = cursor(&service.get("/deleted-users?limit=1").await);
    let live = cursor(&service.get("/users?limit=1").await);
    let live_by_time = cursor(&service.get("/users?limit=1&sort=-updated_at").await);
    let altered = format!("{deleted}A");
    for target in [
        format!("/deleted-users?sort=deleted_at&cursor={deleted}"),
        format!("/deleted-users?cursor={live}"),
        format!("/deleted-users?cursor={live_by_time}"),
        format!("/deleted-users?cursor={altered}"),
        "/deleted-users?cursor=".to_owned(),
        format!("/users?sort=-updated_at&cursor={deleted}"),
        format!("/users?cursor={deleted}"),
    ] {
        service.get(&target).await.refused(400, "invalid-cursor");
    }
    service.get(&format!("/deleted-users?limit=9&cursor={deleted}")).await.expect(200);
}

pub(crate) async fn every_error_of_a_query_for_deleted_users_is_listed(backend: Backend) {
    let service = backend.open().await;
    let rows = [
        ("limit=0", "limit", "out-of-range"),
        ("limit=1001", "limit", "out-of-range"),
        ("limit=x", "limit", "invalid-value"),
        ("sort=id", "sort", "invalid-value"),
        ("sort=--deleted_at", "sort", "invalid-value"),
        ("count=1", "count", "invalid-value"),
        ("fields=name,purged_at", "fields", "invalid-value"),
        ("q=ada&count=true", "count", "conflicting-parameter"),
        ("filter=id+pr&count=true", "count", "conflicting-parameter"),
        ("sort=deleted_at&sort=deleted_at", "sort", "duplicate-parameter"),
        ("cursor=x&cursor=x", "cursor", "duplicate-parameter"),
    ];
    for (query, parameter, code) in rows {
        let reply = service.get(&format!("/deleted-users?{query}")).await;
        let faults = reply.refused(400, "invalid-query").faults();
        assert_eq!(faults, [(parameter.to_owned(), code.to_owned())], "{query}");
    }
    // Operations without parameters, and those that take only a dry run.
    let user = service.left(json!({"username": "ada"})).await;
    for (method, target, query) in [
        ("GET", kept(&user), "dry_run=true"),
        ("DELETE", kept(&user), "dry_run=yes"),
        ("DELETE", kept(&user), "force=true"),
        ("DELETE", kept(&user), "dry_run=false&dry_run=false"),
        ("POST", restoring(&user), "dry_run="),
        ("POST", restoring(&user), "version=2"),
    ] {
        let reply = service.request(method, &format!("{target}?{query}")).send().await;
        reply.refused(400, "invalid-query");
    }
    service.get(&kept(&user)).await.expect(200);
}

/// The query finds these users, in every form of the list.
async fn finds(service: &Service, query: &str, expected: &[&str]) {
    assert_eq!(walk(service, query).await, expected, "{query}");
    assert_eq!(walk(service, &format!("limit=1&{query}")).await, expected, "{query}");
    let lines = service.get(&format!("/bulk/deleted-users?fields=username&{query}")).await;
    assert_eq!(lines.expect(200).text().lines().count(), expected.len());
}

pub(crate) async fn a_filter_finds_deleted_users(backend: Backend) {
    let service = backend.open().await;
    for (name, email) in [("ada", "a@x.org"), ("grace", "g@x.org"), ("hedy", "h@y.org")] {
        let body = json!({"username": name, "email": email, "external_id": format!("hr-{name}")});
        service.left(body).await;
        service.clock.step(1000);
    }
    for (filter, expected) in [
        ("username eq \"ADA\"", &["ada"][..]),
        ("email eq \"G@x.org\"", &["grace"]),
        ("external_id eq \"hr-hedy\"", &["hedy"]),
        ("email ew \"@x.org\"", &["grace", "ada"]),
        ("username eq \"zoe\"", &[]),
    ] {
        let filter = format!("filter={}", crate::filter::escaped(filter));
        finds(&service, &filter, expected).await;
    }
    for (query, expected) in [
        ("q=ADA", &["ada"][..]),
        ("q=x", &["grace", "ada"]),
        ("q=g@x.org", &["grace"]),
        ("q=x&filter=username+ne+%22ada%22", &["grace"]),
        ("q=zoe", &[]),
        ("q=@", &[]),
        ("q=", &["hedy", "grace", "ada"]),
    ] {
        finds(&service, query, expected).await;
    }
    let first = service.get("/deleted-users?limit=1&filter=id+pr").await.expect(200).json();
    let cursor = first["next_cursor"].as_str().expect("more");
    for other in ["", "filter=username+pr", "filter=id+pr&q=a"] {
        let other = service.get(&format!("/deleted-users?{other}&cursor={cursor}")).await;
        other.refused(400, "invalid-cursor");
    }
    service.get("/deleted-users?filter=usernme+pr").await.refused(400, "invalid-filter");
}

pub(crate) async fn polling_unchanged_deleted_users_is_answered_304(backend: Backend) {
    let service = backend.open().await;
    let user = service.left(json!({"username": "ada"})).await;
    let poll = |tag: &str| service.request("GET", "/deleted-users").header("if-none-match", tag);
    let tag = service.get("/deleted-users").await.header("etag").to_owned();
    assert!(tag.starts_with("W/\""), "{tag}");
    let known = poll(&tag).send().await.expect(304);
    assert_eq!(known.header("etag"), tag);
    assert_eq!(known.header("vary"), "Accept-Encoding");
    service.delete(&kept(&user)).await.expect(204);
    assert_ne!(poll(&tag).send().await.expect(200).header("etag"), tag);
    let held = |tag: &str| service.request("GET", "/deleted-users").header("if-match", tag).send();
    held(&tag).await.refused(412, "version-mismatch");
    held("*").await.expect(200);
    held("1").await.refused(400, "invalid-request");
}

pub(crate) async fn a_restored_user_is_back_as_it_was_with_the_next_version(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"username": "ada", "email": "ada@example.com", "status": "suspended",
        "attributes": {"team": "core"}});
    let user = service.left(body).await;
    service.clock.step(DAY);
    let reply = restore(&service, &user).await.expect(200);
    assert_eq!(reply.header("content-location"), path(&user));
    assert_eq!(reply.header("etag"), "\"3\"");
    let mut expected = user.clone();
    expected["version"] = json!(3);
    expected["updated_at"] = json!("2026-01-02T00:00:00.000Z");
    assert_eq!(reply.json(), expected);
    assert_eq!(service.now(&user).await, expected);
    assert_eq!(names(&service.get("/users?email=ADA@example.com").await), ["ada"]);
    service.get(&kept(&user)).await.refused(404, "user-not-found");
    assert_eq!(service.get("/deleted-users").await.json()["items"], json!([]));
    // It may be deleted and restored any number of times.
    service.delete(&path(&user)).await.expect(204);
    assert_eq!(restore(&service, &user).await.expect(200).json()["version"], 5);
}

pub(crate) async fn a_restore_below_a_base_path_tells_the_whole_path(backend: Backend) {
    let setup = Setup { base_url: "http://roster.test/v1", ..Setup::default() };
    let service = backend.open_with(setup).await;
    let request = service.request("POST", "/v1/users").json(&json!({"username": "ada"}));
    let user = request.send().await.expect(201).json();
    service.delete(&format!("/v1{}", path(&user))).await.expect(204);
    let reply = service.request("POST", &format!("/v1{}", restoring(&user))).send().await;
    let location = reply.expect(200).header("content-location").to_owned();
    assert_eq!(location, format!("/v1{}", path(&user)));
    service.get(&location).await.expect(200);
}

pub(crate) async fn a_user_with_taken_names_is_not_restored(backend: Backend) {
    let rules = Rules { external_id: Sharing::Unique, ..Rules::default() };
    let service = backend.open_with(Setup { rules, ..Setup::default() }).await;
    let body = json!({"username": "ada", "email": "ada@x.org", "external_id": "e1"});
    let user = service.left(body).await;
    let at = |pointer: &str, code: &str| (pointer.to_owned(), code.to_owned());
    let rows = [
        (json!({"username": "Ada"}), "username-taken", "/username"),
        (json!({"username": "b", "email": "ADA@x.org"}), "email-taken", "/email"),
        (json!({"username": "c", "external_id": "e1"}), "external-id-taken", "/external_id"),
    ];
    for (body, code, pointer) in rows {
        let other = service.user(body).await;
        for target in [restoring(&user), restoring(&user) + "?dry_run=true"] {
            let reply = service.request("POST", &target).send().await.refused(409, code);
            assert_eq!(reply.faults(), [at(pointer, code)]);
            let detail = reply.json()["detail"].as_str().expect("a detail").to_owned();
            assert!(detail.contains("now; change or delete that user"), "{detail}");
            // The response does not say who has it now.
            assert!(!reply.text().contains(other["id"].as_str().expect("an id")));
        }
        service.delete(&path(&other)).await.expect(204);
    }
    let all = json!({"username": "ADA", "email": "ada@X.org", "external_id": "e1"});
    let other = service.user(all).await;
    let reply = restore(&service, &user).await.refused(409, "username-taken");
    let codes = ["username-taken", "email-taken", "external-id-taken"];
    assert_eq!(reply.faults().into_iter().map(|(_, code)| code).collect::<Vec<_>>(), codes);
    service.get(&kept(&user)).await.expect(200);
    service
        .patch(&other, json!({"username": "o", "emails": null, "email": null, "external_id": null}))
        .await;
    restore(&service, &user).await.expect(200);
}

pub(crate) async fn only_deleted_users_are_restored_or_purged(backend: Backend) {
    let service = backend.open().await;
    let live = service.user(json!({"username": "ada"})).await;
    let strange = ["/deleted-users/ada", "/deleted-users/%2e%2e", "/deleted-users/a%2Fb"];
    for target in [NOBODY, &kept(&live)].into_iter().chain(strange) {
        let restoring = format!("{target}/restore");
        for (method, target) in [("GET", target), ("DELETE", target), ("POST", &restoring)] {
            let reply = service.request(method, target).header("if-match", "\"7\"").send().await;
            let reply = reply.refused(404, "user-not-found");
            let detail = reply.json()["detail"].as_str().expect("a detail").to_owned();
            assert!(method != "GET" || !detail.ends_with("GET /users"), "{target}: {detail}");
        }
    }
    assert_eq!(service.now(&live).await, live);
    assert_eq!(service.head().await.position, 1);
}

pub(crate) async fn restore_and_purge_hold_the_version_that_is_named(backend: Backend) {
    let service = backend.open().await;
    let user = service.left(json!({"username": "ada"})).await;
    let ask = |method: &'static str, target: String, name: &'static str, tag: &'static str| {
        let service = &service;
        async move { service.request(method, &target).header(name, tag).send().await }
    };
    let refused = [
        ("if-match", "\"1\""),
        ("if-match", "W/\"2\""),
        ("if-match", "\"3\""),
        ("if-none-match", "*"),
        ("if-none-match", "\"2\""),
    ];
    for (name, tag) in refused {
        let reply = ask("DELETE", kept(&user), name, tag).await;
        reply.refused(412, "version-mismatch");
        let reply = ask("POST", restoring(&user), name, tag).await;
        reply.refused(412, "version-mismatch");
    }
    ask("GET", kept(&user), "if-match", "\"1\"").await.refused(412, "version-mismatch");
    ask("GET", kept(&user), "if-match", "2").await.refused(400, "invalid-request");
    ask("GET", kept(&user), "if-none-match", "W/\"2\"").await.expect(304);
    ask("POST", restoring(&user), "if-match", "nonsense").await.refused(400, "invalid-request");
    ask("POST", restoring(&user), "if-match", "\"2\"").await.expect(200);
    service.delete(&path(&user)).await.expect(204);
    ask("DELETE", kept(&user), "if-match", "\"9\", \"4\"").await.expect(204);
}

pub(crate) async fn a_guarded_purge_needs_a_precondition(backend: Backend) {
    let rules = Rules { delete: Guard::On, ..Rules::default() };
    let service = backend.open_with(Setup { rules, ..Setup::default() }).await;
    let user = service.user(json!({"username": "ada"})).await;
    let held =
        |target: String| service.request("DELETE", &{ target }).header("if-match", "*").send();
    held(path(&user)).await.expect(204);
    service.delete(&kept(&user)).await.refused(428, "precondition-required");
    held(kept(&user)).await.expect(204);
}

pub(crate) async fn a_dry_run_neither_restores_nor_purges(backend: Backend) {
    let service = backend.open().await;
    let user = service.left(json!({"username": "ada", "email": "ada@example.com"})).await;
    for (method, target, version) in [("POST", restoring(&user), 3), ("DELETE", kept(&user), 2)] {
        let mut expected = user.clone();
        expected["version"] = json!(version);
        let dry = target + "?dry_run=true";
        let reply = service.request(method, &dry).header("if-match", "\"2\"").send().await;
        let reply = reply.expect(200);
        assert_eq!(reply.header("dry-run"), "true");
        assert_eq!(reply.find("etag"), None);
        assert_eq!(reply.find("content-location"), None);
        assert_eq!(reply.json(), expected, "{method}");
        let old = service.request(method, &dry).header("if-match", "\"1\"").send().await;
        old.refused(412, "version-mismatch");
        let nobody = dry.replace(&path(&user)[7..], &NOBODY[15..]);
        service.request(method, &nobody).send().await.refused(404, "user-not-found");
    }
    assert_eq!(service.head().await.position, 2);
    service.get(&kept(&user)).await.expect(200);
}

pub(crate) async fn a_restore_or_purge_that_comes_twice_happens_once(backend: Backend) {
    let service = backend.open().await;
    let user = service.left(json!({"username": "ada"})).await;
    let ask = |method: &'static str, target: String, key: &'static str| {
        let service = &service;
        async move { service.request(method, &target).header("idempotency-key", key).send().await }
    };
    let first = ask("POST", restoring(&user), "\"one\"").await.expect(200);
    assert_eq!(first.find("idempotent-replayed"), None);
    service.patch(&user, json!({"name": "Ada"})).await.expect(200);
    let again = ask("POST", restoring(&user), "\"one\"").await.expect(200);
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.json(), first.json());
    for name in ["etag", "roster-position", "content-location"] {
        assert_eq!(again.header(name), first.header(name), "{name}");
    }
    service.delete(&path(&user)).await.expect(204);
    let reused = ask("DELETE", kept(&user), "\"one\"").await;
    reused.refused(422, "idempotency-key-reused");
    let dry = restoring(&user) + "?dry_run=true";
    ask("POST", dry, "\"one\"").await.expect(200);
    let purged = ask("DELETE", kept(&user), "\"two\"").await.expect(204);
    let again = ask("DELETE", kept(&user), "\"two\"").await.expect(204);
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.header("roster-position"), purged.header("roster-position"));
    let reused = ask("POST", restoring(&user), "\"two\"").await;
    reused.refused(422, "idempotency-key-reused");
    ask("DELETE", kept(&user), "\"\"").await.refused(400, "invalid-idempotency-key");
    ask("POST", restoring(&user), "a b").await.refused(400, "invalid-idempotency-key");
    // Stored results of the purged user's requests are deleted too.
    ask("POST", restoring(&user), "\"one\"").await.refused(404, "user-not-found");
}

pub(crate) async fn a_restore_takes_no_body(backend: Backend) {
    let service = backend.open().await;
    let user = service.left(json!({"username": "ada"})).await;
    let minimal = service.request("POST", &restoring(&user)).header("prefer", "return=minimal");
    let reply = minimal.send().await.expect(204);
    assert_eq!(reply.header("preference-applied"), "return=minimal");
    assert_eq!(reply.header("etag"), "\"3\"");
    assert_eq!(reply.header("content-location"), path(&user));
    for (media_type, body) in [
        ("application/json", r#"{"username":"other"}"#),
        ("application/x-www-form-urlencoded", "username=other"),
        ("application/json", "{"),
    ] {
        service.delete(&path(&user)).await.expect(204);
        let request = service.request("POST", &restoring(&user)).body(media_type, body);
        request.send().await.refused(400, "invalid-request");
        let request = service.request("POST", &restoring(&user)).body(media_type, "{}");
        assert_eq!(request.send().await.expect(200).json()["username"], "ada");
    }
}

pub(crate) async fn a_purge_leaves_nothing_of_the_person(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"username": "countess", "email": "ada@example.com", "name": "Ada Lovelace"});
    let user = service.user(body.clone()).await;
    service.patch(&user, json!({"phone_number": "+44 20 7946 0958"})).await.expect(200);
    service.delete(&path(&user)).await.expect(204);
    let other = service.left(json!({"username": "grace"})).await;
    let reply = service.delete(&kept(&user)).await.expect(204);
    assert!(reply.header("roster-position").ends_with("-6"));
    service.get(&kept(&user)).await.refused(404, "user-not-found");
    service.get(&path(&user)).await.refused(404, "user-not-found");
    service.delete(&kept(&user)).await.refused(404, "user-not-found");
    restore(&service, &user).await.refused(404, "user-not-found");
    let listed = service.get("/deleted-users?count=true").await.expect(200);
    assert_eq!((names(&listed), &listed.json()["total"]), (vec!["grace".into()], &json!(1)));
    for target in ["/events".to_owned(), path(&user) + "/events"] {
        let log = service.get(&target).await.expect(200);
        for word in ["countess", "ada@", "Lovelace", "7946"] {
            assert!(!log.text().contains(word), "{word}: {}", log.text());
        }
    }
    assert_eq!(service.get("/users?q=ada").await.json()["items"], json!([]));
    // The other users keep their data, and the name is still available.
    restore(&service, &other).await.expect(200);
    let again = service.user(body).await;
    assert_ne!(again["id"], user["id"]);
}
