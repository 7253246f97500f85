//! The bytes that a caller may add to the change log, beyond a multiple of what it sends.

use roster_http::AdmissionSettings;
use serde_json::{Value, json};

use crate::{
    client::Reply,
    service::{Backend, Service, Setup, path},
};

const NDJSON: &str = "application/x-ndjson";
/// A key may add this many bytes at once.
const BYTES: u64 = 60_000;

async fn limited(backend: &Backend) -> Service {
    let admission = AdmissionSettings { log_bytes_per_hour: BYTES, ..AdmissionSettings::default() };
    let service = backend.open_with(Setup { pressure: admission, ..Setup::default() }).await;
    service.close().await;
    service
}

/// A user with a record of about 15 KB.
async fn large(service: &Service, name: &str) -> Value {
    service.user(json!({"username": name, "attributes": {"text": "x".repeat(15_000)}})).await
}

fn refused(reply: Reply) {
    let reply = reply.refused(429, "rate-limited");
    let wait: u32 = reply.header("retry-after").parse().expect("a number");
    assert!((1..=3_600).contains(&wait), "{wait}");
    let detail = reply.json()["detail"].as_str().expect("a detail").to_owned();
    assert!(detail.contains("60000 bytes an hour"), "{detail}");
}

pub(crate) async fn stored_results_of_writes_without_a_change_end_with_429(backend: Backend) {
    let service = limited(&backend).await;
    let user = large(&service, "ada").await;
    let same = json!({"username": "ada"});
    let mut writes = 0;
    let last = loop {
        let write = service.request("PATCH", &path(&user)).json(&same);
        let reply = write.header("Idempotency-Key", &format!("key-{writes}")).send().await;
        if reply.status() != 200 {
            break reply;
        }
        writes += 1;
        assert!(writes < 100, "nothing is charged");
    };
    assert!((4..=7).contains(&writes), "{writes}");
    refused(last);
}

pub(crate) async fn small_changes_of_a_large_user_end_with_429(backend: Backend) {
    let service = limited(&backend).await;
    // Creates and replacements send what they add, so they are free.
    let mut user = Value::Null;
    for number in 0..20 {
        user = large(&service, &format!("u{number}")).await;
    }
    let other = service.new_key(&["users:read", "users:write"]).await;
    let mut changes = 0;
    let last = loop {
        let reply = service.patch(&user, json!({"title": changes.to_string()})).await;
        if reply.status() != 200 {
            break reply;
        }
        changes += 1;
    };
    // Each event has 15 KB, of which 4 KiB are free.
    assert!((4..=7).contains(&changes), "{changes}");
    refused(last);
    // No write of this caller is begun, in either interface. Reads and dry runs go on.
    refused(service.delete(&path(&user)).await);
    refused(service.post(json!({"username": "new"})).await);
    let lines = format!("{}\n", json!({"id": user["id"], "title": "x"}));
    let request = || service.request("PATCH", "/bulk/users").body(NDJSON, lines.clone());
    let reply = request().send().await.expect(200);
    let line: Value =
        serde_json::from_str(reply.text().lines().next().expect("a line")).expect("JSON");
    assert_eq!((&line["status"], &line["problem"]["code"]), (&json!(429), &json!("rate-limited")));
    let of_scim = format!("/scim/v2/Users/{}", user["id"].as_str().expect("an id"));
    let message = |name: &str| json!([format!("urn:ietf:params:scim:api:messages:2.0:{name}")]);
    let set = json!([{"op": "replace", "path": "title", "value": "x"}]);
    let patch = json!({"schemas": message("PatchOp"), "Operations": set});
    service.request("PATCH", &of_scim).json(&patch).send().await.expect(429);
    let delete = json!([{"method": "DELETE", "path": &of_scim["/scim/v2".len()..]}]);
    let bulk = json!({"schemas": message("BulkRequest"), "Operations": delete});
    let bulk = service.request("POST", "/scim/v2/Bulk").json(&bulk).send().await.expect(200).json();
    assert_eq!(bulk["Operations"][0]["status"], "429");
    let matching = service.request("PATCH", "/bulk/users?username=u19&confirm=1").json(&json!({}));
    refused(matching.send().await);
    let dry = format!("{}?dry_run=true", path(&user));
    service.request("PATCH", &dry).json(&json!({"title": "x"})).send().await.expect(200);
    service.get(&path(&user)).await.expect(200);
    // Another caller has an allowance of its own.
    let token = other["key"].as_str().expect("a key");
    let request =
        || service.request("PATCH", "/bulk/users").body(NDJSON, lines.clone()).bearer(token);
    assert!(request().send().await.expect(200).text().contains("\"patched\":1"));
    let metrics = service.get("/metrics").await.expect(200);
    let metrics = metrics.text();
    let count = |name: &str| {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name));
        line.map(|number| number.trim().parse::<u64>().expect("a number"))
    };
    assert!(count("roster_log_bytes_charged_total").is_some_and(|bytes| bytes >= BYTES));
    assert!(count("roster_requests_refused_total{reason=\"log-growth\"}").is_some_and(|n| n >= 7));
}

pub(crate) async fn lines_on_one_large_user_grow_the_log_by_a_bounded_amount(backend: Backend) {
    let service = limited(&backend).await;
    let user = large(&service, "ada").await;
    let before = service.head().await.position;
    let line = |number: u32| json!({"id": user["id"], "title": number.to_string()}).to_string();
    let lines: Vec<String> = (0..2_000).map(line).collect();
    let request = service.request("PATCH", "/bulk/users").body(NDJSON, lines.join("\n"));
    let reply = request.send().await.expect(200);
    let done: Value =
        serde_json::from_str(reply.text().lines().last().expect("a line")).expect("JSON");
    let patched = done["patched"].as_u64().expect("a number");
    // At most the batches that were running when the allowance was used up.
    assert!(patched <= 5 * 256, "{done}");
    assert_eq!(done["failed"], 2_000 - patched);
    let events = service.head().await.position - before;
    assert_eq!(u64::try_from(events).expect("a number"), patched);
}

pub(crate) async fn the_events_of_all_groups_of_a_user_are_charged(backend: Backend) {
    let service = limited(&backend).await;
    let user = service.user(json!({"username": "ada"})).await;
    for number in 0..60 {
        let body = json!({"display_name": format!("{number}{}", "x".repeat(250)),
            "external_id": "y".repeat(250)});
        let group = service.request("POST", "/groups").json(&body).send().await.expect(201).json();
        service.join(&group, &user).await.expect(200);
    }
    let gone = format!("/deleted-users/{}", user["id"].as_str().expect("an id"));
    // Each deletion and each restore with groups writes an event for each group.
    let mut status = 204;
    for _ in 0..4 {
        status = service.delete(&path(&user)).await.status();
        let restore = format!("{gone}/restore?groups=true");
        service.request("POST", &restore).send().await;
    }
    assert_eq!(status, 429);
}
