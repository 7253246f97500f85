//! Filters: RFC 7644 section 3.4.2.2 over lists.

use serde_json::{Value, json};

use crate::{
    service::{Backend, Service, Setup},
    support::{
        ENTERPRISE_URN, ROSTER_URN, ask, create, escaped, get, named, names, put, read, refused,
        send, with,
    },
};

async fn asked(service: &Service, filter: &str) -> crate::client::Reply {
    get(service, &format!("/Users?filter={}", escaped(filter))).await
}

/// Checks the users and the total of a filter.
async fn finds(service: &Service, filter: &str, expected: &[&str]) {
    let page = asked(service, filter).await.expect(200).json();
    assert_eq!(names(&page), expected, "{filter}");
    assert_eq!(page["totalResults"], expected.len(), "{filter}");
    let body = json!({"schemas": ["urn:ietf:params:scim:api:messages:2.0:SearchRequest"],
        "filter": filter});
    let found = send(service, "POST", "/Users/.search", &body).send().await.expect(200).json();
    assert_eq!(found, page, "{filter}");
}

const EVERYBODY: &[&str] = &["bjensen", "Jsmith", "zoe"];

async fn crowd(service: &Service) {
    for (name, members) in [
        (
            "bjensen",
            json!({"title": "Tour Guide", "externalId": "Ab7",
            "name": {"familyName": "O'Malley", "givenName": "Barbara"},
            "emails": [{"value": "b@example.com", "type": "work", "primary": true},
                {"value": "b@home.example", "type": "home"}],
            ENTERPRISE_URN: {"department": "Tours", "manager": {"value": "7"}}}),
        ),
        (
            "Jsmith",
            json!({"userType": "Employee", "active": false,
            "emails": [{"value": "j@home.example", "type": "work"}],
            ROSTER_URN: {"attributes": {"team": "core", "rank": 10, "share": 0.5, "on": true}}}),
        ),
        ("zoe", json!({"userType": "Intern", "displayName": "a \"quoted\" \\ name"})),
    ] {
        create(service, with(named(name), members)).await;
        service.clock.step(1000);
    }
}

pub(crate) async fn q3_every_operator_finds_whom_it_should(backend: Backend) {
    let service = backend.open().await;
    crowd(&service).await;
    for (filter, expected) in [
        ("userName eq \"BJENSEN\"", &["bjensen"][..]),
        ("USERNAME Eq \"bjensen\"", &["bjensen"]),
        ("userName ne \"zoe\"", &["bjensen", "Jsmith"]),
        ("userName co \"SM\"", &["Jsmith"]),
        ("userName sw \"b\"", &["bjensen"]),
        ("userName ew \"E\"", &["zoe"]),
        ("title pr", &["bjensen"]),
        ("not (title pr)", &["Jsmith", "zoe"]),
        ("title pr and userType eq \"Employee\"", &[]),
        ("title pr or userType eq \"Intern\"", &["bjensen", "zoe"]),
        ("userType eq \"Employee\" or userType eq \"Intern\" and userName eq \"x\"", &["Jsmith"]),
        ("(userType eq \"Employee\" or userType eq \"Intern\") and userName eq \"zoe\"", &["zoe"]),
        ("not (title pr) and userType eq \"Intern\"", &["zoe"]),
        ("NOT (title pr AND userName sw \"b\") Or userName eq \"bjensen\"", EVERYBODY),
        ("active eq true", &["bjensen", "zoe"]),
        ("active eq False or userName eq \"zoe\"", &["Jsmith", "zoe"]),
        ("externalId eq \"Ab7\"", &["bjensen"]),
        ("externalId eq \"ab7\"", &[]),
        ("name.familyName co \"O'Malley\"", &["bjensen"]),
        ("displayName eq \"a \\\"quoted\\\" \\\\ name\"", &["zoe"]),
    ] {
        finds(&service, filter, expected).await;
    }
}

pub(crate) async fn q4_names_are_qualified_and_paths_go_into_parts(backend: Backend) {
    let service = backend.open().await;
    crowd(&service).await;
    let urn = "urn:ietf:params:scim:schemas:core:2.0:User";
    for (filter, expected) in [
        (format!("{urn}:userName sw \"J\""), &["Jsmith"][..]),
        (format!("{ENTERPRISE_URN}:department eq \"tours\""), &["bjensen"]),
        (format!("{ENTERPRISE_URN}:manager.value eq \"7\""), &["bjensen"]),
        (format!("{ROSTER_URN}:attributes.team eq \"core\""), &["Jsmith"]),
        ("emails[type eq \"work\"].value eq \"b@example.com\"".to_owned(), &["bjensen"]),
        ("emails[type eq \"work\" and value co \"@example.com\"]".to_owned(), &["bjensen"]),
        ("emails.type eq \"home\"".to_owned(), &["bjensen"]),
        // Values of every JSON type.
        ("title eq null".to_owned(), &["Jsmith", "zoe"]),
        ("title ne null".to_owned(), &["bjensen"]),
        (format!("{ROSTER_URN}:attributes.rank eq 1e1"), &["Jsmith"]),
        (format!("{ROSTER_URN}:attributes.on eq true"), &["Jsmith"]),
        (format!("{ROSTER_URN}:attributes.on eq false"), &[]),
        ("name[familyName sw \"O\" and givenName pr]".to_owned(), &["bjensen"]),
    ] {
        finds(&service, &filter, expected).await;
    }
}

pub(crate) async fn q5_brackets_bind_to_one_value(backend: Backend) {
    let service = backend.open().await;
    crowd(&service).await;
    for (filter, expected) in [
        (
            "emails.type eq \"work\" and emails.value ew \"home.example\"",
            &["bjensen", "Jsmith"][..],
        ),
        ("emails[type eq \"work\" and value ew \"home.example\"]", &["Jsmith"]),
        ("emails co \"example.com\"", &["bjensen"]),
        ("emails[not (type eq \"work\")]", &["bjensen"]),
        ("not (emails[type eq \"work\"])", &["zoe"]),
    ] {
        finds(&service, filter, expected).await;
    }
    // An object is compared by one of its members.
    for filter in ["name eq \"x\"", "addresses co \"x\"", "meta eq \"x\"", "title[value pr]"] {
        refused(asked(&service, filter).await, 400, Some("invalidFilter"));
    }
}

pub(crate) async fn q6_moments_are_compared_as_moments_and_flags_not_at_all(backend: Backend) {
    let service = backend.open().await;
    crowd(&service).await;
    for (filter, expected) in [
        ("meta.created gt \"2026-01-01T00:00:00Z\"", &["Jsmith", "zoe"][..]),
        ("meta.lastModified ge \"2026-01-01T01:00:02+01:00\"", &["zoe"]),
        ("meta.created lt \"2026-01-01T00:00:01.000Z\"", &["bjensen"]),
        ("userName gt \"c\"", &["Jsmith", "zoe"]),
        ("userName le \"JSMITH\"", &["bjensen", "Jsmith"]),
        // 10 is below 9 as a text, and not as a number.
        (&format!("{ROSTER_URN}:attributes.rank gt 9"), &["Jsmith"]),
        (&format!("{ROSTER_URN}:attributes.rank lt 9.5"), &[]),
        (&format!("{ROSTER_URN}:attributes.share le 0.5"), &["Jsmith"]),
    ] {
        finds(&service, filter, expected).await;
    }
    for filter in ["active gt true", "emails[primary le false]", "x509Certificates.value ge \"a\""]
    {
        refused(asked(&service, filter).await, 400, Some("invalidFilter"));
    }
}

pub(crate) async fn q7_what_does_not_parse_is_refused_with_its_place(backend: Backend) {
    let service = backend.open().await;
    crowd(&service).await;
    for filter in [
        "userName eq",
        "\"bjensen\" eq userName",
        "userName eq \"a\" and",
        "userName regex \"a\"",
        "userName eq 'a'",
        "(userName pr",
        "userName pr)",
        "userName eq \"a\" userName pr",
        "",
        "userName",
        "not",
        "emails[type eq \"work\"",
        "active eq \"",
        "userName eq \"\\x\"",
    ] {
        let reply = refused(asked(&service, filter).await, 400, Some("invalidFilter"));
        assert!(reply.text().contains("at byte"), "{filter}: {}", reply.text());
    }
    let deep = format!("{}userName pr{}", "(".repeat(200), ")".repeat(200));
    refused(asked(&service, &deep).await, 400, Some("invalidFilter"));
}

pub(crate) async fn q8_an_unknown_attribute_is_refused_with_those_there_are(backend: Backend) {
    let service = backend.open().await;
    crowd(&service).await;
    for filter in ["favourite eq \"tea\"", "name.x pr", "urn:x:y:z pr", "password pr"] {
        let reply = refused(asked(&service, filter).await, 400, Some("invalidFilter"));
        assert!(reply.text().len() > 150, "{}", reply.text());
    }
}

/// An attribute that a resource type does not have has no value (RFC 7644 section 3.4.2.1).
pub(crate) async fn q8_where_all_kinds_are_searched_one_of_another_kind_has_no_value(
    backend: Backend,
) {
    let service = backend.open().await;
    crowd(&service).await;
    let ada = create(&service, named("ada")).await;
    let member = format!("members[value eq {}]", ada["id"]);
    let group =
        json!({"displayName": "zoe's", "externalId": "Ab7", "members": [{"value": ada["id"]}]});
    send(&service, "POST", "/Groups", &group).send().await.expect(201);
    let search = async |filter: &str| {
        let body = json!({"filter": filter, "attributes": ["externalId", "userName"]});
        send(&service, "POST", "/.search", &body).send().await
    };
    for (filter, users, groups) in [
        ("userName eq \"bjensen\"", 1, 0),
        (&member, 0, 1),
        ("externalId eq \"Ab7\"", 1, 1),
        ("displayName sw \"zoe\"", 0, 1),
        ("id pr", 4, 1),
    ] {
        let page = search(filter).await.expect(200).json();
        let found = page["Resources"].as_array().expect("resources");
        let of_users = found.iter().filter(|one| one.get("userName").is_some()).count();
        assert_eq!((of_users, found.len() - of_users), (users, groups), "{filter}");
        assert_eq!(page["totalResults"], users + groups, "{filter}");
    }
    refused(search("colour eq \"x\"").await, 400, Some("invalidFilter"));
}

pub(crate) async fn a_filtered_list_is_paged_and_counted_like_any_other(backend: Backend) {
    let service = backend.open().await;
    for number in 1..=9 {
        let kind = if number % 3 == 0 { "odd" } else { "even" };
        create(&service, with(named(&format!("u{number}")), json!({"userType": kind}))).await;
    }
    let filter = escaped("userType eq \"even\"");
    let mut walked = Vec::new();
    for index in [1, 3, 5] {
        let query = format!("/Users?filter={filter}&count=2&startIndex={index}");
        let page = read(&service, &query).await;
        assert_eq!(page["totalResults"], 6);
        walked.extend(names(&page).into_iter().map(str::to_owned));
    }
    assert_eq!(walked, ["u1", "u2", "u4", "u5", "u7", "u8"]);
    let page = read(&service, &format!("/Users?filter={filter}&count=4&cursor")).await;
    let next = page["nextCursor"].as_str().expect("a cursor");
    let other = format!("/Users?cursor={next}&count=4");
    refused(get(&service, &other).await, 400, Some("invalidCursor"));
    let last = read(&service, &format!("/Users?filter={filter}&count=4&cursor={next}")).await;
    assert_eq!((names(&last), last.get("nextCursor")), (vec!["u7", "u8"], None));
    let none = read(&service, &format!("/Users?count=0&filter={filter}")).await;
    assert_eq!((&none["totalResults"], names(&none)), (&json!(6), vec![]));
}

pub(crate) async fn a_change_moves_a_user_into_a_filter_at_once(backend: Backend) {
    let service = backend.open().await;
    let user = create(&service, named("ada")).await;
    finds(&service, "title eq \"Countess\"", &[]).await;
    put(&service, &user, with(named("ada"), json!({"title": "Countess"}))).await.expect(200);
    finds(&service, "title eq \"Countess\"", &["ada"]).await;
    let place = format!("/Users/{}", user["id"].as_str().expect("an id"));
    ask(&service, "DELETE", &place).send().await.expect(204);
    finds(&service, "title eq \"Countess\"", &[]).await;
    assert_eq!(read(&service, "/Users").await.get("Resources"), Some(&Value::Array(vec![])));
}

pub(crate) async fn a_filter_in_a_url_is_refused_where_the_settings_say_so(backend: Backend) {
    let service = backend.open_with(Setup { scim_filter_guard: true, ..Setup::default() }).await;
    create(&service, named("ada")).await;
    for target in ["/Users?filter=userName%20eq%20%22ada%22", "/Users?FILTER=nothing&count=0"] {
        refused(ask(&service, "GET", target).unwitnessed().await, 403, Some("sensitive"));
    }
    let groups = "/Groups?filter=displayName%20eq%20%22ada%22";
    let reply = refused(get(&service, groups).await, 403, Some("sensitive"));
    assert!(!reply.text().contains("ada"), "{}", reply.text());
    assert_eq!(names(&read(&service, "/Users?count=5&sortBy=userName").await), ["ada"]);
    read(&service, "/Groups").await;
    let body = json!({"filter": "userName eq \"ada\""});
    for target in ["/Users/.search", "/.search"] {
        let page = send(&service, "POST", target, &body).send().await.expect(200).json();
        assert_eq!(names(&page), ["ada"]);
    }
    // Without the setting filters in URLs are accepted, because identity providers look users up
    // with them.
    let other = backend.open().await;
    create(&other, named("ada")).await;
    let page = read(&other, "/Users?filter=userName%20eq%20%22ada%22").await;
    assert_eq!(names(&page), ["ada"]);
}
