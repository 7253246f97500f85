//! The attribute `schemas` of a body that is parsed strictly.

use std::collections::HashSet;

use roster_core::Json;

use crate::{
    error::{ScimError, ScimType},
    schema::{
        USER, USER_URN,
        declared::{Extensions, Named},
    },
};

/// `schemas` must contain the URN of a user, those of the extensions that the body has, and no
/// unknown URN (RFC 7643 section 3).
pub(super) fn require_schemas(
    members: &[(String, Json)],
    declared: &Extensions<'_>,
) -> Result<(), ScimError> {
    let sent = members.iter().find(|(name, _)| name.eq_ignore_ascii_case("schemas"));
    let refuse = |detail: &'static str| Err(ScimError::new(ScimType::InvalidSyntax, detail));
    let Some((_, Json::Array(urns))) = sent else {
        return refuse("schemas: name the schemas that the body uses, in an array");
    };
    let mut says_user = false;
    let is_extension = |name: &str| {
        let declared = matches!(declared.resolve(name), Some(Named::Extension(_)));
        declared || USER.schema_of(name).is_some_and(|schema| schema.urn != USER_URN)
    };
    let lower = |urn: &Json| {
        if let Json::Text(urn) = urn { Some(urn.to_ascii_lowercase()) } else { None }
    };
    let known: HashSet<String> = urns.iter().filter_map(lower).collect();
    let is_named = |name: &str| known.contains(&name.to_ascii_lowercase());
    if members.iter().any(|(name, _)| is_extension(name) && !is_named(name)) {
        return refuse("schemas: the URN of an extension that the body has is missing");
    }
    for urn in urns {
        let Json::Text(urn) = urn else { return refuse("schemas: send URNs as strings") };
        says_user |= urn.eq_ignore_ascii_case(USER_URN);
        let is_declared = matches!(declared.resolve(urn), Some(Named::Extension(_)));
        if USER.schema_of(urn).is_none() && !is_declared {
            return refuse("schemas: a URN is not a schema of a user");
        }
    }
    if says_user { Ok(()) } else { refuse("schemas: the URN of a user is missing") }
}
