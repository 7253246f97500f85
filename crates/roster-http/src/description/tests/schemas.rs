//! Tests the schemas of bodies that write, and the limits of numbers and arrays.

use roster_core::Attribute;
use serde_json::{Map, Value};

use super::examples::{document, resolve};

/// SCIM takes every whole number here, of any length (RFC 7644 section 3.4.2.4): a minimum or a
/// format would be wrong.
const UNLIMITED: [&str; 2] = ["/ScimStartIndex/", "/ScimCount/"];

/// The names of the properties of a schema.
fn properties<'a>(document: &'a Value, name: &str) -> Vec<&'a str> {
    let properties = &document["components"]["schemas"][name]["properties"];
    properties.as_object().expect("properties").keys().map(String::as_str).collect()
}

/// Every schema of the document with its path.
fn schemas<'a>(tree: &'a Value, path: &str, found: &mut Vec<(String, &'a Map<String, Value>)>) {
    match tree {
        Value::Object(members) => {
            // The names of properties are free, and examples are no schemas.
            let is_named = path.ends_with("/properties");
            if !is_named {
                found.push((path.to_owned(), members));
            }
            let is_read =
                |name: &str| is_named || !matches!(name, "example" | "examples" | "value");
            for (name, value) in members.iter().filter(|(name, _)| is_read(name)) {
                schemas(value, &format!("{path}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                schemas(value, &format!("{path}/{index}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_of(schema: &Map<String, Value>, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(one)) => one == name,
        Some(Value::Array(several)) => several.iter().any(|one| one == name),
        _ => false,
    }
}

#[test]
fn schemas_of_writes_show_only_what_may_be_written_and_accept_the_whole_record() {
    let document = document();
    let user: Vec<&str> = Attribute::ALL.iter().map(|one| one.name()).collect();
    let group = properties(&document, "Group");
    let tenant = properties(&document, "Tenant");
    let schema = properties(&document, "UserSchema");
    let on_change = ["id", "username_from_email", "created_at", "updated_at"];
    let of_group = ["id", "member_count", "created_at", "updated_at"];
    let of_tenant = [
        "version",
        "base_url",
        "users",
        "deleted_users",
        "groups",
        "created_at",
        "updated_at",
        "deleted_at",
        "purge_at",
    ];
    for (form, record, hidden) in [
        ("UserCreate", &user, &["version", "created_at", "updated_at"][..]),
        ("UserReplace", &user, &on_change[..]),
        ("UserPatch", &user, &on_change[..]),
        ("GroupCreate", &group, &["id", "version", "member_count", "created_at", "updated_at"][..]),
        ("GroupReplace", &group, &of_group[..]),
        ("GroupPatch", &group, &of_group[..]),
        ("TenantCreate", &tenant, &of_tenant[..]),
        ("TenantReplace", &tenant, &of_tenant[1..]),
        ("TenantPatch", &tenant, &of_tenant[1..]),
        ("UserSchemaReplace", &schema, &["members", "indexes", "updated_at"][..]),
    ] {
        let kept: Vec<&str> =
            record.iter().copied().filter(|name| !hidden.contains(name)).collect();
        let mut shown = properties(&document, form);
        let described = &document["components"]["schemas"][form];
        let named = described["propertyNames"]["enum"].as_array().expect("names");
        let mut named: Vec<&str> = named.iter().filter_map(Value::as_str).collect();
        let (mut kept, mut record) = (kept, record.clone());
        for list in [&mut shown, &mut kept, &mut named, &mut record] {
            list.sort_unstable();
        }
        assert_eq!(shown, kept, "{form}");
        assert_eq!(named, record, "{form}");
        let text = described["description"].as_str().expect("a text");
        for name in hidden.iter().filter(|name| record.contains(name)) {
            assert!(text.contains(&format!("`{name}`")), "{form} says nothing of {name}");
        }
    }
}

#[test]
fn no_property_of_a_request_is_read_only() {
    let document = document();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for operation in item.as_object().expect("operations").values() {
            let content = operation["requestBody"]["content"].as_object();
            for one in content.into_iter().flatten().map(|(_, one)| one) {
                let schema = resolve(&document, &one["schema"]);
                let properties = schema["properties"].as_object().into_iter().flatten();
                for (name, property) in properties {
                    assert_ne!(property["readOnly"], true, "{path} {name}");
                }
            }
        }
    }
}

#[test]
fn every_integer_has_a_format_and_a_minimum() {
    let document = document();
    let mut found = Vec::new();
    schemas(&document, "", &mut found);
    let integers: Vec<_> = found.iter().filter(|(_, schema)| is_of(schema, "integer")).collect();
    assert!(integers.len() > 100, "{}", integers.len());
    for (path, schema) in integers {
        let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
        let minimum = schema.get("minimum").and_then(Value::as_i64);
        if UNLIMITED.iter().any(|name| path.contains(name)) {
            assert_eq!((format, minimum), ("", None), "{path}");
            continue;
        }
        assert!(matches!(format, "int32" | "int64"), "{path} has the format {format:?}");
        assert!(minimum.is_some(), "{path} has no minimum");
        let most = schema.get("maximum").and_then(Value::as_i64);
        if format == "int32" {
            let fits =
                [minimum, most].map(|limit| limit.is_some_and(|it| i32::try_from(it).is_ok()));
            assert_eq!(fits, [true, true], "{path} may not fit into an int32");
        }
    }
}

#[test]
fn every_array_of_a_schema_has_a_maximum() {
    let document = document();
    let mut found = Vec::new();
    schemas(&document["components"], "", &mut found);
    let arrays: Vec<_> = found.iter().filter(|(_, schema)| is_of(schema, "array")).collect();
    assert!(arrays.len() > 30, "{}", arrays.len());
    for (path, schema) in arrays {
        assert!(schema.contains_key("maxItems"), "{path} has no maxItems");
    }
}

#[test]
fn every_operation_names_its_scopes_and_needs_a_bearer_unless_it_is_open() {
    let document = document();
    assert_eq!(document["security"], serde_json::json!([{"Bearer": []}, {}]));
    let operation = |path: &str, method: &str| &document["paths"][path][method];
    assert_eq!(operation("/livez", "get")["security"], serde_json::json!([]));
    let create = operation("/users", "post");
    assert_eq!(create["security"], Value::Null);
    assert_eq!(create["x-required-scopes"], serde_json::json!(["users:write"]));
    let text = create["description"].as_str().expect("a text");
    assert!(text.ends_with("Requires the scope `users:write`."), "{text}");
}
