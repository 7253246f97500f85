//! Reads values in the types of the attribute table (RFC 7643 section 2.3).
//!
//! Bodies and PATCH operations are read by the same functions. What cannot be read is an error, so
//! that it never counts as "no value". `null`, `[]` and an empty string are no value (RFC 7643
//! section 2.5). Tolerant parsing also accepts what identity providers send in place of a value,
//! and takes a blank name for none: Authentik sends a space for a missing family name.

use std::{collections::HashMap, fmt};

use roster_core::Json;

use crate::{
    error::{ScimError, ScimType},
    schema::{AttributeSchema, AttributeType, Mutability},
    strictness::{Strictness, as_flag, as_text},
};

/// The members of an object.
pub(crate) type Members = Vec<(String, Json)>;

/// Parts of the values of any list (RFC 7643 section 2.4), which the service computes: ignored.
const FOLLOWS: &[&str] = &["$ref", "display"];

/// What each value of a list must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// The parts of a value of its own.
    Whole,
    /// The same, but in tolerant parsing an entry whose required part is sent as empty is left out:
    /// clients that know a fixed set of entries clear one this way.
    WholeOrCleared,
    /// Any part: it changes a value.
    Part,
}

/// Whether it is a name of a person, which cannot be blank. Other texts can be.
fn is_name(attribute: &AttributeSchema) -> bool {
    // The other attribute with the name `formatted`, an address, has lines.
    let of_person = ["formatted", "displayName", "nickName"].contains(&attribute.name);
    let of_name = ["familyName", "givenName", "middleName", "honorificPrefix", "honorificSuffix"];
    !attribute.has_lines && (of_person || of_name.contains(&attribute.name))
}

/// One value of the attribute; `None` for no value. A part without a value is null in it. `path` is
/// the attribute's path for errors, formatted only if one occurs.
pub(crate) fn one(
    attribute: &'static AttributeSchema,
    value: Json,
    strictness: Strictness,
    path: fmt::Arguments<'_>,
) -> Result<Option<Json>, ScimError> {
    let tolerant = strictness.is_tolerant();
    let is_object = attribute.kind == AttributeType::Complex;
    let is_free = is_object && attribute.sub_attributes.is_empty();
    let value = if tolerant && !is_object { bare(value) } else { value };
    let value = match value {
        Json::Null => return Ok(None),
        Json::Array(items) if items.is_empty() => return Ok(None),
        Json::Text(text) if text.is_empty() && !is_free => return Ok(None),
        Json::Text(text) if tolerant && is_name(attribute) && text.trim().is_empty() => {
            return Ok(None);
        }
        // Some clients send a list of the one value, Microsoft Entra one of an object for a text.
        Json::Array(mut items)
            if tolerant && items.len() == 1 && !attribute.multi_valued && !is_free =>
        {
            let inner = items.pop().unwrap_or(Json::Null);
            if let Json::Array(_) = inner {
                return Err(wrong_type(path, attribute, &inner));
            }
            let read = one(attribute, inner, strictness, path)?;
            return read.ok_or_else(|| no_value(path)).map(Some);
        }
        value @ (Json::Bool(_)
        | Json::Int(_)
        | Json::Float(_)
        | Json::Text(_)
        | Json::Array(_)
        | Json::Object(_)) => value,
    };
    let value = match (attribute.kind, value) {
        (AttributeType::Complex, Json::Object(members)) if is_free => Json::Object(members),
        (AttributeType::Complex, Json::Object(members)) => {
            Json::Object(parts(attribute, identified(attribute, members), strictness, path)?)
        }
        // Clients send the id of a manager, or an address, as a string.
        (AttributeType::Complex, Json::Text(text))
            if tolerant && attribute.sub_attribute("value").is_some() =>
        {
            let members = vec![("value".to_owned(), Json::Text(text))];
            Json::Object(parts(attribute, members, strictness, path)?)
        }
        (AttributeType::Boolean, value) => {
            let value = if tolerant { as_flag(value) } else { value };
            if !matches!(value, Json::Bool(_)) {
                return Err(wrong_type(path, attribute, &value));
            }
            value
        }
        (AttributeType::String, text @ Json::Text(_)) if attribute.has_lines => text,
        (AttributeType::String, value) => {
            let value = as_text(value, strictness);
            if !matches!(value, Json::Text(_)) {
                return Err(wrong_type(path, attribute, &value));
            }
            value
        }
        (
            AttributeType::Reference | AttributeType::Binary | AttributeType::DateTime,
            text @ Json::Text(_),
        ) => text,
        (AttributeType::Integer | AttributeType::Decimal, number @ Json::Int(_))
        | (AttributeType::Decimal, number @ Json::Float(_)) => number,
        (_, other) => return Err(wrong_type(path, attribute, &other)),
    };
    Ok(Some(value))
}

/// The values of a list. A single value is a list of one. Parts without a value are left out of
/// values of their own, and null in those that change a value.
pub(crate) fn many(
    attribute: &'static AttributeSchema,
    value: Json,
    strictness: Strictness,
    needs: Needs,
    path: fmt::Arguments<'_>,
) -> Result<Vec<Members>, ScimError> {
    let items = value.into_values();
    let mut values = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        let path = format_args!("{path}[{index}]");
        let has_unknown = has_unknown(attribute, &item);
        let mut members = match one(attribute, item, strictness, path)? {
            Some(Json::Object(members)) => members,
            Some(other) => return Err(wrong_type(path, attribute, &other)),
            None => return Err(no_value(path)),
        };
        let is_cleared = is_cleared(attribute, &members, has_unknown);
        if needs != Needs::Part {
            members.retain(|(_, part)| *part != Json::Null);
        }
        let is_complete = match needs {
            Needs::Part => says_something(&members, has_unknown),
            Needs::Whole | Needs::WholeOrCleared => {
                !is_cleared && is_whole(attribute, &members, has_unknown)
            }
        };
        if is_complete {
            values.push(members);
        } else if needs != Needs::WholeOrCleared || !is_cleared || !strictness.is_tolerant() {
            return Err(lacks(attribute, path));
        }
    }
    Ok(values)
}

/// Whether an operation has no value (RFC 7643 section 2.5).
pub(crate) fn is_no_value(value: Option<&Json>) -> bool {
    match value {
        None | Some(Json::Null) => true,
        Some(Json::Array(items)) => items.is_empty(),
        Some(Json::Text(text)) => text.is_empty(),
        Some(Json::Bool(_) | Json::Int(_) | Json::Float(_) | Json::Object(_)) => false,
    }
}

/// Whether the value of a removal names nothing, so that nothing is removed. Without a value a
/// removal concerns all that its path selects.
pub(crate) fn names_nothing(value: &Json) -> bool {
    match value {
        Json::Array(items) => items.is_empty(),
        Json::Object(members) => members.is_empty(),
        Json::Null | Json::Bool(_) | Json::Int(_) | Json::Float(_) | Json::Text(_) => false,
    }
}

/// The value of an object that has nothing else, as clients send it for a text. Microsoft's write
/// `"$ref":null` beside it.
pub(crate) fn bare(value: Json) -> Json {
    if let Json::Object(members) = &value {
        let says = |(name, value): &&(String, Json)| {
            !(name.eq_ignore_ascii_case("$ref") && *value == Json::Null)
        };
        let mut said = members.iter().filter(says);
        if let (Some((name, inner)), None) = (said.next(), said.next())
            && name.eq_ignore_ascii_case("value")
        {
            return inner.clone();
        }
    }
    value
}

/// The parts by which an entry of a list equals another: value and type; without a value the other
/// parts; all parts if there is no other than `primary`.
pub(crate) fn telling(entry: &[(String, Json)]) -> impl Iterator<Item = &(String, Json)> {
    let has_value = entry.iter().any(|(name, _)| name == "value");
    let counts = move |(name, part): &&(String, Json)| match name.as_str() {
        _ if part.is_empty_text() => false,
        "value" | "type" => true,
        "primary" => false,
        _ => !has_value,
    };
    let has_none = !entry.iter().any(|part| counts(&part));
    entry.iter().filter(move |part| has_none || counts(part))
}

/// The values without those that equal an earlier one.
pub(crate) fn distinct(values: Vec<Json>) -> Vec<Json> {
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut kept: Vec<Json> = Vec::with_capacity(values.len());
    for value in values {
        let like = places.entry(value.fingerprint()).or_default();
        if like.iter().all(|at| kept.get(*at) != Some(&value)) {
            like.push(kept.len());
            kept.push(value);
        }
    }
    kept
}

/// Whether the value is primary.
pub(crate) fn is_primary(members: &[(String, Json)]) -> bool {
    members.iter().any(|(name, value)| name == "primary" && *value == Json::Bool(true))
}

/// Whether a list contains such a value: it has the required part or, if no part is required, any
/// part that says more than which value it is.
fn is_whole(attribute: &AttributeSchema, members: &[(String, Json)], has_unknown: bool) -> bool {
    match required(attribute) {
        Some(part) => {
            members.iter().any(|(name, value)| name == part.name && !value.is_empty_text())
        }
        None => says_something(members, has_unknown),
    }
}

/// Whether a value has a part that counts. Beside a label, an unknown part may be the one that
/// matters.
fn says_something(members: &[(String, Json)], has_unknown: bool) -> bool {
    members.iter().any(|(name, _)| !has_unknown || !is_label(name))
}

/// Whether a part only tells the value from others of the list.
pub(crate) fn is_label(name: &str) -> bool {
    matches!(name, "type" | "primary")
}

/// The required part of each value.
pub(crate) fn required(attribute: &AttributeSchema) -> Option<&'static AttributeSchema> {
    attribute.sub_attributes.iter().find(|part| part.required)
}

/// Whether the value was sent as one that is cleared: its required part or, if none is required,
/// each part but labels was sent without a value.
fn is_cleared(attribute: &AttributeSchema, members: &[(String, Json)], has_unknown: bool) -> bool {
    if let Some(part) = required(attribute) {
        return members.iter().any(|(name, value)| name == part.name && *value == Json::Null);
    }
    let is_empty = |value: &Json| *value == Json::Null || value.is_empty_text();
    let mut parts = members.iter().filter(|(name, _)| !is_label(name)).peekable();
    !has_unknown && parts.peek().is_some() && parts.all(|(_, value)| is_empty(value))
}

/// Whether it is an entry of a list that says nothing but which entry it is.
pub(crate) fn is_idle(value: &Json) -> bool {
    matches!(value, Json::Object(members) if members.iter().all(|(name, _)| is_label(name)))
}

fn has_unknown(attribute: &AttributeSchema, value: &Json) -> bool {
    let Json::Object(members) = value else { return false };
    members.iter().any(|(name, _)| attribute.sub_attribute(name).is_none())
}

/// A reference to one resource by its URL alone also has the id at the end of the URL (RFC 7643
/// section 2.3.7).
fn identified(attribute: &AttributeSchema, mut members: Members) -> Members {
    let is_writable = |name| {
        let part = attribute.sub_attribute(name);
        part.is_some_and(|part| part.mutability != Mutability::ReadOnly)
    };
    let sent = |wanted: &str| members.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
    if !attribute.multi_valued
        && is_writable("$ref")
        && sent("value").is_none()
        && let Some((_, Json::Text(url))) = sent("$ref")
        && let Some(id) = url.rsplit('/').next().filter(|id| !id.is_empty())
    {
        let id = Json::Text(id.to_owned());
        members.push(("value".to_owned(), id));
    }
    members
}

fn parts(
    attribute: &'static AttributeSchema,
    members: Members,
    strictness: Strictness,
    path: fmt::Arguments<'_>,
) -> Result<Members, ScimError> {
    let mut parts: Members = Vec::with_capacity(members.len());
    for (name, value) in members {
        let Some(part) = attribute.sub_attribute(&name) else {
            let follows = attribute.multi_valued
                && FOLLOWS.iter().any(|known| known.eq_ignore_ascii_case(&name));
            if strictness.is_tolerant() || follows {
                continue;
            }
            return Err(unknown(&path.to_string(), attribute.sub_attributes));
        };
        // RFC 7644 section 3.5.1: read-only parts of a body are ignored.
        if part.mutability == Mutability::ReadOnly {
            continue;
        }
        if parts.iter().any(|(found, _)| found == part.name) {
            let detail = format!("{path}: {} occurs twice", part.name);
            return Err(ScimError::new(ScimType::InvalidSyntax, detail));
        }
        let read = one(part, value, strictness, format_args!("{path}.{}", part.name))?;
        parts.push((part.name.to_owned(), read.unwrap_or(Json::Null)));
    }
    if parts.is_empty() { Err(lacks(attribute, path)) } else { Ok(parts) }
}

pub(crate) fn wrong_type(
    path: fmt::Arguments<'_>,
    attribute: &AttributeSchema,
    sent: &Json,
) -> ScimError {
    let wanted = match attribute.kind {
        AttributeType::Complex => "an object",
        AttributeType::Boolean => "true or false",
        AttributeType::Integer => "a whole number",
        AttributeType::Decimal => "a number",
        AttributeType::String
        | AttributeType::Reference
        | AttributeType::Binary
        | AttributeType::DateTime => "a string",
    };
    ScimError::new(ScimType::InvalidValue, format!("{path}: send {wanted}, not {}", sent.kind()))
}

fn no_value(path: fmt::Arguments<'_>) -> ScimError {
    ScimError::new(ScimType::InvalidValue, format!("{path}: send a value"))
}

/// The error for a value without the parts that it needs.
pub(crate) fn lacks(attribute: &AttributeSchema, path: fmt::Arguments<'_>) -> ScimError {
    let detail = if let Some(part) = required(attribute) {
        format!("{path}: send its {}", part.name)
    } else {
        let parts = attribute.sub_attributes.iter().map(|part| part.name);
        let parts: Vec<&str> = parts.filter(|name| !is_label(name)).collect();
        format!("{path}: send at least one of {}", parts.join(", "))
    };
    ScimError::new(ScimType::InvalidValue, detail)
}

/// The error for an unknown name, with the known names.
pub(crate) fn unknown(path: &str, known: &[AttributeSchema]) -> ScimError {
    let at = if path.is_empty() { String::new() } else { format!("{path}: ") };
    let detail = format!("{at}unknown attribute; known attributes are {}", names(known));
    ScimError::new(ScimType::InvalidSyntax, detail)
}

/// The error for an attribute that is sent by two names.
pub(crate) fn twice(name: &str) -> ScimError {
    ScimError::new(ScimType::InvalidSyntax, format!("{name}: it occurs twice"))
}

/// The error for a name that leads below an attribute, to nothing that can be read. It does not
/// repeat the rest of the name: a condition may have a value of a user.
pub(crate) fn below(attribute: &str) -> ScimError {
    let detail = format!("a name below {attribute} is no part that can be sent: send {attribute}");
    ScimError::new(ScimType::InvalidSyntax, detail)
}

fn names(known: &[AttributeSchema]) -> String {
    let names: Vec<&str> = known.iter().map(|attribute| attribute.name).collect();
    names.join(", ")
}
