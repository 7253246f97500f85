//! Values of a body, and the names of their parts.

use std::collections::{BTreeMap, HashMap};

use roster_core::{Attribute, Json, Part, attribute::Kind};

use crate::{
    error::{ScimError, ScimType},
    schema::{AttributeSchema, scim_part},
    strictness::Strictness,
    value::{Needs, many, one, telling},
};

/// Parses the value of an attribute of a body; `None` for no value.
pub(super) fn read(
    attribute: &'static AttributeSchema,
    value: Json,
    strictness: Strictness,
) -> Result<Option<Json>, ScimError> {
    let path = format_args!("{}", attribute.name);
    if !attribute.multi_valued {
        let read = one(attribute, value, strictness, path)?;
        let Some(Json::Object(mut members)) = read else { return Ok(read) };
        if !attribute.sub_attributes.is_empty() {
            members.retain(|(_, part)| *part != Json::Null);
        }
        return Ok((!members.is_empty()).then_some(Json::Object(members)));
    }
    if !strictness.is_tolerant() && !matches!(value, Json::Null | Json::Array(_)) {
        let detail = format!("{path}: send an array, not {}", value.kind());
        return Err(ScimError::new(ScimType::InvalidValue, detail));
    }
    let values = many(attribute, value, strictness, Needs::WholeOrCleared, path)?;
    let values: Vec<Json> = values.into_iter().map(Json::Object).collect();
    Ok((!values.is_empty()).then_some(Json::Array(values)))
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

/// Merges entries of a list that have the same value and type (RFC 7643 section 2.4) or, without a
/// value, the same parts. The first entry gets the parts that it lacks, and is primary if any of
/// them is.
pub(super) fn without_repeats(value: Json) -> Json {
    let Json::Array(entries) = value else { return value };
    let mut kept: Vec<Json> = Vec::with_capacity(entries.len());
    let mut places = HashMap::new();
    for entry in entries {
        let Json::Object(members) = entry else {
            kept.push(entry);
            continue;
        };
        let mut texts = BTreeMap::new();
        for (name, part) in telling(&members) {
            if let Json::Text(text) = part {
                texts.insert(name.clone(), text.clone());
            }
        }
        let at = *places.entry(texts).or_insert(kept.len());
        let Some(Json::Object(known)) = kept.get_mut(at) else {
            kept.push(Json::Object(members));
            continue;
        };
        for (name, part) in members {
            match known.iter_mut().find(|(had, _)| *had == name) {
                None => known.push((name, part)),
                Some((_, primary)) if part == Json::Bool(true) => *primary = part,
                Some(_) => {}
            }
        }
    }
    Json::Array(kept)
}
