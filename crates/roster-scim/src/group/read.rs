//! Parses a SCIM group to a draft and the ids of its members.
//!
//! The attribute table names the attributes. Names ignore case. Read-only attributes are ignored
//! (RFC 7644 sections 3.3 and 3.5.1). Core validates the values.

use std::collections::BTreeSet;

use roster_core::{Json, UserId, group::GroupDraft};

use crate::{
    error::{ScimError, ScimType},
    schema::{GROUP, GROUP_URN},
    strictness::{Strictness, as_text},
};

/// A parsed group.
#[derive(Clone, Debug)]
pub struct GroupBody {
    /// Its attributes, except the members.
    pub draft: GroupDraft,
    /// Its members; empty if the body has none.
    pub members: BTreeSet<UserId>,
}

/// Parses a group from a body.
pub fn read(tree: Json, strictness: Strictness) -> Result<GroupBody, ScimError> {
    let kind = tree.kind();
    let Json::Object(sent) = tree else {
        let detail = format!("send one group as a JSON object, not {kind}");
        return Err(ScimError::new(ScimType::InvalidSyntax, detail));
    };
    let mut own = Vec::new();
    let mut members = BTreeSet::new();
    let mut schemas = None;
    for (name, value) in unwrapped(sent) {
        let name = own_name(&name);
        if name.eq_ignore_ascii_case("schemas") {
            schemas = Some(value);
            continue;
        }
        let Some(attribute) = GROUP.schema.attribute(name) else {
            if strictness == Strictness::Strict {
                let detail = format!("{name}: a group has no such attribute");
                return Err(ScimError::new(ScimType::InvalidSyntax, detail));
            }
            continue;
        };
        match attribute.name {
            "displayName" => own.push(("display_name".to_owned(), as_text(value, strictness))),
            "externalId" => own.push(("external_id".to_owned(), as_text(value, strictness))),
            "members" => members = ids(value)?,
            // Computed by the service.
            _ => {}
        }
    }
    if strictness == Strictness::Strict {
        require_schemas(schemas.as_ref())?;
    }
    let has_name = own.iter().any(|(name, value)| name == "display_name" && *value != Json::Null);
    if !has_name {
        return Err(ScimError::new(ScimType::InvalidValue, "displayName: it is required"));
    }
    Ok(GroupBody { draft: GroupDraft::parse(Json::Object(own)), members })
}

/// The members, including those in an object below the URN of a group. RFC 7643 section 3.3 has
/// such an object only for extensions; some clients send one for every schema.
fn unwrapped(sent: Vec<(String, Json)>) -> impl Iterator<Item = (String, Json)> {
    sent.into_iter().flat_map(|(name, value)| {
        if name.eq_ignore_ascii_case(GROUP_URN)
            && let Json::Object(members) = value
        {
            return members;
        }
        vec![(name, value)]
    })
}

/// The name without the URN of a group in front of it (RFC 7644 section 3.10).
fn own_name(name: &str) -> &str {
    let (urn, rest) = name.split_at_checked(GROUP_URN.len()).unwrap_or(("", name));
    let rest = rest.strip_prefix(':').filter(|_| urn.eq_ignore_ascii_case(GROUP_URN));
    rest.unwrap_or(name)
}

fn require_schemas(schemas: Option<&Json>) -> Result<(), ScimError> {
    let says = |urn: &Json| matches!(urn, Json::Text(urn) if urn.eq_ignore_ascii_case(GROUP_URN));
    match schemas {
        Some(Json::Array(urns)) if urns.iter().any(says) => Ok(()),
        _ => {
            let detail = "schemas: the URN of a group is missing";
            Err(ScimError::new(ScimType::InvalidSyntax, detail))
        }
    }
}

/// Parses the ids of the members.
fn ids(value: Json) -> Result<BTreeSet<UserId>, ScimError> {
    let members = match value {
        Json::Null => Vec::new(),
        Json::Array(members) => members,
        one @ Json::Object(_) => vec![one],
        Json::Bool(_) | Json::Int(_) | Json::Float(_) | Json::Text(_) => {
            let detail = "members: send an array of objects, each with a value";
            return Err(ScimError::new(ScimType::InvalidValue, detail));
        }
    };
    members.iter().map(id).collect()
}

fn id(member: &Json) -> Result<UserId, ScimError> {
    let value = if let Json::Object(parts) = member {
        let found = parts.iter().find(|(name, _)| name.eq_ignore_ascii_case("value"));
        found.map(|(_, value)| value)
    } else {
        Some(member)
    };
    let refused = || {
        let detail = "members: send the id of a user or of a group as value";
        ScimError::new(ScimType::InvalidValue, detail)
    };
    match value {
        Some(Json::Text(text)) => UserId::parse(text).ok_or_else(refused),
        _ => Err(refused()),
    }
}

#[cfg(test)]
mod tests {
    use roster_core::json;

    use super::*;

    const ONE: &str = "0190d1c2-8000-7000-8000-000000000001";

    fn of(text: &str, strictness: Strictness) -> Result<GroupBody, ScimError> {
        read(json::read(text.as_bytes()).expect("JSON"), strictness)
    }

    #[test]
    fn unknown_attributes_of_a_group_are_ignored_unless_strict() {
        let body = format!(
            r#"{{"schemas":["{GROUP_URN}","http://schemas.example/Group"],"externalId":"8aa",
                "DISPLAYNAME":"Team","id":"x","meta":{{"resourceType":"Group"}},"roles":[],
                "members":[{{"VALUE":"{ONE}","$ref":null,"display":"Ada"}}]}}"#
        );
        let read = of(&body, Strictness::Tolerant).expect("a group");
        assert_eq!(read.members, BTreeSet::from([UserId::parse(ONE).expect("an id")]));
        let refused = of(&body, Strictness::Strict).expect_err("there are no roles");
        assert_eq!(refused.scim_type, Some(ScimType::InvalidSyntax));
    }

    #[test]
    fn a_group_needs_a_name_and_members_with_ids() {
        for body in [
            "{}",
            r#"{"displayName":null}"#,
            r#"{"displayName":"a","members":[{"value":"ada"}]}"#,
            r#"{"displayName":"a","members":[{"$ref":"x"}]}"#,
            r#"{"displayName":"a","members":"x"}"#,
        ] {
            let refused = of(body, Strictness::Tolerant).expect_err(body);
            assert_eq!(refused.scim_type, Some(ScimType::InvalidValue), "{body}");
        }
        assert!(of(r#"{"displayName":"a","members":null}"#, Strictness::Tolerant).is_ok());
        assert!(of(r#"{"displayName":42}"#, Strictness::Tolerant).is_ok());
        let bare = of(r#"{"displayName":"a"}"#, Strictness::Strict).expect_err("no schemas");
        assert_eq!(bare.scim_type, Some(ScimType::InvalidSyntax));
    }
}
