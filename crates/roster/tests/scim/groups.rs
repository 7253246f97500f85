//! Groups over SCIM (RFC 7643 section 4.2): requests of clients and their results.

use serde_json::{Value, json};

use crate::{
    client::Reply,
    service::{Backend, Service},
    support::{ask, at, create, get, named, read, refused, send},
};

const GROUP_URN: &str = "urn:ietf:params:scim:schemas:core:2.0:Group";
const PATCH_URN: &str = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

fn group_at(group: &Value) -> String {
    format!("/Groups/{}", group["id"].as_str().expect("an id"))
}

fn member(resource: &Value) -> Value {
    json!({"value": resource["id"]})
}

async fn group(service: &Service, name: &str, members: &[&Value]) -> Value {
    let members: Vec<Value> = members.iter().map(|one| member(one)).collect();
    let body = json!({"schemas": [GROUP_URN], "displayName": name, "members": members});
    send(service, "POST", "/Groups", &body).send().await.expect(201).json()
}

async fn patch(service: &Service, group: &Value, operations: Value) -> Reply {
    let body = json!({"schemas": [PATCH_URN], "Operations": operations});
    let request = send(service, "PATCH", &group_at(group), &body);
    request.header("prefer", "return=representation").send().await
}

/// The ids of a group's members.
fn ids(group: &Value) -> Vec<&Value> {
    let members = group["members"].as_array();
    members.map(|members| members.iter().map(|one| &one["value"]).collect()).unwrap_or_default()
}

fn names(page: &Value) -> Vec<&str> {
    let groups = page["Resources"].as_array().expect("resources");
    groups.iter().map(|group| group["displayName"].as_str().expect("a name")).collect()
}

fn filtered(text: &str) -> String {
    let escaped = text.replace(' ', "%20").replace('"', "%22").replace('[', "%5B");
    format!("/Groups?filter={}", escaped.replace(']', "%5D"))
}

pub(crate) async fn a_group_is_created_with_its_members_in_one_write(backend: Backend) {
    let service = backend.open().await;
    let ada = create(&service, named("ada")).await;
    let inner = group(&service, "inner", &[]).await;
    let before = service.head().await.position;
    let body = json!({"schemas": [GROUP_URN, "http://schemas.example/2006/Group"],
        "displayName": "Team", "externalId": "8aa1", "meta": {"resourceType": "Group"},
        "members": [{"value": ada["id"], "$ref": null}, member(&inner)]});
    let made = send(&service, "POST", "/Groups", &body).send().await.expect(201);
    assert_eq!(service.head().await.position, before + 1, "one event");
    let team = made.json();
    let base = "http://roster.test/scim/v2";
    let place = format!("{base}{}", group_at(&team));
    assert_eq!((made.header("location"), made.header("content-location")), (&*place, &*place));
    assert_eq!((made.header("etag"), &team["meta"]["version"]), ("W/\"1\"", &json!("W/\"1\"")));
    assert_eq!((&team["meta"]["location"], &team["schemas"]), (&json!(place), &json!([GROUP_URN])));
    let expected = json!([
        {"value": ada["id"], "type": "User", "$ref": format!("{base}{}", at(&ada))},
        {"value": inner["id"], "type": "Group", "$ref": format!("{base}{}", group_at(&inner))},
    ]);
    assert_eq!(team["members"], expected);
    assert_eq!(read(&service, &group_at(&team)).await, team);
    let known = ask(&service, "GET", &group_at(&team)).header("if-none-match", "W/\"1\"");
    known.send().await.expect(304);
}

pub(crate) async fn a_put_of_a_group_replaces_its_members(backend: Backend) {
    let service = backend.open().await;
    let (ada, grace) =
        (create(&service, named("ada")).await, create(&service, named("grace")).await);
    let team = group(&service, "Team", &[&ada]).await;
    let mut body = team.clone();
    body["displayName"] = json!("Crew");
    body["members"] = json!([member(&grace)]);
    let put = |body: Value| send(&service, "PUT", &group_at(&team), &body).send();
    let now = put(body.clone()).await.expect(200).json();
    assert_eq!((ids(&now), &now["displayName"]), (vec![&grace["id"]], &json!("Crew")));
    let same = put(now.clone()).await.expect(200);
    assert_eq!((same.header("etag"), same.json()), ("W/\"2\"", now));
    let none = put(json!({"schemas": [GROUP_URN], "displayName": "Crew"})).await.expect(200).json();
    assert_eq!(none.get("members"), Some(&json!([])));
    let minimal = send(&service, "PUT", &group_at(&team), &body).header("prefer", "return=minimal");
    assert_eq!(minimal.send().await.expect(204).header("etag"), "W/\"4\"");
}

pub(crate) async fn members_are_added_and_removed_by_the_patches_of_clients(backend: Backend) {
    let service = backend.open().await;
    let ada = create(&service, named("ada")).await;
    let grace = create(&service, named("grace")).await;
    let team = group(&service, "Team", &[]).await;
    let step = async |operation: Value| {
        patch(&service, &team, json!([operation])).await.expect(200).json()
    };
    let now = step(json!({"op": "Add", "path": "members", "value": [member(&ada)]})).await;
    assert_eq!(ids(&now), [&ada["id"]]);
    let same = step(json!({"op": "add", "path": "members", "value": [member(&ada)]})).await;
    assert_eq!(same["meta"], now["meta"], "an existing member is no change");
    let now = step(json!({"op": "add", "value": {"members": [member(&grace)]}})).await;
    assert_eq!(ids(&now), [&ada["id"], &grace["id"]]);
    let path = format!("members[value eq {}]", ada["id"]);
    let now = step(json!({"op": "remove", "path": path})).await;
    assert_eq!(ids(&now), [&grace["id"]]);
    let again = step(json!({"op": "remove", "path": path})).await;
    assert_eq!(again["meta"], now["meta"]);
    let now = step(json!({"op": "Remove", "path": "members", "value": [member(&grace)]})).await;
    assert_eq!(ids(&now), Vec::<&Value>::new());
    let both = json!([member(&ada), member(&grace)]);
    let now = step(json!({"op": "replace", "path": "members", "value": both})).await;
    assert_eq!(ids(&now).len(), 2);
    // Okta renames with a value that also has the id.
    let rename = json!({"op": "replace", "value": {"id": team["id"], "displayName": "Crew"}});
    let now = step(rename).await;
    assert_eq!((&now["displayName"], ids(&now).len()), (&json!("Crew"), 2));
    let now = step(json!({"op": "remove", "path": "members"})).await;
    assert_eq!(now.get("members"), Some(&json!([])));
}

pub(crate) async fn a_patch_of_a_group_returns_what_prefer_and_parameters_ask_for(
    backend: Backend,
) {
    let service = backend.open().await;
    let team = group(&service, "Team", &[]).await;
    let body = json!({"schemas": [PATCH_URN], "Operations":
        [{"op": "replace", "path": "displayName", "value": "Crew"}]});
    let minimal = send(&service, "PATCH", &group_at(&team), &body);
    let minimal = minimal.header("prefer", "return=minimal").send().await.expect(204);
    assert_eq!(minimal.header("etag"), "W/\"2\"");
    // A client that adds one member does not read the others.
    let silent = send(&service, "PATCH", &group_at(&team), &body).send().await.expect(204);
    assert_eq!((silent.header("etag"), silent.find("preference-applied")), ("W/\"2\"", None));
    for parameter in ["attributes=displayName", "excludedAttributes=members"] {
        let target = format!("{}?{parameter}", group_at(&team));
        let shown = send(&service, "PATCH", &target, &body).send().await.expect(200).json();
        assert_eq!((&shown["displayName"], shown.get("members")), (&json!("Crew"), None));
    }
    let none = patch(&service, &team, json!([])).await;
    refused(none, 400, Some("invalidSyntax"));
}

pub(crate) async fn groups_are_found_by_the_filters_of_clients(backend: Backend) {
    let service = backend.open().await;
    let ada = create(&service, named("ada")).await;
    let (id, team) = (ada["id"].as_str().expect("an id"), group(&service, "Team", &[&ada]).await);
    let body = json!({"displayName": "Crew", "externalId": "8aa1"});
    send(&service, "POST", "/Groups", &body).send().await.expect(201);
    let team = team["id"].as_str().expect("an id");
    for (filter, expected) in [
        ("displayName eq \"TEAM\"".to_owned(), vec!["Team"]),
        ("displayName eq \"nobody\"".to_owned(), vec![]),
        ("externalId eq \"8aa1\"".to_owned(), vec!["Crew"]),
        (format!("id eq \"{team}\""), vec!["Team"]),
        (format!("members[value eq \"{id}\"]"), vec!["Team"]),
        (format!("members.value eq \"{id}\""), vec!["Team"]),
        (format!("id eq \"{team}\" and members eq \"{id}\""), vec!["Team"]),
        (format!("displayName eq \"Crew\" and members.value eq \"{id}\""), vec![]),
        ("displayName sw \"t\"".to_owned(), vec!["Team"]),
        ("externalId pr or displayName co \"ea\"".to_owned(), vec!["Team", "Crew"]),
    ] {
        let page = read(&service, &filtered(&filter)).await;
        assert_eq!(names(&page), expected, "{filter}");
        assert_eq!(page["totalResults"], expected.len(), "{filter}");
    }
    refused(get(&service, &filtered("colour eq \"x\"")).await, 400, Some("invalidFilter"));
    let search = json!({"schemas": ["urn:ietf:params:scim:api:messages:2.0:SearchRequest"],
        "filter": "displayName eq \"team\""});
    let found = send(&service, "POST", "/Groups/.search", &search).send().await.expect(200);
    assert_eq!(names(&found.json()), ["Team"]);
}

pub(crate) async fn excluded_members_are_not_read(backend: Backend) {
    let service = backend.open().await;
    let ada = create(&service, named("ada")).await;
    let team = group(&service, "Team", &[&ada]).await;
    let before = service.store.memberships();
    let bare = read(&service, &format!("{}?excludedAttributes=members", group_at(&team))).await;
    assert_eq!((bare.get("members"), &bare["displayName"]), (None, &json!("Team")));
    let page = read(&service, "/Groups?excludedAttributes=members").await;
    assert_eq!(page["Resources"][0].get("members"), None);
    read(&service, "/Groups?attributes=displayName").await;
    let body = json!({"schemas": [PATCH_URN], "Operations":
        [{"op": "add", "path": "members", "value": [member(&ada)]}]});
    let target = format!("{}?excludedAttributes=members", group_at(&team));
    send(&service, "PATCH", &target, &body).send().await.expect(200);
    read(&service, &format!("{}?excludedAttributes=groups", at(&ada))).await;
    assert_eq!(service.store.memberships(), before);
    read(&service, &group_at(&team)).await;
    assert_eq!(service.store.memberships(), before + 1);
}

pub(crate) async fn a_user_shows_its_direct_groups(backend: Backend) {
    let service = backend.open().await;
    let ada = create(&service, named("ada")).await;
    assert_eq!(ada.get("groups"), None);
    let team = group(&service, "Team", &[&ada]).await;
    group(&service, "Outer", &[&team]).await;
    let shown = json!([{"value": team["id"], "display": "Team", "type": "direct",
        "$ref": team["meta"]["location"]}]);
    let now = read(&service, &at(&ada)).await;
    assert_eq!(now["groups"], shown);
    assert_eq!(now["meta"]["lastModified"], ada["meta"]["lastModified"], "the user is as it was");
    let version = now["meta"]["version"].as_str().expect("a version");
    assert!(version.starts_with("W/\"1-"), "its tag names the version, and the groups: {version}");
    let page = read(&service, "/Users").await;
    assert_eq!(page["Resources"][0]["groups"], shown);
    let some = read(&service, &format!("{}?attributes=groups.display", at(&ada))).await;
    assert_eq!(some["groups"], json!([{"display": "Team"}]));
    // Groups sent with a user are ignored: only writes of a group change its members.
    let mut sent = now.clone();
    sent["groups"] = json!([]);
    let put = send(&service, "PUT", &at(&ada), &sent).send().await.expect(200);
    assert_eq!(put.json(), now);
}

pub(crate) async fn an_invalid_group_is_a_scim_error(backend: Backend) {
    let service = backend.open().await;
    let team = group(&service, "Team", &[]).await;
    let inner = group(&service, "inner", &[]).await;
    let post = |body: Value| send(&service, "POST", "/Groups", &body).send();
    refused(post(json!({"displayName": "TEAM"})).await, 409, Some("uniqueness"));
    refused(post(json!({})).await, 400, Some("invalidValue"));
    refused(post(json!({"displayName": "x".repeat(257)})).await, 400, Some("invalidValue"));
    refused(post(json!([])).await, 400, Some("invalidSyntax"));
    let nobody = json!([{"value": "01a1f84a-963b-7c3e-9a41-5d2e8f604b17"}]);
    let unknown = post(json!({"displayName": "x", "members": nobody})).await;
    let unknown = refused(unknown, 400, Some("invalidValue"));
    assert!(unknown.text().contains("01a1f84a"), "{}", unknown.text());
    let malformed = post(json!({"displayName": "x", "members": [{"value": "ada"}]})).await;
    refused(malformed, 400, Some("invalidValue"));
    let join = |one: &Value| json!([{"op": "add", "path": "members", "value": [member(one)]}]);
    patch(&service, &team, join(&inner)).await.expect(200);
    refused(patch(&service, &inner, join(&team)).await, 409, None);
    refused(patch(&service, &team, join(&team)).await, 409, None);
    refused(get(&service, "/Groups/ada").await, 404, None);
}

pub(crate) async fn groups_are_paged_like_users(backend: Backend) {
    let service = backend.open().await;
    let ada = create(&service, named("ada")).await;
    for number in 1..=5 {
        group(&service, &format!("g{number}"), &[&ada]).await;
    }
    let page = read(&service, "/Groups?startIndex=2&count=2").await;
    assert_eq!((names(&page), &page["totalResults"]), (vec!["g2", "g3"], &json!(5)));
    assert_eq!((&page["startIndex"], &page["itemsPerPage"]), (&json!(2), &json!(2)));
    // A group deleted meanwhile does not make the next page skip one.
    ask(&service, "DELETE", &group_at(&page["Resources"][0])).send().await.expect(204);
    let page = read(&service, "/Groups?startIndex=4&count=2").await;
    assert_eq!(names(&page), ["g4", "g5"]);
    let page = read(&service, "/Groups?count=0").await;
    assert_eq!((names(&page), &page["totalResults"]), (vec![], &json!(4)));
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = read(&service, &format!("/Groups?count=3&cursor={cursor}")).await;
        found.extend(names(&page).into_iter().map(str::to_owned));
        match page["nextCursor"].as_str() {
            Some(next) => next.clone_into(&mut cursor),
            None => break,
        }
    }
    assert_eq!(found, ["g1", "g3", "g4", "g5"]);
    refused(get(&service, "/Groups?cursor=x").await, 400, Some("invalidCursor"));
    let other = get(&service, &format!("/Users?cursor={cursor}")).await;
    refused(other, 400, Some("invalidCursor"));
    refused(get(&service, "/Groups?sortBy=externalId").await, 400, Some("invalidValue"));
    let walked = read(&service, "/Groups?filter=displayName%20sw%20%22g%22&startIndex=2&count=2");
    assert_eq!(names(&walked.await), ["g3", "g4"]);
}

pub(crate) async fn a_stale_write_of_a_group_is_refused(backend: Backend) {
    let service = backend.open().await;
    let team = group(&service, "Team", &[]).await;
    let body = json!({"schemas": [PATCH_URN], "displayName": "x", "Operations":
        [{"op": "replace", "path": "displayName", "value": "x"}]});
    for method in ["PUT", "PATCH", "DELETE"] {
        let nothing = json!({});
        let body = if method == "DELETE" { &nothing } else { &body };
        let request = send(&service, method, &group_at(&team), body);
        let reply = request.header("if-match", "W/\"7\"").send().await;
        assert!(refused(reply, 412, None).text().contains("the group is at version"));
    }
    let other = ask(&service, "GET", &group_at(&team)).header("if-match", "W/\"7\"");
    refused(other.send().await, 412, None);
    let fresh = send(&service, "PATCH", &group_at(&team), &body).header("if-match", "W/\"1\"");
    assert_eq!(fresh.send().await.expect(204).header("etag"), "W/\"2\"");
}

pub(crate) async fn a_deleted_group_is_gone(backend: Backend) {
    let service = backend.open().await;
    let ada = create(&service, named("ada")).await;
    let team = group(&service, "Team", &[&ada]).await;
    ask(&service, "DELETE", &group_at(&team)).send().await.expect(204);
    let body = json!({"schemas": [PATCH_URN], "displayName": "x", "Operations":
        [{"op": "replace", "path": "displayName", "value": "x"}]});
    for method in ["GET", "PUT", "PATCH"] {
        let reply = send(&service, method, &group_at(&team), &body).send().await;
        refused(reply, 404, None);
    }
    refused(ask(&service, "DELETE", &group_at(&team)).send().await, 404, None);
    assert_eq!(read(&service, &at(&ada)).await.get("groups"), None);
    group(&service, "Team", &[]).await;
}
