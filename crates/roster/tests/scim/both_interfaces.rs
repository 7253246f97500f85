//! Both interfaces on the same records, with random users of both.

use serde_json::{Value, json};

use crate::{
    client::Reply,
    people::{Random, attributes_of, random_users, resource},
    service::{Backend, Service, path},
    support::{ENTERPRISE_URN, ROSTER_URN, at, create, get, named, put, read, send, with},
};

/// The number of users of each interface.
const USERS: usize = 40;

/// A user without the members that differ between copies.
fn comparable(mut user: Value) -> Value {
    let members = user.as_object_mut().expect("an object");
    for own in ["id", "version", "created_at", "updated_at", "meta", "groups"] {
        members.remove(own);
    }
    user
}

/// A record as SCIM shows it by default: without `attributes`, and with a type for a primary
/// address that has none and is not there as a work address too.
fn as_shown(mut record: Value) -> Value {
    record.as_object_mut().expect("an object").remove("attributes");
    let emails = record.get_mut("emails").and_then(Value::as_array_mut);
    let Some(emails) = emails else { return record };
    let is_work =
        |email: &Value| email["type"].as_str().is_some_and(|of| of.eq_ignore_ascii_case("work"));
    let work: Vec<Value> =
        emails.iter().filter(|email| is_work(email)).map(|email| email["value"].clone()).collect();
    for email in emails {
        if email["primary"] == true
            && email.get("type").is_none()
            && !work.contains(&email["value"])
        {
            email["type"] = json!("work");
        }
    }
    record
}

fn id(user: &Value) -> &str {
    user["id"].as_str().expect("an id")
}

/// What a client sends that knows only the standard schemas.
fn standard(shown: &Value) -> Value {
    let mut standard = shown.clone();
    standard.as_object_mut().expect("an object").remove(ROSTER_URN);
    standard["schemas"].as_array_mut().expect("schemas").retain(|urn| urn != ROSTER_URN);
    standard
}

pub(crate) async fn both_interfaces_show_the_same_user(backend: Backend) {
    let (one, other) = (backend.open().await, backend.open().await);
    let tables = attributes_of(&one).await;
    for shown in random_users(&one, &tables, &mut Random(1), USERS).await {
        // Created by either interface, read by SCIM, created in the other service by SCIM, read by
        // REST.
        let made = create(&other, shown.clone()).await;
        assert_eq!(comparable(made.clone()), comparable(shown.clone()));
        let (here, there) = (one.now(&shown).await, other.now(&made).await);
        assert_eq!(comparable(there), as_shown(comparable(here.clone())));
        // Sending back what an interface shows changes nothing.
        assert_eq!(put(&one, &shown, shown.clone()).await.expect(200).json(), shown);
        assert_eq!(one.put(&here, here.clone()).await.expect(200).json(), here);
        assert_eq!(read(&one, &at(&shown)).await, shown);
    }
}

pub(crate) async fn a_put_keeps_what_its_interface_does_not_show(backend: Backend) {
    let service = backend.open().await;
    let tables = attributes_of(&service).await;
    let mut random = Random(2);
    let everybody = service.group("everybody").await;
    for user in random_users(&service, &tables, &mut random, USERS).await {
        service.join(&everybody, &user).await.expect(200);
        let (shown, record) = (read(&service, &at(&user)).await, service.now(&user).await);
        assert_eq!(shown["groups"][0]["value"], everybody["id"]);
        // A client that knows only the standard schemas does not change Roster's own members.
        assert_eq!(put(&service, &user, standard(&shown)).await.expect(200).json(), shown);
        assert_eq!(service.now(&user).await, record);
        // The same if it changes all standard members. Addresses are kept, because `email_verified`
        // is about one address.
        let name = shown["userName"].as_str().expect("a name");
        let mut other = standard(&resource(&mut random, &tables, name, id(&user)));
        for kept in ["emails", "phoneNumbers", "active"] {
            other[kept] = shown.get(kept).cloned().unwrap_or_default();
        }
        let now = put(&service, &user, other.clone()).await.expect(200).json();
        assert_eq!((&now[ROSTER_URN], &now["groups"]), (&shown[ROSTER_URN], &shown["groups"]));
        for (member, sent) in other.as_object().expect("an object") {
            if !["schemas", "userName"].contains(&member.as_str()) {
                assert_eq!(&now[member], sent, "{member} of {other}");
            }
        }
        let attributes = record.get("attributes").cloned();
        let record = service.now(&user).await;
        assert_eq!(record.get("attributes"), attributes.as_ref());
        // REST shows the whole user without the groups, and keeps them.
        let renamed = with(record, json!({"nickname": "another", "version": null}));
        let renamed = service.put(&user, renamed).await.expect(200).json();
        let now = read(&service, &at(&user)).await;
        assert_eq!((&now["nickName"], &now["groups"]), (&json!("another"), &shown["groups"]));
        assert_eq!(now[ENTERPRISE_URN]["department"], renamed["department"]);
    }
    let own = json!({ROSTER_URN: {"attributes": {"team": "core"}}});
    let user = create(&service, with(named("own"), own)).await;
    put(&service, &user, named("own")).await.expect(200);
    assert_eq!(service.now(&user).await["attributes"], json!({"team": "core"}));
    let empty = json!({ROSTER_URN: {"attributes": {}}});
    put(&service, &user, with(named("own"), empty)).await.expect(200);
    assert_eq!(service.now(&user).await.get("attributes"), None);
}

/// Writes by one interface or the other, with this tag. Returns whether it was SCIM.
async fn written(
    service: &Service,
    random: &mut Random,
    user: &Value,
    tag: impl Fn(bool) -> String,
) -> (Reply, bool) {
    let title = json!({"title": format!("t{}", random.below(3))});
    let operation = json!({"op": "replace", "value": title});
    let patch = json!({"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
        "Operations": [operation]});
    let (by_scim, request) = match random.below(4) {
        0 => (true, send(service, "PUT", &at(user), &with(user.clone(), title))),
        1 => (true, send(service, "PATCH", &at(user), &patch)),
        2 => (false, service.request("PATCH", &path(user)).json(&title)),
        _ => {
            let record = service.now(user).await;
            let record = with(record, json!({"version": null, "title": title["title"]}));
            (false, service.request("PUT", &path(user)).json(&record))
        }
    };
    (request.header("if-match", &tag(by_scim)).send().await, by_scim)
}

pub(crate) async fn one_version_serves_both_tags(backend: Backend) {
    let service = backend.open().await;
    let tables = attributes_of(&service).await;
    let mut random = Random(3);
    let weak_or_strong = |version: i64| {
        move |by_scim| if by_scim { format!("W/\"{version}\"") } else { format!("\"{version}\"") }
    };
    for user in random_users(&service, &tables, &mut random, USERS).await {
        let mut version = 1;
        for _ in 0..4 {
            let (late, _) =
                written(&service, &mut random, &user, weak_or_strong(version - 1)).await;
            assert_eq!(late.status(), 412, "{}", late.text());
            let (reply, by_scim) =
                written(&service, &mut random, &user, weak_or_strong(version)).await;
            let tag = reply.expect(200).header("etag").to_owned();
            let now = service.now(&user).await["version"].as_i64().expect("a version");
            assert!([version, version + 1].contains(&now), "{now} after {version}");
            version = now;
            assert_eq!(tag, weak_or_strong(version)(by_scim));
            let (scim, rest) = (get(&service, &at(&user)).await, service.get(&path(&user)).await);
            let (scim, rest) = (scim.expect(200), rest.expect(200));
            assert_eq!(scim.header("etag"), format!("W/{}", rest.header("etag")));
            assert_eq!(scim.json()["meta"]["version"], scim.header("etag"));
            assert_eq!(rest.header("etag"), format!("\"{version}\""));
        }
        assert!(version > 1, "some of it changed the title");
    }
}
