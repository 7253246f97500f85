//! Lists: RFC 7644 sections 3.4.2 and 3.4.3, RFC 9865.

use futures_util::future::join_all;
use roster_http::AdmissionSettings;
use serde_json::{Value, json};

use crate::{
    service::{Backend, Service, Setup},
    support::{
        ENTERPRISE_URN, USER_URN, ask, at, create, get, named, names, read, refused, send, with,
    },
};

async fn create_users(service: &Service, most: usize) {
    for number in 1..=most {
        create(service, named(&format!("u{number:02}"))).await;
    }
}

pub(crate) async fn q1_a_page_has_its_total_and_start_index(backend: Backend) {
    let service = backend.open().await;
    let none = read(&service, "/Users").await;
    let urn = json!(["urn:ietf:params:scim:api:messages:2.0:ListResponse"]);
    assert_eq!(none["schemas"], urn);
    assert_eq!((&none["totalResults"], &none["Resources"]), (&json!(0), &json!([])));
    create_users(&service, 5).await;
    let page = read(&service, "/Users?startIndex=2&count=2").await;
    assert_eq!(page["totalResults"], 5);
    assert_eq!((&page["startIndex"], &page["itemsPerPage"]), (&json!(2), &json!(2)));
    assert_eq!(names(&page), ["u02", "u03"]);
    let beyond = read(&service, "/Users?startIndex=6&count=2").await;
    assert_eq!((&beyond["totalResults"], names(&beyond)), (&json!(5), vec![]));
    let head = ask(&service, "HEAD", "/Users").send().await.expect(200);
    assert_eq!(head.text(), "");
}

pub(crate) async fn q2_attributes_are_included_and_excluded_by_name(backend: Backend) {
    let service = backend.open().await;
    let ada = json!({"title": "t", "emails": [{"value": "a@example.com", "type": "work"}],
        "name": {"givenName": "A", "familyName": "L"},
        ENTERPRISE_URN: {"department": "d", "manager": {"value": "7"}}});
    create(&service, with(named("ada"), ada)).await;
    let one = async |query: &str| {
        let mut page = read(&service, &format!("/Users?{query}")).await;
        let mut user = page["Resources"][0].take();
        let members = user.as_object_mut().expect("a user");
        assert!(members.remove("schemas").is_some() && members.remove("id").is_some(), "{query}");
        user
    };
    for (query, expected) in [
        ("attributes=USERNAME", json!({"userName": "ada"})),
        ("attributes=name.familyname", json!({"name": {"familyName": "L"}})),
        (
            "attributes=emails.value,title",
            json!({"emails": [{"value": "a@example.com"}], "title": "t"}),
        ),
        (
            "attributes=emails&attributes=title",
            json!({"emails": [{"value": "a@example.com", "type": "work"}], "title": "t"}),
        ),
        (&format!("attributes={USER_URN}:title"), json!({"title": "t"})),
        (
            &format!("attributes={ENTERPRISE_URN}:department"),
            json!({ENTERPRISE_URN: {"department": "d"}}),
        ),
        (
            &format!("attributes={ENTERPRISE_URN}"),
            json!({ENTERPRISE_URN: {"department": "d", "manager": {"value": "7"}}}),
        ),
        ("attributes=nothing", json!({})),
    ] {
        let target = format!("/Users?{query}");
        let mut page = ask(&service, "GET", &target).unwitnessed().await.expect(200).json();
        let mut user = page["Resources"][0].take();
        let members = user.as_object_mut().expect("a user");
        assert!(members.remove("schemas").is_some() && members.remove("id").is_some(), "{query}");
        assert_eq!(user, expected, "{query}");
    }
    let rest = one("excludedAttributes=id,schemas,title,emails.type,meta,name").await;
    assert_eq!((rest.get("title"), rest.get("meta"), rest.get("name")), (None, None, None));
    assert_eq!(rest["emails"], json!([{"value": "a@example.com"}]));
    assert_eq!(rest["userName"], "ada");
    let both = get(&service, "/Users?attributes=id&excludedAttributes=title").await;
    refused(both, 400, Some("invalidValue"));
    // The same in a body, as arrays of names.
    for path in ["/Users/.search", "/.search"] {
        let body = json!({"excludedAttributes": ["title", "emails", "name", "META", "id"]});
        let page = send(&service, "POST", path, &body).send().await.expect(200).json();
        let user = page["Resources"][0].as_object().expect("a user");
        let members: Vec<&str> = user.keys().map(String::as_str).collect();
        assert_eq!(members, ["active", "id", "schemas", ENTERPRISE_URN, "userName"], "{path}");
    }
    let many = vec!["title"; 101].join(",");
    let many = get(&service, &format!("/Users?excludedAttributes={many}")).await;
    refused(many, 400, Some("invalidValue"));
}

pub(crate) async fn q9_an_index_beyond_the_end_is_an_empty_page(backend: Backend) {
    let service = backend.open().await;
    create_users(&service, 2).await;
    // An index beyond the end is an empty page, however far it is.
    for start in ["3", "20001", "20002", "9999999999"] {
        let page = read(&service, &format!("/Users?startIndex={start}")).await;
        assert_eq!((&page["totalResults"], &page["Resources"]), (&json!(2), &json!([])), "{start}");
    }
}

pub(crate) async fn q9_a_total_beyond_the_counted_maximum_is_a_lower_bound(backend: Backend) {
    let service = backend.open().await;
    let lines = (0..=10_000).fold(String::new(), |mut lines, number| {
        lines.push_str(&format!("{{\"username\":\"u{number}\"}}\n"));
        lines
    });
    let all = service.request("POST", "/bulk/users").body("application/x-ndjson", lines);
    all.send().await.expect(200);
    // The number of all users is stored, so it is always exact.
    assert_eq!(read(&service, "/Users?count=1").await["totalResults"], 10_001);
    let target = "/Users?filter=userName%20sw%20%22u%22&count=1";
    // A total that is not counted is a lower bound, never below the next index of a walk.
    let page = read(&service, target).await;
    assert_eq!((names(&page), &page["totalResults"]), (vec!["u0"], &json!(10_000)));
    let page = read(&service, &target.replace("count=1", "count=1000&startIndex=9501")).await;
    assert_eq!((names(&page).len(), &page["totalResults"]), (501, &json!(10_001)));
    // No page led to this index, and skipping is bounded.
    refused(get(&service, &format!("{target}&startIndex=30003")).await, 400, Some("tooMany"));
    // Paging by cursor needs no total.
    let page = read(&service, &format!("{target}&cursor")).await;
    assert_eq!((names(&page), page.get("totalResults")), (vec!["u0"], None));
    ask(&service, "DELETE", &at(&page["Resources"][0])).send().await.expect(204);
    let page = read(&service, target).await;
    assert_eq!((names(&page), &page["totalResults"]), (vec!["u1"], &json!(10_000)));
}

pub(crate) async fn q10_lists_are_sorted_by_indexed_attributes_only(backend: Backend) {
    let service = backend.open().await;
    for (name, family, mail) in [
        ("bob", json!("Zander"), json!([{"value": "m@example.com"}])),
        (
            "Ada",
            json!("lovelace"),
            json!([{"value": "z@example.com"},
            {"value": "a@example.com", "primary": true}]),
        ),
        ("cid", Value::Null, Value::Null),
        ("dan", json!("Kay"), Value::Null),
    ] {
        create(
            &service,
            with(named(name), json!({"name": {"familyName": family}, "emails": mail})),
        )
        .await;
    }
    for (query, expected) in [
        ("sortBy=userName", ["Ada", "bob", "cid", "dan"]),
        ("sortBy=USERNAME&sortOrder=descending", ["dan", "cid", "bob", "Ada"]),
        ("sortBy=name.familyName", ["dan", "Ada", "bob", "cid"]),
        ("sortBy=name.familyName&sortOrder=descending", ["cid", "bob", "Ada", "dan"]),
        ("sortBy=emails", ["Ada", "bob", "cid", "dan"]),
        ("sortBy=emails.value&sortOrder=ascending", ["Ada", "bob", "cid", "dan"]),
        ("sortBy=id", ["bob", "Ada", "cid", "dan"]),
        ("sortBy=meta.created&sortOrder=descending", ["dan", "cid", "Ada", "bob"]),
    ] {
        assert_eq!(names(&read(&service, &format!("/Users?{query}")).await), expected, "{query}");
        // Every order can be paged by index, with one user per page.
        let mut walked = Vec::new();
        for index in 1..=4 {
            let page = read(&service, &format!("/Users?{query}&count=1&startIndex={index}")).await;
            walked.extend(names(&page).into_iter().map(str::to_owned));
        }
        assert_eq!(walked, expected, "{query}");
    }
    for query in ["sortBy=title", "sortBy=nothing", "sortBy=userName&sortOrder=up"] {
        refused(get(&service, &format!("/Users?{query}")).await, 400, Some("invalidValue"));
    }
}

pub(crate) async fn q11_indexes_and_counts_are_clamped(backend: Backend) {
    let service = backend.open().await;
    create_users(&service, 3).await;
    for query in ["startIndex=0&count=2", "startIndex=-5&count=2"] {
        let page = read(&service, &format!("/Users?{query}")).await;
        assert_eq!((names(&page), &page["startIndex"]), (vec!["u01", "u02"], &json!(1)));
    }
    for query in ["count=0", "count=-1"] {
        let page = read(&service, &format!("/Users?{query}")).await;
        assert_eq!((names(&page), &page["totalResults"]), (vec![], &json!(3)), "{query}");
        assert_eq!(page["itemsPerPage"], 0);
    }
    let all = read(&service, "/Users?count=5000").await;
    assert_eq!(names(&all).len(), 3);
    refused(get(&service, "/Users?count=many").await, 400, Some("invalidCount"));
    refused(get(&service, "/Users?startIndex=one").await, 400, Some("invalidValue"));
    refused(get(&service, "/Users?count=1&count=2").await, 400, Some("invalidCount"));
    refused(get(&service, "/Users?count=%zz").await, 400, Some("invalidValue"));
}

pub(crate) async fn q12_the_last_page_by_cursor_has_no_next_cursor(backend: Backend) {
    let service = backend.open().await;
    create_users(&service, 5).await;
    let mut walked = Vec::new();
    let mut target = "/Users?cursor&count=2".to_owned();
    for pages in 1.. {
        let page = read(&service, &target).await;
        assert_eq!((&page["totalResults"], page.get("previousCursor")), (&json!(5), None));
        walked.extend(names(&page).into_iter().map(str::to_owned));
        let Some(next) = page.get("nextCursor").and_then(Value::as_str) else {
            assert_eq!(pages, 3);
            break;
        };
        let unreserved = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
        assert!(next.chars().all(unreserved), "{next}");
        target = format!("/Users?cursor={next}&count=2");
    }
    assert_eq!(walked, ["u01", "u02", "u03", "u04", "u05"]);
    let whole = read(&service, "/Users?cursor=&count=5").await;
    assert_eq!((whole.get("nextCursor"), names(&whole).len()), (None, 5));
    let next = read(&service, "/Users?cursor&count=2").await["nextCursor"].take();
    let next = next.as_str().expect("a cursor");
    let other = get(&service, &format!("/Users?cursor={next}&count=3")).await;
    refused(other, 400, Some("invalidCount"));
    // Without a count, the cursor's own count is used.
    let same = read(&service, &format!("/Users?cursor={next}")).await;
    assert_eq!(names(&same), ["u03", "u04"]);
    let totals = read(&service, "/Users?cursor&count=0").await;
    assert_eq!((&totals["totalResults"], totals.get("nextCursor")), (&json!(5), None));
}

pub(crate) async fn q13_pages_use_an_index_unless_a_cursor_is_requested(backend: Backend) {
    let service = backend.open().await;
    create_users(&service, 3).await;
    let page = read(&service, "/Users?count=2").await;
    assert_eq!((page.get("nextCursor"), &page["startIndex"]), (None, &json!(1)));
    let config = read(&service, "/ServiceProviderConfig").await;
    let expected = json!({"cursor": true, "index": true, "defaultPaginationMethod": "index",
        "defaultPageSize": 100, "maxPageSize": 1000, "cursorTimeout": 86400});
    assert_eq!(config["pagination"], expected);
    refused(get(&service, "/Users?cursor&startIndex=1").await, 400, Some("invalidCursor"));
}

pub(crate) async fn q14_a_cursor_is_valid_for_its_caller_its_query_and_a_day(backend: Backend) {
    let service = backend.open().await;
    create_users(&service, 3).await;
    service.close().await;
    let (one, other) = (service.new_key(&["scim"]).await, service.new_key(&["scim"]).await);
    let list = async |key: &Value, query: &str| {
        let token = key["key"].as_str().expect("a key");
        ask(&service, "GET", &format!("/Users?{query}")).bearer(token).send().await
    };
    let page = list(&one, "cursor&count=1").await.expect(200).json();
    let next = page["nextCursor"].as_str().expect("a cursor").to_owned();
    list(&one, &format!("cursor={next}&count=1")).await.expect(200);
    for (key, query) in [
        (&other, format!("cursor={next}&count=1")),
        (&one, format!("cursor={next}&count=1&sortBy=userName")),
        (&one, format!("cursor={next}x&count=1")),
        (&one, "cursor=1.1.AAAA&count=1".to_owned()),
        (&one, "cursor=x".to_owned()),
    ] {
        let reply = refused(list(key, &query).await, 400, Some("invalidCursor"));
        // The error does not say whether a cursor is forged or another caller's.
        let detail = "cursor: it does not belong to this list and caller";
        assert!(reply.text().contains(detail), "{}", reply.text());
    }
    service.clock.step(24 * 60 * 60 * 1000);
    list(&one, &format!("cursor={next}&count=1")).await.expect(200);
    service.clock.step(1);
    let late = list(&one, &format!("cursor={next}&count=1")).await;
    refused(late, 400, Some("expiredCursor"));
    // A cursor is no credential: every page needs a valid key.
    let page = list(&one, "cursor&count=1").await.expect(200).json();
    let next = page["nextCursor"].as_str().expect("a cursor");
    let key = format!("/keys/{}", one["id"].as_str().expect("an id"));
    service.delete(&key).await.expect(204);
    refused(list(&one, &format!("cursor={next}&count=1")).await, 401, None);
    refused(list(&other, &format!("cursor={next}&count=1")).await, 400, Some("invalidCursor"));
}

pub(crate) async fn q15_a_search_by_post_returns_the_same_list(backend: Backend) {
    let service = backend.open().await;
    create_users(&service, 4).await;
    let urn = "urn:ietf:params:scim:api:messages:2.0:SearchRequest";
    let search = async |members: Value| {
        let body = with(json!({"schemas": [urn]}), members);
        send(&service, "POST", "/Users/.search", &body).send().await
    };
    let body = json!({"startIndex": 2, "count": 2, "sortBy": "userName",
        "sortOrder": "descending", "attributes": ["userName"]});
    let found = search(body).await.expect(200).json();
    let target =
        "/Users?startIndex=2&count=2&sortBy=userName&sortOrder=descending&attributes=userName";
    assert_eq!(found, read(&service, target).await);
    assert_eq!(names(&found), ["u03", "u02"]);
    let body = with(json!({"schemas": [urn]}), json!({"count": 1, "startIndex": 2}));
    let root = send(&service, "POST", "/.search", &body).send().await.expect(200).json();
    assert_eq!(names(&root), ["u02"]);
    for target in ["/Users/.search?count=1", "/.search?FILTER=x"] {
        let beside = send(&service, "POST", target, &body).send().await;
        refused(beside, 400, Some("invalidValue"));
    }
    let page = search(json!({"cursor": "", "count": 3})).await.expect(200).json();
    let next = json!({"cursor": page["nextCursor"], "count": 3});
    assert_eq!(names(&search(next).await.expect(200).json()), ["u04"]);
    refused(search(json!({"count": "many"})).await, 400, Some("invalidCount"));
    refused(search(json!({"attributes": 7})).await, 400, Some("invalidValue"));
    let reply = ask(&service, "POST", "/Users/.search").body("application/json", "[]").send().await;
    refused(reply, 400, Some("invalidSyntax"));
}

pub(crate) async fn unknown_parameters_are_ignored(backend: Backend) {
    let service = backend.open().await;
    create_users(&service, 1).await;
    // One identity provider appends a proprietary flag to the base URL.
    for target in ["/Users?aadOptscim062020", "/Users?aadOptscim062020&count=5", "/Users?x=1&x=2"] {
        let page = ask(&service, "GET", target).unwitnessed().await.expect(200).json();
        assert_eq!(names(&page), ["u01"], "{target}");
    }
}

pub(crate) async fn a_page_of_many_megabytes_is_a_long_list_however_few_users_it_has(
    backend: Backend,
) {
    // All short pages are read at the same time.
    let pressure =
        AdmissionSettings { pages_max: 40, long_lists_max: 1, ..AdmissionSettings::default() };
    let service = backend.open_with(Setup { pressure, ..Setup::default() }).await;
    let certificate = |letter: &str| json!({"value": letter.repeat(8192)});
    let certificates = ["A", "B", "C", "D", "E", "F", "G"].map(certificate);
    for number in 0..80 {
        let name = json!({"userName": format!("u{number:02}"), "x509Certificates": certificates});
        create(&service, name).await;
    }
    let ask = async |target: &'static str| {
        let replies = join_all((0..40).map(|_| get(&service, target))).await;
        replies.iter().filter(|reply| reply.status() == 200).count()
    };
    assert_eq!(ask("/Users?count=20&attributes=userName").await, 40);
    let served = ask("/Users?count=80&attributes=userName").await;
    assert!((1..40).contains(&served), "{served} of 40 were served at once");
    let page = read(&service, "/Users?count=80&attributes=userName").await;
    assert_eq!(page["itemsPerPage"], 80);
}
