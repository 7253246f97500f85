//! Indexes of members that the schema names: filters, orders, unique values, and their statuses.

use roster_core::SchemaDraft;
use roster_testkit::conformance::{Harness, harness::tree};
use serde_json::{Value, json};

use crate::{
    client::Reply,
    service::{Backend, Service, path},
};

async fn declare(service: &Service, body: Value) -> Reply {
    service.request("PUT", "/schema").json(&body).send().await
}

/// A service whose badges are unique, and whose levels and departments have an index.
async fn open(backend: Backend) -> Service {
    let service = backend.open().await;
    let body = json!({"attributes": [
        {"name": "badge", "type": "string", "unique": true},
        {"name": "level", "type": "integer", "indexed": true},
        {"name": "tags", "type": "string", "multi_valued": true, "indexed": true},
    ], "indexed_members": ["department"]});
    declare(&service, body).await.expect(200);
    service
}

/// Replaces the schema in the store: the request would build the indexes of so few users.
async fn declare_only(service: &Service, body: &Value) {
    let draft = SchemaDraft::parse(tree(body));
    Harness::new(service.store.clone()).act(draft).await.expect("a valid schema");
}

async fn build(service: &Service) {
    Harness::new(service.store.clone()).build_indexes(usize::MAX).await;
}

async fn user(service: &Service, name: &str, badge: &str, level: i64) -> Value {
    let attributes = json!({"badge": badge, "level": level, "tags": ["a", name]});
    service.user(json!({"username": name, "department": "D", "attributes": attributes})).await
}

async fn names(service: &Service, query: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut target = format!("/users?{query}");
    loop {
        let page = service.get(&target).await.expect(200).json();
        let items = page["items"].as_array().expect("items");
        names
            .extend(items.iter().map(|item| item["username"].as_str().expect("a name").to_owned()));
        let Some(cursor) = page["next_cursor"].as_str() else { return names };
        target = format!("/users?{query}&cursor={cursor}");
    }
}

pub(crate) async fn an_indexed_member_is_found_and_is_an_order(backend: Backend) {
    let service = open(backend).await;
    for (name, badge, level) in [("u1", "b", 10), ("u2", "C", 1), ("u3", "a", 2), ("u4", "D", 2)] {
        user(&service, name, badge, level).await;
    }
    service.user(json!({"username": "none"})).await;
    assert_eq!(names(&service, "filter=attributes.badge%20eq%20%22c%22").await, ["u2"]);
    assert_eq!(names(&service, "filter=attributes.tags%20eq%20%22U3%22").await, ["u3"]);
    let by_badge = ["u3", "u1", "u2", "u4", "none"];
    assert_eq!(names(&service, "sort=attributes.badge&limit=2").await, by_badge);
    let by_level = ["none", "u1", "u4", "u3", "u2"];
    assert_eq!(names(&service, "sort=-attributes.level&limit=2").await, by_level);
    let query = "filter=attributes.level%20ge%202&sort=attributes.badge&count=true&limit=1";
    assert_eq!(names(&service, query).await, ["u3", "u1", "u4"]);
    let page = service.get(&format!("/users?{query}")).await.expect(200).json();
    assert_eq!(page["total"], 3);
    assert_eq!(names(&service, "sort=department&limit=3").await.last().expect("users"), "none");
    // A cursor belongs to its order.
    let page = service.get("/users?sort=attributes.badge&limit=2").await.expect(200).json();
    let cursor = page["next_cursor"].as_str().expect("a cursor");
    let other = service.get(&format!("/users?sort=attributes.level&cursor={cursor}")).await;
    other.refused(400, "invalid-cursor");
}

pub(crate) async fn an_order_without_a_complete_index_is_rejected(backend: Backend) {
    let service = open(backend).await;
    let fault = async |sort: &str| {
        let refused = service.get(&format!("/users?sort={sort}")).await;
        refused.refused(400, "invalid-query").faults()
    };
    let of = |code: &str| [("sort".to_owned(), code.to_owned())];
    assert_eq!(fault("attributes.other").await, of("invalid-value"));
    assert_eq!(fault("title").await, of("invalid-value"));
    assert_eq!(fault("attributes.tags").await, of("invalid-value"));
    user(&service, "ada", "B1", 1).await;
    let body = json!({"attributes": [{"name": "badge", "type": "string", "indexed": true,
        "case_exact": true}]});
    declare_only(&service, &body).await;
    assert_eq!(fault("-attributes.badge").await, of("index-not-ready"));
    assert_eq!(names(&service, "filter=attributes.badge%20eq%20%22B1%22").await, ["ada"]);
    build(&service).await;
    assert_eq!(names(&service, "sort=attributes.badge").await, ["ada"]);
    assert_eq!(names(&service, "filter=attributes.badge%20eq%20%22b1%22").await, [""; 0]);
}

pub(crate) async fn the_schema_shows_the_statuses_of_its_indexes(backend: Backend) {
    let service = backend.open().await;
    let ada = service.user(json!({"username": "ada", "attributes": {"badge": "B1"}})).await;
    let grace = service.user(json!({"username": "grace", "attributes": {"badge": "b1"}})).await;
    let body = json!({"attributes": [{"name": "badge", "type": "string", "unique": true}]});
    declare_only(&service, &body).await;
    let index = async || service.get("/schema").await.expect(200).json()["indexes"][0].clone();
    let building = json!({"member": "attributes.badge", "status": "building", "users": 0});
    assert_eq!(index().await, building);
    // The statuses change without a new version.
    let known = || service.request("GET", "/schema").header("if-none-match", "\"2\"");
    known().send().await.expect(200);
    build(&service).await;
    let failed = json!({"member": "attributes.badge", "status": "failed",
        "shared": [[ada["id"], grace["id"]]]});
    assert_eq!(index().await, failed);
    // A shared value selects no user.
    let post = async |query: &str| {
        let body = json!({"username": "x", "attributes": {"badge": "B1"}});
        service.request("POST", &format!("/users?{query}")).json(&body).send().await
    };
    post("on_conflict=merge").await.refused(409, "attribute-taken");
    // One that has it already is selected by the username, and one that has not may not take it.
    let named = async |query: &str, name: &str| {
        let body = json!({"username": name, "title": "T", "attributes": {"badge": "B1"}});
        service.request("POST", &format!("/users?{query}")).json(&body).send().await
    };
    service.user(json!({"username": "hedy", "attributes": {"badge": "b3"}})).await;
    for way in ["merge", "replace"] {
        let merged = named(&format!("on_conflict={way}"), "grace").await.expect(200).json();
        assert_eq!((&merged["id"], &merged["title"]), (&grace["id"], &json!("T")));
        let taken = named(&format!("on_conflict={way}"), "hedy").await;
        let faults = taken.refused(409, "attribute-taken").faults();
        assert_eq!(faults, [("/attributes/badge".to_owned(), "attribute-taken".to_owned())]);
    }
    named("on_conflict=skip", "grace").await.expect(200);
    let refused = post("on_conflict=merge&match=attributes.badge").await;
    let faults = refused.refused(400, "invalid-query").faults();
    assert_eq!(faults, [("match".to_owned(), "index-not-ready".to_owned())]);
    let changed = json!({"attributes": {"badge": "B2"}});
    service.request("PATCH", &path(&grace)).json(&changed).send().await.expect(200);
    let body = json!({"attributes": [{"name": "badge", "type": "string", "indexed": true}]});
    let written = declare(&service, body).await.expect(200);
    assert_eq!(written.json()["attributes"][0]["indexed"], true);
    assert_eq!(index().await, json!({"member": "attributes.badge", "status": "ready"}));
    let known = service.request("GET", "/schema").header("if-none-match", "\"3\"");
    known.send().await.expect(200);
}

pub(crate) async fn a_unique_value_is_taken(backend: Backend) {
    let service = open(backend).await;
    let ada = user(&service, "ada", "B1", 1).await;
    let grace = user(&service, "grace", "B2", 1).await;
    let expected = [("/attributes/badge".to_owned(), "attribute-taken".to_owned())];
    let body = json!({"username": "x", "attributes": {"badge": "b1"}});
    let post = async |query: &str| {
        service.request("POST", &format!("/users{query}")).json(&body).send().await
    };
    assert_eq!(post("").await.refused(409, "attribute-taken").faults(), expected);
    post("?dry_run=true").await.refused(409, "attribute-taken");
    let patch = json!({"attributes": {"badge": "B1"}});
    let patch = service.request("PATCH", &path(&grace)).json(&patch).send().await;
    assert_eq!(patch.refused(409, "attribute-taken").faults(), expected);
    let put = json!({"username": "grace", "attributes": {"badge": "B1"}});
    service.request("PUT", &path(&grace)).json(&put).send().await.refused(409, "attribute-taken");
    let skipped = post("?on_conflict=skip").await.expect(200).json();
    assert_eq!(skipped["id"], ada["id"]);
    service.request("DELETE", &path(&ada)).send().await.expect(204);
    post("").await.expect(201);
    let restore = format!("/deleted-users/{}/restore", ada["id"].as_str().expect("an id"));
    let restored = service.request("POST", &restore).send().await;
    assert_eq!(restored.refused(409, "attribute-taken").faults(), expected);
}

pub(crate) async fn a_create_may_match_by_a_unique_member(backend: Backend) {
    let service = open(backend).await;
    let ada = user(&service, "ada", "B1", 1).await;
    user(&service, "grace", "B2", 1).await;
    let post = async |query: &str, body: Value| {
        service.request("POST", &format!("/users?{query}")).json(&body).send().await
    };
    let merge = "on_conflict=merge&match=attributes.badge";
    let title = json!({"title": "T", "attributes": {"badge": "b1"}});
    let merged = post(merge, title).await.expect(200).json();
    assert_eq!((&merged["id"], &merged["title"]), (&ada["id"], &json!("T")));
    // The name of another user does not select that user.
    let named = json!({"username": "grace", "attributes": {"badge": "B1"}});
    post(merge, named).await.refused(409, "username-taken");
    let without = json!({"username": "new"});
    let refused = post(merge, without).await.refused(422, "invalid-user");
    assert_eq!(refused.faults(), [("/attributes/badge".to_owned(), "required".to_owned())]);
    let fresh = json!({"username": "new", "attributes": {"badge": "B9"}});
    post(merge, fresh).await.expect(201);
    for query in ["match=attributes.level&on_conflict=merge", "match=attributes.badge"] {
        post(query, json!({"username": "z"})).await.refused(400, "invalid-query");
    }
    // Lines of an import do the same; a dry run knows what earlier lines claim.
    let lines = "{\"username\":\"p\",\"attributes\":{\"badge\":\"B7\"}}\n\
                 {\"username\":\"q\",\"attributes\":{\"badge\":\"b7\"}}\n\
                 {\"title\":\"U\",\"attributes\":{\"badge\":\"B2\"}}\n";
    let import = async |query: &str| {
        let request = service.request("POST", &format!("/bulk/users?{query}"));
        let reply = request.body("application/x-ndjson", lines).send().await.expect(200);
        let line = |line: &str| serde_json::from_str::<Value>(line).expect("JSON");
        reply.text().lines().map(line).collect::<Vec<_>>()
    };
    let dry = import("dry_run=true").await;
    assert_eq!(dry[1]["problem"]["code"], "attribute-taken", "{dry:?}");
    let merged = import(merge).await;
    let summary = json!({"done": true, "lines": 3, "created": 1, "replaced": 2, "skipped": 0,
        "failed": 0});
    assert_eq!(merged.last().expect("a summary"), &summary, "{merged:?}");
    assert_eq!(names(&service, "filter=attributes.badge%20eq%20%22b7%22").await, ["q"]);
}

/// Values that are longer than a key, from before the declaration, share none with others.
pub(crate) async fn a_long_value_is_not_another_with_the_same_beginning(backend: Backend) {
    let service = backend.open().await;
    let key = "x".repeat(256);
    let with = |name: &str, end: &str| {
        let value = format!("{key}{end}");
        json!({"username": name, "attributes": {"key": value}})
    };
    for (name, end) in [("a", "-A"), ("b", "-b"), ("c", "-c")] {
        service.user(with(name, end)).await;
    }
    let unique = json!({"attributes": [{"name": "key", "type": "string", "unique": true}]});
    declare(&service, unique).await.expect(200);
    build(&service).await;
    let post = async |query: &str, body: &Value| {
        service.request("POST", &format!("/users?{query}")).json(body).send().await
    };
    post("on_conflict=merge", &with("d", "")).await.expect(201);
    let skip = "on_conflict=skip&match=attributes.key";
    let of_a = with("e", "-a");
    assert_eq!(post(skip, &of_a).await.expect(200).json()["username"], "a");
    post("", &with("f", "")).await.refused(409, "attribute-taken");
    for (end, found) in [("", "d"), ("-a", "a"), ("-B", "b"), ("-d", "")] {
        let query = format!("filter=attributes.key%20eq%20%22{key}{end}%22");
        let found: &[&str] = if found.is_empty() { &[] } else { &[found] };
        assert_eq!(names(&service, &query).await, found, "{end}");
    }
    // Their keys are not in the order of the values, which a negation compares.
    for (operator, found) in [("sw", 1), ("gt", 1), ("ge", 2), ("lt", 2), ("le", 3)] {
        for end in ["", "-b", "-bb", "-"] {
            let test = format!("attributes.key%20{operator}%20%22{key}{end}%22");
            let mut by_index = names(&service, &format!("filter={test}")).await;
            let mut by_value = names(&service, &format!("filter=not%20(not%20({test}))")).await;
            by_index.sort();
            by_value.sort();
            assert_eq!(by_index, by_value, "{operator} {end}");
            assert!(end != "-b" || by_index.len() == found, "{operator}: {by_index:?}");
        }
    }
    assert_eq!(names(&service, "sort=attributes.key").await.first().expect("four"), "d");
    let users = service.get("/users?username=a").await.expect(200).json();
    let gone = &users["items"][0];
    service.request("DELETE", &path(gone)).send().await.expect(204);
    let restore = format!("/deleted-users/{}/restore", gone["id"].as_str().expect("an id"));
    service.request("POST", &restore).send().await.expect(200);
}

pub(crate) async fn invalid_indexes_are_errors(backend: Backend) {
    let service = backend.open().await;
    let faults =
        async |body: Value| declare(&service, body).await.refused(422, "invalid-schema").faults();
    let at = |place: &str, code: &str| (place.to_owned(), code.to_owned());
    let member = |number: usize| {
        json!({"name": format!("m{number}"), "type": "string",
        "indexed": true})
    };
    let many: Vec<Value> = (0..16).map(member).collect();
    let body = json!({"attributes": many, "indexed_members": ["title"]});
    assert_eq!(faults(body).await, [at("/attributes", "too-many")]);
    let body = json!({"attributes": [], "indexed_members":
        ["title", "title", "username", "emails", "badge", 7]});
    let expected = [
        at("/indexed_members/1", "invalid-value"),
        at("/indexed_members/2", "invalid-value"),
        at("/indexed_members/3", "invalid-value"),
        at("/indexed_members/4", "unknown-member"),
        at("/indexed_members/5", "wrong-type"),
    ];
    assert_eq!(faults(body).await, expected);
    let body = json!({"attributes": [{"name": "n", "type": "integer", "case_exact": true,
        "unique": "yes"}], "indexed_members": "title"});
    let mut found = faults(body).await;
    found.sort();
    let expected = [
        at("/attributes/0/case_exact", "invalid-value"),
        at("/attributes/0/unique", "wrong-type"),
        at("/indexed_members", "wrong-type"),
    ];
    assert_eq!(found, expected);
    let body = json!({"attributes": [{"name": "badge", "type": "string", "indexed": true},
        {"name": "tags", "type": "string", "multi_valued": true, "indexed": true}]});
    declare(&service, body).await.expect(200);
    let long = json!({"username": "a", "attributes":
        {"badge": "x".repeat(257), "tags": ["a", "\u{df}".repeat(129)]}});
    let refused = service.request("POST", "/users").json(&long).send().await;
    let expected = [at("/attributes/badge", "too-long"), at("/attributes/tags/1", "too-long")];
    assert_eq!(refused.refused(422, "invalid-user").faults(), expected);
    let longest = json!({"username": "a", "attributes": {"badge": "x".repeat(256)}});
    service.user(longest).await;
    build(&service).await;
    for (length, expected) in [(256, 1), (255, 0), (257, 0)] {
        let query = format!("filter=attributes.badge%20eq%20%22{}%22", "X".repeat(length));
        assert_eq!(names(&service, &query).await.len(), expected, "{length}");
    }
}
