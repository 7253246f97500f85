//! Both faces over one record, on random users of both.

use serde_json::{Value, json};

use crate::{
    client::Reply,
    people::{Random, resource, taken, told},
    service::{Backend, Service, path},
    support::{ENTERPRISE_URN, ROSTER_URN, at, create, get, named, put, read, send, with},
};

/// As many of each face.
const USERS: usize = 40;

/// What a user is, apart from what each copy of it has for itself.
fn essence(mut user: Value) -> Value {
    let members = user.as_object_mut().expect("an object");
    for own in ["id", "version", "created_at", "updated_at", "meta", "groups"] {
        members.remove(own);
    }
    user
}

/// A record as SCIM shows it unasked: without members of its own, and with the type of a primary
/// address that has none.
fn as_shown(mut record: Value) -> Value {
    record.as_object_mut().expect("an object").remove("attributes");
    for email in record.get_mut("emails").and_then(Value::as_array_mut).into_iter().flatten() {
        if email["primary"] == true && email.get("type").is_none() {
            email["type"] = json!("work");
        }
    }
    record
}

fn id(user: &Value) -> &str {
    user["id"].as_str().expect("an id")
}

/// What a client sends that knows the standard alone.
fn standard(shown: &Value) -> Value {
    let mut standard = shown.clone();
    standard.as_object_mut().expect("an object").remove(ROSTER_URN);
    standard["schemas"].as_array_mut().expect("schemas").retain(|urn| urn != ROSTER_URN);
    standard
}

pub(crate) async fn a_user_of_one_face_is_the_same_user_at_the_other(backend: Backend) {
    let (one, other) = (backend.open().await, backend.open().await);
    let tables = told(&one).await;
    for shown in taken(&one, &tables, &mut Random(1), USERS).await {
        // Made by either, read by SCIM, made there again by SCIM, read by REST.
        let made = create(&other, shown.clone()).await;
        assert_eq!(essence(made.clone()), essence(shown.clone()));
        let (here, there) = (one.now(&shown).await, other.now(&made).await);
        assert_eq!(essence(there), as_shown(essence(here.clone())));
        // Nothing changes by sending back what either face shows.
        assert_eq!(put(&one, &shown, shown.clone()).await.expect(200).json(), shown);
        assert_eq!(one.put(&here, here.clone()).await.expect(200).json(), here);
        assert_eq!(read(&one, &at(&shown)).await, shown);
    }
}

pub(crate) async fn a_put_by_one_face_keeps_what_it_cannot_show(backend: Backend) {
    let service = backend.open().await;
    let tables = told(&service).await;
    let mut random = Random(2);
    let everybody = service.group("everybody").await;
    for user in taken(&service, &tables, &mut random, USERS).await {
        service.join(&everybody, &user).await.expect(200);
        let (shown, record) = (read(&service, &at(&user)).await, service.now(&user).await);
        assert_eq!(shown["groups"][0]["value"], everybody["id"]);
        // A client that knows the standard alone leaves what only Roster has as it is.
        assert_eq!(put(&service, &user, standard(&shown)).await.expect(200).json(), shown);
        assert_eq!(service.now(&user).await, record);
        // So it does where it changes all that it knows of, but for the addresses: whether one is
        // known to be the user's is said of that one.
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
        // The other face shows the whole user but for the groups, and keeps them.
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

/// A write by one face or the other, under this tag; tells whether it was by SCIM.
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
    let tables = told(&service).await;
    let mut random = Random(3);
    let weak_or_strong = |version: i64| {
        move |by_scim| if by_scim { format!("W/\"{version}\"") } else { format!("\"{version}\"") }
    };
    for user in taken(&service, &tables, &mut random, USERS).await {
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
