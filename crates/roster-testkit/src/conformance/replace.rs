//! Later writes: the effects of PUT, PATCH and DELETE on a user.

use roster_core::{EventKind, Refusal, Rules, UserAct, ViolationCode, list::PageQuery};
use serde_json::json;

use super::harness::{Harness, deleting, faults, replacing, view};

pub const RULES: Rules = super::DEFAULT;

pub async fn replace_clears_what_is_omitted_but_status_and_username(harness: Harness) {
    let body = json!({
        "username": "ada", "status": "suspended", "name": "Ada", "email": "ada@example.com",
        "attributes": {"a": 1}, "manager": {"id": "7"},
    });
    let user = harness.user(body).await;
    let after = harness.replace(user.id, json!({"nickname": "A"})).await.expect("valid").stored;
    let seen = view(&after);
    assert_eq!((&seen["username"], &seen["status"]), (&json!("ada"), &json!("suspended")));
    assert_eq!(seen["nickname"], "A");
    for cleared in ["name", "email", "emails", "attributes", "manager"] {
        assert!(seen.get(cleared).is_none(), "{cleared}");
    }
    assert_eq!(harness.get(user.id).await, Some(after));
}

pub async fn null_username_and_status_are_kept_by_a_replacement(harness: Harness) {
    let user = harness.user(json!({"username": "ada", "status": "suspended"})).await;
    let body = json!({"username": null, "status": null, "email": "ada@example.com"});
    let seen = view(&harness.replace(user.id, body.clone()).await.expect("valid").stored);
    assert_eq!((&seen["username"], &seen["status"]), (&json!("ada"), &json!("suspended")));
    // A patch removes the username.
    let seen = view(&harness.patch(user.id, body).await.expect("valid").stored);
    let expected = (&json!("ada@example.com"), &json!("suspended"));
    assert_eq!((&seen["username"], &seen["status"]), expected);
    let body = json!({"username": "ada", "email": null});
    harness.patch(user.id, body).await.expect("valid");
    let without = harness.patch(user.id, json!({"username": null})).await;
    assert_eq!(faults(without), [("/username".to_owned(), ViolationCode::Required)]);
}

pub async fn each_real_change_is_one_version_and_one_event(harness: Harness) {
    let user = harness.user(json!({"username": "ada"})).await;
    harness.clock.step(10);
    let second = harness.replace(user.id, json!({"name": "Ada"})).await.expect("valid");
    harness.clock.step(10);
    let third = harness.patch(user.id, json!({"name": "Ada L"})).await.expect("valid");
    assert_eq!((second.stored.version, second.position), (2, 2));
    assert_eq!((third.stored.version, third.position), (3, 3));
    let kinds: Vec<EventKind> = harness.events().await.into_iter().map(|(_, e)| e.kind).collect();
    assert_eq!(kinds, [EventKind::Created, EventKind::Updated, EventKind::Updated]);
}

pub async fn a_write_that_changes_nothing_stores_nothing(harness: Harness) {
    let body = json!({
        "username": "ada", "email": "ada@example.com", "name": "Zoe\u{308}",
        "attributes": {"a": [1, null, {"b": 0.5}]},
        "addresses": [{"country": "GB", "type": "home"}],
    });
    let user = harness.user(body.clone()).await;
    harness.clock.step(1000);
    let before = harness.image().await;
    let mut whole = view(&user);
    let held_by_itself = whole.clone();
    whole.as_object_mut().expect("an object").remove("version");
    for result in [
        harness.replace(user.id, body).await,
        harness.replace(user.id, whole).await,
        harness.replace(user.id, held_by_itself).await,
        harness.patch(user.id, json!({})).await,
        harness.patch(user.id, json!({"name": "Zo\u{eb}", "nickname": null})).await,
        harness.patch(user.id, json!({"attributes": {"absent": null}})).await,
        harness.patch(user.id, json!({"roles": [], "title": null, "status": "active"})).await,
    ] {
        let outcome = result.expect("valid");
        assert_eq!((outcome.stored, outcome.position), (user.clone(), 1));
    }
    assert_eq!(harness.image().await, before);
}

pub async fn null_and_empty_and_absent_mean_the_same_on_a_write(harness: Harness) {
    let body = json!({
        "username": "ada", "name": "Ada", "emails": [{"value": "a@example.com"}],
        "roles": [{"value": "admin"}], "attributes": {"a": 1}, "manager": {"id": "7"},
    });
    let bare = json!({
        "username": "ada", "name": null, "emails": [], "email": null, "roles": null,
        "attributes": {}, "manager": null,
    });
    let user = harness.user(body.clone()).await;
    let cleared = harness.replace(user.id, bare.clone()).await.expect("valid").stored;
    let members = view(&cleared);
    let names: Vec<&String> = members.as_object().expect("an object").keys().collect();
    assert_eq!(names, ["created_at", "id", "status", "updated_at", "username", "version"]);
    let absent = harness.replace(user.id, json!({"username": "ada"})).await.expect("valid");
    assert_eq!(absent.stored, cleared);
    let again = harness.replace(user.id, body).await.expect("valid").stored;
    assert_eq!(again.version, 3);
    // An empty object merges nothing into the stored one (RFC 7396); only null removes it.
    let mut patch = bare;
    patch["attributes"] = json!(null);
    let patched = harness.patch(user.id, patch).await.expect("valid").stored;
    assert_eq!(patched.version, 4);
    assert_eq!(view(&patched).as_object().map(serde_json::Map::len), Some(6));
}

pub async fn the_id_of_the_body_must_be_the_one_of_the_path(harness: Harness) {
    let (ada, grace) = (
        harness.user(json!({"username": "ada"})).await,
        harness.user(json!({"username": "g"})).await,
    );
    let before = harness.image().await;
    for id in [json!(grace.id.to_string()), json!("")] {
        for result in [
            harness.replace(ada.id, json!({"id": id, "name": "Ada"})).await,
            harness.patch(ada.id, json!({"id": id, "name": "Ada"})).await,
        ] {
            assert_eq!(faults(result), [("/id".to_owned(), ViolationCode::IdMismatch)]);
        }
    }
    assert_eq!(harness.image().await, before);
    let same = json!({"id": ada.id.to_string().to_uppercase(), "name": "Ada"});
    assert_eq!(harness.replace(ada.id, same).await.expect("valid").stored.version, 2);
}

pub async fn updated_at_never_goes_back_when_the_clock_does(harness: Harness) {
    let user = harness.user(json!({"username": "ada"})).await;
    harness.clock.step(5000);
    let second = harness.patch(user.id, json!({"name": "1"})).await.expect("valid").stored;
    harness.clock.step(-60_000);
    let third = harness.patch(user.id, json!({"name": "2"})).await.expect("valid").stored;
    assert_eq!(view(&third)["updated_at"], view(&second)["updated_at"]);
    assert_eq!(view(&third)["created_at"], view(&user)["created_at"]);
    harness.clock.step(60_001);
    let fourth = harness.patch(user.id, json!({"name": "3"})).await.expect("valid").stored;
    assert!(view(&fourth)["updated_at"].as_str() > view(&third)["updated_at"].as_str());
    let times: Vec<_> = harness.events().await.into_iter().map(|(_, event)| event.at).collect();
    assert!(times.is_sorted());
}

pub async fn a_patch_merges_and_null_removes(harness: Harness) {
    let body = json!({
        "username": "ada", "name": "Ada", "title": "Countess",
        "attributes": {"a": {"b": 1, "c": 2}, "d": [1, 2]},
    });
    let user = harness.user(body).await;
    let patch = json!({"title": null, "attributes": {"a": {"b": null, "e": "x"}, "d": [3]}});
    let seen = view(&harness.patch(user.id, patch).await.expect("valid").stored);
    assert_eq!(seen["name"], "Ada");
    assert!(seen.get("title").is_none());
    assert_eq!(seen["attributes"], json!({"a": {"c": 2, "e": "x"}, "d": [3]}));
}

pub async fn a_patch_that_is_not_an_object_is_rejected(harness: Harness) {
    let user = harness.user(json!({"username": "ada"})).await;
    for patch in [json!([]), json!(null), json!("x"), json!(1)] {
        let fault = faults(harness.patch(user.id, patch).await);
        assert_eq!(fault, [(String::new(), ViolationCode::WrongType)]);
    }
}

pub async fn a_deleted_user_moves_to_the_deleted_users(harness: Harness) {
    let user = harness.user(json!({"username": "ada"})).await;
    harness.user(json!({"username": "grace"})).await;
    harness.clock.step(10);
    let outcome = harness.delete(user.id).await.expect("there");
    assert_eq!((outcome.stored.id, outcome.stored.version), (user.id, 2));
    assert_eq!(outcome.position, 3);
    assert_eq!(harness.get(user.id).await, None);
    let image = harness.image().await;
    assert_eq!((image.head.live(), image.head.deleted, image.users.len()), (1, 1, 1));
    let (position, event) = image.events.last().expect("an event");
    assert_eq!((*position, event.kind, event.version), (3, EventKind::Deleted, 2));
    assert_eq!(event.record, outcome.stored.record);
    assert_eq!(event.changed, []);
}

pub async fn an_unknown_user_cannot_be_replaced_patched_or_deleted(harness: Harness) {
    let user = harness.user(json!({"username": "ada"})).await;
    harness.delete(user.id).await.expect("there");
    let before = harness.image().await;
    for id in [user.id, harness.new_id()] {
        assert_eq!(harness.replace(id, json!({"username": "a"})).await, Err(Refusal::NotFound));
        assert_eq!(harness.patch(id, json!({})).await, Err(Refusal::NotFound));
        assert_eq!(harness.delete(id).await, Err(Refusal::NotFound));
    }
    assert_eq!(harness.image().await, before);
}

pub async fn a_batch_is_executed_in_order(harness: Harness) {
    let create = harness.creating(&json!({"username": "ada"}));
    let UserAct::Create { id, .. } = create else { panic!("a create") };
    let name = |name: &str| replacing(id, &json!({"name": name}));
    let acts = vec![name("0"), create, name("1"), name("1"), name("2"), deleting(id), name("3")];
    let results = harness.apply(acts).await;
    let versions: Vec<Option<i64>> =
        results.iter().map(|result| result.as_ref().ok().map(|o| o.stored.version)).collect();
    assert_eq!(versions, [None, Some(1), Some(2), Some(2), Some(3), Some(4), None]);
    assert_eq!(results.first(), Some(&Err(Refusal::NotFound)));
    assert_eq!(results.last(), Some(&Err(Refusal::NotFound)));
    assert_eq!(harness.head().await.position, 4);
    assert_eq!(harness.get(id).await, None);
}

pub async fn an_empty_batch_changes_nothing(harness: Harness) {
    assert_eq!(harness.execute(Vec::new()).await, []);
    assert_eq!(harness.head().await.position, 0);
}

pub async fn an_acknowledged_write_is_read_at_once(harness: Harness) {
    let user = harness.user(json!({"username": "ada"})).await;
    for round in 0..50 {
        let body = json!({"name": round.to_string()});
        let outcome = harness.replace(user.id, body).await.expect("valid");
        assert_eq!(harness.get(user.id).await.as_ref(), Some(&outcome.stored));
        let page = harness.page(PageQuery::first(10)).await;
        assert_eq!(page.items, [outcome.stored]);
        assert_eq!(page.position, outcome.position);
    }
}
