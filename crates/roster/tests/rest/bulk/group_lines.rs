//! Imports and exports of groups with their members.

use serde_json::{Value, json};

use super::{NDJSON, read, results_of};
use crate::{
    client::Reply,
    service::{Backend, Service},
};

async fn import_groups(service: &Service, query: &str, lines: &[Value]) -> Reply {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let request = service.request("POST", &format!("/bulk/groups{query}"));
    request.body(NDJSON, lines.join("\n")).send().await
}

/// The exported lines, without times.
async fn exported(service: &Service) -> Vec<Value> {
    let reply = service.get("/bulk/groups").await.expect(200);
    let mut lines: Vec<Value> = reply.text().lines().map(read).collect();
    for line in &mut lines {
        for time in ["created_at", "updated_at"] {
            line.as_object_mut().expect("an object").remove(time);
        }
    }
    lines
}

async fn people(service: &Service, count: usize) -> Vec<Value> {
    let lines: Vec<Value> =
        (0..count).map(|number| json!({"username": format!("u{number}")})).collect();
    let results = results_of(super::import(service, "", super::lines(&lines)).await);
    results.into_iter().map(|line| line["id"].clone()).collect()
}

fn statuses(results: &[Value]) -> Vec<u64> {
    results.iter().map(|line| line["status"].as_u64().expect("a status")).collect()
}

pub(crate) async fn groups_are_imported_with_their_members(backend: Backend) {
    let service = backend.open().await;
    let ids = people(&service, 3).await;
    let lines = [
        json!({"display_name": "One", "external_id": "x", "members": [ids[0], {"id": ids[1]}]}),
        json!({"display_name": "Two", "members": []}),
        json!({"display_name": "one", "members": [ids[2]]}),
        json!({"display_name": "Three", "members": ["01a1f84a-963b-7c3e-9a41-5d2e8f604b17"]}),
        json!({"display_name": "Three", "memebrs": []}),
        json!({"display_name": "Three", "members": {"id": ids[0]}}),
        json!({"display_name": "Three", "members": [ids[0], "u1"]}),
        json!({"display_name": "Three", "continued": 1}),
        json!({"members": [ids[0]]}),
        json!([]),
        json!({"display_name": "Four", "id": ids[0], "version": 9, "member_count": 7,
            "members": null}),
    ];
    let results = results_of(import_groups(&service, "", &lines).await);
    assert_eq!(statuses(&results), [201, 201, 409, 404, 422, 422, 422, 422, 422, 422, 201]);
    let unknown = results[3]["problem"]["errors"][0]["detail"].as_str().expect("a detail");
    assert!(unknown.ends_with("01a1f84a-963b-7c3e-9a41-5d2e8f604b17"), "{unknown}");
    let place = |line: usize| results[line]["problem"]["errors"][0]["pointer"].clone();
    assert_eq!(place(2), "/display_name");
    assert_eq!([4, 5, 6].map(place), ["/memebrs", "/members", "/members/1"]);
    assert_eq!([7, 8, 9].map(place), ["/continued", "/display_name", ""]);
    let stored = exported(&service).await;
    let expected = [
        json!({"id": results[0]["id"], "version": 1, "display_name": "One", "external_id": "x",
            "member_count": 2, "members": [ids[0], ids[1]]}),
        json!({"id": results[1]["id"], "version": 1, "display_name": "Two", "member_count": 0,
            "members": []}),
        json!({"id": results[10]["id"], "version": 1, "display_name": "Four", "member_count": 0,
            "members": []}),
    ];
    assert_eq!(stored, expected);
}

pub(crate) async fn the_type_of_a_member_must_be_right(backend: Backend) {
    let service = backend.open().await;
    let ids = people(&service, 2).await;
    let inner = json!({"display_name": "Inner", "members": []});
    let inner = results_of(import_groups(&service, "", &[inner]).await)[0]["id"].clone();
    let is = |id: &Value, kind: &str| json!({"id": id, "type": kind});
    let line = |name: &str, members: Value| json!({"display_name": name, "members": members});
    let lines = [
        line("A", json!([ids[1], is(&ids[0], "group")])),
        line("A", json!([is(&inner, "user"), is(&ids[0], "user"), is(&ids[1], "group")])),
        line("A", json!([is(&ids[0], "User")])),
        line("A", json!([is(&ids[0], "user"), is(&inner, "group")])),
        // What a list of members returns can be sent again, but no other type.
        line("A", json!([is(&ids[0], "user"), is(&inner, "group")])),
        line("A", json!([is(&ids[0], "group")])),
        line("A", json!([is(&ids[1], "group"), ids[0]])),
    ];
    for query in ["merge&dry_run=true", "merge", "replace"] {
        let query = format!("?on_conflict={query}");
        let results = results_of(import_groups(&service, &query, &lines).await);
        let expected = match query.as_str() {
            "?on_conflict=merge" => [422, 422, 422, 201, 200, 422, 422],
            "?on_conflict=replace" => [422, 422, 422, 200, 200, 422, 422],
            _ => [422, 422, 422, 201, 201, 422, 422],
        };
        assert_eq!(statuses(&results), expected, "{query}");
        let places = |line: usize| -> Vec<Value> {
            let errors = results[line]["problem"]["errors"].as_array().expect("errors");
            errors.iter().map(|error| error["pointer"].clone()).collect()
        };
        assert_eq!(places(0), ["/members/1/type"], "{query}");
        assert_eq!(places(1).len(), 2, "{query}");
        assert_eq!([5, 6].map(places), [["/members/0/type"], ["/members/0/type"]], "{query}");
        assert_eq!(results[0]["problem"]["errors"][0]["detail"], "the member is a user");
    }
    assert_eq!(exported(&service).await[1]["members"], json!([ids[0], inner]));
}

pub(crate) async fn a_group_that_exists_is_skipped_replaced_or_merged(backend: Backend) {
    let service = backend.open().await;
    let ids = people(&service, 3).await;
    let first = json!({"display_name": "Team", "external_id": "x", "members": [ids[0]]});
    assert_eq!(statuses(&results_of(import_groups(&service, "", &[first]).await)), [201]);
    let line = json!({"display_name": "TEAM", "members": [ids[1]]});
    for (query, version, name, external_id, members) in [
        ("?on_conflict=skip", 1, "Team", json!("x"), json!([ids[0]])),
        ("?on_conflict=merge&dry_run=true", 1, "Team", json!("x"), json!([ids[0]])),
        ("?on_conflict=merge", 2, "TEAM", json!("x"), json!([ids[0], ids[1]])),
        ("?on_conflict=merge", 2, "TEAM", json!("x"), json!([ids[0], ids[1]])),
        ("?on_conflict=replace", 3, "TEAM", Value::Null, json!([ids[1]])),
    ] {
        let results = results_of(import_groups(&service, query, std::slice::from_ref(&line)).await);
        assert_eq!(statuses(&results), [200], "{query}");
        assert_eq!(results[0].get("skipped").is_some(), query.ends_with("skip"), "{query}");
        let [stored] = <[Value; 1]>::try_from(exported(&service).await).expect("one group");
        assert_eq!(stored["version"], version, "{query}");
        assert_eq!(stored["display_name"], name, "{query}");
        assert_eq!(stored["external_id"], external_id, "{query}");
        assert_eq!(stored["members"], members, "{query}");
    }
    // Without a list of members, they are kept.
    let bare = json!({"display_name": "Team", "external_id": "y"});
    let results = results_of(import_groups(&service, "?on_conflict=replace", &[bare]).await);
    assert_eq!(statuses(&results), [200]);
    assert_eq!(exported(&service).await[0]["members"], json!([ids[1]]));
}

pub(crate) async fn a_group_of_many_members_takes_several_lines(backend: Backend) {
    let service = backend.open().await;
    let ids = people(&service, 3_100).await;
    let lines: Vec<Value> = ids
        .chunks(1_600)
        .map(|members| json!({"display_name": "All", "members": members}))
        .chain([json!({"display_name": "Few", "members": [ids[7]]})])
        .collect();
    let results = results_of(import_groups(&service, "?on_conflict=merge", &lines).await);
    assert_eq!(statuses(&results), [201, 200, 201]);
    let stored = exported(&service).await;
    let count = |line: &Value| line["members"].as_array().expect("a list").len();
    assert_eq!(stored.iter().map(count).collect::<Vec<_>>(), [1_500, 1_500, 100, 1]);
    let marks: Vec<bool> = stored.iter().map(|line| line["continued"] == true).collect();
    assert_eq!(marks, [false, true, true, false]);
    // The limit counts groups.
    for (limit, expected) in [(1, 3), (2, 4)] {
        let some = service.get(&format!("/bulk/groups?limit={limit}")).await.expect(200);
        assert_eq!(some.text().lines().count(), expected);
    }
    // Further members of a group whose first line failed make no group.
    let orphan = json!({"display_name": "Orphan", "members": [ids[0]], "continued": true});
    let results = results_of(import_groups(&service, "?on_conflict=merge", &[orphan]).await);
    assert_eq!(results[0]["problem"]["errors"][0]["pointer"], "/continued");
    // The other members of such a line are read as those of any line.
    for on_conflict in ["merge", "replace"] {
        let further = |member: &str, value: Value| {
            let members = [&ids[8]];
            json!({"display_name": "Few", "members": members, "continued": true, member: value})
        };
        let lines = [further("nope", json!(1)), further("external_id", json!(5))];
        let query = format!("?on_conflict={on_conflict}");
        let results = results_of(import_groups(&service, &query, &lines).await);
        let place = |line: usize| results[line]["problem"]["errors"][0]["pointer"].clone();
        assert_eq!([0, 1].map(place), ["/nope", "/external_id"], "{on_conflict}");
    }
    assert_eq!(exported(&service).await, stored);
    let text = service.get("/bulk/groups").await.expect(200);
    let again = |query: &'static str| {
        let request = service.request("POST", &format!("/bulk/groups{query}"));
        request.body(NDJSON, text.text()).send()
    };
    // Nothing changes, and without a rule for groups that exist no line is accepted.
    for (query, expected) in [
        ("?on_conflict=merge", [200, 200, 200, 200]),
        ("?on_conflict=skip", [200, 422, 422, 200]),
        ("", [409, 422, 422, 409]),
    ] {
        assert_eq!(statuses(&results_of(again(query).await)), expected, "{query}");
        assert_eq!(exported(&service).await, stored, "{query}");
    }
    for group in [&stored[0], &stored[3]] {
        let path = format!("/groups/{}", group["id"].as_str().expect("an id"));
        service.request("DELETE", &path).send().await.expect(204);
    }
    assert_eq!(statuses(&results_of(again("?on_conflict=merge").await)), [201, 200, 200, 201]);
    let all: Vec<Value> =
        exported(&service).await.iter().map(|line| line["members"].clone()).collect();
    let before: Vec<Value> = stored.iter().map(|line| line["members"].clone()).collect();
    assert_eq!(all, before);
}

pub(crate) async fn what_an_import_of_groups_does_not_take_is_refused(backend: Backend) {
    let service = backend.open().await;
    let line = json!({"display_name": "Team"});
    for (query, status, code) in [
        ("?match=unique", 400, "invalid-query"),
        ("?keep_ids=true", 400, "invalid-query"),
        ("?map=guess", 400, "invalid-query"),
        ("?on_conflict=update", 400, "invalid-query"),
    ] {
        import_groups(&service, query, std::slice::from_ref(&line)).await.refused(status, code);
    }
    let request = |kind: &str| service.request("POST", "/bulk/groups").body(kind, line.to_string());
    for kind in ["text/csv", "application/json", "application/x-www-form-urlencoded"] {
        let reply = request(kind).send().await.refused(415, "unsupported-media-type");
        assert_eq!(reply.header("accept"), NDJSON, "{kind}");
    }
    request(NDJSON).header("accept", "text/csv").send().await.refused(406, "not-acceptable");
    let keyed = request(NDJSON).header("idempotency-key", "k").send().await;
    keyed.refused(400, "invalid-idempotency-key");
    assert_eq!(exported(&service).await, Vec::<Value>::new());
}
