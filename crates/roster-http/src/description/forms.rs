//! The schemas of users in writes and in lists, derived from `User`.
//!
//! A write accepts `null`, and where a text is expected an empty one, for every member that may be
//! absent. It accepts the members that the
//! service creates, because the response to a GET must be a valid body for a PUT. Schemas of writes
//! are closed: an unknown member is an error. Schemas of responses are open: a later version may
//! add members. A list may show only some of the members. This module has these rules, and
//! `openapi/schemas/user.json` has the members.

use roster_core::Json;

use super::tree::{
    at, component, items, members, nullable, object, reference, remove, set, string, text,
};

const CREATE: &str = "A user to create. At least one of `username` and `email` is required. \
    Members that the server sets are ignored. `null` and an empty text are the same as absent.";
const REPLACE: &str = "The record that replaces the stored user. Members that are omitted or \
    `null` or an empty text are cleared, except `status` and `username`, which do not change.";
const PATCH: &str = "A JSON merge patch (RFC 7396) of a user: named members are set, `null` or an \
    empty text clears a member, and lists are replaced as a whole.";
const DELETED: &str = "A deleted user: its last record, the time of its deletion, and the time at \
    which it will be purged.";
const OF_LINE: &str = "The problem of one line, as a request with only this line would get it. It \
    has no `request_id`: `X-Request-Id` is the id of the whole request.";
const LISTED: &str = "All members, or only `id`, `version` and those that `fields` names.";

/// The schemas that are derived from the hand-written ones, by name.
pub(super) fn schemas_of_writes(schemas: &Json) -> Vec<(String, Json)> {
    let user = at(schemas, &["User"]);
    let deleted = deleted(schemas);
    let mut derived = vec![
        ("UserCreate".to_owned(), create(user)),
        ("UserReplace".to_owned(), write(user, REPLACE)),
        ("UserPatch".to_owned(), write(user, PATCH)),
        ("ListedUser".to_owned(), listed(user)),
        ("ListedGroup".to_owned(), listed(at(schemas, &["Group"]))),
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

fn create(user: &Json) -> Json {
    let mut schema = write(user, CREATE);
    let mut properties = at(&schema, &["properties"]).clone();
    for (name, of_type) in [("id", "string"), ("version", "integer")] {
        set(&mut properties, name, ignored(of_type));
    }
    set(&mut schema, "properties", properties);
    set(&mut schema, "minProperties", Json::Int(1));
    schema
}

/// The schema of a PUT or PATCH. Any values of `created_at` and `updated_at` are ignored there. The
/// schema has the type of the values that responses have, for generated clients.
fn write(user: &Json, description: &str) -> Json {
    let mut schema = input(user);
    remove(&mut schema, "required");
    let properties = members(at(user, &["properties"])).iter().map(|(name, property)| {
        let property = if matches!(name.as_str(), "created_at" | "updated_at") {
            ignored("string")
        } else {
            let mut property = nullable(input(property));
            // An empty text is no value. Only the id has to be whole.
            if name != "id" {
                remove(&mut property, "minLength");
            }
            property
        };
        (name.clone(), property)
    });
    set(&mut schema, "properties", Json::Object(properties.collect()));
    set(&mut schema, "description", string(description));
    schema
}

fn ignored(of_type: &str) -> Json {
    let mut ignored = object([("type", string(of_type))]);
    if of_type == "string" {
        set(&mut ignored, "maxLength", Json::Int(256));
    }
    set(&mut ignored, "description", string("Set by the server; ignored in a request."));
    nullable(ignored)
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
