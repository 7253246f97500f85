//! The list: orders, conditions, members, counts and caching.

use serde_json::{Value, json};

use crate::service::{Backend, Service, group_path, kept, member_path, path};

/// Users whose members order them differently under every sort.
async fn fill(service: &Service) -> Vec<Value> {
    let mut users = Vec::new();
    for body in [
        json!({"username": "charlie", "email": "b@x.org", "family_name": "Love", "name": "Zoe"}),
        json!({"username": "Alice", "email": "C@x.org", "family_name": "love", "name": "\u{c9}va"}),
        json!({"username": "bob", "name": "adam"}),
        json!({"username": "dora", "email": "a@x.org", "family_name": "Abel"}),
        json!({"username": "\u{e9}mile", "email": "a+tag@x.org", "phone_number": "+44 20 7946"}),
    ] {
        users.push(service.user(body).await);
        service.clock.step(1000);
    }
    // The first user changed last.
    users[0] = service.patch(&users[0], json!({"status": "suspended"})).await.expect(200).json();
    users
}

/// The usernames of all pages.
async fn walk(service: &Service, query: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut target = format!("/users?{query}");
    for _ in 0..50 {
        let reply = service.get(&target).await.expect(200);
        let body = reply.json();
        let items = body["items"].as_array().expect("items");
        names
            .extend(items.iter().map(|user| user["username"].as_str().expect("a name").to_owned()));
        let Some(cursor) = body["next_cursor"].as_str() else {
            assert_eq!(reply.find("link"), None);
            return names;
        };
        target = format!("/users?{query}&cursor={cursor}");
    }
    panic!("the list ends");
}

pub(crate) async fn every_order_holds_in_both_directions_and_at_every_page_size(backend: Backend) {
    let service = backend.open().await;
    fill(&service).await;
    let created = ["charlie", "Alice", "bob", "dora", "\u{e9}mile"];
    let orders = [
        ("id", created),
        ("created_at", created),
        ("updated_at", ["Alice", "bob", "dora", "\u{e9}mile", "charlie"]),
        ("username", ["Alice", "bob", "charlie", "dora", "\u{e9}mile"]),
        // Users without the member are last; ties are ordered by id.
        ("email", ["\u{e9}mile", "dora", "charlie", "Alice", "bob"]),
        ("family_name", ["dora", "charlie", "Alice", "bob", "\u{e9}mile"]),
        ("name", ["bob", "charlie", "Alice", "dora", "\u{e9}mile"]),
    ];
    for (sort, order) in orders {
        for limit in [1, 2, 5, 6] {
            let ascending = walk(&service, &format!("sort={sort}&limit={limit}")).await;
            assert_eq!(ascending, order, "{sort} by {limit}");
            let mut descending = walk(&service, &format!("sort=-{sort}&limit={limit}")).await;
            descending.reverse();
            assert_eq!(descending, order, "-{sort} by {limit}");
        }
    }
    assert_eq!(walk(&service, "").await, created);
}

pub(crate) async fn conditions_are_compared_as_uniqueness_is(backend: Backend) {
    let service = backend.open().await;
    let users = fill(&service).await;
    let extra = json!({"username": "eve smith", "external_id": "E 1"});
    let eve = service.user(extra).await;
    let id = |index: usize| users[index]["id"].as_str().expect("an id");
    let eve_id = eve["id"].as_str().expect("an id");
    let rows = [
        ("username=ALICE".to_owned(), vec!["Alice"]),
        ("username=%C3%89MILE".to_owned(), vec!["\u{e9}mile"]),
        ("username=E%CC%81mile".to_owned(), vec!["\u{e9}mile"]),
        ("username=eve+smith".to_owned(), vec!["eve smith"]),
        ("username=eve%20smith".to_owned(), vec!["eve smith"]),
        ("username=%E2%80%A8".to_owned(), vec![]),
        ("email=c@X.ORG".to_owned(), vec!["Alice"]),
        // A plus sign in an address or a number is itself.
        ("email=a+tag@x.org".to_owned(), vec!["\u{e9}mile"]),
        ("email=a%2Btag%40x.org".to_owned(), vec!["\u{e9}mile"]),
        ("phone_number=+44207946".to_owned(), vec!["\u{e9}mile"]),
        ("phone_number=%2B44%2020%207946".to_owned(), vec!["\u{e9}mile"]),
        ("phone_number=44207946".to_owned(), vec![]),
        ("external_id=E+1".to_owned(), vec!["eve smith"]),
        ("external_id=e%201".to_owned(), vec![]),
        ("status=suspended".to_owned(), vec!["charlie"]),
        ("status=active&username=charlie".to_owned(), vec![]),
        (format!("id={}&id={}&id={}", id(3), id(0), id(3)), vec!["charlie", "dora"]),
        (format!("id={eve_id}&external_id=E+1&sort=-name"), vec!["eve smith"]),
    ];
    for (query, expected) in rows {
        assert_eq!(walk(&service, &query).await, expected, "{query}");
    }
}

pub(crate) async fn fields_show_the_named_members_and_always_id_and_version(backend: Backend) {
    let service = backend.open().await;
    let user = fill(&service).await.remove(1);
    let shown = |query: &str| {
        let target = format!("/users?id={}&{query}", user["id"].as_str().expect("an id"));
        async { service.get(&{ target }).await.expect(200).json()["items"][0].clone() }
    };
    let expected = json!({"id": user["id"], "version": 1, "email": "C@x.org"});
    assert_eq!(shown("fields=email").await, expected);
    assert_eq!(shown("fields=email,version,email,nickname").await, expected);
    assert_eq!(shown("fields=email&fields=version,email&fields=nickname").await, expected);
    assert_eq!(shown("fields=id").await, json!({"id": user["id"], "version": 1}));
    assert_eq!(shown("limit=5").await, user);
}

pub(crate) async fn fields_mean_the_same_for_every_record(backend: Backend) {
    let service = backend.open().await;
    let user = service.user(json!({"username": "ada", "name": "Ada"})).await;
    let body = json!({"display_name": "Core", "external_id": "A-7"});
    let group = service.request("POST", "/groups").json(&body).send().await.expect(201).json();
    service.request("PUT", &member_path(&group, &user)).send().await.expect(200);
    let gone = service.left(json!({"username": "grace", "name": "Grace"})).await;
    let (user_id, group_id, gone_id) = (&user["id"], &group["id"], &gone["id"]);
    let (one_user, one_group) = (path(&user), group_path(&group));
    let groups_of_user = format!("{one_user}/groups");
    let user_named = json!({"id": user_id, "version": 1, "name": "Ada"});
    let group_named = json!({"id": group_id, "version": 2, "external_id": "A-7"});
    let gone_named = json!({"id": gone_id, "version": 2, "name": "Grace"});
    for (target, fields, expected) in [
        (one_user.as_str(), "name", &user_named),
        ("/users", "name", &user_named),
        (&one_group, "external_id", &group_named),
        ("/groups", "external_id", &group_named),
        (&groups_of_user, "external_id", &group_named),
        (&kept(&gone), "name", &gone_named),
        ("/deleted-users", "name", &gone_named),
    ] {
        let whole = service.get(target).await.expect(200);
        for fields in
            [fields.to_owned(), format!("id,{fields}"), format!("version&fields={fields}")]
        {
            let request = service.request("GET", &format!("{target}?fields={fields}"));
            // The description of single records is that of whole ones.
            let is_list = whole.json()["items"].is_array();
            let got = if is_list { request.send().await } else { request.unwitnessed().await };
            let shown = got.expect(200).json();
            let shown = shown["items"].get(0).cloned().unwrap_or(shown);
            assert_eq!(shown, *expected, "{target} {fields}");
        }
        for fields in ["", "nmae", "name,", "name%20"] {
            let got = service.get(&format!("{target}?fields={fields}")).await;
            let faults = got.refused(400, "invalid-query").faults();
            assert_eq!(faults, [("fields".to_owned(), "invalid-value".to_owned())], "{target}");
        }
    }
    let times = service.request("GET", &format!("{}?fields=deleted_at", kept(&gone)));
    let times = times.unwitnessed().await.expect(200).json();
    assert_eq!(times.as_object().map(serde_json::Map::len), Some(3), "{times}");
    assert!(times["deleted_at"].is_string(), "{times}");
    service.get(&format!("{one_group}?fields=username")).await.refused(400, "invalid-query");
    let named = service.request("GET", &format!("{one_user}?fields=name"));
    assert_eq!(named.unwitnessed().await.header("etag"), "\"1\"");
    let known = service.request("GET", &format!("{one_user}?fields=name"));
    known.header("if-none-match", "\"1\"").send().await.expect(304);
}

pub(crate) async fn a_count_is_given_when_it_is_asked_for(backend: Backend) {
    let service = backend.open().await;
    fill(&service).await;
    let total = |query: &'static str| {
        let target = format!("/users?limit=1&{query}");
        async { service.get(&{ target }).await.expect(200).json().get("total").cloned() }
    };
    assert_eq!(total("count=true").await, Some(json!(5)));
    assert_eq!(total("count=true&status=active").await, Some(json!(4)));
    assert_eq!(total("count=true&username=nobody").await, Some(json!(0)));
    assert_eq!(total("count=false").await, None);
    assert_eq!(total("").await, None);
}

pub(crate) async fn every_error_of_a_query_names_its_parameter(backend: Backend) {
    let service = backend.open().await;
    let (out, value) = ("out-of-range", "invalid-value");
    let long = format!("username={}", "x".repeat(257));
    let ids = "id=01a1f84a-963b-7c3e-9a41-5d2e8f604b17&".repeat(101);
    let fields = format!("fields=id{}", ",name".repeat(64));
    let repeated = format!("fields=id{}&fields=name", ",name".repeat(63));
    let rows = [
        ("limit=0", "limit", out),
        ("limit=1001", "limit", out),
        ("limit=-1", "limit", out),
        ("limit=99999999999999999999", "limit", out),
        ("limit=ten", "limit", value),
        ("limit=", "limit", value),
        ("limit=1.0", "limit", value),
        ("sort=title", "sort", value),
        ("sort=--id", "sort", value),
        ("sort=", "sort", value),
        ("count=yes", "count", value),
        ("fields=nmae", "fields", value),
        ("fields=id,%20email", "fields", value),
        ("fields=", "fields", value),
        ("status=deleted", "status", value),
        ("id=ada", "id", value),
        ("username=", "username", value),
        ("offset=5", "offset", "unknown-parameter"),
        ("Limit=5", "Limit", "unknown-parameter"),
        ("limit=5&limit=5", "limit", "duplicate-parameter"),
        ("status=active&status=suspended", "status", "duplicate-parameter"),
        ("cursor=x&cursor=x", "cursor", "duplicate-parameter"),
        (&long, "username", value),
        (&ids, "id", "too-many"),
        (&fields, "fields", "too-many"),
        (&repeated, "fields", "too-many"),
        ("fields=id&fields=", "fields", value),
    ];
    for (query, parameter, code) in rows {
        let reply = service.get(&format!("/users?{query}")).await.refused(400, "invalid-query");
        assert_eq!(reply.faults(), [(parameter.to_owned(), code.to_owned())], "{query}");
    }
    let reply = service.get("/users?limit=0&sort=x&offset=1&cursor=bad").await;
    let faults = reply.refused(400, "invalid-query").faults();
    let places: Vec<&str> = faults.iter().map(|(place, _)| place.as_str()).collect();
    assert_eq!(places, ["limit", "sort", "offset"]);
}

pub(crate) async fn polling_an_unchanged_list_costs_no_page(backend: Backend) {
    let service = backend.open().await;
    let user = fill(&service).await.remove(0);
    let poll = |target: &'static str, tag: &str| {
        service.request("GET", target).header("if-none-match", tag).send()
    };
    let target = "/users?limit=2&sort=name";
    let first = service.get(target).await.expect(200);
    let tag = first.header("etag").to_owned();
    assert!(tag.starts_with("W/\""), "{tag}");
    let pages = service.store.pages();
    for known in [tag.clone(), tag.replace("W/", ""), format!("\"x\", {tag}"), "*".to_owned()] {
        let reply = poll(target, &known).await.expect(304);
        assert_eq!(reply.header("etag"), tag);
        assert_eq!(reply.header("roster-position"), first.header("roster-position"));
    }
    assert_eq!(service.store.pages(), pages);
    // Another query has another tag, and every change gives another position.
    poll("/users?limit=3&sort=name", &tag).await.expect(200);
    poll("/users", &tag).await.expect(200);
    service.patch(&user, json!({"name": "New"})).await.expect(200);
    let after = poll(target, &tag).await.expect(200);
    assert_ne!(after.header("etag"), tag);
}

pub(crate) async fn no_weak_tag_of_a_list_matches_if_match(backend: Backend) {
    let service = backend.open().await;
    let list = |tag: &str| service.request("GET", "/users").header("if-match", tag).send();
    let tag = service.get("/users").await.header("etag").to_owned();
    list(&tag).await.refused(412, "version-mismatch");
    list("\"1\"").await.refused(412, "version-mismatch");
    list("*").await.expect(200);
    list("1").await.refused(400, "invalid-request");
}

pub(crate) async fn a_malformed_tag_of_a_list_is_refused(backend: Backend) {
    let service = backend.open().await;
    let reply = service.request("GET", "/users").header("if-none-match", "1").send().await;
    reply.refused(400, "invalid-request");
}

pub(crate) async fn the_position_grows_with_each_change_and_with_nothing_else(backend: Backend) {
    let service = backend.open().await;
    let position = |reply: &crate::client::Reply| {
        let position = reply.header("roster-position").to_owned();
        let (log, number) = position.rsplit_once('-').expect("a log and a number");
        (log.to_owned(), number.parse::<i64>().expect("a number"))
    };
    let (log, none) = position(&service.get("/users").await);
    assert_eq!(none, 0);
    let created = service.post(json!({"username": "ada"})).await.expect(201);
    assert_eq!(position(&created), (log.clone(), 1));
    let user = created.json();
    assert_eq!(position(&service.put(&user, user.clone()).await), (log.clone(), 1));
    assert_eq!(position(&service.patch(&user, json!({"name": "A"})).await), (log.clone(), 2));
    assert_eq!(position(&service.delete(&path(&user)).await), (log.clone(), 3));
    assert_eq!(position(&service.get("/users?limit=1").await), (log, 3));
}
