//! The examples of the description match real responses.

use serde_json::{Value, json};

use crate::{
    events::place,
    service::{Backend, Service, group_path, kept, path},
};

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
    service.close_as_operator().await;
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

pub(crate) async fn the_examples_of_a_tenant_match_the_service(backend: Backend) {
    let service = backend.open().await;
    service.close_as_operator().await;
    let created = service.tenant(example(&service, "TenantCreate").await).await;
    let hold = |mut example: Value, real: &Value| {
        let made = ["created_at", "updated_at", "users", "deleted_users", "groups"];
        for member in made.into_iter().filter(|member| real.get(member).is_some()) {
            assert!(!example[member].is_null(), "{member}");
            example[member] = real[member].clone();
        }
        assert_eq!(&example, real);
    };
    hold(example(&service, "TenantCreated").await, &created);
    let real = service.get("/tenants/acme").await.expect(200).json();
    hold(example(&service, "Tenant").await, &real);
    let page = example(&service, "TenantList").await;
    hold(page["items"][0].clone(), &real);
    let patch = example(&service, "TenantPatch").await;
    let request = service.request("PATCH", "/tenants/acme?dry_run=true").json(&patch);
    hold(example(&service, "TenantPatched").await, &request.send().await.expect(200).json());
    let replace = example(&service, "TenantReplace").await;
    let request = service.request("PUT", "/tenants/acme").json(&replace);
    hold(example(&service, "TenantReplaced").await, &request.send().await.expect(200).json());
}

pub(crate) async fn the_examples_of_a_deleted_tenant_match_the_service(backend: Backend) {
    let service = backend.open().await;
    service.close_as_operator().await;
    service.tenant(example(&service, "TenantCreate").await).await;
    let hold = |mut example: Value, real: &Value| {
        let times = ["created_at", "updated_at", "deleted_at", "purge_at"];
        let made = ["users", "deleted_users", "groups"].into_iter().chain(times);
        for member in made.filter(|member| real.get(member).is_some()) {
            assert!(!example[member].is_null(), "{member}");
            example[member] = real[member].clone();
        }
        assert_eq!(&example, real);
    };
    let dry = async |method: &str, target: &str| {
        let request = service.request(method, &format!("{target}?dry_run=true"));
        request.send().await.expect(200).json()
    };
    hold(example(&service, "TenantDeleted").await, &dry("DELETE", "/tenants/acme").await);
    service.delete("/tenants/acme").await.expect(204);
    let deleted = "/deleted-tenants/acme";
    let real = service.get(deleted).await.expect(200).json();
    hold(example(&service, "DeletedTenant").await, &real);
    let page = example(&service, "DeletedTenantList").await;
    hold(page["items"][0].clone(), &real);
    hold(example(&service, "TenantPurged").await, &dry("DELETE", deleted).await);
    let restored = dry("POST", &format!("{deleted}/restore")).await;
    hold(example(&service, "TenantRestored").await, &restored);
}

/// Sends each example of a request body, with the ids of records that exist.
pub(crate) async fn every_example_of_a_request_is_accepted(backend: Backend) {
    let service = backend.open().await;
    let document = service.get("/openapi.json").await.expect(200).json();
    let mut sent = 0;
    for (template, item) in document["paths"].as_object().expect("an object") {
        for (method, operation) in item.as_object().expect("an object") {
            let body = &operation["requestBody"];
            let content = [&body["content"], &body["x-other-content"]].into_iter();
            for (media_type, one) in content.filter_map(Value::as_object).flatten() {
                for (name, shown) in one["examples"].as_object().expect("examples") {
                    let pointer = shown["$ref"].as_str().expect("a reference");
                    let example =
                        document.pointer(pointer.trim_start_matches('#')).expect("an example");
                    let value = &example["value"];
                    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    send_example(&backend, template, method, media_type, text)
                        .await
                        .unwrap_or_else(|fault| panic!("{method} {template} {name}: {fault}"));
                    sent += 1;
                }
            }
        }
    }
    assert!(sent > 35, "{sent}");
}

/// Sends one example to a new service. Fails unless the service executes it, or its first line.
async fn send_example(
    backend: &Backend,
    template: &str,
    method: &str,
    media_type: &str,
    text: String,
) -> Result<(), String> {
    let service = backend.open().await;
    let made = service.user(json!({"username": "maud", "email": "maud@example.com"})).await;
    let group = service.group("team").await;
    let [user, group] =
        [made, group].map(|record| record["id"].as_str().expect("an id").to_owned());
    let id = if template.contains("Groups") { &group } else { &user };
    let target = template.replace("{user_id}", &user).replace("{group_id}", &group);
    let mut target = target.replace("{id}", id).replace("{tenant}", "acme");
    if template.starts_with("/webhooks/") {
        let webhook = json!({"name": "search", "url": "https://h.example.com/r"});
        let webhook = service.webhook(webhook).await;
        target = target.replace("{webhook_id}", webhook["id"].as_str().expect("an id"));
    }
    if template.starts_with("/tenants") {
        service.close_as_operator().await;
    }
    if template == "/tenants/{tenant}" {
        service.tenant(json!({"name": "acme", "users_max": 1})).await;
    }
    let is_of_lines = media_type.contains("ndjson") || media_type == "text/csv";
    if template == "/bulk/users" && !is_of_lines {
        target.push_str("?username=maud&confirm=1");
    }
    // The examples name a user and a group.
    let text = text
        .replace("01a1f84a-963b-7c3e-9a41-5d2e8f604b17", &user)
        .replace("01a1f84b-2c10-7d55-8a3e-0b6f1c9e7d42", &group)
        .replace("0fece6a143a667ce-1283", &place(&service, 1));
    let method = method.to_ascii_uppercase();
    let reply = service.request(&method, &target).body(media_type, text).send().await;
    let status = if is_of_lines && reply.status() == 200 {
        let first: Value = reply
            .text()
            .lines()
            .next()
            .and_then(|line| serde_json::from_str(line).ok())
            .unwrap_or_default();
        first["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or(500)
    } else {
        reply.status()
    };
    if (200..300).contains(&status) { Ok(()) } else { Err(format!("{status} {}", reply.text())) }
}

/// The document must accept these bodies too, because the service does: each response of a test is
/// compared with it.
pub(crate) async fn a_record_is_a_valid_body_although_its_type_shows_less(backend: Backend) {
    let service = backend.open().await;
    let user = service.user(json!({"email": "ada@example.com"})).await;
    assert_eq!(user["username_from_email"], true);
    service.put(&user, user.clone()).await.expect(200);
    service.patch(&user, user.clone()).await.expect(200);
    let group = service.group("team").await;
    let target = group_path(&group);
    for method in ["PUT", "PATCH"] {
        service.request(method, &target).json(&group).send().await.expect(200);
    }
    let copy = json!({"id": "x", "version": 7, "created_at": 1, "updated_at": null});
    for (target, name) in [("/users", "username"), ("/groups", "display_name")] {
        let mut body = copy.clone();
        body[name] = json!("copy");
        service.request("POST", target).json(&body).send().await.expect(201);
    }
    service.close_as_operator().await;
    service.tenant(json!({"name": "acme"})).await;
    let tenant = service.get("/tenants/acme").await.expect(200).json();
    for method in ["PUT", "PATCH"] {
        service.request(method, "/tenants/acme").json(&tenant).send().await.expect(200);
    }
    let mut copy = tenant;
    copy["name"] = json!("copy");
    service.tenant(copy).await;
    let schema = service.get("/schema").await.expect(200).json();
    service.request("PUT", "/schema").json(&schema).send().await.expect(200);
}
