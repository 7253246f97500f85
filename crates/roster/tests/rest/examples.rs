//! The examples of the description match real responses.

use serde_json::{Value, json};

use crate::service::{Backend, Service, kept, path};

async fn example(service: &Service, name: &str) -> Value {
    let document = service.get("/openapi.json").await.expect(200).json();
    document["components"]["examples"][name]["value"].clone()
}

/// Replaces the values that the server sets in one record by those of the other; all others must be
/// equal.
#[track_caller]
fn agree(mut example: Value, real: &Value) {
    for member in ["id", "created_at", "updated_at"] {
        assert!(example[member].is_string(), "{member}");
        example[member] = real[member].clone();
    }
    assert_eq!(&example, real);
}

/// Generated clients send every default of the description.
pub(crate) async fn documented_defaults_are_accepted_and_change_nothing(backend: Backend) {
    let service = backend.open().await;
    let user = service.user(json!({"username": "ada"})).await;
    let group = service.group("team").await;
    let document = service.get("/openapi.json").await.expect(200).json();
    let mut sent = 0;
    for (template, item) in document["paths"].as_object().expect("an object") {
        if template.starts_with("/scim") {
            continue;
        }
        let id = |record: &Value| record["id"].as_str().expect("an id").to_owned();
        let target = template.replace("{user_id}", &id(&user)).replace("{group_id}", &id(&group));
        let defaults = item["get"]["parameters"].as_array().into_iter().flatten();
        let defaults: Vec<String> = defaults
            .filter_map(|one| document.pointer(one["$ref"].as_str()?.trim_start_matches('#')))
            .filter_map(|one| {
                let default = one["schema"].get("default")?;
                let value = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
                Some(format!("{}={value}", one["name"].as_str()?))
            })
            .collect();
        if defaults.is_empty() {
            continue;
        }
        sent += defaults.len();
        let defaults = format!("{target}?{}", defaults.join("&"));
        let plain = service.get(&target).await.expect(200);
        assert_eq!(service.get(&defaults).await.expect(200).text(), plain.text(), "{defaults}");
        if template == "/users" {
            let found = service.get(&format!("{defaults}&q=ada")).await.expect(200);
            assert_eq!(found.text(), plain.text());
        }
    }
    assert!(sent >= 15, "{sent}");
}

pub(crate) async fn the_examples_of_one_user_match_the_service(backend: Backend) {
    let service = backend.open().await;
    let created = service.user(example(&service, "UserCreate").await).await;
    agree(example(&service, "User").await, &created);
    let mut page = example(&service, "UserList").await;
    let real = service.get("/users").await.expect(200).json();
    agree(page["items"][0].clone(), &real["items"][0]);
    page["items"] = real["items"].clone();
    assert_eq!(page, real);

    let replace = example(&service, "UserReplace").await;
    let replaced = service.put(&created, replace).await.expect(200).json();
    agree(example(&service, "UserReplaced").await, &replaced);
    hold_those_of_leaving(&backend.open().await).await;
}

/// The examples of a deleted user, of its restore, and of its events.
async fn hold_those_of_leaving(service: &Service) {
    let created = service.user(example(service, "UserCreate").await).await;
    service.delete(&path(&created)).await.expect(204);
    let deleted = service.get(&kept(&created)).await.expect(200).json();
    let mut shown = example(service, "DeletedUser").await;
    for member in ["deleted_at", "purge_at"] {
        assert!(shown[member].is_string(), "{member}");
        shown[member] = deleted[member].clone();
    }
    agree(shown, &deleted);
    let mut page = example(service, "DeletedUserList").await;
    assert_eq!(page["items"], json!([example(service, "DeletedUser").await]));
    page["items"] = json!([deleted]);
    assert_eq!(page, service.get("/deleted-users").await.expect(200).json());
    let restore = service.request("POST", &format!("{}/restore", kept(&created)));
    let restored = restore.send().await.expect(200).json();
    agree(example(service, "UserRestored").await, &restored);

    let real = service.get("/events?limit=1").await.expect(200).json();
    let mut page = example(service, "EventList").await;
    let event = &mut page["items"][0];
    agree(event["data"]["user"].take(), &created);
    event["data"]["user"] = created.clone();
    event["data"]["user_id"] = created["id"].clone();
    event["subject"] = json!(path(&created)[1..]);
    for member in ["id", "time", "requestid"] {
        assert!(event[member].is_string(), "{member}");
        event[member] = real["items"][0][member].clone();
    }
    assert!(page["next_cursor"].is_string());
    page["next_cursor"] = real["next_cursor"].clone();
    assert_eq!(page, real);
}

pub(crate) async fn the_example_of_a_patch_matches_the_service(backend: Backend) {
    let service = backend.open().await;
    let created = service.user(example(&service, "UserCreate").await).await;
    let patch = example(&service, "UserPatch").await;
    let patched = service.patch(&created, patch).await.expect(200).json();
    agree(example(&service, "UserPatched").await, &patched);
}

pub(crate) async fn the_long_example_is_accepted(backend: Backend) {
    let service = backend.open().await;
    let long = example(&service, "UserCreateLong").await;
    let user = service.user(long.clone()).await;
    for (name, value) in long.as_object().expect("an object") {
        assert_eq!(&user[name], value, "{name}");
    }
}

pub(crate) async fn the_examples_of_documents_match_the_service(backend: Backend) {
    let service = backend.open().await;
    let mut shown = example(&service, "ServiceDocument").await;
    let real = service.get("/").await.expect(200).json();
    for (name, limit) in shown["limits"].as_object().expect("limits") {
        assert_eq!(limit, &real["limits"][name], "{name}");
    }
    shown["limits"] = real["limits"].clone();
    assert_eq!(shown, real);
    assert_eq!(example(&service, "Health").await, service.get("/livez").await.json());
    // The description leaves out the example of the problem, which linters take for a schema.
    let mut explained = service.get("/problems/user-not-found").await.expect(200).json();
    assert!(explained.as_object_mut().expect("an object").remove("example").is_some());
    assert_eq!(example(&service, "ProblemKind").await, explained);
}

pub(crate) async fn the_example_of_a_problem_has_the_members_of_a_real_one(backend: Backend) {
    let service = backend.open().await;
    let explained = service.get("/problems/user-not-found").await.expect(200).json();
    let mut shown = explained["example"].clone();
    let user = json!({"id": "01a1f84a-963b-7c3e-9a41-5d2e8f604b17"});
    let real = service.get(&path(&user)).await.refused(404, "user-not-found").json();
    shown["request_id"] = real["request_id"].clone();
    assert_eq!(shown, real);
}
