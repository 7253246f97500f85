//! Parses one value by its row in the attribute table.
//!
//! The result uses the names and types of the table. `null`, `[]` and an absent value are the same
//! (RFC 7643 section 2.5), and an empty text is no value either: all of them return `None`.

use std::fmt;

use roster_core::{Attribute, Json, Part, attribute::Kind};

use crate::{
    error::{ScimError, ScimType},
    schema::{AttributeSchema, AttributeType, Mutability, scim_part},
    strictness::{Strictness, as_text},
};

/// Parts that the RFC defines and the service computes: ignored.
const FOLLOWS: &[&str] = &["$ref", "display", "displayName"];

/// Parses the value of an attribute. `path` is its path for errors, formatted only if one occurs.
pub(super) fn read(
    attribute: &'static AttributeSchema,
    value: Json,
    strictness: Strictness,
    path: fmt::Arguments<'_>,
) -> Result<Option<Json>, ScimError> {
    match (attribute.multi_valued, value) {
        (_, Json::Null) => Ok(None),
        (_, Json::Array(items)) if items.is_empty() => Ok(None),
        (true, Json::Array(items)) => {
            let mut kept = Vec::with_capacity(items.len());
            for (index, item) in items.into_iter().enumerate() {
                let path = format_args!("{path}[{index}]");
                let entry = one(attribute, item, strictness, path)?;
                if entry.is_none() && strictness == Strictness::Strict {
                    let detail = format!("{path}: give a value");
                    return Err(ScimError::new(ScimType::InvalidValue, detail));
                }
                kept.extend(entry);
            }
            Ok((!kept.is_empty()).then_some(Json::Array(kept)))
        }
        (true, sent) => {
            if strictness == Strictness::Strict {
                return Err(wrong_type(path, "an array", &sent));
            }
            Ok(one(attribute, sent, strictness, path)?.map(|item| Json::Array(vec![item])))
        }
        // Some clients send a list with the one object.
        (false, Json::Array(mut items))
            if items.len() == 1
                && attribute.kind == AttributeType::Complex
                && strictness == Strictness::Tolerant =>
        {
            one(attribute, items.pop().unwrap_or(Json::Null), strictness, path)
        }
        (false, sent) => one(attribute, sent, strictness, path),
    }
}

fn one(
    attribute: &'static AttributeSchema,
    value: Json,
    strictness: Strictness,
    path: fmt::Arguments<'_>,
) -> Result<Option<Json>, ScimError> {
    let value =
        if attribute.kind == AttributeType::String { as_text(value, strictness) } else { value };
    match (attribute.kind, value) {
        (_, Json::Null) => Ok(None),
        (AttributeType::Boolean, value) => boolean(value, strictness, path),
        (AttributeType::Complex, Json::Object(members)) if attribute.sub_attributes.is_empty() => {
            Ok((!members.is_empty()).then_some(Json::Object(members)))
        }
        (AttributeType::Complex, Json::Object(members)) => {
            parts(attribute, members, strictness, path)
        }
        (AttributeType::Complex, Json::Text(text))
            if strictness == Strictness::Tolerant && attribute.sub_attribute("value").is_some() =>
        {
            parts(attribute, vec![("value".to_owned(), Json::Text(text))], strictness, path)
        }
        (AttributeType::Complex, other) => Err(wrong_type(path, "an object", &other)),
        (AttributeType::Integer, Json::Int(number)) => Ok(Some(Json::Int(number))),
        (AttributeType::Integer, other) => Err(wrong_type(path, "a whole number", &other)),
        (AttributeType::Decimal, number @ (Json::Int(_) | Json::Float(_))) => Ok(Some(number)),
        (AttributeType::Decimal, other) => Err(wrong_type(path, "a number", &other)),
        (
            AttributeType::String
            | AttributeType::Reference
            | AttributeType::Binary
            | AttributeType::DateTime,
            Json::Text(text),
        ) => Ok((!text.is_empty()).then_some(Json::Text(text))),
        (
            AttributeType::String
            | AttributeType::Reference
            | AttributeType::Binary
            | AttributeType::DateTime,
            other,
        ) => Err(wrong_type(path, "a string", &other)),
    }
}

/// `true` and `false`; in tolerant parsing also as strings, in any case.
fn boolean(
    value: Json,
    strictness: Strictness,
    path: fmt::Arguments<'_>,
) -> Result<Option<Json>, ScimError> {
    if let Json::Bool(_) = value {
        return Ok(Some(value));
    }
    if let Json::Text(text) = &value
        && strictness == Strictness::Tolerant
    {
        if text.is_empty() {
            return Ok(None);
        }
        let named = |word: &str| text.eq_ignore_ascii_case(word);
        if named("true") || named("false") {
            return Ok(Some(Json::Bool(named("true"))));
        }
    }
    Err(wrong_type(path, "true or false", &value))
}

fn parts(
    attribute: &'static AttributeSchema,
    members: Vec<(String, Json)>,
    strictness: Strictness,
    path: fmt::Arguments<'_>,
) -> Result<Option<Json>, ScimError> {
    let mut kept: Vec<(String, Json)> = Vec::with_capacity(members.len());
    for (name, value) in members {
        let Some(part) = attribute.sub_attribute(&name) else {
            let follows = FOLLOWS.iter().any(|known| known.eq_ignore_ascii_case(&name));
            if strictness == Strictness::Strict && !follows {
                return Err(unknown(&path.to_string(), attribute.sub_attributes));
            }
            continue;
        };
        if part.mutability == Mutability::ReadOnly {
            continue;
        }
        if kept.iter().any(|(known, _)| known == part.name) {
            let detail = format!("{path}: {} occurs twice", part.name);
            return Err(ScimError::new(ScimType::InvalidSyntax, detail));
        }
        let read = read(part, value, strictness, format_args!("{path}.{}", part.name))?;
        kept.extend(read.map(|value| (part.name.to_owned(), value)));
    }
    let required = attribute.sub_attributes.iter().find(|part| part.required);
    if strictness == Strictness::Tolerant
        && let Some(required) = required
    {
        // Clients clear a value by sending an entry without a value.
        let says = |(name, _): &(String, Json)| name == required.name;
        kept = if kept.iter().any(says) { kept } else { Vec::new() };
    }
    Ok((!kept.is_empty()).then_some(Json::Object(kept)))
}

fn wrong_type(path: fmt::Arguments<'_>, wanted: &str, sent: &Json) -> ScimError {
    let detail = format!("{path}: send {wanted}, not {}", sent.kind());
    ScimError::new(ScimType::InvalidValue, detail)
}

/// The error for an unknown name, with the known names.
pub(super) fn unknown(path: &str, known: &[AttributeSchema]) -> ScimError {
    let names: Vec<&str> = known.iter().map(|attribute| attribute.name).collect();
    let at = if path.is_empty() { String::new() } else { format!("{path}: ") };
    let detail = format!("{at}unknown attribute; known attributes are {}", names.join(", "));
    ScimError::new(ScimType::InvalidSyntax, detail)
}

/// The SCIM name of a part of the record.
pub(super) fn scim_name(attribute: Attribute, name: &str) -> Option<&'static str> {
    part_of(attribute, |part| part.name() == name).map(scim_part)
}

/// The part of the record with this SCIM name.
pub(super) fn record_part(attribute: Attribute, name: &str) -> Option<Part> {
    part_of(attribute, |part| scim_part(part) == name)
}

fn part_of(attribute: Attribute, is: impl Fn(Part) -> bool) -> Option<Part> {
    let (Kind::One(shape) | Kind::Many(shape)) = attribute.kind() else { return None };
    shape.parts.iter().map(|(part, _)| *part).find(|part| is(*part))
}
