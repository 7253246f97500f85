//! Imports that are sent again whole.

use serde_json::{Value, json};

use super::{NDJSON, results_of};
use crate::{
    client::Reply,
    service::{Backend, Service, path},
};

async fn send(service: &Service, query: &str, key: &str, lines: &[Value]) -> Reply {
    let request = service.request("POST", &format!("/bulk/users{query}"));
    request.header("idempotency-key", key).body(NDJSON, super::lines(lines)).send().await
}

/// The status of each line, and whether the same import had created its user.
fn outcomes(results: &[Value]) -> Vec<(u64, bool)> {
    let of = |line: &Value| (line["status"].as_u64().expect("a status"), line["replayed"] == true);
    results.iter().map(of).collect()
}

pub(crate) async fn an_import_sent_again_tells_its_own_users_from_those_of_others(
    backend: Backend,
) {
    let service = backend.open().await;
    service.user(json!({"username": "carl"})).await;
    let lines = [
        json!({"username": "ada", "email": "ada@x.org"}),
        json!({"username": "bob", "email": "ada@x.org"}),
        json!({"username": "carl"}),
        json!({"username": "ada", "email": "ada@x.org"}),
        json!({"username": "dora"}),
    ];
    // The first attempt breaks off after three lines.
    let first = results_of(send(&service, "", "\"hr 1\"", &lines[..3]).await);
    assert_eq!(outcomes(&first), [(201, false), (409, false), (409, false)]);
    let position = service.get("/users").await.header("roster-position").to_owned();
    let again = results_of(send(&service, "", "\"hr 1\"", &lines[..4]).await);
    assert_eq!(outcomes(&again), [(201, true), (409, false), (409, false), (409, false)]);
    assert_eq!((&again[0]["id"], &again[0]["version"]), (&first[0]["id"], &json!(1)));
    assert_eq!(service.get("/users").await.header("roster-position"), position);
    let skipped = results_of(send(&service, "?on_conflict=skip", "\"hr 1\"", &lines).await);
    let expected = [(201, true), (200, false), (200, false), (200, false), (201, false)];
    assert_eq!(outcomes(&skipped), expected);
    // Another key, another line and another text are other imports.
    let other = results_of(send(&service, "", "hr2", &lines[..1]).await);
    assert_eq!(outcomes(&other), [(409, false)]);
    let moved = results_of(send(&service, "", "\"hr 1\"", &lines[4..]).await);
    assert_eq!(outcomes(&moved), [(409, false)]);
    let edited = json!({"username": "ada", "email": "ada@x.org", "name": "Ada"});
    let edited = results_of(send(&service, "", "\"hr 1\"", &[edited]).await);
    assert_eq!(outcomes(&edited), [(409, false)]);
    // A dry run looks at no earlier import.
    let dry = results_of(send(&service, "?dry_run=true", "\"hr 1\"", &lines[..1]).await);
    assert_eq!(outcomes(&dry), [(409, false)]);
    // A user that was changed is still the one of the import; one that was deleted is made again.
    let ada = service.get(&path(&again[0])).await.expect(200).json();
    let renamed = service.request("PATCH", &path(&ada)).json(&json!({"name": "Ada King"}));
    renamed.send().await.expect(200);
    let changed = results_of(send(&service, "", "\"hr 1\"", &lines[..1]).await);
    assert_eq!(outcomes(&changed), [(201, true)]);
    assert_eq!(changed[0]["version"], 2);
    service.request("DELETE", &path(&ada)).send().await.expect(204);
    let again = results_of(send(&service, "", "\"hr 1\"", &lines[..1]).await);
    assert_eq!(outcomes(&again), [(201, false)]);
}

pub(crate) async fn rows_and_kept_ids_are_recognised_too(backend: Backend) {
    let service = backend.open().await;
    let table = "username,email\nada,ada@x.org\n\"bob\nsmith\",b\ncarl,carl@x.org\n";
    for expected in [
        [(2, 201, false), (3, 422, false), (5, 201, false)],
        [(2, 201, true), (3, 422, false), (5, 201, true)],
    ] {
        let request = service.request("POST", "/bulk/users").header("idempotency-key", "k");
        let results = results_of(request.body("text/csv", table).send().await);
        let of = |line: &Value| {
            let number = |name: &str| line[name].as_u64().expect("a number");
            (number("line"), number("status"), line["replayed"] == true)
        };
        assert_eq!(results.iter().map(of).collect::<Vec<_>>(), expected);
    }
    let kept = [json!({"id": "019b76da-a800-7000-8000-00000000000a", "username": "kept"})];
    for replayed in [false, true] {
        let reply = send(&service, "?keep_ids=true", "k", &kept).await;
        assert_eq!(outcomes(&results_of(reply)), [(201, replayed)]);
    }
}

pub(crate) async fn lines_that_are_safe_to_repeat_take_no_key(backend: Backend) {
    let service = backend.open().await;
    for (method, target) in [
        ("POST", "/bulk/users?on_conflict=replace"),
        ("POST", "/bulk/users?on_conflict=merge"),
        ("POST", "/bulk/groups?on_conflict=merge"),
        ("PATCH", "/bulk/users"),
        ("DELETE", "/bulk/users"),
    ] {
        let request = service.request(method, target).header("idempotency-key", "k");
        let reply = request.body(NDJSON, "{}").send().await;
        reply.refused(400, "invalid-idempotency-key");
    }
    let request = service.request("POST", "/bulk/users").header("idempotency-key", "\"open");
    request.body(NDJSON, "{}").send().await.refused(400, "invalid-idempotency-key");
}
