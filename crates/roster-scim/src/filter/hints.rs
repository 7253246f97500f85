//! Details of errors about names: what the filter can use instead.

use super::{
    listed,
    named::{of_attribute, of_part},
};
use crate::schema::{AttributeSchema, Schema, USER, USER_URN};

pub(super) fn parts_of(attribute: &AttributeSchema) -> String {
    listed(attribute.sub_attributes.iter().map(|part| part.name))
}

pub(super) fn needs_part(attribute: &AttributeSchema) -> String {
    match attribute.sub_attributes.first() {
        Some(part) => {
            let AttributeSchema { name, .. } = attribute;
            format!("{name} has parts: name one, like {name}.{}; by itself it takes pr", part.name)
        }
        None => format!("name a key of {0}, like {0}.team; by itself it takes pr", attribute.name),
    }
}

pub(super) fn no_part(attribute: &'static AttributeSchema) -> String {
    let AttributeSchema { name, .. } = attribute;
    match attribute.sub_attributes {
        [] => format!("{name} has no parts"),
        _ => format!("parts of {name} to filter by: {}", listed(filterable_parts(attribute))),
    }
}

/// The parts that filters can test.
fn filterable_parts(attribute: &'static AttributeSchema) -> impl Iterator<Item = &'static str> {
    let schema = USER
        .schemas()
        .find(|schema| schema.attributes.iter().any(|known| std::ptr::eq(known, attribute)));
    let parts = attribute.sub_attributes.iter().map(|part| part.name);
    parts
        .filter(move |part| schema.is_some_and(|schema| of_part(schema, attribute, part).is_some()))
}

pub(super) fn unknown(word: &str) -> String {
    format!("there is no attribute {word} to filter by: there are {}", listed(filterable()))
}

/// All attributes that filters can test.
fn filterable() -> impl Iterator<Item = &'static str> {
    static ALL: std::sync::OnceLock<Vec<String>> = std::sync::OnceLock::new();
    let all = ALL.get_or_init(|| {
        let of_schema = |schema: &'static Schema| {
            let prefix =
                if schema.urn == USER_URN { String::new() } else { format!("{}:", schema.urn) };
            let supported =
                schema.attributes.iter().filter(move |found| of_attribute(schema, found).is_some());
            supported.map(move |found| format!("{prefix}{}", found.name)).collect::<Vec<_>>()
        };
        USER.schemas().flat_map(of_schema).collect()
    });
    all.iter().map(String::as_str)
}
