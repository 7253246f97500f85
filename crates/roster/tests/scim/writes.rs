//! Preconditions, preferences and the results of writes.

use serde_json::json;

use crate::{
    service::Backend,
    support::{
        ENTERPRISE_URN, ROSTER_URN, ask, at, create, get, named, put, read, refused, send, with,
    },
};

pub(crate) async fn a_stale_tag_is_refused_weak_or_strong(backend: Backend) {
    let service = backend.open().await;
    let user = create(&service, named("ada")).await;
    let body = with(named("ada"), json!({"title": "x"}));
    put(&service, &user, body.clone()).await.expect(200);
    for tag in ["W/\"1\"", "\"1\"", "\"x\"", "W/\"1\", W/\"7\""] {
        let reply = send(&service, "PUT", &at(&user), &body).header("if-match", tag).send().await;
        refused(reply, 412, None);
        let reply = ask(&service, "DELETE", &at(&user)).header("if-match", tag).send().await;
        refused(reply, 412, None);
        let reply = ask(&service, "GET", &at(&user)).header("if-match", tag).send().await;
        refused(reply, 412, None);
    }
    for tag in ["W/\"2\"", "\"2\"", "*"] {
        let body = with(named("ada"), json!({"title": "x"}));
        let reply = send(&service, "PUT", &at(&user), &body).header("if-match", tag).send().await;
        assert_eq!(reply.expect(200).json()["meta"]["version"], "W/\"2\"");
    }
    let reply = ask(&service, "GET", &at(&user)).header("if-match", "2").send().await;
    refused(reply, 400, None);
    ask(&service, "DELETE", &at(&user)).header("if-match", "W/\"2\"").send().await.expect(204);
}

pub(crate) async fn a_known_version_is_not_sent_again(backend: Backend) {
    let service = backend.open().await;
    let user = create(&service, named("ada")).await;
    for tag in ["W/\"1\"", "\"1\"", "*"] {
        let target = format!("{}?excludedAttributes=groups", at(&user));
        let reply = ask(&service, "GET", &target).header("if-none-match", tag).send().await;
        let reply = reply.expect(304);
        assert_eq!((reply.text(), reply.header("etag")), ("", "W/\"1\""));
        let whole = ask(&service, "GET", &at(&user)).header("if-none-match", tag).send().await;
        whole.expect(304);
    }
    let reply = ask(&service, "GET", &at(&user)).header("if-none-match", "W/\"2\"").send().await;
    reply.expect(200);
}

pub(crate) async fn a_write_that_changes_nothing_keeps_version_and_moment(backend: Backend) {
    let service = backend.open().await;
    let body = with(named("ada"), json!({"title": "Countess", "name": {"givenName": "Ada"}}));
    let user = create(&service, body.clone()).await;
    let before = service.head().await.position;
    service.clock.step(5000);
    assert_eq!(put(&service, &user, user.clone()).await.expect(200).json(), user);
    assert_eq!(put(&service, &user, body).await.expect(200).json(), user);
    assert_eq!(service.head().await.position, before);
}

pub(crate) async fn minimal_leaves_the_user_out_unless_attributes_are_asked_for(backend: Backend) {
    let service = backend.open().await;
    let made = send(&service, "POST", "/Users", &named("ada")).header("prefer", "return=minimal");
    let made = made.send().await.expect(201);
    assert_eq!((made.text(), made.header("preference-applied")), ("", "return=minimal"));
    let place = made.header("location").strip_prefix("http://roster.test/scim/v2").expect("here");
    let put = |title: &str, query: &str| {
        let body = with(named("ada"), json!({"title": title}));
        send(&service, "PUT", &format!("{place}{query}"), &body).header("prefer", "return=minimal")
    };
    let reply = put("a", "").send().await.expect(204);
    assert_eq!(reply.header("etag"), "W/\"2\"");
    let reply = put("b", "?attributes=title").send().await.expect(200);
    assert_eq!(reply.json()["title"], "b");
    assert_eq!(reply.find("preference-applied"), None);
}

pub(crate) async fn a_projection_applies_to_every_response_with_a_user(backend: Backend) {
    let service = backend.open().await;
    let body = with(named("ada"), json!({"title": "t", "name": {"givenName": "A"}}));
    let target = "/Users?attributes=title";
    let made = send(&service, "POST", target, &body).send().await.expect(201).json();
    let keys = |user: &serde_json::Value| {
        let members = user.as_object().expect("an object").keys().cloned();
        members.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(keys(&made), "id schemas title");
    let place = at(&made);
    let target = format!("{place}?excludedAttributes=META,name,{ROSTER_URN}");
    let put = send(&service, "PUT", &target, &body).send().await.expect(200).json();
    assert_eq!(keys(&put), "active id schemas title userName");
    let shown = read(&service, &format!("{place}?attributes=name.givenName,meta.version")).await;
    assert_eq!(shown["name"], json!({"givenName": "A"}));
    assert_eq!(shown["meta"], json!({"version": "W/\"1\""}));
    let both = get(&service, &format!("{place}?attributes=id&excludedAttributes=title")).await;
    refused(both, 400, Some("invalidValue"));
}

pub(crate) async fn a_repeated_request_is_answered_as_the_first_time(backend: Backend) {
    let service = backend.open().await;
    let post = || send(&service, "POST", "/Users", &named("ada")).header("idempotency-key", "k1");
    let first = post().send().await.expect(201);
    let again = post().send().await.expect(201);
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.json(), first.json());
    let other = send(&service, "POST", "/Users", &named("bob")).header("idempotency-key", "k1");
    refused(other.send().await, 422, None);
}

pub(crate) async fn the_change_log_tells_of_writes_by_scim_as_of_all_others(backend: Backend) {
    let service = backend.open().await;
    let user = create(&service, named("ada")).await;
    let body = with(named("ada"), json!({ENTERPRISE_URN: {"manager": {"value": "7"}}}));
    put(&service, &user, body).await.expect(200);
    ask(&service, "DELETE", &at(&user)).send().await.expect(204);
    let events = service.get("/events").await.expect(200).json();
    let events = events["items"].as_array().expect("events");
    let kinds: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(kinds, ["user.created", "user.updated", "user.deleted"]);
    assert_eq!(events[1]["data"]["changed"], json!(["manager"]));
    let kept = format!("/deleted-users/{}", user["id"].as_str().expect("an id"));
    assert_eq!(service.get(&kept).await.expect(200).json()["username"], "ada");
}
