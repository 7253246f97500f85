//! Both faces over one record, on random users.

use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};
use roster_core::{Json, json::write_json};
use roster_testkit::arbitrary::person;
use serde_json::{Value, json};

use crate::{
    service::{Service, Stage},
    support::{ROSTER_URN, at, create, get, named, put, read, send, with},
};

const USERS: usize = 60;

/// Random bodies of the REST face, under names that nobody else has.
fn people() -> Vec<Vec<u8>> {
    let mut runner = TestRunner::deterministic();
    let mut text = |number: usize| {
        let tree: Json = person(number).new_tree(&mut runner).expect("a body").current();
        let mut out = Vec::new();
        write_json(&mut out, &tree);
        out
    };
    (0..USERS).map(&mut text).collect()
}

/// The random users that are taken, as the REST face shows them.
async fn taken(service: &Service) -> Vec<Value> {
    let mut users = Vec::new();
    for body in people() {
        let reply = service.request("POST", "/users").body("application/json", body).send().await;
        if reply.status() == 201 {
            users.push(reply.json());
        }
    }
    assert!(users.len() > USERS / 3, "most of them are valid: {}", users.len());
    users
}

/// What a user is, apart from what each copy of it has for itself.
fn essence(mut user: Value) -> Value {
    let members = user.as_object_mut().expect("an object");
    for own in ["id", "version", "created_at", "updated_at", "meta"] {
        members.remove(own);
    }
    user
}

pub(crate) async fn a_user_of_one_face_is_the_same_user_at_the_other(stage: Stage) {
    let (one, other) = (stage.open().await, stage.open().await);
    for user in taken(&one).await {
        // Made by REST, read by SCIM, made there again by SCIM, read by REST.
        let shown = read(&one, &at(&user)).await;
        let made = create(&other, shown.clone()).await;
        assert_eq!(essence(made.clone()), essence(shown));
        let back = other.get(&format!("/users/{}", made["id"].as_str().expect("an id"))).await;
        assert_eq!(essence(back.expect(200).json()), essence(user));
    }
}

pub(crate) async fn a_put_by_one_face_keeps_what_it_cannot_show(stage: Stage) {
    let service = stage.open().await;
    for user in taken(&service).await {
        let shown = read(&service, &at(&user)).await;
        // All that was shown comes back: nothing changes, not even the version.
        assert_eq!(put(&service, &user, shown.clone()).await.expect(200).json(), shown);
        assert_eq!(service.now(&user).await, user);
        // A client that knows the standard alone leaves what only Roster has as it is.
        let mut standard = shown.clone();
        standard.as_object_mut().expect("an object").remove(ROSTER_URN);
        let schemas = standard["schemas"].as_array_mut().expect("schemas");
        schemas.retain(|urn| urn != ROSTER_URN);
        assert_eq!(put(&service, &user, standard).await.expect(200).json(), shown);
        assert_eq!(service.now(&user).await, user);
    }
    let own = json!({ROSTER_URN: {"attributes": {"team": "core"}}});
    let user = create(&service, with(named("own"), own)).await;
    let kept = put(&service, &user, named("own")).await.expect(200).json();
    assert_eq!(kept[ROSTER_URN]["attributes"], json!({"team": "core"}));
    let cleared = put(&service, &user, with(named("own"), json!({ROSTER_URN: {}}))).await;
    assert_eq!(cleared.expect(200).json()[ROSTER_URN].get("attributes"), None);
}

pub(crate) async fn one_version_serves_both_tags(stage: Stage) {
    let service = stage.open().await;
    for (number, user) in taken(&service).await.into_iter().take(10).enumerate() {
        let reply = get(&service, &at(&user)).await.expect(200);
        assert_eq!(reply.header("etag"), "W/\"1\"");
        let body = with(reply.json(), json!({"title": format!("t{number}")}));
        let changed = send(&service, "PUT", &at(&user), &body).header("if-match", "W/\"1\"");
        assert_eq!(changed.send().await.expect(200).header("etag"), "W/\"2\"");
        let id = user["id"].as_str().expect("an id");
        let rest = service.get(&format!("/users/{id}")).await.expect(200);
        assert_eq!(rest.header("etag"), "\"2\"");
        let old = service.request("PUT", &format!("/users/{id}")).header("if-match", "\"1\"");
        old.json(&rest.json()).send().await.refused(412, "version-mismatch");
    }
}
