//! `GET /caller`: who calls, and what the credential permits.

use roster_core::access::Scopes;
use serde_json::{Value, json};

use crate::service::Backend;

fn without(mut caller: Value, member: &str) -> Value {
    caller.as_object_mut().expect("an object").remove(member);
    caller
}

pub(crate) async fn a_caller_learns_who_it_is(backend: Backend) {
    let service = backend.open().await;
    let anonymous = service.get("/caller").await.expect(200);
    assert_eq!(anonymous.header("cache-control"), "no-store");
    let caller = anonymous.json();
    assert_eq!(caller["scopes"].as_array().map(Vec::len), Some(Scopes::all().iter().count()));
    let expected = json!({"kind": "anonymous", "actor": "anonymous", "open": true});
    assert_eq!(without(caller, "scopes"), expected);

    let admin = service.close().await;
    let body = json!({"name": "short", "scopes": ["scim", "users:read"],
        "expires_at": "2026-01-01T01:00:00Z"});
    let key = service.request("POST", "/keys").json(&body).send().await.expect(201).json();
    let caller = service.request("GET", "/caller").bearer(key["key"].as_str().expect("a key"));
    let caller = caller.send().await.expect(200).json();
    let expected = json!({
        "kind": "key",
        "actor": format!("key:{}", key["id"].as_str().expect("an id")),
        "name": "short",
        "scopes": key["scopes"],
        "expires_at": "2026-01-01T01:00:00.000Z",
        "open": false,
    });
    assert_eq!(caller, expected);
    // The secret that a rotation replaced ends before the key.
    let rotate = format!("/keys/{}/rotate?overlap_s=60", key["id"].as_str().expect("an id"));
    let rotated = service.request("POST", &rotate).send().await.expect(200).json();
    for (secret, end) in [(&key, &rotated["former_secret_until"]), (&rotated, &key["expires_at"])] {
        let caller = service.request("GET", "/caller").bearer(secret["key"].as_str().expect("one"));
        assert_eq!(caller.send().await.expect(200).json()["expires_at"], *end);
    }
    let caller = service.get("/caller").await.expect(200).json();
    assert_eq!((&caller["name"], &caller["expires_at"]), (&admin["name"], &admin["expires_at"]));
    let nobody = service.request("GET", "/caller").without("authorization").send().await;
    nobody.refused(401, "unauthenticated");
    service.get("/caller?x=1").await.refused(400, "invalid-query");
    let html = service.request("GET", "/caller").header("accept", "text/html").send().await;
    html.refused(406, "not-acceptable");
}
