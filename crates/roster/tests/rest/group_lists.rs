//! Lists of groups, of their members, and of the groups of a user.

use roster_core::limits::PAGE_BYTES_MAX;
use serde_json::{Value, json};

use crate::{
    groups::{NOBODY, post},
    service::{Backend, group_path, path},
};

pub(crate) async fn members_are_paged(backend: Backend) {
    let service = backend.open().await;
    let group = service.group("team").await;
    let mut expected = Vec::new();
    for number in 0..5 {
        let user = service.user(json!({"username": format!("u{number}")})).await;
        service.join(&group, &user).await.expect(200);
        expected.push(user["id"].clone());
    }
    let (mut found, mut target) =
        (Vec::new(), format!("{}/members?limit=2&count=true", group_path(&group)));
    loop {
        let page = service.get(&target).await.expect(200);
        let link = page.find("link").map(str::to_owned);
        let page = page.json();
        assert_eq!(page["total"], 5);
        let items = page["items"].as_array().expect("items");
        found.extend(items.iter().map(|member| member["id"].clone()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        assert!(link.is_some_and(|link| link.contains(cursor)));
        target = format!("{}/members?limit=2&count=true&cursor={cursor}", group_path(&group));
    }
    assert_eq!(found, expected);
    let (_, cursor) = target.split_once("cursor=").expect("a cursor");
    // A cursor is valid only for its own group.
    let other = service.group("other").await;
    let foreign = format!("{}/members?cursor={cursor}", group_path(&other));
    service.get(&foreign).await.refused(400, "invalid-cursor");
    service.get(&format!("/groups?cursor={cursor}")).await.refused(400, "invalid-cursor");
    let wrong = format!("{}/members?limit=0", group_path(&group));
    service.get(&wrong).await.refused(400, "invalid-query");
}

pub(crate) async fn members_have_their_records_on_request(backend: Backend) {
    let service = backend.open().await;
    let (group, inner) = (service.group("team").await, service.group("inner").await);
    let ada = service.user(json!({"username": "ada", "name": "Ada", "title": "Dr"})).await;
    service.join(&group, &ada).await.expect(200);
    let member = format!("{}/members/{}", group_path(&group), inner["id"].as_str().expect("an id"));
    service.request("PUT", &member).send().await.expect(200);
    let listed = format!("{}/members?fields=name,display_name", group_path(&group));
    let page = service.get(&listed).await.expect(200).json();
    let expected = json!([
        {"id": inner["id"], "type": "group",
            "group": {"id": inner["id"], "version": 1, "display_name": "inner"}},
        {"id": ada["id"], "type": "user", "user": {"id": ada["id"], "version": 1, "name": "Ada"}},
    ]);
    assert_eq!(page["items"], expected);
    assert_eq!(service.get(&group_path(&group)).await.expect(200).json()["member_count"], 2);
    let counts = service.get("/groups?fields=member_count").await.expect(200).json();
    let expected = [
        json!({"id": group["id"], "version": 3, "member_count": 2}),
        json!({"id": inner["id"], "version": 1, "member_count": 0}),
    ];
    assert_eq!(counts["items"], json!(expected));
    for (query, code) in [
        ("fields=nmae", "invalid-value"),
        ("fields=member_count", "invalid-value"),
        ("fields=", "invalid-value"),
        ("fields=name&limit=101", "out-of-range"),
    ] {
        let target = format!("{}/members?{query}", group_path(&group));
        let problem = service.get(&target).await.expect(400).json();
        assert_eq!(problem["errors"][0]["code"], code, "{query}: {problem}");
    }
    // Users with large records, so that they are read on several pages.
    let large = "x".repeat(15_000);
    let role = |n: usize| json!({"value": format!("{n} {}", "x".repeat(500))});
    let roles: Vec<Value> = (0..60).map(role).collect();
    for number in 0..98 {
        let attributes = json!({"a": large, "n": number});
        let username = format!("u{number}");
        let body = json!({"username": username, "attributes": attributes, "roles": roles});
        service.join(&group, &service.user(body).await).await.expect(200);
    }
    let all = format!("{}/members?limit=100&fields=username,attributes,roles", group_path(&group));
    let mut path = all.clone();
    let mut found = Vec::new();
    loop {
        let page = service.get(&path).await.expect(200).json();
        assert!(page.to_string().len() < PAGE_BYTES_MAX + 1000);
        let items = page["items"].as_array().expect("items");
        found.extend(items.iter().map(|item| item["user"]["username"].clone()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("{all}&cursor={cursor}");
    }
    assert_eq!(found.iter().filter(|name| name.is_string()).count(), 99, "{found:?}");
    assert!(path != all, "a page was shortened");
}

pub(crate) async fn groups_are_paged_and_found(backend: Backend) {
    let service = backend.open().await;
    let ada = service.user(json!({"username": "ada"})).await;
    let mut ids = Vec::new();
    for name in ["One", "Two", "Three"] {
        let body = json!({"display_name": name, "external_id": name.len().to_string()});
        ids.push(post(&service, &body).send().await.expect(201).json());
    }
    service.join(&ids[2], &ada).await.expect(200);
    let found = async |query: &str| {
        let page = service.get(&format!("/groups?count=true{query}")).await.expect(200).json();
        let items = page["items"].as_array().expect("items");
        assert_eq!(page["total"], items.len(), "{query}");
        items.iter().map(|group| group["display_name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(found("").await, ["One", "Two", "Three"]);
    assert_eq!(found("&display_name=TWO").await, ["Two"]);
    assert_eq!(found("&external_id=3").await, ["One", "Two"]);
    let member = ada["id"].as_str().expect("an id");
    assert_eq!(found(&format!("&member_id={member}")).await, ["Three"]);
    assert_eq!(found(&format!("&member_id={member}&external_id=3")).await, Vec::<Value>::new());
    let page = service.get("/groups?limit=2&external_id=3").await.expect(200).json();
    assert_eq!(page["next_cursor"], Value::Null);
    let page = service.get("/groups?limit=2").await.expect(200).json();
    let cursor = page["next_cursor"].as_str().expect("a cursor");
    let rest = service.get(&format!("/groups?limit=2&cursor={cursor}")).await.expect(200).json();
    assert_eq!(rest["items"].as_array().expect("items").len(), 1);
    let other = format!("/groups?display_name=x&cursor={cursor}");
    service.get(&other).await.refused(400, "invalid-cursor");
    for query in ["display_name=", "member_id=ada", "external_id=", "limit=1001", "count=yes"] {
        service.get(&format!("/groups?{query}")).await.refused(400, "invalid-query");
    }
}

pub(crate) async fn groups_are_filtered_and_searched(backend: Backend) {
    let service = backend.open().await;
    let ada = service.user(json!({"username": "ada"})).await;
    for (name, external_id) in [("Core Team", "a"), ("Team Two", "b"), ("\u{c9}quipe", "a")] {
        let body = json!({"display_name": name, "external_id": external_id});
        let group = post(&service, &body).send().await.expect(201).json();
        service.clock.step(1000);
        if external_id == "a" {
            service.join(&group, &ada).await.expect(200);
        }
    }
    let member = format!("q=t&member_id={}", ada["id"].as_str().expect("an id"));
    let filter = |text: &str| format!("filter={}", crate::filter::escaped(text));
    for (query, expected) in [
        ("q=TEAM".to_owned(), &["Core Team", "Team Two"][..]),
        ("q=te+co&sort=-display_name".to_owned(), &["Core Team"]),
        ("q=team&sort=-id".to_owned(), &["Team Two", "Core Team"]),
        ("q=%C3%89qu".to_owned(), &["\u{c9}quipe"]),
        (member, &["Core Team"]),
        ("q=eam".to_owned(), &[]),
        ("q=@".to_owned(), &[]),
        ("q=".to_owned(), &["Core Team", "Team Two", "\u{c9}quipe"]),
        (filter(r#"display_name ew "TEAM""#), &["Core Team"]),
        (filter(r#"external_id eq "a" and version gt 1"#), &["Core Team", "\u{c9}quipe"]),
        (filter(r#"not (external_id eq "a") and Created_At pr"#), &["Team Two"]),
        (filter(r#"display_name eq "core team" or version eq 1"#), &["Core Team", "Team Two"]),
        (format!("q=team&{}", filter(r#"external_id eq "b""#)), &["Team Two"]),
    ] {
        for limit in [1, 50] {
            let mut target = format!("/groups?limit={limit}&count=true&{query}");
            let mut found = Vec::new();
            loop {
                let page = service.get(&target).await.expect(200).json();
                assert_eq!(page["total"], expected.len(), "{query}");
                let items = page["items"].as_array().expect("items");
                found.extend(items.iter().map(|group| group["display_name"].clone()));
                let Some(cursor) = page["next_cursor"].as_str() else { break };
                target = format!("/groups?limit={limit}&count=true&{query}&cursor={cursor}");
            }
            assert_eq!(found, expected, "{query}");
        }
    }
    let lines = service.get("/bulk/groups?q=two").await;
    assert_eq!(lines.expect(200).json()["display_name"], "Team Two");
    let long = format!("/groups?q={}", ["team"; 17].join("+"));
    assert_eq!(service.get(&long).await.expect(200).json()["q_truncated"], true);
    let page = service.get("/groups?limit=1&q=team").await.expect(200).json();
    let cursor = page["next_cursor"].as_str().expect("a cursor");
    for other in ["q=core", "", &format!("q=team&{}", filter("id pr"))] {
        let target = format!("/groups?limit=1&{other}&cursor={cursor}");
        service.get(&target).await.refused(400, "invalid-cursor");
    }
    for unknown in ["member pr", r#"display_name[value eq "x"]"#, "version co 1", ""] {
        let target = format!("/groups?cursor=nope&{}", filter(unknown));
        service.get(&target).await.refused(400, "invalid-filter");
    }
}

pub(crate) async fn an_unchanged_list_of_groups_is_304(backend: Backend) {
    let service = backend.open().await;
    let group = service.group("team").await;
    for target in ["/groups".to_owned(), format!("{}/members", group_path(&group))] {
        let tag = service.get(&target).await.expect(200).header("etag").to_owned();
        let known = || service.request("GET", &target).header("if-none-match", &tag).send();
        let before = service.store.memberships();
        known().await.expect(304);
        service.request("HEAD", &target).send().await.expect(200);
        assert_eq!(service.store.memberships(), before, "no member is looked at");
        let user = service.user(json!({"username": format!("u{}", target.len())})).await;
        service.join(&group, &user).await.expect(200);
        known().await.expect(200);
    }
}

pub(crate) async fn groups_are_listed_by_name(backend: Backend) {
    let service = backend.open().await;
    for name in ["beta", "Alpha", "\u{e9}t\u{e9}", "gamma"] {
        let body = json!({"display_name": name, "external_id": "x"});
        post(&service, &body).send().await.expect(201);
    }
    let walk = async |query: &str| {
        let (mut names, mut target) = (Vec::new(), format!("/groups?limit=1&{query}"));
        loop {
            let page = service.get(&target).await.expect(200).json();
            let items = page["items"].as_array().expect("items").iter();
            names.extend(
                items.map(|group| group["display_name"].as_str().expect("a value").to_owned()),
            );
            let Some(cursor) = page["next_cursor"].as_str() else { return names };
            target = format!("/groups?limit=1&{query}&cursor={cursor}");
        }
    };
    let by_name = ["Alpha", "beta", "gamma", "\u{e9}t\u{e9}"];
    assert_eq!(walk("sort=display_name").await, by_name);
    let reversed: Vec<&str> = by_name.iter().rev().copied().collect();
    assert_eq!(walk("sort=-display_name").await, reversed);
    assert_eq!(walk("sort=display_name&external_id=x").await, by_name);
    assert_eq!(walk("sort=-display_name&external_id=x").await, reversed);
    assert_eq!(walk("sort=-id").await, ["gamma", "\u{e9}t\u{e9}", "Alpha", "beta"]);
    assert_eq!(walk("sort=-created_at&external_id=x").await, walk("sort=-id").await);
    let page = service.get("/groups?limit=1&sort=display_name").await.expect(200).json();
    let cursor = page["next_cursor"].as_str().expect("a cursor");
    let other = service.get(&format!("/groups?limit=1&cursor={cursor}")).await;
    other.refused(400, "invalid-cursor");
    service.get("/groups?sort=name").await.refused(400, "invalid-query");
}

pub(crate) async fn the_groups_of_a_user_are_listed_with_those_around_them(backend: Backend) {
    let service = backend.open().await;
    let user = service.user(json!({"username": "ada"})).await;
    let other = service.user(json!({"username": "bob"})).await;
    let (inner, second) = (service.group("inner").await, service.group("second").await);
    let (outer, outermost) = (service.group("outer").await, service.group("outermost").await);
    for (group, member) in [
        (&inner, &user),
        (&second, &user),
        (&outer, &inner),
        (&outer, &second),
        (&outermost, &outer),
    ] {
        service.join(group, member).await.expect(200);
    }
    let names = async |target: &str| {
        let page = service.get(target).await.expect(200).json();
        let items = page["items"].as_array().expect("items").clone();
        let named =
            items.iter().map(|group| group["display_name"].as_str().expect("a value").to_owned());
        (named.collect::<Vec<_>>(), page)
    };
    let of = format!("{}/groups", path(&user));
    assert_eq!(names(&of).await.0, ["inner", "second"]);
    assert_eq!(names(&format!("{of}?nested=false&count=true")).await.1["total"], 2);
    let all = ["inner", "second", "outer", "outermost"];
    let (nested, page) = names(&format!("{of}?nested=true&count=true")).await;
    assert_eq!((nested, &page["total"]), (all.map(str::to_owned).to_vec(), &json!(4)));
    let (mut walked, mut target) = (Vec::new(), format!("{of}?nested=true&limit=3"));
    loop {
        let (found, page) = names(&target).await;
        walked.extend(found);
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        target = format!("{of}?nested=true&limit=3&cursor={cursor}");
    }
    assert_eq!(walked, all);
    let none = format!("{}/groups", path(&other));
    assert_eq!(names(&none).await.0, Vec::<String>::new());
    assert_eq!(names(&format!("{none}?nested=true")).await.0, Vec::<String>::new());
    service.get(&format!("/users/{NOBODY}/groups")).await.refused(404, "user-not-found");
    service.get("/users/ada/groups").await.refused(404, "user-not-found");
    service.get(&format!("{of}?nested=1")).await.refused(400, "invalid-query");
    let tag = service.get(&of).await.expect(200).header("etag").to_owned();
    let known = service.request("GET", &of).header("if-none-match", &tag);
    known.send().await.expect(304);
    let matched = service.request("GET", &of).header("if-match", "\"1\"");
    matched.send().await.refused(412, "version-mismatch");

    // The same membership as a condition on users.
    let id = inner["id"].as_str().expect("an id");
    for filter in [format!("groups.value eq \"{id}\""), "groups.display eq \"INNER\"".to_owned()] {
        let filter = filter.replace(' ', "%20").replace('"', "%22");
        let page = service.get(&format!("/users?filter={filter}")).await.expect(200).json();
        assert_eq!(page["items"].as_array().expect("items").len(), 1);
        assert_eq!(page["items"][0]["id"], user["id"]);
    }
}
