//! Users one by one: RFC 7643 sections 2 to 4, RFC 7644 sections 3.3 to 3.6.

use serde_json::{Value, json};

use crate::{
    service::Backend,
    support::{
        ENTERPRISE_URN, ROSTER_URN, USER_URN, ask, at, create, get, named, post, put, read,
        refused, send, with,
    },
};

pub(crate) async fn c1_a_new_user_is_201_with_its_place_and_its_whole_self(backend: Backend) {
    let service = backend.open().await;
    let reply = post(&service, named("ada")).await.expect(201);
    let user = reply.json();
    let place = format!("http://roster.test/scim/v2{}", at(&user));
    assert_eq!(reply.header("location"), place);
    assert_eq!(user["meta"]["location"], place);
    assert_eq!(user["meta"]["resourceType"], "User");
    assert_eq!(user["userName"], "ada");
    assert_eq!(user["active"], true);
    assert_eq!(read(&service, &at(&user)).await, user);
}

pub(crate) async fn c2_what_is_read_only_is_passed_over(backend: Backend) {
    let service = backend.open().await;
    let sent = json!({"id": "mine", "meta": {"version": "W/\"9\"", "resourceType": "Group"},
        ROSTER_URN: {"status": "suspended"}});
    let user = create(&service, with(named("ada"), sent.clone())).await;
    assert_ne!(user["id"], "mine");
    assert_eq!(user["meta"]["version"], "W/\"1\"");
    assert_eq!(user["active"], true);
    let status = format!("{}?attributes={ROSTER_URN}:status", at(&user));
    assert_eq!(read(&service, &status).await[ROSTER_URN], json!({"status": "active"}));
    let body = with(with(named("ada"), sent), json!({"title": "Countess"}));
    let replaced = put(&service, &user, body).await.expect(200).json();
    assert_eq!(replaced["id"], user["id"]);
    assert_eq!(replaced["meta"]["created"], user["meta"]["created"]);
    assert_eq!(replaced["title"], "Countess");
    assert_eq!(replaced["active"], true);
}

pub(crate) async fn c3_null_empty_and_absent_are_the_same(backend: Backend) {
    let service = backend.open().await;
    let full = json!({"title": "Countess", "emails": [{"value": "ada@example.com"}],
        "name": {"givenName": "Ada"}, ENTERPRISE_URN: {"department": "Engines"}});
    let mut versions = Vec::new();
    for cleared in [
        json!({"title": null, "emails": [], "name": [], ENTERPRISE_URN: null}),
        json!({"title": [], "emails": null, "name": null, ENTERPRISE_URN: {}}),
        json!({"name": {"givenName": null}, ENTERPRISE_URN: {"department": null}}),
        json!({}),
    ] {
        let name = format!("ada{}", versions.len());
        let user = create(&service, with(named(&name), full.clone())).await;
        let now = put(&service, &user, with(named(&name), cleared)).await.expect(200).json();
        for member in ["title", "emails", "name", ENTERPRISE_URN] {
            assert_eq!(now.get(member), None, "{member}");
        }
        versions.push(now["meta"]["version"].clone());
    }
    assert_eq!(versions, vec![json!("W/\"2\""); 4]);
}

pub(crate) async fn c4_an_id_is_the_services_own_and_stays(backend: Backend) {
    let service = backend.open().await;
    // An id that a client sends is ignored.
    let user = create(&service, with(named("ada"), json!({"id": "1", "externalId": "1"}))).await;
    let id = user["id"].as_str().expect("an id");
    assert!(id.len() == 36 && !id.contains("bulkId"), "{id}");
    let now = put(&service, &user, named("countess")).await.expect(200).json();
    assert_eq!(now["id"], user["id"]);
    refused(get(&service, "/Users/1").await, 404, None);
    let same = get(&service, &format!("/Users/{}", id.to_uppercase())).await.expect(200).json();
    assert_eq!(same["id"], user["id"]);
    // Returned always, whatever is left out.
    let shown = read(&service, &format!("{}?excludedAttributes=id,userName", at(&user))).await;
    assert_eq!(shown["id"], user["id"]);
    assert_eq!(shown.get("userName"), None);
}

pub(crate) async fn c5_an_external_id_is_the_clients_and_case_sensitive(backend: Backend) {
    let service = backend.open().await;
    let one = create(&service, with(named("ada"), json!({"externalId": "Ab-7"}))).await;
    let other = create(&service, with(named("bob"), json!({"externalId": "aB-7"}))).await;
    let third = create(&service, with(named("cid"), json!({"externalId": "Ab-7"}))).await;
    assert_eq!((&one["externalId"], &other["externalId"]), (&json!("Ab-7"), &json!("aB-7")));
    assert_eq!(third["externalId"], "Ab-7");
    // Clients send numbers without quotation marks.
    let number = create(&service, with(named("dan"), json!({"externalId": 7}))).await;
    assert_eq!(number["externalId"], "7");
}

pub(crate) async fn c6_meta_says_what_the_headers_say(backend: Backend) {
    let service = backend.open().await;
    let created = post(&service, named("ada")).await.expect(201);
    let user = created.json();
    assert_eq!(user["meta"]["lastModified"], user["meta"]["created"]);
    service.clock.step(1000);
    let replaced = put(&service, &user, with(named("ada"), json!({"title": "x"}))).await;
    let fetched = get(&service, &at(&user)).await;
    for reply in [created, replaced, fetched] {
        let meta = reply.json()["meta"].clone();
        assert_eq!(meta["version"], reply.header("etag"));
        assert_eq!(meta["location"], reply.header("content-location"));
    }
    let now = read(&service, &at(&user)).await;
    assert_eq!(now["meta"]["created"], user["meta"]["created"]);
    assert_eq!(now["meta"]["lastModified"], "2026-01-01T00:00:01.000Z");
    assert_eq!(now["meta"]["version"], "W/\"2\"");
}

pub(crate) async fn c7_a_put_never_creates_and_answers_the_whole_user(backend: Backend) {
    let service = backend.open().await;
    let nobody = json!({"id": "01a1f84a-963b-7c3e-9a41-5d2e8f604b17"});
    refused(put(&service, &nobody, named("ada")).await, 404, None);
    refused(put(&service, &json!({"id": "x"}), named("ada")).await, 404, None);
    let user = create(&service, named("ada")).await;
    let now = put(&service, &user, with(named("ada"), json!({"nickName": "A"}))).await;
    let now = now.expect(200).json();
    assert_eq!(now, read(&service, &at(&user)).await);
    assert_eq!(now["nickName"], "A");
}

pub(crate) async fn c8_a_put_clears_what_it_leaves_out_and_needs_a_user_name(backend: Backend) {
    let service = backend.open().await;
    let full = with(
        named("ada"),
        json!({"title": "Countess", "active": false, "roles": [{"value": "a"}]}),
    );
    let user = create(&service, full).await;
    let now = put(&service, &user, named("ada")).await.expect(200).json();
    assert_eq!((now.get("title"), now.get("roles")), (None, None));
    // Omitting `active` reactivates no user.
    assert_eq!(now["active"], false);
    for body in [json!({"schemas": [USER_URN]}), json!({"schemas": [USER_URN], "userName": null})] {
        refused(put(&service, &user, body.clone()).await, 400, Some("invalidValue"));
        refused(post(&service, body).await, 400, Some("invalidValue"));
    }
}

pub(crate) async fn c9_a_deleted_user_is_gone_and_its_name_is_free(backend: Backend) {
    let service = backend.open().await;
    let user = create(&service, named("ada")).await;
    let delete = || ask(&service, "DELETE", &at(&user)).send();
    assert_eq!(delete().await.expect(204).text(), "");
    refused(delete().await, 404, None);
    refused(get(&service, &at(&user)).await, 404, None);
    refused(put(&service, &user, named("ada")).await, 404, None);
    let patch = json!({"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
        "Operations": [{"op": "replace", "path": "active", "value": true}]});
    refused(send(&service, "PATCH", &at(&user), &patch).send().await, 404, None);
    let id = user["id"].as_str().expect("an id");
    let search = json!({"filter": format!("id eq \"{id}\" or userName eq \"ada\"")});
    for path in ["/Users/.search", "/.search"] {
        let found = send(&service, "POST", path, &search).send().await.expect(200).json();
        assert_eq!((&found["totalResults"], &found["Resources"]), (&json!(0), &json!([])));
    }
    assert_eq!(read(&service, "/Users").await["totalResults"], 0);
    let next = create(&service, named("ada")).await;
    assert_ne!(next["id"], user["id"]);
}

/// Roster stores no passwords: RFC 7643 section 4.1.1 requires it only of services that offer the
/// attribute.
pub(crate) async fn c10_a_password_is_never_kept(backend: Backend) {
    let service = backend.open().await;
    let sent = with(named("ada"), json!({"password": "t1meMa$heen", "PASSWORD2": 1}));
    let user = create(&service, sent).await;
    assert_eq!(user.get("password"), None);
    let again = with(named("ada"), json!({"password": "t1meMa$heen"}));
    assert_eq!(put(&service, &user, again.clone()).await.expect(200).json(), user);
    let patch = json!({"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
        "Operations": [{"op": "replace", "path": "password", "value": "t1meMa$heen"}]});
    let patched = send(&service, "PATCH", &at(&user), &patch).send().await.expect(200).json();
    assert_eq!(patched, user, "passed over, and no new version");
    refused(get(&service, "/Users?filter=password%20pr").await, 400, Some("invalidFilter"));
    let events = service.get("/events").await.expect(200);
    assert!(!events.text().contains("t1meMa"));
    let schema = read(&service, &format!("/Schemas/{USER_URN}")).await;
    let attributes = schema["attributes"].as_array().expect("attributes");
    assert!(attributes.iter().all(|attribute| attribute["name"] != "password"));
    let config = read(&service, "/ServiceProviderConfig").await;
    assert_eq!(config["changePassword"]["supported"], false);
    // Strict parsing reports it.
    let strict = service.new_key(&["scim", "scim:strict"]).await;
    let token = strict["key"].as_str().expect("a key");
    for (method, target, body) in
        [("POST", "/Users".to_owned(), &again), ("PUT", at(&user), &again)]
    {
        let reply = send(&service, method, &target, body).bearer(token).send().await;
        let reply = refused(reply, 400, Some("invalidValue"));
        assert!(!reply.text().contains("t1meMa"), "{}", reply.text());
    }
}

pub(crate) async fn c11_one_value_at_most_is_primary(backend: Backend) {
    let service = backend.open().await;
    let mail = |value: &str| json!({"value": value, "primary": true});
    let two = json!({"emails": [mail("a@example.com"), mail("b@example.com")]});
    let reply = refused(post(&service, with(named("ada"), two)).await, 400, Some("invalidValue"));
    assert!(reply.text().contains("emails[1].primary"), "{}", reply.text());
    let one = json!({"emails": [{"value": "a@example.com"}, mail("b@example.com")]});
    let user = create(&service, with(named("ada"), one)).await;
    let record = format!("/users/{}", user["id"].as_str().expect("an id"));
    assert_eq!(service.get(&record).await.expect(200).json()["email"], "b@example.com");
    // The same value of the same type is not added a second time (RFC 7643 section 2.4).
    let role = json!({"value": "guide", "type": "work"});
    let bob = create(&service, with(named("bob"), json!({"roles": [role]}))).await;
    let add = json!({"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
        "Operations": [{"op": "add", "path": "roles", "value": [role]}]});
    let now = send(&service, "PATCH", &at(&bob), &add).send().await.expect(200).json();
    assert_eq!(now, bob);
    // A repeated entry of a list is merged into the first.
    let more = json!({"value": "guide", "type": "work", "display": "Guide", "primary": true});
    let other = json!({"value": "guide", "type": "home"});
    let twice = with(named("bob"), json!({"roles": [role, other, more]}));
    let now = put(&service, &bob, twice).await.expect(200).json();
    assert_eq!(now["roles"], json!([more, other]));
}

pub(crate) async fn c12_countries_languages_and_zones_follow_their_standards(backend: Backend) {
    let service = backend.open().await;
    service.close().await;
    let strict = service.new_key(&["scim", "scim:strict"]).await;
    let token = strict["key"].as_str().expect("a key");
    for (member, good, bad) in [
        ("locale", json!("en-GB"), json!("no language at all")),
        ("locale", json!("en_GB"), json!("-")),
        ("preferredLanguage", json!("de-CH"), json!("7")),
        ("timezone", json!("Europe/London"), json!("Mars/Olympus")),
        ("profileUrl", json!("https://example.com/ada"), json!("ada")),
        ("addresses", json!([{"country": "GB"}]), json!([{"country": "England"}])),
        ("emails", json!([{"value": "ada@example.com"}]), json!([{"value": "ada at home"}])),
        ("phoneNumbers", json!([{"value": "tel:+44-20-1"}]), json!([{"value": "none"}])),
    ] {
        let body = |value: Value| with(named(member), json!({member: value})).to_string();
        let post = |value: Value| {
            ask(&service, "POST", "/Users").bearer(token).body("application/scim+json", body(value))
        };
        refused(post(bad).send().await, 400, Some("invalidValue"));
        let user = post(good.clone()).send().await.expect(201).json();
        assert_eq!(user[member], good);
        ask(&service, "DELETE", &at(&user)).send().await.expect(204);
    }
}

pub(crate) async fn c13_schemas_name_what_is_in_use(backend: Backend) {
    let service = backend.open().await;
    let user = create(&service, named("ada")).await;
    assert_eq!(user["schemas"], json!([USER_URN]));
    assert_eq!(user.get(ROSTER_URN), None);
    let extended = with(named("bob"), json!({ENTERPRISE_URN: {"employeeNumber": "701984"}}));
    let user = create(&service, extended).await;
    assert_eq!(user["schemas"], json!([USER_URN, ENTERPRISE_URN]));
    assert_eq!(user[ENTERPRISE_URN]["employeeNumber"], "701984");
    assert_eq!(user.get("employeeNumber"), None);
    let shown = read(&service, &format!("{}?attributes=userName", at(&user))).await;
    assert_eq!(shown["schemas"], json!([USER_URN, ENTERPRISE_URN]));
}

pub(crate) async fn a_duplicate_in_another_case_is_a_conflict(backend: Backend) {
    let service = backend.open().await;
    let mail = json!({"emails": [{"value": "Ada@Example.com"}]});
    create(&service, with(named("Ada"), mail)).await;
    let reply = refused(post(&service, named("aDA")).await, 409, Some("uniqueness"));
    assert!(reply.text().contains("userName"));
    let same = json!({"emails": [{"value": "ada@example.com"}]});
    let reply = refused(post(&service, with(named("bob"), same)).await, 409, Some("uniqueness"));
    assert!(reply.text().contains("emails"));
    let bob = create(&service, named("bob")).await;
    refused(put(&service, &bob, named("ADA")).await, 409, Some("uniqueness"));
}

/// RFC 7644 section 7.8: names are compared as RFC 8265 prepares them.
pub(crate) async fn a_user_name_is_prepared_before_it_is_compared(backend: Backend) {
    let service = backend.open().await;
    let user = create(&service, named("zo\u{eb}")).await;
    for same in ["ZO\u{cb}", "zoe\u{308}", "\u{ff5a}o\u{eb}"] {
        refused(post(&service, named(same)).await, 409, Some("uniqueness"));
        let search = json!({"filter": format!("userName eq \"{same}\"")});
        let found = send(&service, "POST", "/Users/.search", &search).send().await;
        assert_eq!(found.expect(200).json()["Resources"], json!([user]), "{same}");
    }
    create(&service, named("zoe")).await;
    // What cannot be prepared is no name.
    refused(post(&service, named("a\u{0}b")).await, 400, Some("invalidValue"));
}

pub(crate) async fn every_attribute_of_the_tables_comes_back_as_it_was_sent(backend: Backend) {
    let service = backend.open().await;
    let entry = |value: &str| {
        json!([{"value": value, "type": "work", "primary": true, "display": "shown"},
            {"value": format!("{value}2"), "type": "home"}])
    };
    let sent = json!({
        "schemas": [USER_URN, ENTERPRISE_URN, ROSTER_URN],
        "externalId": "701984", "userName": "bjensen@example.com",
        "name": {"formatted": "Ms. Barbara J Jensen, III", "familyName": "Jensen",
            "givenName": "Barbara", "middleName": "Jane", "honorificPrefix": "Ms.",
            "honorificSuffix": "III"},
        "displayName": "Babs Jensen", "nickName": "Babs",
        "profileUrl": "https://login.example.com/bjensen", "title": "Tour Guide",
        "userType": "Employee", "preferredLanguage": "en-US", "locale": "en-US",
        "timezone": "America/Los_Angeles", "active": true,
        "emails": entry("bjensen@example.com"), "phoneNumbers": entry("555-555-5555"),
        "ims": entry("someaimhandle"), "photos": entry("https://photos.example.com/F"),
        "addresses": [{"formatted": "100 Universal City Plaza\nHollywood, CA 91608 USA",
            "streetAddress": "100 Universal City Plaza", "locality": "Hollywood", "region": "CA",
            "postalCode": "91608", "country": "US", "type": "work", "primary": true}],
        "entitlements": entry("lift"), "roles": entry("guide"),
        "x509Certificates": [{"value": "MIIDQzCCAqygAwIBAgICEAAwDQYJKoZIhvcNAQEF"}],
        ENTERPRISE_URN: {"employeeNumber": "701984", "costCenter": "4130",
            "organization": "Universal Studios", "division": "Theme Park",
            "department": "Tour Operations", "manager": {"value": "26118915"}},
        ROSTER_URN: {"expires_at": "2027-01-31T12:00:00.000Z",
            "email_verified": true, "phone_number_verified": false,
            "attributes": {"team": "core", "n": 7, "deep": [{"True": "True"}]}}
    });
    let mut user = create(&service, sent.clone()).await;
    assert_eq!(read(&service, &at(&user)).await, user);
    // What a schema cannot describe is shown on request.
    let target = format!("{}?attributes={ROSTER_URN}:attributes", at(&user));
    let free = read(&service, &target).await[ROSTER_URN]["attributes"].clone();
    user[ROSTER_URN]["attributes"] = free;
    let members = user.as_object_mut().expect("an object");
    members.remove("id");
    members.remove("meta");
    assert_eq!(user, sent);
}
