//! From what a client sent to a draft of a group, and to those who belong to it.
//!
//! Attributes are found by the table, whatever their case; those that are read-only are passed
//! over (RFC 7644 sections 3.3 and 3.5.1). What a value must be is for core to say.

use std::collections::BTreeSet;

use roster_core::{Json, UserId, group::GroupDraft};

use crate::{
    error::{ScimError, ScimType},
    profile::Profile,
    schema::{GROUP, GROUP_URN},
};

/// What a body says a group should be.
#[derive(Clone, Debug)]
pub struct GroupBody {
    /// Its own attributes.
    pub draft: GroupDraft,
    /// Who belongs to it: nobody where nobody is named.
    pub members: BTreeSet<UserId>,
}

/// Reads a group off a body.
pub fn read(tree: Json, profile: Profile) -> Result<GroupBody, ScimError> {
    let kind = tree.kind();
    let Json::Object(sent) = tree else {
        let detail = format!("send one group as a JSON object, not {kind}");
        return Err(ScimError::new(ScimType::InvalidSyntax, detail));
    };
    let mut own = Vec::new();
    let mut members = BTreeSet::new();
    let mut schemas = None;
    for (name, value) in sent {
        let name = own_name(&name);
        if name.eq_ignore_ascii_case("schemas") {
            schemas = Some(value);
            continue;
        }
        let Some(attribute) = GROUP.schema.attribute(name) else {
            if profile == Profile::Strict {
                let detail = format!("{name}: a group has no such attribute");
                return Err(ScimError::new(ScimType::InvalidSyntax, detail));
            }
            continue;
        };
        match attribute.name {
            "displayName" => own.push(("display_name".to_owned(), value)),
            "externalId" => own.push(("external_id".to_owned(), value)),
            "members" => members = ids(value)?,
            // The server's own.
            _ => {}
        }
    }
    if profile == Profile::Strict {
        require_schemas(schemas.as_ref())?;
    }
    let has_name = own.iter().any(|(name, value)| name == "display_name" && *value != Json::Null);
    if !has_name {
        return Err(ScimError::new(ScimType::InvalidValue, "displayName: it is required"));
    }
    Ok(GroupBody { draft: GroupDraft::parse(Json::Object(own)), members })
}

/// A name without the URN of groups in front of it (RFC 7644 section 3.10).
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

/// The ids of the members that are given.
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
        let detail = "members: the value of each is the id of a user or of a group";
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

    fn of(text: &str, profile: Profile) -> Result<GroupBody, ScimError> {
        read(json::read(text.as_bytes()).expect("JSON"), profile)
    }

    #[test]
    fn what_clients_send_beside_a_group_is_passed_over() {
        let body = format!(
            r#"{{"schemas":["{GROUP_URN}","http://schemas.example/Group"],"externalId":"8aa",
                "DISPLAYNAME":"Team","id":"x","meta":{{"resourceType":"Group"}},"roles":[],
                "members":[{{"VALUE":"{ONE}","$ref":null,"display":"Ada"}}]}}"#
        );
        let read = of(&body, Profile::Tolerant).expect("a group");
        assert_eq!(read.members, BTreeSet::from([UserId::parse(ONE).expect("an id")]));
        let refused = of(&body, Profile::Strict).expect_err("there are no roles");
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
            let refused = of(body, Profile::Tolerant).expect_err(body);
            assert_eq!(refused.scim_type, Some(ScimType::InvalidValue), "{body}");
        }
        assert!(of(r#"{"displayName":"a","members":null}"#, Profile::Tolerant).is_ok());
        let bare = of(r#"{"displayName":"a"}"#, Profile::Strict).expect_err("no schemas");
        assert_eq!(bare.scim_type, Some(ScimType::InvalidSyntax));
    }
}
