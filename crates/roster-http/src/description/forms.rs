//! The forms of a user that writes take and lists show, told from `User`.
//!
//! A write takes `null` wherever a member may be absent, and takes the members that the service
//! makes, since what a GET gave must be good for a PUT. Forms of writes are closed: an unknown
//! member is an error. Those of responses are open: a later version may add members. A list shows
//! some of the members. These rules stand here once; `openapi/schemas/user.json` holds the members.

use roster_core::Json;

use super::tree::{
    at, component, items, members, nullable, object, reference, remove, set, string, text,
};

const CREATE: &str = "A user to create. At least one of `username` and `email` is needed. What the \
    service makes itself is ignored. `null` is the same as absent.";
const REPLACE: &str = "A user as it shall be. What is left out or `null` is cleared, except \
    `status` and `username`, which are kept.";
const PATCH: &str = "A JSON merge patch (RFC 7396) of a user: members that are named are set, \
    `null` clears, lists are replaced whole.";
const DELETED: &str = "A deleted user: as it was when it left the collection, when that was, and \
    when it will be forgotten.";
const OF_LINE: &str = "What went wrong with one line, as the line would have been answered by \
    itself; the request is that of the stream.";
const LISTED: &str = "All members, or those that `fields` asks for with `id` and `version`.";

/// The schemas that follow from the hand-written ones, by name.
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

/// A record of which only selected members may be shown.
fn listed(record: &Json) -> Json {
    let mut schema = record.clone();
    set(&mut schema, "description", string(LISTED));
    set(&mut schema, "required", Json::Array(vec![string("id"), string("version")]));
    schema
}

/// A user with what its leaving adds.
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

/// The problem of one line: it has no request of its own.
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
    for name in ["id", "version", "created_at", "updated_at"] {
        set(&mut properties, name, ignored());
    }
    set(&mut schema, "properties", properties);
    set(&mut schema, "minProperties", Json::Int(1));
    schema
}

/// The form of a PUT or PATCH. The two times are ignored there, whatever they hold.
fn write(user: &Json, description: &str) -> Json {
    let mut schema = input(user);
    remove(&mut schema, "required");
    let properties = members(at(user, &["properties"])).iter().map(|(name, property)| {
        let property = if matches!(name.as_str(), "created_at" | "updated_at") {
            ignored()
        } else {
            nullable(input(property))
        };
        (name.clone(), property)
    });
    set(&mut schema, "properties", Json::Object(properties.collect()));
    set(&mut schema, "description", string(description));
    schema
}

fn ignored() -> Json {
    object([("description", string("Set by the server; ignored here, whatever it is."))])
}

/// The same schema for a write: nothing is read-only, `null` stands for absent, and an unknown
/// member is an error.
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
