//! Keys over HTTP: creating, showing once, listing, rotating, revoking.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    client::Reply,
    service::{Backend, Service, kept, path},
};

fn at(key: &Value) -> String {
    format!("/keys/{}", key["id"].as_str().expect("an id"))
}

fn text(key: &Value) -> &str {
    key["key"].as_str().expect("a key")
}

async fn users_by(service: &Service, token: &str) -> Reply {
    service.request("GET", "/users").bearer(token).send().await
}

async fn rotate(service: &Service, key: &Value, query: &str) -> Reply {
    service.request("POST", &format!("{}/rotate{query}", at(key))).send().await
}

pub(crate) async fn a_key_is_shown_once_and_never_again(backend: Backend) {
    let service = backend.open().await;
    let admin = service.close().await;
    service.clock.step(1);
    let body = json!({"name": " Billing ", "scopes": ["users:read"], "expires_at": null});
    let made = service.request("POST", "/keys").json(&body).send().await.expect(201);
    assert_eq!(made.header("cache-control"), "no-store");
    let key = made.json();
    assert_eq!(made.header("location"), at(&key));
    assert_eq!((&key["name"], &key["expires_at"]), (&json!("Billing"), &Value::Null));
    assert_eq!(key["created_by"], format!("key:{}", admin["id"].as_str().expect("an id")));
    users_by(&service, text(&key)).await.expect(200);

    let one = service.get(&at(&key)).await.expect(200);
    assert_eq!((&one.json()["state"], &one.json()["status"]), (&json!("active"), &json!("active")));
    let list = service.get("/keys").await.expect(200);
    let items = list.json()["items"].as_array().expect("a list").clone();
    assert_eq!(items.len(), 2);
    assert_eq!(items[0]["id"], admin["id"]);
    for reply in [one, list] {
        let secret = text(&key).split('_').nth(2).expect("a secret");
        assert!(!reply.text().contains(secret), "{}", reply.text());
    }
}

pub(crate) async fn keys_are_paged_and_have_tags(backend: Backend) {
    let service = backend.open().await;
    let admin = service.close().await;
    let mut ids = vec![admin["id"].clone()];
    for second in [true, false, true, false] {
        // Keys of one moment are in the order of their ids.
        service.clock.step(if second { 1000 } else { 0 });
        ids.push(service.new_key(&["users:read"]).await["id"].clone());
    }
    ids[1..3].sort_by_key(Value::to_string);
    ids[3..5].sort_by_key(Value::to_string);
    let whole = service.get("/keys?count=true").await.expect(200);
    assert_eq!((&whole.json()["next_cursor"], &whole.json()["total"]), (&Value::Null, &json!(5)));
    let ids_of = |page: &Value| -> Vec<Value> {
        page["items"].as_array().expect("items").iter().map(|key| key["id"].clone()).collect()
    };
    assert_eq!(ids_of(&whole.json()), ids);
    for limit in [1, 2, 5] {
        let (mut target, mut all) = (format!("/keys?limit={limit}"), Vec::new());
        loop {
            let page = service.get(&target).await.expect(200);
            all.extend(ids_of(&page.json()));
            let Some(cursor) = page.json()["next_cursor"].as_str().map(str::to_owned) else {
                break;
            };
            assert!(page.header("link").contains(&cursor), "{}", page.header("link"));
            target = format!("/keys?limit={limit}&cursor={cursor}");
        }
        assert_eq!(all, ids, "{limit}");
    }
    service.get("/keys?cursor=x").await.refused(400, "invalid-cursor");
    service.get("/keys?limit=0").await.refused(400, "invalid-query");

    let one = at(&admin);
    for target in ["/keys", "/keys?limit=2", one.as_str()] {
        let tag = service.get(target).await.expect(200).header("etag").to_owned();
        let known = || service.request("GET", target).header("if-none-match", &tag).send();
        assert_eq!(known().await.expect(304).header("etag"), tag);
        let held = service.request("GET", target).header("if-match", &tag);
        held.send().await.expect(200);
        let other = service.request("GET", target).header("if-match", "\"other\"");
        other.send().await.refused(412, "version-mismatch");
        // The use of a key is part of its record.
        service.clock.step(60_000);
        service.get("/users").await.expect(200);
        service.app.note_key_uses().await.expect("the store answers");
        assert_ne!(known().await.expect(200).header("etag"), tag, "{target}");
    }
}

pub(crate) async fn all_errors_of_an_invalid_key_are_listed(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"name": "", "scopes": ["root"], "expires_at": 7, "secret": "x"});
    let refused = service.request("POST", "/keys").json(&body).send().await;
    let refused = refused.refused(422, "invalid-key");
    let places: Vec<String> = refused.faults().into_iter().map(|(place, _)| place).collect();
    assert_eq!(places, ["/expires_at", "/name", "/scopes/0", "/secret"]);
    let list = service.request("POST", "/keys").json(&json!([])).send().await;
    list.refused(422, "invalid-key");
    let many = json!({"name": "many", "scopes": vec!["users:read"; 17]});
    let many = service.request("POST", "/keys").json(&many).send().await;
    let faults = many.refused(422, "invalid-key").faults();
    assert_eq!(faults, [("/scopes".to_owned(), "too-many".to_owned())]);
    // Nothing was made: the service is still open.
    service.get("/users").await.expect(200);
}

pub(crate) async fn both_secrets_of_a_rotated_key_open_for_a_while(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    let key = service.new_key(&["users:read"]).await;
    let rotated = rotate(&service, &key, "?overlap_s=60").await.expect(200).json();
    assert_eq!(rotated["id"], key["id"]);
    for one in [&key, &rotated] {
        users_by(&service, text(one)).await.expect(200);
    }
    service.clock.step(60_000);
    let ended = users_by(&service, text(&key)).await.refused(401, "unauthenticated");
    assert!(ended.text().contains("expired"), "{}", ended.text());
    users_by(&service, text(&rotated)).await.expect(200);
    assert_eq!(service.get(&at(&key)).await.json().get("former_secret_until"), None);

    let last = rotate(&service, &key, "?overlap_s=0").await.expect(200).json();
    users_by(&service, text(&rotated)).await.refused(401, "unauthenticated");
    users_by(&service, text(&last)).await.expect(200);
    for query in
        ["?overlap_s=-1", "?overlap_s=2592001", "?overlap_s=x", "?overlap_s=%2B5", "?overlap=1"]
    {
        rotate(&service, &key, query).await.refused(400, "invalid-query");
    }
}

pub(crate) async fn a_revoked_key_stops_working_at_once_and_forever(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    let key = service.new_key(&["users:read"]).await;
    users_by(&service, text(&key)).await.expect(200);
    for _ in 0..2 {
        assert_eq!(service.delete(&at(&key)).await.expect(204).text(), "");
        let refused = users_by(&service, text(&key)).await.refused(401, "unauthenticated");
        assert!(refused.text().contains("revoked"), "{}", refused.text());
    }
    let seen = service.get(&at(&key)).await.expect(200).json();
    assert_eq!((&seen["state"], &seen["status"]), (&json!("revoked"), &json!("revoked")));
    rotate(&service, &key, "").await.refused(409, "key-ended");
}

pub(crate) async fn an_expired_key_is_401(backend: Backend) {
    let service = backend.open().await;
    let admin = service.close().await;
    service.clock.step(365 * 24 * 3600 * 1000);
    let refused = users_by(&service, text(&admin)).await.refused(401, "unauthenticated");
    assert!(refused.text().contains("expired"), "{}", refused.text());
}

pub(crate) async fn a_key_that_is_not_there_is_not_found(backend: Backend) {
    let service = backend.open().await;
    for id in ["3hGk9PzQ7a", "x", "3hGk9PzQ7-", "%33hGk9PzQ7a"] {
        let target = format!("/keys/{id}");
        service.get(&target).await.refused(404, "key-not-found");
        service.delete(&target).await.refused(404, "key-not-found");
        let rotate = service.request("POST", &format!("{target}/rotate")).send().await;
        rotate.refused(404, "key-not-found");
    }
}

pub(crate) async fn keys_take_no_parameters_and_are_json(backend: Backend) {
    let service = backend.open().await;
    let key = at(&service.close().await);
    let rotate = format!("{key}/rotate");
    for (method, target) in
        [("GET", "/keys"), ("POST", "/keys"), ("GET", &key), ("DELETE", &key), ("POST", &rotate)]
    {
        let request = service.request(method, &format!("{target}?x=1"));
        request.send().await.refused(400, "invalid-query");
        if method != "DELETE" {
            let request = service.request(method, target).header("accept", "text/html");
            request.send().await.refused(406, "not-acceptable");
        }
    }
}

pub(crate) async fn there_are_only_so_many_keys(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    let mut last = Value::Null;
    for _ in 1..roster_core::limits::KEYS_MAX {
        last = service.new_key(&["scim"]).await;
    }
    let body = json!({"name": "one more", "scopes": ["scim"]});
    let one_more = || service.request("POST", "/keys").json(&body).send();
    one_more().await.refused(409, "too-many-keys");
    service.delete(&at(&last)).await.expect(204);
    one_more().await.expect(201);
    service.get(&at(&last)).await.refused(404, "key-not-found");
}

pub(crate) async fn the_change_log_names_the_key_that_acted(backend: Backend) {
    let service = backend.open().await;
    service.user(json!({"username": "ada"})).await;
    let admin = service.close().await;
    service.user(json!({"username": "grace"})).await;
    let events = service.get("/events?type=user.*").await.expect(200).json();
    let actor = format!("key:{}", admin["id"].as_str().expect("an id"));
    assert_eq!(events["items"][0]["actor"], "anonymous");
    assert_eq!(events["items"][1]["actor"], actor);
}

pub(crate) async fn every_kind_of_change_names_its_actor(backend: Backend) {
    let service = backend.open().await;
    let admin = service.close().await;
    let user = service.user(json!({"username": "ada"})).await;
    service.put(&user, json!({"username": "ada", "name": "Ada"})).await.expect(200);
    service.patch(&user, json!({"status": "suspended"})).await.expect(200);
    service.delete(&path(&user)).await.expect(204);
    service.request("POST", &format!("{}/restore", kept(&user))).send().await.expect(200);
    service.delete(&path(&user)).await.expect(204);
    service.delete(&kept(&user)).await.expect(204);
    for (query, line) in [
        ("", "{\"username\":\"grace\"}"),
        ("?on_conflict=replace", "{\"username\":\"grace\",\"name\":\"Grace\"}"),
    ] {
        let import = service.request("POST", &format!("/bulk/users{query}"));
        import.body("application/x-ndjson", line).send().await.expect(200);
    }
    let events = service.get("/events?type=user.*").await.expect(200).json();
    let events = events["items"].as_array().expect("events").clone();
    let kinds: BTreeSet<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!((events.len(), kinds.len()), (9, 5), "{kinds:?}");
    let actor = format!("key:{}", admin["id"].as_str().expect("an id"));
    for event in &events {
        assert_eq!(event["actor"], actor, "{event}");
    }
}

pub(crate) async fn the_use_of_a_key_shows_after_a_while(backend: Backend) {
    let service = backend.open().await;
    let admin = service.close().await;
    service.clock.step(5_000);
    service.get("/users").await.expect(200);
    assert_eq!(service.get(&at(&admin)).await.json().get("last_used_at"), None);
    service.app.note_key_uses().await.expect("the store answers");
    let seen = service.get(&at(&admin)).await.json();
    assert_eq!(seen["last_used_at"], "2026-01-01T00:00:05.000Z");
}
