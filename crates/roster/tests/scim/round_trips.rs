//! Users accepted by SCIM's tolerant parsing can be exported and imported.

use serde_json::{Value, json};

use crate::{
    client::Reply,
    people::{Random, attributes_of, random_users},
    service::{Backend, Service, path},
    support::{create, named, with},
};

const NDJSON: &str = "application/x-ndjson";

/// Users with values that no rule of the record accepts, and random ones.
async fn tolerated(service: &Service) {
    let tables = attributes_of(service).await;
    let mut random = Random(0x5eed_0011);
    random_users(service, &tables, &mut random, 20).await;
    for (number, members) in [
        json!({"phoneNumbers": [{"value": "call me"}, {"value": "x", "type": "work"}]}),
        json!({"phoneNumbers": [{"value": "call me", "primary": true}]}),
        json!({"photos": [{"value": "ada.png"}], "profileUrl": "ada"}),
        json!({"addresses": [{"country": "United Kingdom"}, {"country": "UK"}]}),
        json!({"locale": "klingon!", "preferredLanguage": "de,en;q=0.5", "timezone": "Mars"}),
        json!({"timezone": "", "locale": "", "profileUrl": ""}),
    ]
    .into_iter()
    .enumerate()
    {
        create(service, with(named(&format!("tolerated {number}")), members)).await;
        service.clock.step(3);
    }
}

async fn exported(service: &Service) -> String {
    service.get("/bulk/users").await.expect(200).text().to_owned()
}

async fn import(service: &Service, query: &str, lines: String) -> Reply {
    let request = service.request("POST", &format!("/bulk/users{query}"));
    request.body(NDJSON, lines).send().await.expect(200)
}

/// Imports lines, none of which fails. Returns the statuses.
async fn all_imported(service: &Service, query: &str, lines: &str, expected: &Value) {
    let reply = import(service, query, lines.to_owned()).await;
    let done = reply.text().lines().last().expect("an end").to_owned();
    let mut done: Value = serde_json::from_str(&done).expect("JSON");
    assert_eq!(done["done"], true, "{}", reply.text());
    done.as_object_mut().expect("an object").remove("done");
    done.as_object_mut().expect("an object").remove("lines");
    assert_eq!(&done, expected, "{}", reply.text());
}

/// The expected totals of this many lines, none of which fails.
fn counts(created: usize, replaced: usize, skipped: usize) -> Value {
    json!({"created": created, "replaced": replaced, "skipped": skipped, "failed": 0})
}

/// The users of an export without the members that each service sets.
fn own_members(lines: &str) -> Vec<Value> {
    let users = lines.lines().map(|line| {
        let mut user: Value = serde_json::from_str(line).expect("JSON");
        for made in ["id", "version", "created_at", "updated_at"] {
            user.as_object_mut().expect("an object").remove(made).expect("a whole record");
        }
        user
    });
    users.collect()
}

pub(crate) async fn users_that_scim_tolerated_are_imported_as_they_were_exported(backend: Backend) {
    let service = backend.open().await;
    tolerated(&service).await;
    let lines = exported(&service).await;
    let count = lines.lines().count();

    all_imported(&service, "?on_conflict=replace", &lines, &counts(0, count, 0)).await;
    all_imported(&service, "?on_conflict=skip", &lines, &counts(0, 0, count)).await;
    assert_eq!(exported(&service).await, lines);

    let empty = backend.open().await;
    all_imported(&empty, "?dry_run=true", &lines, &counts(count, 0, 0)).await;
    all_imported(&empty, "", &lines, &counts(count, 0, 0)).await;
    assert_eq!(own_members(&exported(&empty).await), own_members(&lines));

    // Users who changed meanwhile are again what was exported. (Their verified numbers stay: a
    // replacement that changes one takes the flag away, as any PUT does.)
    let users = empty.get("/users?limit=1000&fields=id").await.expect(200).json();
    for user in users["items"].as_array().expect("items") {
        let change = json!({"picture": null, "photos": null, "profile": null, "addresses": null,
            "locale": null, "preferred_language": null, "zoneinfo": null, "title": "Countess"});
        empty.patch(user, change).await.expect(200);
    }
    assert_ne!(own_members(&exported(&empty).await), own_members(&lines));
    all_imported(&empty, "?on_conflict=replace", &lines, &counts(0, count, 0)).await;
    assert_eq!(own_members(&exported(&empty).await), own_members(&lines));
}

pub(crate) async fn a_line_that_is_no_whole_record_must_follow_every_rule(backend: Backend) {
    let service = backend.open().await;
    tolerated(&service).await;
    let lines = exported(&service).await;
    let line = lines.lines().find(|line| line.contains("klingon")).expect("a user");
    let record: Value = serde_json::from_str(line).expect("JSON");
    let empty = backend.open().await;
    for made in ["id", "version", "created_at", "updated_at"] {
        let mut part = record.clone();
        part.as_object_mut().expect("an object").remove(made);
        let reply = import(&empty, "", part.to_string()).await;
        assert!(reply.text().contains("invalid-language-tag"), "{}", reply.text());
        part[made] = json!("mine");
        let reply = import(&empty, "", part.to_string()).await;
        assert!(reply.text().contains("invalid-language-tag"), "{}", reply.text());
    }
    // All other rules apply to a whole record.
    let broken = with(record.clone(), json!({"title": "a\u{1}", "nmae": "Ada"}));
    let reply = import(&empty, "", broken.to_string()).await;
    assert!(reply.text().contains("control-character"), "{}", reply.text());
    assert!(reply.text().contains("unknown-member"), "{}", reply.text());
    assert!(!reply.text().contains("invalid-language-tag"), "{}", reply.text());
    // A single write is no import.
    empty.post(record.clone()).await.refused(422, "invalid-user");
    let user = empty.user(json!({"username": "ada"})).await;
    let own = with(record, json!({"id": user["id"], "version": 1, "username": "ada"}));
    assert_eq!(empty.request("PUT", &path(&user)).json(&own).send().await.status(), 422);
}
