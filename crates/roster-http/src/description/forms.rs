//! The schemas of users, groups and tenants in writes and in lists, derived from `User`, `Group`
//! and `Tenant`.
//!
//! A write accepts `null`, and where a text is expected an empty one, for every member that may be
//! absent. Its properties are the members that a caller can set. It also accepts the other members
//! of the record, because the response to a GET must be a valid body for a PUT: `propertyNames` has
//! the names of both. So schemas of writes are closed, an unknown member is an error, and generated
//! types do not offer a member that has no effect. Schemas of responses are open: a later version
//! may add members. A list may show only some of the members. This module has these rules, and
//! `openapi/schemas/` has the members.

use roster_core::Json;

use super::tree::{
    at, component, items, members, nullable, object, reference, remove, set, string, text,
};

const CREATE: &str = "A user to create. At least one of `username` and `email` is required. \
    `null` and an empty text are the same as absent. The record of another user is a valid body: \
    its `version`, `created_at` and `updated_at` are accepted and ignored.";
const REPLACE: &str = "The record that replaces the stored user. Members that are omitted or \
    `null` or an empty text are cleared, except `status` and `username`, which do not change. \
    The response to a GET is a valid body: its `created_at`, `updated_at` and \
    `username_from_email` are accepted and ignored, and an `id` must be that of the path.";
const PATCH: &str = "A JSON merge patch (RFC 7396) of a user: named members are set, `null` or an \
    empty text clears a member, and lists are replaced as a whole. `created_at`, `updated_at` and \
    `username_from_email` are accepted and ignored, and an `id` must be that of the path.";
const GROUP_CREATE: &str = "A group to create. `id`, `version`, `member_count`, `created_at` and \
    `updated_at` are accepted and ignored.";
const GROUP_REPLACE: &str = "The record that replaces the stored one. The response to a GET is a \
    valid body: its `member_count`, `created_at` and `updated_at` are accepted and ignored, and an \
    `id` must be that of the path.";
const GROUP_PATCH: &str = "The changes of the record of a group. `member_count`, `created_at` and \
    `updated_at` are accepted and ignored, and an `id` must be that of the path.";
const GROUP_NEEDS: &[&str] = &["display_name"];
const TENANT_CREATE: &str = "A tenant to create. `null` and an empty text are the same as absent. \
    `version`, `base_url`, `users`, `deleted_users`, `groups`, `created_at`, `updated_at`, \
    `deleted_at` and `purge_at` are accepted and ignored.";
const TENANT_REPLACE: &str = "What replaces the members that a caller can set. Members that are \
    omitted or `null` or an empty text are cleared, except `name` and `status`, which do not \
    change. The response to a GET is a valid body: its `base_url`, `users`, `deleted_users`, \
    `groups`, `created_at`, `updated_at`, `deleted_at` and `purge_at` are accepted and ignored, \
    and a `name` must be that of the path.";
const TENANT_PATCH: &str = "The changes of a tenant. `base_url`, `users`, `deleted_users`, \
    `groups`, `created_at`, `updated_at`, `deleted_at` and `purge_at` are accepted and ignored, \
    and a `name` must be that of the path.";
const TENANT_NEEDS: &[&str] = &["name"];
const WEBHOOK_CREATE: &str = "A webhook to create. It begins after the position `after`, without \
    which it begins at the end of the log. `id`, `version`, `position` and the other members that \
    the service sets are accepted and ignored.";
const WEBHOOK_REPLACE: &str = "What replaces the members that a caller can set. The response to a \
    GET is a valid body: the members that the service sets are accepted and ignored.";
const WEBHOOK_PATCH: &str = "The changes of a webhook. The members that the service sets are \
    accepted and ignored.";
const WEBHOOK_NEEDS: &[&str] = &["name", "url"];
const ID_OF_CREATE: &str = "The id of the user with `keep_ids`: a UUIDv7. Otherwise ignored.";
const DELETED: &str = "A deleted user: its last record, the time of its deletion, and the time at \
    which it will be purged.";
const OF_LINE: &str = "The problem of one line, as a request with only this line would get it. It \
    has no `request_id`: `X-Request-Id` is the id of the whole request.";
const LISTED: &str = "All members, or only `id`, `version` and those that `fields` names.";

/// The schemas that are derived from the hand-written ones, by name.
pub(super) fn schemas_of_writes(schemas: &Json) -> Vec<(String, Json)> {
    let [user, group, tenant, webhook] =
        ["User", "Group", "Tenant", "Webhook"].map(|name| at(schemas, &[name]));
    let deleted = deleted(schemas);
    let mut derived = vec![
        ("UserCreate".to_owned(), create(user)),
        ("UserReplace".to_owned(), write(user, REPLACE, &read_only(user), &[])),
        ("UserPatch".to_owned(), merged(write(user, PATCH, &read_only(user), &[]))),
        ("GroupCreate".to_owned(), create_named(group, GROUP_CREATE, GROUP_NEEDS)),
        ("GroupReplace".to_owned(), write(group, GROUP_REPLACE, &read_only(group), GROUP_NEEDS)),
        ("GroupPatch".to_owned(), change_named(group, GROUP_PATCH, GROUP_NEEDS)),
        ("TenantCreate".to_owned(), create_named(tenant, TENANT_CREATE, TENANT_NEEDS)),
        ("TenantReplace".to_owned(), change_named(tenant, TENANT_REPLACE, TENANT_NEEDS)),
        ("TenantPatch".to_owned(), change_named(tenant, TENANT_PATCH, TENANT_NEEDS)),
        ("WebhookCreate".to_owned(), create_webhook(schemas, webhook)),
        ("WebhookReplace".to_owned(), change_named(webhook, WEBHOOK_REPLACE, WEBHOOK_NEEDS)),
        ("WebhookPatch".to_owned(), change_named(webhook, WEBHOOK_PATCH, &[])),
        ("ListedUser".to_owned(), listed(user)),
        ("ListedGroup".to_owned(), listed(group)),
        ("ListedDeletedUser".to_owned(), listed(&deleted)),
        ("DeletedUser".to_owned(), deleted),
        ("LineProblem".to_owned(), of_line(at(schemas, &["Problem"]))),
    ];
    for (_, schema) in members(at(user, &["properties"])) {
        let Some(name) = reference(at(schema, &["items"])) else { continue };
        let form = format!("{name}Input");
        if derived.iter().all(|(found, _)| *found != form) {
            derived.push((form, input(at(schemas, &[name]))));
        }
    }
    derived
}

/// The schema of a record that may be shown with selected members only.
fn listed(record: &Json) -> Json {
    let mut schema = record.clone();
    set(&mut schema, "description", string(LISTED));
    set(&mut schema, "required", Json::Array(vec![string("id"), string("version")]));
    schema
}

/// The schema of a deleted user: a user with `deleted_at` and `purge_at`.
fn deleted(schemas: &Json) -> Json {
    let mut schema = at(schemas, &["User"]).clone();
    let mut properties = at(&schema, &["properties"]).clone();
    set(&mut properties, "deleted_at", component("schemas", "DeletedAt"));
    set(&mut properties, "purge_at", component("schemas", "PurgeAt"));
    set(&mut schema, "properties", properties);
    set(&mut schema, "description", string(DELETED));
    let mut required = items(at(&schema, &["required"])).to_vec();
    required.push(string("deleted_at"));
    set(&mut schema, "required", Json::Array(required));
    schema
}

/// The schema of the problem of one line. It has no `request_id`, because the line is no separate
/// request.
fn of_line(problem: &Json) -> Json {
    let mut schema = problem.clone();
    let mut properties = at(&schema, &["properties"]).clone();
    remove(&mut properties, "request_id");
    set(&mut schema, "properties", properties);
    set(&mut schema, "description", string(OF_LINE));
    let mut required = items(at(&schema, &["required"])).to_vec();
    required.retain(|name| text(name) != Some("request_id"));
    set(&mut schema, "required", Json::Array(required));
    schema
}

/// The schema of a create, which also uses `username_from_email`, and `id` with `keep_ids`.
fn create(user: &Json) -> Json {
    let mut schema = write(user, CREATE, &["version", "created_at", "updated_at"], &[]);
    let mut properties = at(&schema, &["properties"]).clone();
    // Without `keep_ids` every text is accepted.
    let mut id = nullable(object([("type", string("string")), ("maxLength", Json::Int(256))]));
    set(&mut id, "description", string(ID_OF_CREATE));
    set(&mut properties, "id", id);
    set(&mut schema, "properties", properties);
    set(&mut schema, "minProperties", Json::Int(1));
    schema
}

/// The schema of a create of a group or tenant, which must have a name.
fn create_named(record: &Json, description: &str, needed: &[&str]) -> Json {
    let mut left_out = read_only(record);
    left_out.push("version");
    write(record, description, &left_out, needed)
}

/// The schema of a new webhook, which may say where it begins, as a replay does.
fn create_webhook(schemas: &Json, webhook: &Json) -> Json {
    let mut properties = members(at(webhook, &["properties"])).to_vec();
    let after = at(schemas, &["WebhookReplay", "properties", "after"]);
    properties.push(("after".to_owned(), after.clone()));
    let record = object([("properties", Json::Object(properties))]);
    create_named(&record, WEBHOOK_CREATE, WEBHOOK_NEEDS)
}

/// The schema of a change that may leave out the name, but cannot remove it.
fn change_named(record: &Json, description: &str, needed: &[&str]) -> Json {
    let mut schema = write(record, description, &read_only(record), needed);
    remove(&mut schema, "required");
    schema
}

/// The names of the members that only the server sets.
fn read_only(record: &Json) -> Vec<&str> {
    let all = members(at(record, &["properties"])).iter();
    let is_read_only = |property: &Json| *at(property, &["readOnly"]) == Json::Bool(true);
    all.filter(|(_, property)| is_read_only(property)).map(|(name, _)| name.as_str()).collect()
}

/// The schema of a body that writes a record and must have the members in `needed`. It accepts the
/// members in `left_out` with any value, but they are not among its properties.
fn write(record: &Json, description: &str, left_out: &[&str], needed: &[&str]) -> Json {
    let record = members(at(record, &["properties"]));
    let names = record.iter().map(|(name, _)| string(name)).collect();
    let names = object([("type", string("string")), ("enum", Json::Array(names))]);
    let shown = record.iter().filter(|(name, _)| !left_out.contains(&name.as_str()));
    let properties = shown.map(|(name, property)| {
        let mut property = input(property);
        if !needed.contains(&name.as_str()) {
            property = nullable(property);
            // An empty text is no value.
            remove(&mut property, "minLength");
        }
        (name.clone(), property)
    });
    let mut schema = object([("type", string("object")), ("description", string(description))]);
    if !needed.is_empty() {
        set(&mut schema, "required", Json::Array(needed.iter().copied().map(string).collect()));
    }
    set(&mut schema, "properties", Json::Object(properties.collect()));
    set(&mut schema, "propertyNames", names);
    schema
}

/// The same schema for a merge patch: an object may lack parts that the stored one has.
fn merged(mut schema: Json) -> Json {
    let properties = members(at(&schema, &["properties"])).iter().map(|(name, property)| {
        let mut property = property.clone();
        remove(&mut property, "required");
        (name.clone(), property)
    });
    let properties = Json::Object(properties.collect());
    set(&mut schema, "properties", properties);
    schema
}

/// The same schema for a write: nothing is read-only, `null` means absent, and an unknown member is
/// an error.
fn input(schema: &Json) -> Json {
    let mut schema = schema.clone();
    remove(&mut schema, "readOnly");
    if let Some(name) = reference(at(&schema, &["items"])) {
        let form = format!("{name}Input");
        set(&mut schema, "items", component("schemas", &form));
    }
    let needed: Vec<String> =
        items(at(&schema, &["required"])).iter().filter_map(text).map(str::to_owned).collect();
    if let Some(Json::Object(properties)) = remove(&mut schema, "properties") {
        let properties = properties.into_iter().map(|(name, property)| {
            let property = input(&property);
            let property = if needed.contains(&name) { property } else { nullable(property) };
            (name, property)
        });
        set(&mut schema, "properties", Json::Object(properties.collect()));
        // Members of `attributes` need no declaration.
        if *at(&schema, &["additionalProperties"]) != Json::Bool(true) {
            set(&mut schema, "additionalProperties", Json::Bool(false));
        }
    }
    schema
}
