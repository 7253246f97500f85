//! Groups over HTTP: creating, reading, changing and deleting them, and their members.

use roster_core::{Guard, Rules};
use serde_json::{Value, json};

use crate::{
    client::{Reply, Request},
    failures::is_bodiless,
    service::{Backend, Service, Setup, group_path, member_path, path},
};

pub(crate) const NOBODY: &str = "01a1f84a-963b-7c3e-9a41-5d2e8f604b17";

pub(crate) fn post<'s>(service: &'s Service, body: &Value) -> Request<'s> {
    service.request("POST", "/groups").json(body)
}

async fn put(service: &Service, group: &Value, body: Value) -> Reply {
    service.request("PUT", &group_path(group)).json(&body).send().await
}

async fn patch(service: &Service, group: &Value, body: Value) -> Reply {
    service.request("PATCH", &group_path(group)).json(&body).send().await
}

async fn now(service: &Service, group: &Value) -> Value {
    service.get(&group_path(group)).await.expect(200).json()
}

/// The ids of the direct members of a group.
async fn members(service: &Service, group: &Value) -> Vec<Value> {
    let page = service.get(&format!("{}/members", group_path(group))).await.expect(200).json();
    let items = page["items"].as_array().expect("items");
    items.iter().map(|member| member["id"].clone()).collect()
}

pub(crate) async fn a_group_is_made_read_changed_and_deleted(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"display_name": "Core Team", "external_id": "A-7"});
    let made = post(&service, &body).send().await.expect(201);
    let group = made.json();
    assert_eq!(made.header("location"), group_path(&group));
    assert_eq!(made.find("roster-ignored"), None);
    let other = post(&service, &json!({"display_name": "Crew", "id": NOBODY})).send().await;
    assert_eq!(other.expect(201).header("roster-ignored"), "id");
    assert_eq!((made.header("etag"), &group["version"]), ("\"1\"", &json!(1)));
    assert_eq!(
        (&group["display_name"], &group["external_id"]),
        (&json!("Core Team"), &json!("A-7"))
    );
    let got = service.get(&group_path(&group)).await.expect(200);
    assert_eq!((got.header("etag"), got.json()), ("\"1\"", group.clone()));
    let known = service.request("GET", &group_path(&group)).header("if-none-match", "\"1\"");
    known.send().await.expect(304);
    let held = service.request("GET", &group_path(&group)).header("if-match", "\"2\"");
    held.send().await.refused(412, "version-mismatch");

    service.clock.step(1000);
    // The response to a GET can be edited and sent back.
    let mut edited = group.clone();
    edited["display_name"] = json!("Core");
    let written = put(&service, &group, edited).await.expect(200);
    assert_eq!((written.header("etag"), &written.json()["external_id"]), ("\"2\"", &json!("A-7")));
    let cleared = patch(&service, &group, json!({"external_id": null})).await.expect(200).json();
    assert_eq!((&cleared["version"], cleared.get("external_id")), (&json!(3), None));
    let same = patch(&service, &group, json!({"display_name": "Core"})).await.expect(200);
    assert_eq!(same.json()["version"], 3, "nothing changed");
    let minimal = service.request("PATCH", &group_path(&group)).header("prefer", "return=minimal");
    let minimal = minimal.json(&json!({"display_name": "Kern"})).send().await.expect(204);
    assert_eq!(minimal.header("etag"), "\"4\"");
    let minimal = service.request("PUT", &group_path(&group)).header("prefer", "return=minimal");
    minimal.json(&json!({"display_name": "Core"})).send().await.expect(204);

    service.delete(&group_path(&group)).await.expect(204);
    service.delete(&group_path(&group)).await.refused(404, "group-not-found");
    service.get(&group_path(&group)).await.refused(404, "group-not-found");
    service.get("/groups/core").await.refused(404, "group-not-found");
    put(&service, &group, body.clone()).await.refused(404, "group-not-found");
    patch(&service, &group, body).await.refused(404, "group-not-found");
    let of = format!("{}/members", group_path(&group));
    service.get(&of).await.refused(404, "group-not-found");
}

pub(crate) async fn all_errors_of_an_invalid_group_are_listed(backend: Backend) {
    let service = backend.open().await;
    let body = json!({"name": "x", "external_id": 7, "members": []});
    let refused = post(&service, &body).send().await.refused(422, "invalid-group");
    let at = |place: &str, code: &str| (place.to_owned(), code.to_owned());
    let mut faults = refused.faults();
    faults.sort();
    let expected = [
        at("/display_name", "required"),
        at("/external_id", "wrong-type"),
        at("/members", "unknown-member"),
        at("/name", "unknown-member"),
    ];
    assert_eq!(faults, expected);
    let group = service.group("team").await;
    let refused = put(&service, &group, json!({"display_name": " "})).await;
    assert_eq!(refused.refused(422, "invalid-group").faults(), [at("/display_name", "too-short")]);
    let refused = patch(&service, &group, json!({"colour": null})).await;
    assert_eq!(refused.refused(422, "invalid-group").faults(), [at("/colour", "unknown-member")]);
    let other = json!({"id": NOBODY, "display_name": "team"});
    let refused = put(&service, &group, other).await.refused(422, "invalid-group");
    assert_eq!(refused.faults(), [at("/id", "id-mismatch")]);
}

pub(crate) async fn no_two_groups_have_one_name(backend: Backend) {
    let service = backend.open().await;
    service.group("Straße").await;
    let clash = post(&service, &json!({"display_name": "STRASSE"})).send().await;
    let clash = clash.refused(409, "group-name-taken");
    assert_eq!(clash.faults(), [("/display_name".to_owned(), "group-name-taken".to_owned())]);
    let other = service.group("Allee").await;
    let body = json!({"display_name": "strasse"});
    put(&service, &other, body.clone()).await.refused(409, "group-name-taken");
    patch(&service, &other, body).await.refused(409, "group-name-taken");
}

/// The request with a body, if it takes one.
fn with_name<'s>(request: Request<'s>, (method, target): (&str, &str), name: &str) -> Request<'s> {
    let body = json!({"display_name": name});
    if is_bodiless(method, target) { request } else { request.json(&body) }
}

pub(crate) async fn a_write_of_a_group_checks_its_version(backend: Backend) {
    let service = backend.open().await;
    let ada = service.user(json!({"username": "ada"})).await;
    let group = service.group("team").await;
    let held_to_old = |method: &str, target: &str| {
        let request = service.request(method, target).header("if-match", "\"7\"");
        with_name(request, (method, target), "x").send()
    };
    let at = group_path(&group);
    for (method, target) in [
        ("PUT", &at),
        ("PATCH", &at),
        ("DELETE", &at),
        ("PUT", &member_path(&group, &ada)),
        ("DELETE", &member_path(&group, &ada)),
    ] {
        let refused = held_to_old(method, target).await.refused(412, "version-mismatch");
        let told = refused.json()["detail"].as_str().expect("a detail").to_owned();
        assert!(told.starts_with("the group is at version 1"), "{told}");
    }
    let body = json!({"display_name": "x", "version": 2});
    put(&service, &group, body.clone()).await.refused(412, "version-mismatch");
    patch(&service, &group, body).await.refused(412, "version-mismatch");
    let held = service.request("PUT", &member_path(&group, &ada)).header("if-match", "\"1\"");
    assert_eq!(held.send().await.expect(200).header("etag"), "\"2\"");
    for list in ["/groups".to_owned(), format!("{at}/members")] {
        let request = service.request("GET", &list).header("if-match", "\"1\"");
        request.send().await.refused(412, "version-mismatch");
    }
}

pub(crate) async fn members_join_and_leave_and_the_group_changes(backend: Backend) {
    let service = backend.open().await;
    let ada = service.user(json!({"username": "ada"})).await;
    let group = service.group("team").await;
    let joined = service.join(&group, &ada).await.expect(200);
    assert_eq!((joined.header("etag"), &joined.json()["version"]), ("\"2\"", &json!(2)));
    assert_eq!(members(&service, &group).await, [ada["id"].clone()]);
    assert_eq!(service.now(&ada).await, ada, "the member stays as it was");
    let again = service.join(&group, &ada).await.expect(200);
    assert_eq!(again.header("etag"), "\"2\"", "who belongs to it stays");
    let minimal = service.request("PUT", &member_path(&group, &ada));
    minimal.header("prefer", "return=minimal").send().await.expect(204);
    service.delete(&member_path(&group, &ada)).await.expect(204);
    assert_eq!(now(&service, &group).await["version"], 3);
    assert_eq!(members(&service, &group).await, Vec::<Value>::new());
    let gone = service.delete(&member_path(&group, &ada)).await;
    gone.refused(404, "member-not-found");
}

pub(crate) async fn only_users_and_groups_can_be_members(backend: Backend) {
    let service = backend.open().await;
    let gone = service.left(json!({"username": "ada"})).await;
    let group = service.group("team").await;
    for member in [gone.clone(), json!({"id": NOBODY}), json!({"id": "ada"})] {
        service.join(&group, &member).await.refused(404, "member-not-found");
        service.delete(&member_path(&group, &member)).await.refused(404, "member-not-found");
    }
    let nowhere = json!({"id": NOBODY});
    service.join(&nowhere, &gone).await.refused(404, "group-not-found");
    service.delete(&member_path(&nowhere, &gone)).await.refused(404, "group-not-found");
    assert_eq!(now(&service, &group).await, group);
}

pub(crate) async fn groups_stand_within_groups_and_form_no_circle(backend: Backend) {
    let service = backend.open().await;
    let bottom = service.group("level 1").await;
    let mut top = bottom.clone();
    for level in 2..=8 {
        let above = service.group(&format!("level {level}")).await;
        service.join(&above, &top).await.expect(200);
        top = above;
    }
    service.join(&bottom, &top).await.refused(409, "group-cycle");
    service.join(&bottom, &bottom).await.refused(409, "group-cycle");
    let above = service.group("above all").await;
    service.join(&above, &top).await.refused(409, "group-too-deep");
    let page = service.get(&format!("{}/members", group_path(&top))).await.expect(200).json();
    assert_eq!(page["items"][0]["type"], "group");
    // A deleted group is removed from the groups that contained it.
    service
        .delete(&page["items"][0]["id"].as_str().map(|id| format!("/groups/{id}")).expect("id"))
        .await
        .expect(204);
    assert_eq!(members(&service, &top).await, Vec::<Value>::new());
    assert_eq!(now(&service, &top).await["version"], 3);
    service.join(&above, &top).await.expect(200);
}

pub(crate) async fn a_full_group_rejects_members(backend: Backend) {
    let service = backend.open().await;
    let ada = service.user(json!({"username": "ada"})).await;
    let mut groups = Vec::new();
    for number in 0..=1000 {
        groups.push(service.group(&format!("group {number}")).await);
    }
    let (last, others) = groups.split_last().expect("many");
    for group in others {
        let request = service.request("PUT", &member_path(group, &ada));
        request.unwitnessed().await.expect(200);
    }
    let full = service.join(last, &ada).await.refused(409, "group-full");
    assert!(full.text().contains("1000 groups"), "{}", full.text());
    // A deleted user is removed from all its groups at once.
    let before = service.head().await.position;
    service.delete(&path(&ada)).await.expect(204);
    assert_eq!(service.head().await.position, before + 1001);
}

pub(crate) async fn a_deleted_user_leaves_its_groups(backend: Backend) {
    let service = backend.open().await;
    let ada = service.user(json!({"username": "ada"})).await;
    let group = service.group("team").await;
    service.join(&group, &ada).await.expect(200);
    let deleted = service.delete(&path(&ada)).await.expect(204);
    assert_eq!(now(&service, &group).await["version"], 3);
    assert_eq!(members(&service, &group).await, Vec::<Value>::new());
    let events = service.get("/events").await.expect(200).json();
    let types: Vec<&Value> =
        events["items"].as_array().expect("items").iter().map(|event| &event["type"]).collect();
    assert_eq!(types[3..], ["group.updated", "user.deleted"]);
    assert_eq!(events["items"][3]["data"]["group"]["member_count"], 0);
    assert_eq!(events["items"][4]["data"]["groups"], json!([group["id"]]));
    assert_eq!(deleted.header("roster-position"), events["items"][4]["id"], "the last of them");
    let id = ada["id"].as_str().expect("an id");
    let restore = service.request("POST", &format!("/deleted-users/{id}/restore"));
    restore.send().await.expect(200);
    assert_eq!(members(&service, &group).await, Vec::<Value>::new());
}

pub(crate) async fn a_restore_brings_the_groups_back_if_asked_to(backend: Backend) {
    let service = backend.open().await;
    let ada = service.user(json!({"username": "ada"})).await;
    let group = service.group("team").await;
    service.join(&group, &ada).await.expect(200);
    service.delete(&path(&ada)).await.expect(204);
    let id = ada["id"].as_str().expect("an id");
    let restore = |query: &str| {
        service.request("POST", &format!("/deleted-users/{id}/restore?{query}")).send()
    };
    for (query, code) in [
        ("groups=all", "invalid-value"),
        ("groups=", "invalid-value"),
        ("groups=true&groups=true", "duplicate-parameter"),
        ("memberships=true", "unknown-parameter"),
    ] {
        let problem = restore(query).await.expect(400).json();
        assert_eq!(problem["errors"][0]["code"], code, "{query}: {problem}");
    }
    let other = service.request("PATCH", &format!("{}?groups=true", path(&ada)));
    other.body("application/merge-patch+json", "{}").send().await.expect(400);
    restore("groups=true&dry_run=true").await.expect(200);
    assert_eq!(members(&service, &group).await, Vec::<Value>::new());
    let with_key = || {
        let target = format!("/deleted-users/{id}/restore?groups=true");
        service.request("POST", &target).header("idempotency-key", "k").send()
    };
    let restored = with_key().await.expect(200);
    assert_eq!(restored.json()["version"], 3);
    let again = with_key().await.expect(200);
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.json(), restored.json(), "the user, and not its group");
    let events = service.get("/events").await.expect(200).json();
    let last = events["items"].as_array().and_then(|events| events.last()).expect("an event");
    assert_eq!(last["data"]["added"], json!([id]));
    assert_eq!(restored.header("roster-position"), last["id"], "the last of them");
    assert_eq!(members(&service, &group).await.len(), 1);
}

pub(crate) async fn the_change_log_tells_of_groups(backend: Backend) {
    let service = backend.open().await;
    let ada = service.user(json!({"username": "ada"})).await;
    let group = service.group("team").await;
    service.join(&group, &ada).await.expect(200);
    patch(&service, &group, json!({"display_name": "Team"})).await.expect(200);
    service.delete(&member_path(&group, &ada)).await.expect(204);
    service.delete(&group_path(&group)).await.expect(204);
    let id = group["id"].as_str().expect("an id");
    let events = service.get(&format!("/events?group_id={id}")).await.expect(200).json();
    let events = events["items"].as_array().expect("items").clone();
    let told: Vec<Value> = events
        .iter()
        .map(|event| {
            assert_eq!(event["subject"], format!("groups/{id}"));
            assert_eq!(event["data"]["group_id"], id);
            let data = &event["data"];
            json!([event["type"], data["version"], data["changed"], data["added"], data["removed"]])
        })
        .collect();
    let member = [ada["id"].clone()];
    let expected = json!([
        ["group.created", 1, ["display_name"], null, null],
        ["group.updated", 2, [], member, null],
        ["group.updated", 3, ["display_name"], null, null],
        ["group.updated", 4, [], null, member],
        ["group.deleted", 5, [], null, null],
    ]);
    assert_eq!(json!(told), expected);
    assert_eq!(events[2]["data"]["group"]["display_name"], "Team");
    let kind = service.get("/events?type=group.updated").await.expect(200).json();
    assert_eq!(kind["items"].as_array().expect("items").len(), 3);
    // A group is not a user.
    let none = service.get(&format!("/events?user_id={id}")).await.expect(200).json();
    assert_eq!(none["items"], json!([]));
    let user = ada["id"].as_str().expect("an id");
    let none = service.get(&format!("/events?group_id={user}")).await.expect(200).json();
    assert_eq!(none["items"], json!([]));
    let both = service.get(&format!("/events?group_id={id}&user_id={user}")).await;
    both.refused(400, "invalid-query");
    service.get("/events?group_id=x").await.refused(400, "invalid-query");
    let history = service.get(&format!("/users/{id}/events")).await;
    history.refused(404, "user-not-found");
}

pub(crate) async fn a_dry_run_of_a_group_stores_nothing(backend: Backend) {
    let service = backend.open().await;
    let ada = service.user(json!({"username": "ada"})).await;
    let grace = service.user(json!({"username": "grace"})).await;
    let group = service.group("team").await;
    service.join(&group, &ada).await.expect(200);
    let before = service.head().await;
    let tried = async |method: &str, target: &str| {
        let request = service.request(method, &format!("{target}?dry_run=true"));
        let reply = with_name(request, (method, target), "other").send().await.expect(200);
        assert_eq!(reply.header("dry-run"), "true");
        reply.json()
    };
    let at = group_path(&group);
    let group = service.get(&at).await.expect(200).json();
    let with = |name: &str, version: i64| {
        let mut expected = group.clone();
        (expected["display_name"], expected["version"]) = (json!(name), json!(version));
        expected
    };
    let made = tried("POST", "/groups").await;
    let mut expected = with("other", 1);
    (expected["id"], expected["member_count"]) = (made["id"].clone(), json!(0));
    assert_eq!(made, expected);
    for method in ["PUT", "PATCH"] {
        assert_eq!(tried(method, &at).await, with("other", 3));
    }
    assert_eq!(tried("DELETE", &at).await, with("team", 3));
    let joined = tried("PUT", &member_path(&group, &grace)).await;
    assert_eq!((&joined["version"], &joined["member_count"]), (&json!(3), &json!(2)));
    let left = tried("DELETE", &member_path(&group, &ada)).await;
    assert_eq!((&left["version"], &left["member_count"]), (&json!(3), &json!(0)));
    assert_eq!(service.head().await, before);
    let clash = service.request("POST", "/groups?dry_run=true");
    clash.json(&json!({"display_name": "TEAM"})).send().await.refused(409, "group-name-taken");
}

pub(crate) async fn a_request_on_a_group_may_come_twice(backend: Backend) {
    let service = backend.open().await;
    let ada = service.user(json!({"username": "ada"})).await;
    let body = json!({"display_name": "team"});
    let send = || post(&service, &body).header("idempotency-key", "one").send();
    let made = send().await.expect(201);
    let again = send().await.expect(201);
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.json(), made.json());
    let group = made.json();
    let other = post(&service, &json!({"display_name": "x"})).header("idempotency-key", "one");
    other.send().await.refused(422, "idempotency-key-reused");
    let (at, member) = (group_path(&group), member_path(&group, &ada));
    for (method, target) in [("PUT", &member), ("DELETE", &member), ("DELETE", &at)] {
        let one = service.request(method, target).header("idempotency-key", "one");
        one.send().await.refused(422, "idempotency-key-reused");
        let key = format!("{method}-{}", target.len());
        let send = || service.request(method, target).header("idempotency-key", &key).send();
        let first = send().await;
        let again = send().await.expect(first.status());
        assert_eq!(again.header("idempotent-replayed"), "true");
    }
    for method in ["PUT", "PATCH"] {
        let one = service.request(method, &at).header("idempotency-key", "one");
        one.json(&body).send().await.refused(422, "idempotency-key-reused");
    }
    for target in ["/groups", at.as_str(), member.as_str()] {
        let method = if target == "/groups" { "POST" } else { "PUT" };
        let request = service.request(method, target).header("idempotency-key", "a b\"");
        with_name(request, (method, target), "team")
            .send()
            .await
            .refused(400, "invalid-idempotency-key");
    }
}

pub(crate) async fn a_guarded_service_asks_for_versions_of_groups_too(backend: Backend) {
    let rules = Rules { put: Guard::On, delete: Guard::On, ..Rules::default() };
    let service = backend.open_with(Setup { rules, ..Setup::default() }).await;
    let body = json!({"display_name": "team", "external_id": "x"});
    let group = post(&service, &body).send().await.expect(201).json();
    let refused = put(&service, &group, json!({"display_name": "team"})).await;
    let refused = refused.refused(428, "precondition-required");
    assert!(refused.text().contains("external_id"), "{}", refused.text());
    put(&service, &group, body).await.expect(200);
    let user = service.user(json!({"username": "ada"})).await;
    service.request("PUT", &member_path(&group, &user)).send().await.expect(200);
    // A replacement by SCIM replaces the members too.
    let whole = json!({"displayName": "team", "externalId": "x"});
    let path = format!("/scim/v2{}", group_path(&group).replace("/groups", "/Groups"));
    service.request("PUT", &path).json(&whole).send().await.expect(428);
    let whole =
        json!({"displayName": "team", "externalId": "x", "members": [{"value": user["id"]}]});
    service.request("PUT", &path).json(&whole).send().await.expect(200);
    service.delete(&group_path(&group)).await.refused(428, "precondition-required");
    // This says only which version is not meant.
    for method in ["PUT", "DELETE"] {
        let other = service.request(method, &group_path(&group)).header("if-none-match", "\"9\"");
        let clears = json!({"display_name": "team"});
        let other = if method == "PUT" { other.json(&clears) } else { other };
        other.send().await.refused(428, "precondition-required");
    }
    let held = service.request("DELETE", &group_path(&group)).header("if-match", "\"2\"");
    held.send().await.expect(204);
}
