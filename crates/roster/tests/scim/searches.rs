//! The search of all resources: users, then groups (RFC 7644 section 3.4.2.1).

use std::collections::BTreeSet;

use roster_core::{
    Stored, UserId,
    list::{Page, PageKey, SortKey, Total},
};
use serde_json::{Value, json};

use crate::{
    client::Reply,
    service::{Backend, Service},
    support::{ask, at, create, named, refused, send, with},
};

const URN: &str = "urn:ietf:params:scim:api:messages:2.0:SearchRequest";

async fn search(service: &Service, members: Value) -> Reply {
    let body = with(json!({"schemas": [URN]}), members);
    send(service, "POST", "/.search", &body).send().await
}

/// The page of a search that must succeed.
async fn found(service: &Service, members: Value) -> Value {
    search(service, members).await.expect(200).json()
}

async fn group(service: &Service, name: &str, members: &[&Value]) -> Value {
    let members: Vec<Value> = members.iter().map(|one| json!({"value": one["id"]})).collect();
    let body = json!({"schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"],
        "displayName": name, "externalId": format!("x-{name}"), "members": members});
    send(service, "POST", "/Groups", &body).send().await.expect(201).json()
}

/// The names on a page, and the total.
fn told(page: &Value) -> (Vec<&str>, u64) {
    let all = page["Resources"].as_array().expect("resources");
    let name = |one: &Value| one.get("userName").or(one.get("displayName")).cloned();
    assert!(all.iter().all(|one| name(one).is_some()), "{page}");
    let names = all.iter().map(|one| {
        let user = one.get("userName").and_then(Value::as_str);
        user.or(one["displayName"].as_str()).expect("a name")
    });
    assert_eq!(page["itemsPerPage"], all.len());
    (names.collect(), page["totalResults"].as_u64().expect("a total"))
}

const NAMES: [&str; 7] = ["u1", "u2", "u3", "g1", "g2", "g3", "g4"];

/// Three users and four groups, made in turns.
async fn crowd(service: &Service) -> Vec<Value> {
    let mut all = Vec::new();
    for turn in 0..4 {
        all.push(group(service, NAMES[turn + 3], &[]).await);
        if let Some(name) = NAMES[..3].get(turn) {
            all.insert(turn, create(service, named(name)).await);
        }
    }
    all
}

pub(crate) async fn users_come_before_groups_and_pages_go_across_the_border(backend: Backend) {
    let service = backend.open().await;
    let none = found(&service, json!({})).await;
    assert_eq!(none["schemas"], json!(["urn:ietf:params:scim:api:messages:2.0:ListResponse"]));
    assert_eq!((told(&none), &none["startIndex"]), ((vec![], 0), &json!(1)));
    let all = crowd(&service).await;
    let page = found(&service, json!({})).await;
    assert_eq!(told(&page), (NAMES.to_vec(), 7));
    for (shown, made) in page["Resources"].as_array().expect("resources").iter().zip(&all) {
        assert_eq!(shown, made, "as it is shown alone");
    }
    // Each page, whatever the page before it was.
    for count in [1, 2, 3, 4, 5, 7, 1000, 5000] {
        for start in (1..=9).rev().chain(1..=9) {
            let page = found(&service, json!({"startIndex": start, "count": count})).await;
            let expected: Vec<&str> = NAMES.into_iter().skip(start - 1).take(count).collect();
            assert_eq!(told(&page), (expected, 7), "startIndex {start}, count {count}");
            assert_eq!(page["startIndex"], start);
        }
    }
    for start in [0, -7] {
        let page = found(&service, json!({"startIndex": start, "count": 2})).await;
        assert_eq!((told(&page), &page["startIndex"]), ((vec!["u1", "u2"], 7), &json!(1)));
    }
    for start in [1, 2, 5, 9] {
        for count in [0, -3] {
            let page = found(&service, json!({"startIndex": start, "count": count})).await;
            assert_eq!(told(&page), (vec![], 7), "the total alone, at {start}");
        }
    }
}

pub(crate) async fn without_a_count_a_page_has_a_hundred(backend: Backend) {
    let service = backend.open().await;
    for number in 0..99 {
        create(&service, named(&format!("u{number}"))).await;
    }
    for number in 0..3 {
        group(&service, &format!("g{number}"), &[]).await;
    }
    let page = found(&service, json!({"attributes": ["userName", "displayName"]})).await;
    let (names, total) = told(&page);
    assert_eq!((names.len(), names.last(), total), (100, Some(&"g0"), 102));
}

pub(crate) async fn a_search_finds_of_each_kind_what_its_filter_speaks_of(backend: Backend) {
    let service = backend.open().await;
    let ada = with(named("ada"), json!({"title": "Countess", "displayName": "Engines"}));
    let ada = create(&service, with(ada, json!({"externalId": "x-ada"}))).await;
    let grace = create(&service, with(named("grace"), json!({"title": "Admiral"}))).await;
    let engines = group(&service, "Engines", &[&ada]).await;
    group(&service, "Looms", &[&grace, &engines]).await;
    let id = |of: &Value| of["id"].as_str().expect("an id").to_owned();
    for (filter, expected) in [
        ("userName eq \"ada\"".to_owned(), vec!["ada"]),
        ("title pr".to_owned(), vec!["ada", "grace"]),
        ("displayName eq \"engines\"".to_owned(), vec!["ada", "Engines"]),
        ("displayName sw \"L\"".to_owned(), vec!["Looms"]),
        ("displayName pr".to_owned(), vec!["ada", "Engines", "Looms"]),
        (format!("members[value eq \"{}\"]", id(&ada)), vec!["Engines"]),
        (format!("members.value eq \"{}\"", id(&engines)), vec!["Looms"]),
        (format!("id eq \"{}\"", id(&grace)), vec!["grace"]),
        (format!("id eq \"{}\" or id eq \"{}\"", id(&ada), id(&engines)), vec!["ada", "Engines"]),
        ("externalId sw \"x-\"".to_owned(), vec!["ada", "Engines", "Looms"]),
        ("meta.created gt \"2000-01-01T00:00:00Z\" and not (displayName pr)".into(), vec!["grace"]),
        ("userName eq \"nobody\"".to_owned(), vec![]),
        // An attribute that only the other type has, has no value.
        ("userName eq \"grace\" or displayName eq \"looms\"".into(), vec!["grace", "Looms"]),
        ("title eq \"Countess\" or members.value pr".into(), vec!["ada", "Engines", "Looms"]),
        ("not (userName pr) and displayName sw \"e\"".to_owned(), vec!["Engines"]),
        ("userName ne \"ada\" and displayName pr".to_owned(), vec!["Engines", "Looms"]),
        ("emails[type eq \"work\"] or members[value eq \"none\"]".to_owned(), vec![]),
        (format!("name.familyName pr or members[value eq \"{}\"]", id(&ada)), vec!["Engines"]),
        ("meta.resourceType eq \"Group\" and not (active pr)".into(), vec!["Engines", "Looms"]),
        ("title eq \"Countess\" and userName pr".to_owned(), vec!["ada"]),
    ] {
        let page = found(&service, json!({"filter": filter})).await;
        let total = u64::try_from(expected.len()).expect("a number");
        assert_eq!(told(&page), (expected.clone(), total), "{filter}");
        for start in 1..=expected.len() + 1 {
            let body = json!({"filter": filter, "startIndex": start, "count": 1});
            let page = found(&service, body).await;
            let one: Vec<&str> = expected.iter().copied().skip(start - 1).take(1).collect();
            assert_eq!(told(&page), (one, total), "{filter} at {start}");
        }
        let page = found(&service, json!({"filter": filter, "count": 0})).await;
        assert_eq!(told(&page), (vec![], total), "{filter}");
    }
    for filter in [
        "nothing eq \"x\"",
        "userName",
        "userName eq",
        "(title pr",
        "active gt true",
        "",
        "()",
        // Users have a version too, but filters of groups cannot test it.
        "meta.version pr",
        "active gt true or displayName pr",
        "userName pr or members[value gt \"x\"]",
    ] {
        let reply = search(&service, json!({"filter": filter})).await;
        refused(reply, 400, Some("invalidFilter"));
    }
}

pub(crate) async fn a_search_shows_of_each_kind_the_attributes_that_it_has(backend: Backend) {
    let service = backend.open().await;
    let ada = create(&service, with(named("ada"), json!({"displayName": "Ada"}))).await;
    group(&service, "Engines", &[&ada]).await;
    let keys = |page: &Value| {
        let all = page["Resources"].as_array().expect("resources").iter();
        let keys = all.map(|one| {
            let keys = one.as_object().expect("an object").keys().cloned();
            keys.collect::<Vec<_>>().join(" ")
        });
        keys.collect::<Vec<_>>()
    };
    for (asked, user, group) in [
        (
            json!({"attributes": ["displayName"]}),
            "displayName id schemas",
            "displayName id schemas",
        ),
        (json!({"attributes": ["userName"]}), "id schemas userName", "id schemas"),
        (json!({"attributes": "members,userName"}), "id schemas userName", "id members schemas"),
        (json!({"attributes": ["nothing"]}), "id schemas", "id schemas"),
        (
            json!({"excludedAttributes": ["meta", "members", "groups", "active", "id"]}),
            "displayName id schemas userName",
            "displayName externalId id schemas",
        ),
    ] {
        let page = found(&service, asked.clone()).await;
        assert_eq!(keys(&page), [user, group], "{asked}");
    }
    let before = service.store.memberships();
    let asked = json!({"excludedAttributes": ["groups", "members"]});
    assert_eq!(told(&found(&service, asked).await).1, 2);
    assert_eq!(service.store.memberships(), before, "what is not shown is not asked for");
    let page = found(&service, json!({"attributes": ["groups", "members"]})).await;
    assert_eq!(page["Resources"][0]["groups"][0]["display"], "Engines");
    assert_eq!(page["Resources"][1]["members"][0]["value"], ada["id"]);
    let both = json!({"attributes": ["id"], "excludedAttributes": ["meta"]});
    refused(search(&service, both).await, 400, Some("invalidValue"));
}

pub(crate) async fn a_search_is_ordered_by_id_and_refuses_what_it_cannot_do(backend: Backend) {
    let service = backend.open().await;
    crowd(&service).await;
    for order in [json!({"sortBy": "id"}), json!({"sortBy": "ID", "sortOrder": "ascending"})] {
        assert_eq!(told(&found(&service, order).await), (NAMES.to_vec(), 7));
    }
    for (body, kind) in [
        (json!({"sortBy": "userName"}), "invalidValue"),
        (json!({"sortBy": "displayName"}), "invalidValue"),
        (json!({"sortBy": "id", "sortOrder": "descending"}), "invalidValue"),
        (json!({"sortOrder": "sideways"}), "invalidValue"),
        (json!({"attributes": 7}), "invalidValue"),
        (json!({"startIndex": "one"}), "invalidValue"),
        (json!({"count": "many"}), "invalidCount"),
        (json!({"cursor": ""}), "invalidCursor"),
        (json!({"cursor": "", "startIndex": 1}), "invalidCursor"),
    ] {
        let request = with(json!({"schemas": [URN]}), body.clone());
        let request = send(&service, "POST", "/.search", &request).unwitnessed();
        refused(request.await, 400, Some(kind));
    }
    for body in ["[]", "7", "{", ""] {
        let request = ask(&service, "POST", "/.search").body("application/json", body);
        refused(request.unwitnessed().await, 400, Some("invalidSyntax"));
    }
    refused(ask(&service, "GET", "/.search").send().await, 405, None);
    service.close().await;
    let strict = service.new_key(&["scim", "scim:strict"]).await;
    let token = strict["key"].as_str().expect("a key");
    let bare = send(&service, "POST", "/.search", &json!({})).bearer(token).send().await;
    refused(bare, 400, Some("invalidSyntax"));
    let whole = send(&service, "POST", "/.search", &json!({"schemas": [URN]}));
    assert_eq!(told(&whole.bearer(token).send().await.expect(200).json()).1, 7);
}

/// Reads all pages, to the total of the last one. `between` is called after each page.
async fn walk(service: &Service, count: u64, mut between: impl AsyncFnMut(usize)) -> Vec<String> {
    let (mut seen, mut index) = (Vec::new(), 1);
    for number in 0.. {
        let page = found(service, json!({"startIndex": index, "count": count})).await;
        let (names, total) = told(&page);
        index += page["itemsPerPage"].as_u64().expect("a number");
        seen.extend(names.into_iter().map(str::to_owned));
        if index > total {
            break;
        }
        assert!(number < 100, "it ends");
        between(number).await;
    }
    seen
}

pub(crate) async fn a_walk_over_everything_misses_no_user_when_others_are_deleted(
    backend: Backend,
) {
    for count in [3, 7, 10] {
        let service = backend.open().await;
        let mut places = Vec::new();
        for number in 0..20 {
            places.push(at(&create(&service, named(&format!("u{number}"))).await));
            let group = group(&service, &format!("g{number}"), &[]).await;
            places.push(format!("/Groups/{}", group["id"].as_str().expect("an id")));
        }
        // Users of earlier pages are deleted and restored all the time, also once groups are shown.
        let seen = walk(&service, count, async |page| {
            let gone = places.iter().step_by(2).skip(page * 2).take(2);
            for place in gone {
                ask(&service, "DELETE", place).send().await.expect(204);
            }
            if page % 3 == 2 {
                let back = places[(page - 2) * 4].replace("/Users/", "/deleted-users/");
                let back = service.request("POST", &format!("{back}/restore"));
                back.send().await.expect(200);
            }
        })
        .await;
        let seen: BTreeSet<String> = seen.into_iter().collect();
        let living = found(&service, json!({"count": 1000})).await;
        let lost: Vec<&str> =
            told(&living).0.into_iter().filter(|name| !seen.contains(*name)).collect();
        assert_eq!(lost, [""; 0], "pages of {count}");
    }
}

pub(crate) async fn groups_wait_for_users_that_a_page_had_no_room_for(backend: Backend) {
    let service = backend.open().await;
    group(&service, "Engines", &[]).await;
    let id = UserId::from_bytes([7; 16]);
    let title = "x".repeat(17 * 1024 * 1024);
    let record = json!({"id": id.to_string(), "version": 1, "status": "active",
        "username": "ada", "title": title, "created_at": "2026-01-01T00:00:00.000Z",
        "updated_at": "2026-01-01T00:00:00.000Z"});
    let items = vec![Stored { id, version: 1, record: record.to_string().into() }];
    let next = Some(PageKey { key: SortKey::Id, id });
    let total = Some(Total::Exactly(5));
    service.store.make_page(Page { items, next, position: 3, total, examined: None });
    let page = found(&service, json!({"attributes": ["userName", "displayName"]})).await;
    assert_eq!(told(&page), (vec!["ada"], 6));
}

pub(crate) async fn a_page_by_index_reads_only_so_many_users(backend: Backend) {
    let service = backend.open().await;
    let id = UserId::from_bytes([7; 16]);
    let next = Some(PageKey { key: SortKey::Id, id });
    let total = Some(Total::AtLeast(10_000));
    // Every page of the store ends early without a user.
    let page = Page { items: Vec::new(), next, position: 3, total, examined: Some(20_000) };
    service.store.make_page(page);
    for target in ["/Users?filter=title%20co%20%22x%22", "/Users?startIndex=50&count=10"] {
        let before = service.store.pages();
        refused(ask(&service, "GET", target).send().await, 400, Some("tooMany"));
        let pages = service.store.pages() - before;
        assert!((50..=110).contains(&pages), "{target}: {pages}");
    }
}
