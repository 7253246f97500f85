//! Exports: all users in one response.

use std::time::Duration;

use roster_core::{
    Stored, UserId,
    list::{Page, PageKey, SortKey},
};
use serde_json::{Value, json};

use super::{NDJSON, export, import, lines, results_of, talk::Talk, users};
use crate::{
    client::Reply,
    service::{Backend, Service, kept, path},
    store::Fault,
};

/// Each export, and the list of the same records.
pub(super) const EXPORTS: [(&str, &str); 3] = [
    ("/bulk/users", "/users"),
    ("/bulk/groups", "/groups"),
    ("/bulk/deleted-users", "/deleted-users"),
];

/// People with everything that a record can hold, and some with nearly nothing.
fn people() -> Vec<Value> {
    vec![
        json!({"username": "ada", "name": "Ada \"Countess\" Lovelace\u{2028}", "title": "a\\b",
            "email": "ada@b\u{fc}cher.example", "email_verified": true,
            "picture": "https://x.example/a.png",
            "attributes": {"n": 1e2, "big": 9_007_199_254_740_993_i64, "deep": {"a": [[1], {}]},
                "note": "two\nlines\ttab"}}),
        json!({"username": "grace", "status": "suspended", "external_id": "E 1",
            "emails": [{"value": "g@x.example", "type": "work", "display": "Grace"},
                {"value": "h@x.example", "type": "home", "primary": true}],
            "phone_numbers": [{"value": "+1 22", "type": "mobile"}, {"value": "33"}],
            "roles": [{"value": "admin"}], "manager": {"id": "17"}}),
        json!({"username": "\u{e9}mile", "addresses": [{"formatted": "1 Way\r\nTown",
            "country": "FR", "primary": true}], "locale": "fr-FR", "zoneinfo": "Europe/Paris"}),
        json!({"email": "plain@x.example"}),
        json!({"username": "bob"}),
    ]
}

pub(super) async fn fill(service: &Service) -> Vec<Value> {
    let mut all = Vec::new();
    for body in people() {
        all.push(service.user(body).await);
        service.clock.step(1000);
    }
    all
}

pub(crate) async fn every_user_comes_in_the_order_of_ids_as_it_is_kept(backend: Backend) {
    let service = backend.open().await;
    assert_eq!(users(export(&service, "").await), NOBODY);
    let mut all = fill(&service).await;
    service.delete(&path(&all.remove(4))).await.expect(204);
    all[0] = service.patch(&all[0], json!({"nickname": "A"})).await.expect(200).json();
    let reply = export(&service, "").await.expect(200);
    assert_eq!(reply.header("vary"), "Accept, Accept-Encoding");
    assert_eq!(reply.header("cache-control"), "private, no-cache");
    assert!(reply.header("roster-position").ends_with("-7"));
    assert_eq!((reply.find("etag"), reply.find("link")), (None, None));
    // The same bytes as a single read returns.
    for (line, user) in reply.text().lines().zip(&all) {
        assert_eq!(line, service.get(&path(user)).await.expect(200).text());
    }
    assert!(reply.text().ends_with("}\n"));
    assert_eq!(users(reply), all);
}

/// The exported line of a group without members.
fn with_no_member(record: &str) -> String {
    format!("{},\"members\":[]}}", &record[..record.len() - 1])
}

pub(crate) async fn groups_and_deleted_users_are_exported_too(backend: Backend) {
    let service = backend.open().await;
    for target in ["/bulk/groups", "/bulk/deleted-users"] {
        assert_eq!(service.get(target).await.expect(200).text(), "");
    }
    let (mut groups, mut deleted) = (Vec::new(), Vec::new());
    for name in ["one", "two", "three"] {
        let body = json!({"display_name": name, "external_id": "A-7"});
        let group = service.request("POST", "/groups").json(&body).send().await.expect(201);
        groups.push(with_no_member(group.text()));
        let user = service.left(json!({"username": name})).await;
        deleted.push(service.get(&kept(&user)).await.expect(200).text().to_owned());
        service.clock.step(1000);
    }
    let oldest_first = deleted.clone();
    deleted.reverse();
    for (target, expected) in [
        ("/bulk/groups", &groups[..]),
        ("/bulk/groups?external_id=A-7&limit=2", &groups[..2]),
        ("/bulk/groups?display_name=TWO", &groups[1..2]),
        ("/bulk/deleted-users", &deleted[..]),
        ("/bulk/deleted-users?limit=1", &deleted[..1]),
        ("/bulk/deleted-users?sort=deleted_at", &oldest_first[..]),
    ] {
        let reply = service.get(target).await.expect(200);
        assert_eq!(reply.text().lines().collect::<Vec<_>>(), expected, "{target}");
        assert_eq!(reply.header("content-type"), NDJSON);
        assert_eq!(reply.header("vary"), "Accept-Encoding");
        assert_eq!((reply.find("etag"), reply.find("link")), (None, None), "{target}");
        assert!(reply.header("roster-position").ends_with("-9"), "{target}");
        let head = service.request("HEAD", target).send().await;
        assert_eq!(head.expect(200).header("content-type"), NDJSON, "{target}");
    }
    let named = service.get("/bulk/groups?fields=display_name&limit=1").await.expect(200).json();
    assert_eq!(named.as_object().map(serde_json::Map::len), Some(3), "{named}");
    let dated =
        service.get("/bulk/deleted-users?fields=deleted_at&limit=1").await.expect(200).json();
    assert_eq!(dated.as_object().map(serde_json::Map::len), Some(3), "{dated}");
    for sort in ["display_name", "id", "created_at"] {
        let target = format!("/bulk/groups?sort={sort}");
        let faults = service.get(&target).await.refused(400, "invalid-query").faults();
        let expected = ("sort".to_owned(), "conflicting-parameter".to_owned());
        assert_eq!(faults, [expected], "{target}");
    }
}

pub(crate) async fn an_export_of_groups_has_more_than_one_page(backend: Backend) {
    let service = backend.open().await;
    let mut expected = Vec::new();
    for number in 0..2100 {
        let body = json!({"display_name": format!("g{number}")});
        let group = service.request("POST", "/groups").json(&body).send().await.expect(201);
        expected.push(with_no_member(group.text()));
    }
    let lines = service.get("/bulk/groups").await;
    assert_eq!(lines.expect(200).text().lines().collect::<Vec<_>>(), expected);
}

const NOBODY: [Value; 0] = [];

pub(crate) async fn what_came_out_goes_in_again_and_is_the_same(backend: Backend) {
    let (one, other) = (backend.open().await, backend.open().await);
    fill(&one).await;
    one.left(json!({"username": "gone"})).await;
    // The other service has other users, which stay.
    let joan = other.user(json!({"username": "joan"})).await;
    let stream = export(&one, "").await.expect(200).text().to_owned();
    let results = results_of(import(&other, "", stream.clone()).await);
    assert_eq!(results.iter().filter(|result| result["status"] == 201).count(), 5);
    let own = |users: Vec<Value>| {
        let mut users = users;
        for user in &mut users {
            let members = user.as_object_mut().expect("an object");
            for member in ["id", "created_at", "updated_at"] {
                members.remove(member).expect("made by the service");
            }
            assert_eq!(members.remove("version"), Some(json!(1)));
        }
        users
    };
    let mut there = users(export(&other, "").await);
    assert_eq!(there.remove(0), joan);
    assert_eq!(own(there), own(users(export(&one, "").await)));
    // If they exist already, none of them changes.
    let head = one.head().await;
    one.clock.step(1000);
    let results = results_of(import(&one, "?on_conflict=replace", stream.clone()).await);
    assert!(results.iter().all(|result| result["status"] == 200), "{results:?}");
    let results = results_of(import(&one, "?on_conflict=skip", stream).await);
    assert!(results.iter().all(|result| result["skipped"] == true), "{results:?}");
    assert_eq!(one.head().await, head);
}

pub(crate) async fn an_export_follows_its_pages_to_the_end(backend: Backend) {
    let service = backend.open().await;
    let all: Vec<Value> = (0..2100)
        .map(|number| {
            let status = if number % 10 == 0 { "suspended" } else { "active" };
            json!({"username": format!("u{number}"), "status": status})
        })
        .collect();
    results_of(import(&service, "", lines(&all)).await);
    let pages = service.store.pages();
    let whole = users(export(&service, "?fields=username,status").await);
    assert_eq!(service.store.pages() - pages, 2);
    let names = |users: &[Value]| -> Vec<Value> {
        users.iter().map(|user| user["username"].clone()).collect()
    };
    assert_eq!(names(&whole), names(&all));
    let some = users(export(&service, "?filter=status+eq+%22suspended%22").await);
    let expected: Vec<Value> =
        all.iter().filter(|user| user["status"] == "suspended").cloned().collect();
    assert_eq!(names(&some), names(&expected));
}

pub(crate) async fn conditions_and_members_go_with_an_export(backend: Backend) {
    let service = backend.open().await;
    let all = fill(&service).await;
    let id = |index: usize| all[index]["id"].as_str().expect("an id");
    let rows: Vec<(String, &[usize])> = vec![
        ("status=suspended".to_owned(), &[1]),
        ("username=ADA".to_owned(), &[0]),
        ("email=plain@x.example".to_owned(), &[3]),
        ("external_id=E+1&status=suspended".to_owned(), &[1]),
        (format!("id={}&id={}", id(2), id(0)), &[0, 2]),
        ("filter=email+pr".to_owned(), &[0, 1, 3]),
        ("filter=email+pr&status=active".to_owned(), &[0, 3]),
        ("filter=version+gt+1".to_owned(), &[]),
        ("phone_number=33".to_owned(), &[]),
        ("phone_number=+122".to_owned(), &[1]),
    ];
    for (query, expected) in rows {
        let expected: Vec<&Value> = expected.iter().map(|index| &all[*index]).collect();
        let found = users(export(&service, &format!("?{query}")).await);
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{query}");
        let cut = users(export(&service, &format!("?fields=username&{query}")).await);
        let expected: Vec<Value> = expected
            .iter()
            .map(|user| json!({"id": user["id"], "version": 1, "username": user["username"]}))
            .collect();
        assert_eq!(cut, expected, "{query}");
    }
}

pub(crate) async fn an_export_may_be_a_search_or_end_early(backend: Backend) {
    let service = backend.open().await;
    let all = fill(&service).await;
    let rows: &[(&str, &[usize])] = &[
        ("q=ada", &[0]),
        ("q=ada&limit=50", &[0]),
        ("q=nobody", &[]),
        ("limit=1000", &[0, 1, 2, 3, 4]),
        ("limit=5", &[0, 1, 2, 3, 4]),
        ("limit=2", &[0, 1]),
        ("limit=1&status=suspended", &[1]),
        ("limit=2&filter=email+pr", &[0, 1]),
    ];
    for (query, expected) in rows {
        let expected: Vec<_> = expected.iter().map(|index| &all[*index]).collect();
        let found = users(export(&service, &format!("?{query}")).await);
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{query}");
    }
    for (query, expected) in [("q=ada&count=false&limit=50", &all[..1]), ("count=false", &all)] {
        assert_eq!(users(export(&service, &format!("?{query}")).await), expected, "{query}");
    }
}

pub(crate) async fn the_total_of_an_export_is_in_a_header(backend: Backend) {
    let service = backend.open().await;
    for name in ["one", "two", "three"] {
        service.group(name).await;
        service.user(json!({"username": name})).await;
        service.left(json!({"username": format!("{name} left")})).await;
    }
    for (target, total) in [
        ("/bulk/users?count=true", Some("3")),
        ("/bulk/users?count=true&limit=1&username=two", Some("1")),
        ("/bulk/users?count=true&filter=username%20ne%20%22one%22", Some("2")),
        ("/bulk/users?count=false", None),
        ("/bulk/groups?count=true", Some("3")),
        ("/bulk/groups?count=true&display_name=nobody", Some("0")),
        ("/bulk/deleted-users?count=true", Some("3")),
        ("/bulk/deleted-users", None),
    ] {
        for method in ["GET", "HEAD"] {
            let reply = service.request(method, target).send().await.expect(200);
            assert_eq!(reply.find("roster-total"), total, "{method} {target}");
            assert_eq!(reply.find("roster-total-relation"), None, "{method} {target}");
        }
    }
    service.get("/bulk/users?count=1").await.refused(400, "invalid-query");
    let both = service.get("/bulk/deleted-users?count=true&q=one").await;
    assert_eq!(both.refused(400, "invalid-query").faults()[0].0, "count");
}

pub(crate) async fn what_belongs_to_pages_is_refused(backend: Backend) {
    let service = backend.open().await;
    fill(&service).await;
    let conflict = "conflicting-parameter";
    let rows = [
        ("sort=id", "sort", conflict),
        ("sort=-id", "sort", conflict),
        ("sort=name", "sort", conflict),
        ("limit=0", "limit", "out-of-range"),
        ("cursor=x", "cursor", conflict),
        ("fields=nmae", "fields", "invalid-value"),
        ("status=gone", "status", "invalid-value"),
        ("after=x", "after", "unknown-parameter"),
        ("dry_run=true", "dry_run", "unknown-parameter"),
    ];
    for (query, parameter, code) in rows {
        let reply = export(&service, &format!("?{query}")).await;
        let reply = reply.refused(400, "invalid-query");
        assert_eq!(reply.faults(), [(parameter.to_owned(), code.to_owned())], "{query}");
        assert_eq!(reply.header("content-type"), "application/problem+json");
    }
    export(&service, "?filter=x").await.refused(400, "invalid-filter");
    export(&service, "?username=%zz").await.refused(400, "invalid-query");
    let all = export(&service, "?count=true&fields=nmae&sort=name&colour=red").await;
    let mut faults = all.refused(400, "invalid-query").faults();
    faults.sort();
    let places: Vec<&str> = faults.iter().map(|(place, _)| place.as_str()).collect();
    assert_eq!(places, ["colour", "fields", "sort"]);
}

pub(crate) async fn the_head_of_an_export_reads_no_user(backend: Backend) {
    let service = backend.open().await;
    fill(&service).await;
    let head = |query: &str| service.request("HEAD", &format!("/bulk/users{query}")).send();
    let pages = service.store.pages();
    let reply = head("?filter=email+pr").await.expect(200);
    assert_eq!(service.store.pages(), pages);
    let whole = export(&service, "?filter=email+pr").await.expect(200);
    for name in ["content-type", "cache-control", "vary", "roster-position"] {
        assert_eq!(reply.header(name), whole.header(name), "{name}");
    }
    head("?limit=5").await.expect(200);
    head("?cursor=x").await.expect(400);
    head("?filter=email").await.expect(400);
}

pub(crate) async fn an_export_has_no_tag_that_a_condition_could_name(backend: Backend) {
    let service = backend.open().await;
    fill(&service).await;
    for (export, list) in EXPORTS {
        let tag = service.get(list).await.header("etag").to_owned();
        let held = |name: &'static str, value: &str| {
            service.request("GET", export).header(name, value).send()
        };
        held("if-match", &tag).await.refused(412, "version-mismatch");
        held("if-match", "\"1\"").await.refused(412, "version-mismatch");
        held("if-match", "1").await.refused(400, "invalid-request");
        held("if-match", "*").await.expect(200);
        held("if-none-match", &tag).await.expect(200);
    }
}

pub(crate) async fn events_continue_from_the_position_of_an_export(backend: Backend) {
    let service = backend.open().await;
    let all = fill(&service).await;
    let position = export(&service, "").await.header("roster-position").to_owned();
    let after = format!("/events?after={position}");
    assert_eq!(service.get(&after).await.expect(200).json()["items"], json!([]));
    service.patch(&all[1], json!({"title": "Admiral"})).await.expect(200);
    service.delete(&path(&all[0])).await.expect(204);
    let events = service.get(&after).await.expect(200).json();
    let kinds: Vec<&str> = events["items"]
        .as_array()
        .expect("items")
        .iter()
        .filter_map(|e| e["type"].as_str())
        .collect();
    assert!(kinds[0].ends_with("user.updated") && kinds[1].ends_with("user.deleted"), "{kinds:?}");
    assert_eq!(kinds.len(), 2);
}

/// Pages without end, each of one user.
fn endless(record: &'static [u8]) -> Page {
    let id = UserId::from_bytes([7; 16]);
    let items = vec![Stored { id, version: 1, record: bytes::Bytes::from_static(record) }];
    let next = Some(PageKey { key: SortKey::Id, id });
    Page { items, next, position: 3, total: None, examined: None }
}

pub(crate) async fn a_failure_midway_breaks_the_body_off(backend: Backend) {
    let service = backend.open().await;
    for fault in [Fault::Unavailable, Fault::Corrupt, Fault::Internal] {
        service.store.make_page(endless(br#"{"id":"x","version":1,"username":"ada"}"#));
        let mut talk = Talk::export(&service).await;
        assert!(talk.head().await.starts_with("200 OK\r\n"));
        for _ in 0..10 {
            assert_eq!(talk.line().await.expect("a user")["username"], "ada");
        }
        service.store.fail(fault);
        let (rest, whole) = talk.rest().await;
        assert!(!whole, "{fault:?}: no end that looks like one");
        assert!(rest.iter().all(|user| user["username"] == "ada"));
        service.store.fail(None);
    }
    // A failure before the first user is a problem.
    for (fault, status, code) in
        [(Fault::Unavailable, 503, "unavailable"), (Fault::Corrupt, 500, "internal")]
    {
        service.store.fail(fault);
        let reply: Reply = export(&service, "").await.refused(status, code);
        assert!(!reply.text().contains("7G"));
        service.store.fail(None);
    }
}

pub(crate) async fn a_store_without_time_is_asked_again(backend: Backend) {
    let service = backend.open().await;
    // So large that buffers do not hide the interruption.
    let record = format!("{{\"id\":\"x\",\"version\":1,\"name\":\"{}\"}}", "n".repeat(100_000));
    service.store.make_page(endless(record.leak().as_bytes()));
    let mut talk = Talk::export(&service).await;
    talk.head().await;
    talk.line().await.expect("a user");
    service.store.fail(Fault::Unavailable);
    let before = service.store.pages();
    let busy = async {
        // One page may have been read before; the next one was rejected.
        while service.store.pages() < before + 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        service.store.fail(None);
    };
    let goes_on = async {
        for _ in 0..400 {
            talk.line().await.expect("the answer goes on");
        }
    };
    tokio::join!(busy, goes_on);
}

pub(crate) async fn a_record_that_cannot_be_cut_breaks_the_body_off(backend: Backend) {
    let service = backend.open().await;
    service.store.make_page(endless(b"{\"id\":"));
    let headers = format!("accept: {NDJSON}\r\n");
    let mut talk = Talk::begin(&service, "GET /bulk/users?fields=username", &headers).await;
    assert!(talk.head().await.starts_with("200 OK\r\n"));
    assert_eq!(talk.rest().await, (Vec::new(), false));
}

/// The text of a new key that may read.
async fn reader(service: &Service) -> String {
    let key = service.new_key(&["users:read"]).await;
    key["key"].as_str().expect("a key").to_owned()
}

pub(crate) async fn only_so_many_exports_run_at_a_time(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    service.store.make_page(endless(br#"{"id":"x","version":1}"#));
    let mut running = Vec::new();
    // The last place is for a caller without one.
    for count in [8, 8, 8, 7, 1] {
        let key = reader(&service).await;
        for _ in 0..count {
            let mut talk = Talk::export_by(&service, Some(&key)).await;
            assert!(talk.head().await.starts_with("200 OK\r\n"));
            running.push(talk);
        }
    }
    let refused = export(&service, "").await.refused(503, "overloaded");
    assert_eq!(refused.header("retry-after"), "5");
    assert!(refused.text().contains("too many exports are running"), "{}", refused.text());
    // Other callers do not wait.
    service.user(json!({"username": "ada"})).await;
    running.pop();
    let key = reader(&service).await;
    is_let_in_again(&service, Some(&key)).await;
}

async fn is_let_in_again(service: &Service, key: Option<&str>) {
    for attempt in 0.. {
        let mut talk = Talk::export_by(service, key).await;
        if talk.head().await.starts_with("200 OK\r\n") {
            break;
        }
        assert!(attempt < 500, "the place of one that went away is free");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub(crate) async fn one_caller_has_eight_exports_at_a_time(backend: Backend) {
    let service = backend.open().await;
    service.store.make_page(endless(br#"{"id":"x","version":1}"#));
    let mut running = Vec::new();
    for _ in 0..8 {
        let mut talk = Talk::export(&service).await;
        assert!(talk.head().await.starts_with("200 OK\r\n"));
        running.push(talk);
    }
    let refused = export(&service, "").await.refused(429, "rate-limited");
    assert_eq!(refused.header("retry-after"), "5");
    assert!(refused.text().contains("exports of this caller"), "{}", refused.text());
    running.pop();
    is_let_in_again(&service, None).await;
}
