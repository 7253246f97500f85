//! Values in the types of the attribute table (RFC 7643 section 2.3).
//!
//! Checks the type of a value and uses the names of the table. Tolerant parsing accepts booleans as
//! strings and a single string for a complex value, and ignores unknown parts.

use roster_core::Json;

use super::Members;
use crate::{
    ScimError, ScimType, Strictness,
    schema::{AttributeSchema, AttributeType, Mutability},
    strictness::{as_flag, as_text},
};

/// Parts that the RFC defines and the service computes: ignored.
const FOLLOWS: &[&str] = &["$ref", "display", "displayName"];

/// One value of the attribute; `None` if absent. A part to be cleared is null in it.
pub(super) fn one(
    attribute: &'static AttributeSchema,
    value: Json,
    strictness: Strictness,
) -> Result<Option<Json>, ScimError> {
    let tolerant = strictness.is_tolerant();
    let value = match (attribute.kind, value) {
        // RFC 7643 section 2.5: null, an empty array and absent are the same.
        (_, Json::Null) => return Ok(None),
        (_, Json::Array(items)) if items.is_empty() => return Ok(None),
        (_, Json::Array(mut items)) if tolerant && items.len() == 1 && !attribute.multi_valued => {
            let inner = items.pop().unwrap_or(Json::Null);
            let nested = matches!(inner, Json::Array(_));
            return if nested {
                Err(wrong_type(attribute))
            } else {
                one(attribute, inner, strictness)
            };
        }
        (AttributeType::Complex, Json::Object(members)) => {
            Json::Object(parts(attribute, members, strictness)?)
        }
        // Clients send the id of a manager, or an address, as a string.
        (AttributeType::Complex, Json::Text(text)) if tolerant => {
            let Some(part) = attribute.sub_attribute("value") else {
                return Err(wrong_type(attribute));
            };
            if text.is_empty() {
                return Ok(None);
            }
            Json::Object(vec![(part.name.to_owned(), Json::Text(text))])
        }
        (AttributeType::Boolean, Json::Text(text)) if tolerant && text.is_empty() => {
            return Ok(None);
        }
        (AttributeType::Boolean, text @ Json::Text(_)) if tolerant => {
            let flag = as_flag(text);
            if !matches!(flag, Json::Bool(_)) {
                return Err(wrong_type(attribute));
            }
            flag
        }
        (
            AttributeType::String
            | AttributeType::Reference
            | AttributeType::Binary
            | AttributeType::DateTime,
            text @ Json::Text(_),
        ) => text,
        (AttributeType::String, number @ Json::Int(_)) if tolerant => as_text(number, strictness),
        (AttributeType::Boolean, flag @ Json::Bool(_)) => flag,
        (AttributeType::Integer | AttributeType::Decimal, number @ Json::Int(_))
        | (AttributeType::Decimal, number @ Json::Float(_)) => number,
        _ => return Err(wrong_type(attribute)),
    };
    Ok(Some(value))
}

/// All values of a list except empty ones.
pub(super) fn many(
    attribute: &'static AttributeSchema,
    value: Json,
    strictness: Strictness,
) -> Result<Vec<Members>, ScimError> {
    let items = value.into_values();
    let mut values = Vec::with_capacity(items.len());
    for item in items {
        match one(attribute, item, strictness)? {
            Some(Json::Object(mut members)) => {
                members.retain(|(_, part)| *part != Json::Null);
                if !members.is_empty() {
                    values.push(members);
                }
            }
            Some(_) => return Err(wrong_type(attribute)),
            None => {}
        }
    }
    Ok(values)
}

fn parts(
    attribute: &'static AttributeSchema,
    members: Members,
    strictness: Strictness,
) -> Result<Members, ScimError> {
    // An object with any keys.
    if attribute.sub_attributes.is_empty() {
        return Ok(members);
    }
    let mut parts: Members = Vec::with_capacity(members.len());
    for (name, value) in members {
        let Some(part) = attribute.sub_attribute(&name) else {
            let follows = FOLLOWS.iter().any(|known| known.eq_ignore_ascii_case(&name));
            if strictness.is_tolerant() || follows {
                continue;
            }
            let names: Vec<&str> = attribute.sub_attributes.iter().map(|part| part.name).collect();
            let detail = format!("{} has the parts {}", attribute.name, names.join(", "));
            return Err(ScimError::new(ScimType::InvalidSyntax, detail));
        };
        // RFC 7644 section 3.5.1: read-only parts of a body are ignored.
        if part.mutability == Mutability::ReadOnly {
            continue;
        }
        if parts.iter().any(|(found, _)| found == part.name) {
            let detail = format!("{}.{} occurs twice", attribute.name, part.name);
            return Err(ScimError::new(ScimType::InvalidSyntax, detail));
        }
        let value = one(part, value, strictness)?.unwrap_or(Json::Null);
        parts.push((part.name.to_owned(), value));
    }
    Ok(parts)
}

/// Whether the value is primary.
pub(super) fn is_primary(members: &[(String, Json)]) -> bool {
    members.iter().any(|(name, value)| name == "primary" && *value == Json::Bool(true))
}

/// Checks that each value has its required parts. Tolerant parsing removes a value without them:
/// clients clear values this way.
pub(super) fn check_required(
    attribute: &AttributeSchema,
    value: &mut Json,
    strictness: Strictness,
) -> Result<Completeness, ScimError> {
    for part in attribute.sub_attributes.iter().filter(|part| part.required) {
        let says = |value: &Json| match value.member(part.name) {
            Some(Json::Text(text)) => !text.is_empty() || !strictness.is_tolerant(),
            Some(_) => true,
            None => false,
        };
        let is_whole = match &mut *value {
            Json::Array(values) if strictness.is_tolerant() => {
                values.retain(|value| says(value));
                !values.is_empty()
            }
            Json::Array(values) => values.iter().all(says),
            Json::Null
            | Json::Bool(_)
            | Json::Int(_)
            | Json::Float(_)
            | Json::Text(_)
            | Json::Object(_) => says(value),
        };
        if !is_whole && strictness.is_tolerant() {
            return Ok(Completeness::Empty);
        }
        if !is_whole {
            let detail = format!("every value of {} has a {}", attribute.name, part.name);
            return Err(ScimError::new(ScimType::InvalidValue, detail));
        }
    }
    Ok(Completeness::Complete)
}

/// The result of the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Completeness {
    /// The value is complete.
    Complete,
    /// The value is empty.
    Empty,
}

fn wrong_type(attribute: &AttributeSchema) -> ScimError {
    let AttributeSchema { name, kind, .. } = attribute;
    let what = match kind {
        AttributeType::Complex => "an object",
        AttributeType::Boolean => "true or false",
        AttributeType::Integer => "a whole number",
        AttributeType::Decimal => "a number",
        AttributeType::String
        | AttributeType::Reference
        | AttributeType::Binary
        | AttributeType::DateTime => "a string",
    };
    ScimError::new(ScimType::InvalidValue, format!("send {what} for {name}"))
}
