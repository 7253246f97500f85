//! One value as a client sent it, read by its row of the table.
//!
//! What comes out has the names and the types of the table, or is nothing at all: `null`, `[]` and
//! absent are the same state (RFC 7643 section 2.5).

use std::fmt;

use roster_core::{Attribute, Json, Part, attribute::Kind};

use crate::{
    error::{ScimError, ScimType},
    profile::Profile,
    schema::{AttributeSchema, AttributeType, Mutability, scim_part},
};

/// Parts that the standard knows and that follow from others here: passed over.
const FOLLOWS: &[&str] = &["$ref", "display", "displayName"];

/// Reads the value of an attribute; `place` is its path, for errors. It is written only for them.
pub(super) fn read(
    attribute: &'static AttributeSchema,
    value: Json,
    profile: Profile,
    place: fmt::Arguments<'_>,
) -> Result<Option<Json>, ScimError> {
    match (attribute.multi_valued, value) {
        (_, Json::Null) => Ok(None),
        (_, Json::Array(items)) if items.is_empty() => Ok(None),
        (true, Json::Array(items)) => {
            let mut kept = Vec::with_capacity(items.len());
            for (index, item) in items.into_iter().enumerate() {
                let place = format_args!("{place}[{index}]");
                kept.extend(one(attribute, item, profile, place)?);
            }
            Ok((!kept.is_empty()).then_some(Json::Array(kept)))
        }
        (true, sent) => {
            if profile == Profile::Strict {
                return Err(wrong_type(place, "an array", &sent));
            }
            Ok(one(attribute, sent, profile, place)?.map(|item| Json::Array(vec![item])))
        }
        (false, sent) => one(attribute, sent, profile, place),
    }
}

fn one(
    attribute: &'static AttributeSchema,
    value: Json,
    profile: Profile,
    place: fmt::Arguments<'_>,
) -> Result<Option<Json>, ScimError> {
    match (attribute.kind, value) {
        (_, Json::Null) => Ok(None),
        (AttributeType::Boolean, value) => boolean(value, profile, place),
        (AttributeType::Complex, Json::Object(members)) if attribute.sub_attributes.is_empty() => {
            Ok((!members.is_empty()).then_some(Json::Object(members)))
        }
        (AttributeType::Complex, Json::Object(members)) => {
            parts(attribute, members, profile, place)
        }
        (AttributeType::Complex, Json::Text(text))
            if profile == Profile::Tolerant && attribute.sub_attribute("value").is_some() =>
        {
            parts(attribute, vec![("value".to_owned(), Json::Text(text))], profile, place)
        }
        (AttributeType::Complex, other) => Err(wrong_type(place, "an object", &other)),
        (AttributeType::Integer, Json::Int(number)) => Ok(Some(Json::Int(number))),
        (AttributeType::Integer, other) => Err(wrong_type(place, "a whole number", &other)),
        (AttributeType::Decimal, number @ (Json::Int(_) | Json::Float(_))) => Ok(Some(number)),
        (AttributeType::Decimal, other) => Err(wrong_type(place, "a number", &other)),
        (
            AttributeType::String
            | AttributeType::Reference
            | AttributeType::Binary
            | AttributeType::DateTime,
            Json::Text(text),
        ) => Ok(Some(Json::Text(text))),
        (
            AttributeType::String
            | AttributeType::Reference
            | AttributeType::Binary
            | AttributeType::DateTime,
            other,
        ) => Err(wrong_type(place, "a string", &other)),
    }
}

/// `true` and `false`; of a tolerant reader also their names, in whatever case.
fn boolean(
    value: Json,
    profile: Profile,
    place: fmt::Arguments<'_>,
) -> Result<Option<Json>, ScimError> {
    if let Json::Bool(_) = value {
        return Ok(Some(value));
    }
    if let Json::Text(text) = &value
        && profile == Profile::Tolerant
    {
        if text.is_empty() {
            return Ok(None);
        }
        let named = |word: &str| text.eq_ignore_ascii_case(word);
        if named("true") || named("false") {
            return Ok(Some(Json::Bool(named("true"))));
        }
    }
    Err(wrong_type(place, "true or false", &value))
}

fn parts(
    attribute: &'static AttributeSchema,
    members: Vec<(String, Json)>,
    profile: Profile,
    place: fmt::Arguments<'_>,
) -> Result<Option<Json>, ScimError> {
    let mut kept: Vec<(String, Json)> = Vec::with_capacity(members.len());
    for (name, value) in members {
        let Some(part) = attribute.sub_attribute(&name) else {
            let follows = FOLLOWS.iter().any(|known| known.eq_ignore_ascii_case(&name));
            if profile == Profile::Strict && !follows {
                return Err(unknown(&place.to_string(), attribute.sub_attributes));
            }
            continue;
        };
        if part.mutability == Mutability::ReadOnly {
            continue;
        }
        if kept.iter().any(|(known, _)| known == part.name) {
            let detail = format!("{place}: {} stands twice", part.name);
            return Err(ScimError::new(ScimType::InvalidSyntax, detail));
        }
        let read = read(part, value, profile, format_args!("{place}.{}", part.name))?;
        kept.extend(read.map(|value| (part.name.to_owned(), value)));
    }
    let required = attribute.sub_attributes.iter().find(|part| part.required);
    if profile == Profile::Tolerant
        && let Some(required) = required
    {
        // Clients clear a value by leaving its entry without one.
        let says = |(name, value): &(String, Json)| {
            name == required.name && !matches!(value, Json::Text(text) if text.is_empty())
        };
        kept = if kept.iter().any(says) { kept } else { Vec::new() };
    }
    Ok((!kept.is_empty()).then_some(Json::Object(kept)))
}

fn wrong_type(place: fmt::Arguments<'_>, wanted: &str, sent: &Json) -> ScimError {
    let detail = format!("{place}: send {wanted}, not {}", sent.kind());
    ScimError::new(ScimType::InvalidValue, detail)
}

/// The refusal of a name that is none, with those that are.
pub(super) fn unknown(place: &str, known: &[AttributeSchema]) -> ScimError {
    let names: Vec<&str> = known.iter().map(|attribute| attribute.name).collect();
    let at = if place.is_empty() { String::new() } else { format!("{place}: ") };
    let detail = format!("{at}an attribute is not known; there are {}", names.join(", "));
    ScimError::new(ScimType::InvalidSyntax, detail)
}

/// What SCIM calls a part of a member's entries that the record calls so.
pub(super) fn scim_name(attribute: Attribute, name: &str) -> Option<&'static str> {
    part_of(attribute, |part| part.name() == name).map(scim_part)
}

/// The part of a member's entries that SCIM calls so.
pub(super) fn record_part(attribute: Attribute, name: &str) -> Option<Part> {
    part_of(attribute, |part| scim_part(part) == name)
}

fn part_of(attribute: Attribute, is: impl Fn(Part) -> bool) -> Option<Part> {
    let (Kind::One(shape) | Kind::Many(shape)) = attribute.kind() else { return None };
    shape.parts.iter().map(|(part, _)| *part).find(|part| is(*part))
}
