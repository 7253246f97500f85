//! Puts the description together from its parts.
//!
//! The parts under `openapi/` are written by hand and are the contract. Everything that follows
//! from them is generated: the schemas of writes from `User`, and the responses with problems from
//! the registry of codes. The same base URL and the same schema of users always make the same
//! bytes.

use std::collections::BTreeSet;

use roster_core::{
    Json, UserSchema,
    json::{JsonFault, read},
    limits::TEXT_LENGTH_MAX,
    schema::{DeclaredMember, ValueType},
};

use super::{
    answers::{add_response, complete_paths, complete_responses},
    forms::schemas_of_writes,
    problem_page::explanation,
    tree::{at, items, map_texts, members, object, reference, remove, set, string, text_at},
};
use crate::operation::Operation;

const DOCUMENT: &str = include_str!("../../openapi/document.json");
/// Long texts, each with the placeholder that it replaces.
const PROSE: &[(&str, &str)] = &[
    ("{description}", include_str!("../../openapi/description.md")),
    ("{states}", include_str!("../../openapi/sections/states.md")),
    ("{authentication}", include_str!("../../openapi/sections/authentication.md")),
    ("{limits}", include_str!("../../openapi/sections/limits.md")),
    ("{versions}", include_str!("../../openapi/sections/versions.md")),
];
const PATHS: &[&str] = &[
    include_str!("../../openapi/paths/users.json"),
    include_str!("../../openapi/paths/user.json"),
    include_str!("../../openapi/paths/deleted_users.json"),
    include_str!("../../openapi/paths/groups.json"),
    include_str!("../../openapi/paths/group.json"),
    include_str!("../../openapi/paths/members.json"),
    include_str!("../../openapi/paths/user_groups.json"),
    include_str!("../../openapi/paths/bulk.json"),
    include_str!("../../openapi/paths/events.json"),
    include_str!("../../openapi/paths/keys.json"),
    include_str!("../../openapi/paths/webhooks.json"),
    include_str!("../../openapi/paths/tenants.json"),
    include_str!("../../openapi/paths/deleted_tenants.json"),
    include_str!("../../openapi/paths/scim.json"),
    include_str!("../../openapi/paths/scim_groups.json"),
    include_str!("../../openapi/paths/schema.json"),
    include_str!("../../openapi/paths/service.json"),
    include_str!("../../openapi/paths/console.json"),
    include_str!("../../openapi/paths/problems.json"),
    include_str!("../../openapi/paths/health.json"),
];
const SCHEMAS: &[&str] = &[
    include_str!("../../openapi/schemas/user.json"),
    include_str!("../../openapi/schemas/entries.json"),
    include_str!("../../openapi/schemas/address.json"),
    include_str!("../../openapi/schemas/deleted_user.json"),
    include_str!("../../openapi/schemas/events.json"),
    include_str!("../../openapi/schemas/groups.json"),
    include_str!("../../openapi/schemas/keys.json"),
    include_str!("../../openapi/schemas/webhooks.json"),
    include_str!("../../openapi/schemas/tenants.json"),
    include_str!("../../openapi/schemas/bulk.json"),
    include_str!("../../openapi/schemas/scim.json"),
    include_str!("../../openapi/schemas/scim_groups.json"),
    include_str!("../../openapi/schemas/answers.json"),
    include_str!("../../openapi/schemas/user_schema.json"),
    include_str!("../../openapi/schemas/service.json"),
    include_str!("../../openapi/schemas/console.json"),
];
const PARAMETERS: &str = include_str!("../../openapi/parameters.json");
const RESPONSES: &str = include_str!("../../openapi/responses.json");
const HEADERS: &str = include_str!("../../openapi/headers.json");
const SECURITY: &str = include_str!("../../openapi/security.json");
const EXAMPLES: &[&str] = &[
    include_str!("../../openapi/examples.json"),
    include_str!("../../openapi/scim_examples.json"),
];

/// One line of text: no control characters (general category Cc).
const LINE: &str = r"^[^\u0000-\u001F\u007F-\u009F]*$";

/// The whole document for a service at this URL.
///
/// Fails only if a part under `openapi/` is not JSON, which the tests exclude.
pub(super) fn assemble(base_url: &str, schema: &UserSchema) -> Result<Json, JsonFault> {
    let mut schemas = merged(SCHEMAS)?;
    let user = with_declared(at(&schemas, &["User"]).clone(), schema);
    set(&mut schemas, "User", user.clone());
    let names = members(at(&user, &["properties"])).iter().map(|(name, _)| string(name)).collect();
    for (name, schema) in schemas_of_writes(&schemas) {
        set(&mut schemas, &name, schema);
    }
    let mut examples = merged(EXAMPLES)?;
    if let Some(mut value) = explanation("user-not-found", "{base_url}") {
        // Spectral takes an object with `type` and `example` for a schema.
        remove(&mut value, "example");
        let example = object([("summary", string("One code explained")), ("value", value)]);
        set(&mut examples, "ProblemKind", example);
    }
    let components = object([
        ("schemas", schemas),
        ("parameters", part(PARAMETERS)?),
        ("headers", part(HEADERS)?),
        ("responses", complete_responses(part(RESPONSES)?)),
        ("examples", examples),
        ("securitySchemes", part(SECURITY)?),
    ]);
    let mut document = part(DOCUMENT)?;
    set(&mut document, "paths", complete_paths(merged(PATHS)?));
    set(&mut document, "components", components);
    Ok(fill(document, base_url, &Json::Array(names)))
}

/// The document of a tenant: without the paths that are below the base URL of the service alone.
pub(super) fn of_tenant(mut document: Json) -> Json {
    let mut paths = members(at(&document, &["paths"])).to_vec();
    let is_of_service = |operation: &Operation| operation.is_of_service();
    let removed: Vec<&str> =
        Operation::ALL.iter().copied().filter(is_of_service).map(Operation::path).collect();
    paths.retain(|(path, _)| !removed.contains(&path.as_str()));
    for (_, item) in &mut paths {
        let Json::Object(operations) = item else { continue };
        for (_, operation) in operations {
            let responses = at(operation, &["responses"]);
            // The tenant may not exist. SCIM operations describe all errors in one response.
            if ["404", "default"].iter().all(|status| responses.member(status).is_none()) {
                add_response(operation, "404", "TenantNotFound");
            }
        }
    }
    let mut servers = items(at(&document, &["servers"])).to_vec();
    for server in &mut servers {
        set(server, "description", string("This tenant."));
    }
    set(&mut document, "servers", Json::Array(servers));
    set(&mut document, "paths", Json::Object(paths));
    with_urls_of_service(document, &removed)
}

/// The document of a tenant, in which URLs and paths of the service are not below the tenant's.
fn with_urls_of_service(document: Json, paths: &[&str]) -> Json {
    let server = items(at(&document, &["servers"])).first();
    let own = server.map(|server| text_at(server, &["url"]).to_owned()).unwrap_or_default();
    let Some((service, _)) = own.rsplit_once("/tenants/") else { return document };
    let (own, service) = (super::base_path(&own), super::base_path(service));
    let firsts = paths.iter().filter_map(|path| path.split('/').nth(1));
    let firsts: BTreeSet<&str> = firsts.filter(|first| !first.is_empty()).collect();
    let places: Vec<_> = firsts
        .into_iter()
        .map(|first| (format!("{own}/{first}"), format!("{service}/{first}")))
        .collect();
    map_texts(document, &|text| {
        let moved = |text: String, (from, to): &(String, String)| text.replace(from, to);
        Json::Text(places.iter().fold(text, moved))
    })
}

/// The schema of a user with the declared members of `attributes`.
fn with_declared(mut user: Json, schema: &UserSchema) -> Json {
    if schema.members.is_empty() {
        return user;
    }
    let declared = schema.members.iter().map(|member| (member.name.clone(), declared(member)));
    let mut properties = at(&user, &["properties"]).clone();
    let mut attributes = at(&properties, &["attributes"]).clone();
    set(&mut attributes, "properties", Json::Object(declared.collect()));
    remove(&mut attributes, "examples");
    set(&mut properties, "attributes", attributes);
    set(&mut user, "properties", properties);
    user
}

fn declared(member: &DeclaredMember) -> Json {
    let (name, format) = match member.value_type {
        ValueType::String => ("string", None),
        ValueType::Boolean => ("boolean", None),
        ValueType::Integer => ("integer", Some("int64")),
        ValueType::Number => ("number", None),
        ValueType::DateTime => ("string", Some("date-time")),
    };
    let mut value = object([("type", string(name))]);
    if let Some(format) = format {
        set(&mut value, "format", string(format));
    }
    if member.multi_valued {
        value = object([("type", string("array")), ("items", value)]);
    }
    // Several schemas contain the text, so a long one is cut. `/schema` has all of it.
    let whole = member.description.as_deref();
    let cut = whole.map(|text| match text.char_indices().nth(TEXT_LENGTH_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    });
    let mut texts: Vec<String> = cut.into_iter().collect();
    if member.required {
        texts.push("Required.".to_owned());
    }
    if !texts.is_empty() {
        set(&mut value, "description", string(texts.join(" ")));
    }
    value
}

fn part(source: &str) -> Result<Json, JsonFault> {
    read(source.as_bytes())
}

fn merged(sources: &[&str]) -> Result<Json, JsonFault> {
    let mut all = Vec::new();
    for source in sources {
        all.extend(members(&part(source)?).iter().cloned());
    }
    Ok(Json::Object(all))
}

/// Replaces the placeholders in braces with their values.
fn fill(document: Json, base_url: &str, names: &Json) -> Json {
    let base_path = super::base_path(base_url);
    map_texts(document, &|text| match text.as_str() {
        "{members}" => names.clone(),
        "{deleted_members}" => {
            let added = ["deleted_at", "purge_at"].map(string);
            Json::Array(items(names).iter().cloned().chain(added).collect())
        }
        "{line}" => string(LINE),
        _ if text.contains('{') => match PROSE.iter().find(|(name, _)| *name == text) {
            Some((_, prose)) => string(prose.trim_end()),
            None => string(
                text.replace("{base_url}", base_url)
                    .replace("{base_path}", base_path)
                    .replace("{version}", env!("CARGO_PKG_VERSION")),
            ),
        },
        _ => Json::Text(text),
    })
}

/// The operations of a document in its order: method in lower case, path template, operation.
pub(super) fn operations(document: &Json) -> Vec<(&str, &str, &Json)> {
    const METHODS: [&str; 8] =
        ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
    let mut found = Vec::new();
    for (path, item) in members(at(document, &["paths"])) {
        for (method, operation) in members(item) {
            if METHODS.contains(&method.as_str()) {
                found.push((method.as_str(), path.as_str(), operation));
            }
        }
    }
    found
}

/// The names of the query parameters of an operation, including those of its path.
pub(super) fn query_parameters(document: &Json, path: &str, operation: &Json) -> Vec<String> {
    let shared = items(at(document, &["paths", path, "parameters"]));
    let own = items(at(operation, &["parameters"]));
    let resolved = shared.iter().chain(own).map(|parameter| {
        let name = reference(parameter);
        name.map_or(parameter, |name| at(document, &["components", "parameters", name]))
    });
    let in_query = resolved.filter(|parameter| text_at(parameter, &["in"]) == "query");
    in_query.map(|parameter| text_at(parameter, &["name"]).to_owned()).collect()
}
