//! Values as the attribute table has them (RFC 7643 section 2.3).
//!
//! What is sent is held against the type and written in the table's own names. A tolerant reading
//! takes a boolean that came as a text, one value in place of a complex one, and passes over parts
//! that there are not.

use roster_core::Json;

use super::Members;
use crate::{
    Profile, ScimError, ScimType,
    profile::as_flag,
    schema::{AttributeSchema, AttributeType, Mutability},
};

/// Parts that the standard knows and that follow from others here: passed over.
const FOLLOWS: &[&str] = &["$ref", "display", "displayName"];

/// One value of the attribute; `None` where it says that there is none. A part that is to have none
/// is null in it.
pub(super) fn one(
    attribute: &'static AttributeSchema,
    value: Json,
    profile: Profile,
) -> Result<Option<Json>, ScimError> {
    let tolerant = profile.is_tolerant();
    let value = match (attribute.kind, value) {
        // RFC 7643 section 2.5: these three are one state.
        (_, Json::Null) => return Ok(None),
        (_, Json::Array(items)) if items.is_empty() => return Ok(None),
        (_, Json::Array(mut items)) if tolerant && items.len() == 1 && !attribute.multi_valued => {
            let inner = items.pop().unwrap_or(Json::Null);
            let nested = matches!(inner, Json::Array(_));
            return if nested {
                Err(wrong_type(attribute))
            } else {
                one(attribute, inner, profile)
            };
        }
        (AttributeType::Complex, Json::Object(members)) => {
            Json::Object(parts(attribute, members, profile)?)
        }
        // Clients send the id of a manager, or an address, by itself.
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
        (AttributeType::Boolean, flag @ Json::Bool(_)) => flag,
        (AttributeType::Integer | AttributeType::Decimal, number @ Json::Int(_))
        | (AttributeType::Decimal, number @ Json::Float(_)) => number,
        _ => return Err(wrong_type(attribute)),
    };
    Ok(Some(value))
}

/// All values of a list, without those that say nothing.
pub(super) fn many(
    attribute: &'static AttributeSchema,
    value: Json,
    profile: Profile,
) -> Result<Vec<Members>, ScimError> {
    let items = value.into_values();
    let mut values = Vec::with_capacity(items.len());
    for item in items {
        match one(attribute, item, profile)? {
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
    profile: Profile,
) -> Result<Members, ScimError> {
    // Any member may stand in an object of the client's own.
    if attribute.sub_attributes.is_empty() {
        return Ok(members);
    }
    let mut parts: Members = Vec::with_capacity(members.len());
    for (name, value) in members {
        let Some(part) = attribute.sub_attribute(&name) else {
            let follows = FOLLOWS.iter().any(|known| known.eq_ignore_ascii_case(&name));
            if profile.is_tolerant() || follows {
                continue;
            }
            let names: Vec<&str> = attribute.sub_attributes.iter().map(|part| part.name).collect();
            let detail = format!("{} has the parts {}", attribute.name, names.join(", "));
            return Err(ScimError::new(ScimType::InvalidSyntax, detail));
        };
        // RFC 7644 section 3.5.1: what the service makes is ignored in a body.
        if part.mutability == Mutability::ReadOnly {
            continue;
        }
        if parts.iter().any(|(found, _)| found == part.name) {
            let detail = format!("{}.{} stands twice", attribute.name, part.name);
            return Err(ScimError::new(ScimType::InvalidSyntax, detail));
        }
        let value = one(part, value, profile)?.unwrap_or(Json::Null);
        parts.push((part.name.to_owned(), value));
    }
    Ok(parts)
}

/// Whether the value is flagged as the one to prefer.
pub(super) fn is_primary(members: &[(String, Json)]) -> bool {
    members.iter().any(|(name, value)| name == "primary" && *value == Json::Bool(true))
}

/// Holds each value of a list, or the one, to the parts that it must have. By tolerance one that
/// lacks them says nothing: so clients clear it.
pub(super) fn hold_required(
    attribute: &AttributeSchema,
    value: &mut Json,
    profile: Profile,
) -> Result<Held, ScimError> {
    for part in attribute.sub_attributes.iter().filter(|part| part.required) {
        let says = |value: &Json| match value.member(part.name) {
            Some(Json::Text(text)) => !text.is_empty() || !profile.is_tolerant(),
            Some(_) => true,
            None => false,
        };
        let is_whole = match &mut *value {
            Json::Array(values) if profile.is_tolerant() => {
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
        if !is_whole && profile.is_tolerant() {
            return Ok(Held::Nothing);
        }
        if !is_whole {
            let detail = format!("every value of {} has a {}", attribute.name, part.name);
            return Err(ScimError::new(ScimType::InvalidValue, detail));
        }
    }
    Ok(Held::Whole)
}

/// What is left of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// It stands.
    Whole,
    /// It says nothing.
    Nothing,
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
