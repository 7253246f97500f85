//! What clients and identity providers need in addition to the RFCs.

use serde_json::{Value, json};

use crate::{
    service::{Backend, Setup},
    support::{
        ENTERPRISE_URN, GROUP_URN, ROSTER_URN, ask, at, create, escaped, get, named, names, post,
        put, read, refused, send, with,
    },
};

/// The ids of the users that a filter finds.
async fn found(service: &crate::service::Service, filter: &str) -> Vec<String> {
    let page = read(service, &format!("/Users?filter={}", escaped(filter))).await;
    names(&page).into_iter().map(str::to_owned).collect()
}

fn patch(operations: &Value) -> Value {
    json!({"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], "Operations": operations})
}

/// Clients build their model from `/Schemas` and fail on attributes that are missing there.
pub(crate) async fn what_is_shown_is_in_the_schemas(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"username": "ada", "email": "ada@example.com", "attributes": {"team": "x"}});
    let record = service.user(body).await;
    let place = format!("/Users/{}", record["id"].as_str().expect("an id"));
    let shown = read(&service, &place).await;
    assert_eq!(shown.get(ROSTER_URN), None);
    assert_eq!(shown["schemas"].as_array().map(Vec::len), Some(1));
    let requested = read(&service, &format!("{place}?attributes={ROSTER_URN}:attributes")).await;
    assert_eq!(requested[ROSTER_URN]["attributes"], json!({"team": "x"}));
    // A patch reads and keeps it, whether or not it is shown.
    let path = format!("{ROSTER_URN}:attributes.team");
    let change = patch(&json!([{"op": "replace", "path": path, "value": "y"}]));
    send(&service, "PATCH", &place, &change).send().await.expect(200);
    let title = patch(&json!([{"op": "add", "path": "title", "value": "t"}]));
    send(&service, "PATCH", &place, &title).send().await.expect(200);
    assert_eq!(service.now(&shown).await["attributes"], json!({"team": "y"}));
}

pub(crate) async fn a_put_keeps_what_its_client_did_not_send(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"username": "ada", "email": "a@example.com", "email_verified": true,
        "attributes": {"team": "x"}});
    let user = service.user(body).await;
    for kept in [
        json!({}),
        json!({"schemas": [crate::support::USER_URN, ROSTER_URN]}),
        json!({ROSTER_URN: {"phone_number_verified": false}}),
        json!({ROSTER_URN: {"status": "active"}}),
    ] {
        let emails = json!({"emails": [{"value": "a@example.com", "primary": true}]});
        let body = with(with(named("ada"), emails), kept.clone());
        put(&service, &user, body).await.expect(200);
        let now = service.now(&user).await;
        assert_eq!(
            (&now["attributes"]["team"], &now["email_verified"]),
            (&json!("x"), &json!(true))
        );
    }
    let cleared = with(named("ada"), json!({ROSTER_URN: {"attributes": null}}));
    put(&service, &user, cleared).await.expect(200);
    assert_eq!(service.now(&user).await.get("attributes"), None);
}

pub(crate) async fn the_schema_tells_the_policy_of_addresses(backend: Backend) {
    for (email, advertised) in [("server", "server"), ("none", "none")] {
        let mut setup = Setup::default();
        if email == "none" {
            setup.rules.email = roster_core::Sharing::Shared;
        }
        let service = backend.open_with(setup).await;
        let schema = read(&service, &format!("/Schemas/{}", crate::support::USER_URN)).await;
        let attributes = schema["attributes"].as_array().expect("attributes");
        let emails = attributes.iter().find(|one| one["name"] == "emails").expect("emails");
        assert_eq!(emails["uniqueness"], advertised);
        let shared = json!({"emails": [{"value": "a@example.com", "primary": true}]});
        create(&service, with(named("ada"), shared.clone())).await;
        let second = post(&service, with(named("bob"), shared)).await;
        if email == "none" {
            second.expect(201);
        } else {
            let second = refused(second, 409, Some("uniqueness"));
            assert!(
                second.text().contains("roster policy set email-uniqueness none"),
                "{}",
                second.text()
            );
        }
    }
}

pub(crate) async fn an_address_without_a_type_is_a_work_address(backend: Backend) {
    let service = backend.open().await;
    let ada = service.user(json!({"username": "ada", "email": "ada@example.com"})).await;
    service
        .user(json!({"username": "bob",
            "emails": [{"value": "b@example.com", "type": "home", "primary": true},
                {"value": "c@example.com"}]}))
        .await;
    let shown = read(&service, &at(&ada)).await;
    assert_eq!(
        shown["emails"],
        json!([{"value": "ada@example.com", "type": "work", "primary": true}])
    );
    for (filter, expected) in [
        (r#"emails[type eq "work"].value eq "ADA@example.com""#, vec!["ada"]),
        (r#"emails[type eq "work" and value eq "ada@example.com"]"#, vec!["ada"]),
        (r#"emails.type eq "work""#, vec!["ada"]),
        (r#"emails.type eq "home""#, vec!["bob"]),
        (r#"emails[type ne "work"]"#, vec!["bob"]),
        ("emails[not (type pr)]", vec!["bob"]),
        ("emails.type pr", vec!["ada", "bob"]),
        (r#"not (emails.type eq "work")"#, vec!["bob"]),
    ] {
        assert_eq!(found(&service, filter).await, expected, "{filter}");
    }
    // A write without a type stores none, by PUT and by PATCH.
    let before = service.now(&ada).await;
    assert_eq!(put(&service, &ada, shown.clone()).await.expect(200).json(), shown);
    assert_eq!(service.now(&ada).await, before);
    let title = patch(&json!([{"op": "add", "path": "title", "value": "t"}]));
    send(&service, "PATCH", &at(&ada), &title).send().await.expect(200);
    assert_eq!(service.now(&ada).await["emails"], before["emails"]);
    // Entra changes the address by its type.
    let path = r#"emails[type eq "work"].value"#;
    let moved = patch(&json!([{"op": "Replace", "path": path, "value": "new@example.com"}]));
    let moved = send(&service, "PATCH", &at(&ada), &moved).send().await.expect(200).json();
    let only = json!([{"value": "new@example.com", "type": "work", "primary": true}]);
    assert_eq!(moved["emails"], only);
    assert_eq!(service.now(&ada).await["email"], "new@example.com");
}

pub(crate) async fn a_group_may_stand_below_its_urn(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"schemas": [GROUP_URN],
        GROUP_URN: {"displayName": "Engines", "externalId": 7}});
    let group = send(&service, "POST", "/Groups", &body).send().await.expect(201).json();
    assert_eq!((&group["displayName"], &group["externalId"]), (&json!("Engines"), &json!("7")));
}

pub(crate) async fn an_extensions_attribute_may_come_without_its_urn(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"department": "Looms", "employeeNumber": 42});
    let user = create(&service, with(named("ada"), body)).await;
    let extension = json!({"employeeNumber": "42", "department": "Looms"});
    assert_eq!(user[ENTERPRISE_URN], extension);
    let moved = patch(&json!([{"op": "replace", "path": "department", "value": "Mills"}]));
    let moved = send(&service, "PATCH", &at(&user), &moved).send().await.expect(200).json();
    assert_eq!(moved[ENTERPRISE_URN]["department"], "Mills");
}

pub(crate) async fn a_slash_at_the_end_of_a_path_is_accepted(backend: Backend) {
    let service = backend.open().await;
    let body = named("ada").to_string();
    let made = ask(&service, "POST", "/Users/").body("application/scim+json", body);
    let user = made.unwitnessed().await.expect(201).json();
    for target in [
        "/Users/".to_owned(),
        format!("/Users/?filter={}", escaped("userName eq \"ada\"")),
        format!("{}/", at(&user)),
        "/Schemas/".to_owned(),
        "/ServiceProviderConfig/".to_owned(),
    ] {
        ask(&service, "GET", &target).unwitnessed().await.expect(200);
    }
    service.request("GET", "/users/").unwitnessed().await.expect(404);
}

pub(crate) async fn a_tag_changes_with_the_groups_that_are_shown(backend: Backend) {
    let service = backend.open().await;
    let user = create(&service, named("ada")).await;
    let fresh = async |tag: &str| {
        let reply = ask(&service, "GET", &at(&user)).header("if-none-match", tag).send().await;
        reply.status() == 304
    };
    assert!(fresh("W/\"1\"").await);
    let members = json!([{"value": user["id"]}]);
    let group = json!({"schemas": [GROUP_URN], "displayName": "Engines", "members": members});
    let group = send(&service, "POST", "/Groups", &group).send().await.expect(201).json();
    assert!(!fresh("W/\"1\"").await);
    let shown = get(&service, &at(&user)).await.expect(200);
    let tag = shown.header("etag").to_owned();
    assert_eq!(shown.json()["meta"]["version"], tag.as_str());
    assert!(fresh(&tag).await);
    // As a precondition of a write it names the version.
    let title = with(named("ada"), json!({"title": "t"}));
    let written = send(&service, "PUT", &at(&user), &title).header("if-match", &tag);
    let written = written.send().await.expect(200);
    assert_ne!(written.header("etag"), tag);
    let stale = send(&service, "PUT", &at(&user), &named("ada")).header("if-match", &tag);
    refused(stale.send().await, 412, None);
    let tag = written.header("etag").to_owned();
    let rename = patch(&json!([{"op": "replace", "path": "displayName", "value": "Mills"}]));
    let place = format!("/Groups/{}", group["id"].as_str().expect("an id"));
    send(&service, "PATCH", &place, &rename).send().await.expect(204);
    assert!(!fresh(&tag).await);
}

pub(crate) async fn a_malformed_address_is_kept_by_a_tolerant_reader(backend: Backend) {
    let service = backend.open().await;
    let emails = json!({"emails": [{"value": "nobody", "type": "work", "primary": true}]});
    let user = create(&service, with(named("ada"), emails.clone())).await;
    assert_eq!(user["emails"], emails["emails"]);
    assert_eq!(found(&service, "emails.value eq \"NOBODY\"").await, ["ada"]);
    let taken = post(&service, with(named("bob"), emails.clone())).await;
    refused(taken, 409, Some("uniqueness"));
    service.close().await;
    let strict = service.new_key(&["scim", "scim:strict"]).await;
    let body = with(named("cid"), emails);
    let request = send(&service, "POST", "/Users", &body);
    let reply = request.bearer(strict["key"].as_str().expect("a key")).send().await;
    refused(reply, 400, Some("invalidValue"));
}

/// Entra looks up a manager like this before it changes it.
pub(crate) async fn a_manager_is_found_by_its_id(backend: Backend) {
    let service = backend.open().await;
    let boss = create(&service, named("boss")).await;
    let manager = json!({ENTERPRISE_URN: {"manager": {"value": boss["id"]}}});
    let ada = create(&service, with(named("ada"), manager)).await;
    let (ada, boss) = (ada["id"].as_str().expect("an id"), boss["id"].as_str().expect("an id"));
    for filter in [
        format!(r#"id eq "{ada}" and manager eq "{boss}""#),
        format!(r#"{ENTERPRISE_URN}:manager eq "{boss}""#),
    ] {
        assert_eq!(found(&service, &filter).await, ["ada"], "{filter}");
    }
    assert_eq!(found(&service, r#"manager eq "nobody""#).await, [""; 0]);
}

/// A client sends back what it read.
pub(crate) async fn a_large_group_can_be_read_and_put(backend: Backend) {
    let service = backend.open().await;
    let lines = (0..20_001).fold(String::new(), |mut lines, number| {
        lines.push_str(&format!("{{\"username\":\"u{number}\"}}\n"));
        lines
    });
    let all = service.request("POST", "/bulk/users").body("application/x-ndjson", lines);
    let results = all.send().await.expect(200);
    let mut ids = Vec::new();
    for line in results.text().lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        ids.extend(line.get("id").map(|id| json!({"value": id})));
    }
    assert_eq!(ids.len(), 20_001);
    let (first, last) = ids.split_at(20_000);
    let body = |members: &[Value]| {
        let schemas = json!([GROUP_URN]);
        json!({"schemas": schemas, "displayName": "Everybody", "members": members})
    };
    let many = send(&service, "POST", "/Groups", &body(&ids)).send().await;
    assert!(refused(many, 400, Some("invalidValue")).text().contains("20000"));
    let group = send(&service, "POST", "/Groups", &body(first)).send().await.expect(201).json();
    let place = format!("/Groups/{}", group["id"].as_str().expect("an id"));
    let join = patch(&json!([{"op": "add", "path": "members", "value": last}]));
    send(&service, "PATCH", &place, &join).send().await.expect(204);
    let shown = read(&service, &place).await;
    assert_eq!(shown["members"].as_array().map(Vec::len), Some(20_001));
    assert!(shown.to_string().len() > 2 * 1024 * 1024);
    let renamed = with(shown, json!({"displayName": "All"}));
    let target = format!("{place}?attributes=displayName");
    let now = send(&service, "PUT", &target, &renamed).send().await.expect(200).json();
    assert_eq!(now["displayName"], "All");
    assert_eq!(read(&service, &place).await["members"], renamed["members"]);
}

pub(crate) async fn long_lists_of_long_entitlements_are_kept(backend: Backend) {
    let service = backend.open().await;
    let long = "x".repeat(1024);
    let many: Vec<Value> = (0..500).map(|n| json!({"value": format!("role {n}")})).collect();
    let body = json!({"roles": many, "entitlements": [{"value": long, "display": long}]});
    let user = create(&service, with(named("ada"), body.clone())).await;
    assert_eq!((&user["roles"], &user["entitlements"]), (&body["roles"], &body["entitlements"]));
    let more: Vec<Value> = (0..501).map(|n| json!({"value": n.to_string()})).collect();
    let more = post(&service, with(named("bob"), json!({"roles": more}))).await;
    refused(more, 400, Some("invalidValue"));
}

/// Both resource types can be asked for memberships.
pub(crate) async fn memberships_can_be_filtered(backend: Backend) {
    let service = backend.open().await;
    let ada = create(&service, named("ada")).await;
    let bob = create(&service, named("bob")).await;
    let members = json!([{"value": ada["id"]}]);
    let group = json!({"schemas": [GROUP_URN], "displayName": "Engines", "members": members});
    let group = send(&service, "POST", "/Groups", &group).send().await.expect(201).json();
    let id = group["id"].as_str().expect("an id");
    let url = format!("https://directory.example.com/scim/v2/Groups/{id}");
    for filter in [
        format!(r#"groups.value eq "{id}""#),
        format!(r#"groups eq "{id}""#),
        format!(r#"groups[value eq "{id}" and type eq "direct"]"#),
        r#"groups.display sw "eng""#.to_owned(),
        format!(r#"groups.$ref eq "{url}""#),
        r#"groups.type eq "direct""#.to_owned(),
        "groups pr".to_owned(),
        format!(r#"active eq true and groups.value eq "{id}""#),
    ] {
        assert_eq!(found(&service, &filter).await, ["ada"], "{filter}");
    }
    for filter in [format!(r#"not (groups.value eq "{id}")"#), "not (groups pr)".to_owned()] {
        assert_eq!(found(&service, &filter).await, ["bob"], "{filter}");
    }
    let of = async |filter: &str| {
        let page = read(&service, &format!("/Groups?filter={}", escaped(filter))).await;
        page["totalResults"].clone()
    };
    let (ada, bob) = (ada["id"].as_str().expect("an id"), bob["id"].as_str().expect("an id"));
    for (member, count) in [(ada, 1), (bob, 0)] {
        assert_eq!(of(&format!(r#"members.value eq "{member}""#)).await, count);
        let url = format!("https://directory.example.com/scim/v2/Users/{member}");
        assert_eq!(of(&format!(r#"members.$ref eq "{url}""#)).await, count);
    }
    let unknown = format!("/Users?filter={}", escaped(r#"groups.colour eq "red""#));
    refused(get(&service, &unknown).await, 400, Some("invalidFilter"));
}

pub(crate) async fn groups_are_sorted_by_name(backend: Backend) {
    let service = backend.open().await;
    for name in ["beta", "Alpha", "gamma"] {
        let group = json!({"schemas": [GROUP_URN], "displayName": name});
        send(&service, "POST", "/Groups", &group).send().await.expect(201);
    }
    let walk = async |query: &str, begin: &str| {
        let (mut names, mut next) = (Vec::new(), begin.to_owned());
        loop {
            let page = read(&service, &format!("/Groups?count=1&{query}{next}")).await;
            let shown = page["Resources"].as_array().expect("resources").clone();
            if shown.is_empty() {
                return names;
            }
            names.extend(
                shown.iter().map(|one| one["displayName"].as_str().expect("a value").to_owned()),
            );
            next = match (page["nextCursor"].as_str(), begin.contains("cursor")) {
                (Some(cursor), true) => format!("&cursor={cursor}"),
                (None, true) => return names,
                (_, false) => format!("&startIndex={}", names.len() + 1),
            };
        }
    };
    for begin in ["&startIndex=1", "&cursor="] {
        assert_eq!(walk("sortBy=displayName", begin).await, ["Alpha", "beta", "gamma"]);
        let down = "sortBy=displayName&sortOrder=descending";
        assert_eq!(walk(down, begin).await, ["gamma", "beta", "Alpha"]);
        let newest = "sortBy=meta.created&sortOrder=descending";
        assert_eq!(walk(newest, begin).await, ["gamma", "Alpha", "beta"]);
    }
    let other = get(&service, "/Groups?sortBy=externalId").await;
    let other = refused(other, 400, Some("invalidValue"));
    assert!(other.text().contains("displayName"), "{}", other.text());
}
