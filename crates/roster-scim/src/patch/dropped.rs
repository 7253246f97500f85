//! The names in a PATCH that no schema has.

use roster_core::{Json, Work};

use super::{Operation, SEARCH_COMPARISONS, cost, path::Target};
use crate::{ResourceType, ScimError, Strictness};

/// The names of attributes that no schema has, which tolerant parsing ignores.
pub(crate) fn dropped(
    resource_type: &'static ResourceType,
    operations: &[Operation],
    strictness: Strictness,
    work: &Work,
) -> Result<Vec<String>, ScimError> {
    let mut dropped = Vec::new();
    if !strictness.is_tolerant() {
        return Ok(dropped);
    }
    let mut look = |path: &str, is_member: bool| {
        work.spend(SEARCH_COMPARISONS + cost(path.len()))?;
        let found = if is_member {
            Target::of_member(resource_type, None, path, strictness)
        } else {
            Target::parse(resource_type, path, strictness)
        };
        // An error is reported when the operation is applied.
        if matches!(found, Ok(None)) {
            dropped.push(path.split('[').next().unwrap_or_default().to_owned());
        }
        Ok::<_, ScimError>(())
    };
    for Operation { path, value, .. } in operations {
        let schema = match path {
            Some(path) => resource_type.schema_of(path),
            None => Some(resource_type.schema),
        };
        let (Some(schema), Some(Json::Object(members))) = (schema, value) else {
            path.iter().try_for_each(|path| look(path, false))?;
            continue;
        };
        let of_urn = |name: &str| match resource_type.schema_of(name) {
            Some(_) => name.to_owned(),
            None if path.is_none() => name.to_owned(),
            None => format!("{}:{name}", schema.urn),
        };
        for (name, value) in members {
            match (resource_type.schema_of(name), value) {
                (Some(below), Json::Object(members)) => members
                    .iter()
                    .try_for_each(|(name, _)| look(&format!("{}:{name}", below.urn), true))?,
                _ => look(&of_urn(name), true)?,
            }
        }
    }
    Ok(dropped)
}
