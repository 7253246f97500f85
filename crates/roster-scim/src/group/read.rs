//! Parses a SCIM group to a draft and the ids of its members.
//!
//! The attribute table names the attributes. Names ignore case. Read-only attributes are ignored
//! (RFC 7644 sections 3.3 and 3.5.1). Core validates the values.

use std::collections::BTreeSet;

use roster_core::{Json, UserId, group::GroupDraft, json::JsonFault, text::nearest};

use super::{
    members::each_id,
    stream::{self, Fault, is_object},
};
use crate::{
    error::{ScimError, ScimType},
    schema::{AttributeSchema, GROUP, GROUP_URN},
    strictness::Strictness,
    value::{below, one, twice},
};

/// A parsed group.
#[derive(Clone, Debug)]
pub struct GroupBody {
    /// Its attributes, except the members.
    pub draft: GroupDraft,
    /// Its members; empty if the body has none.
    pub members: BTreeSet<UserId>,
    /// The names of the attributes that no schema has. Tolerant parsing drops them.
    pub dropped: Vec<String>,
}

/// Parses a group from a body. Its members are read as they come.
pub fn read(
    text: &[u8],
    strictness: Strictness,
) -> Result<Result<GroupBody, ScimError>, JsonFault> {
    stream::nested(Reading::read(text, strictness))
}

/// Parses the attributes of a group, except the members, from the result of a PATCH.
pub fn read_own(tree: Json, strictness: Strictness) -> Result<GroupDraft, ScimError> {
    let Json::Object(members) = tree else { return draft(Vec::new()) };
    let mut own = Vec::new();
    for (name, value) in members {
        if let Some(attribute) = GROUP.schema.attribute(&name) {
            own.extend(own_member(attribute, value, strictness)?);
        }
    }
    draft(own)
}

fn draft(own: Vec<(String, Json)>) -> Result<GroupDraft, ScimError> {
    let has_name = own.iter().any(|(name, value)| name == "display_name" && *value != Json::Null);
    if !has_name {
        return Err(ScimError::new(ScimType::InvalidValue, "displayName: it is required"));
    }
    Ok(GroupDraft::parse(Json::Object(own)))
}

/// A member of the record; `None` if the service computes it.
fn own_member(
    attribute: &'static AttributeSchema,
    value: Json,
    strictness: Strictness,
) -> Result<Option<(String, Json)>, ScimError> {
    let name = match attribute.name {
        "displayName" => "display_name",
        "externalId" => "external_id",
        _ => return Ok(None),
    };
    let value = one(attribute, value, strictness, format_args!("{}", attribute.name))?;
    Ok(Some((name.to_owned(), value.unwrap_or(Json::Null))))
}

struct Reading {
    strictness: Strictness,
    own: Vec<(String, Json)>,
    members: BTreeSet<UserId>,
    schemas: Option<Json>,
    /// The attributes that were sent.
    sent: BTreeSet<&'static str>,
    dropped: Vec<String>,
}

impl Reading {
    fn read(text: &[u8], strictness: Strictness) -> Result<GroupBody, Fault> {
        if !is_object(text) {
            stream::check(text)?;
            let kind = match text.trim_ascii_start().first() {
                Some(b'[') => "an array",
                Some(b'"') => "a string",
                Some(b't' | b'f') => "a boolean",
                Some(b'n') => "null",
                _ => "a number",
            };
            let detail = format!("send one group as a JSON object, not {kind}");
            return Err(ScimError::new(ScimType::InvalidSyntax, detail).into());
        }
        let (own, members, schemas, sent) = (Vec::new(), BTreeSet::new(), None, BTreeSet::new());
        let mut reading = Self { strictness, own, members, schemas, sent, dropped: Vec::new() };
        stream::members(text, |name, value| {
            // RFC 7643 section 3.3 has an object below a URN only for extensions; some clients send
            // one for every schema.
            if name.eq_ignore_ascii_case(GROUP_URN) {
                if !is_object(value) {
                    let detail = format!("{GROUP_URN}: send an object");
                    return Err(ScimError::new(ScimType::InvalidValue, detail).into());
                }
                return stream::members(value, |name, value| reading.take(&name, value));
            }
            reading.take(&name, value)
        })?;
        if strictness == Strictness::Strict {
            require_schemas(reading.schemas.as_ref())?;
        }
        if !reading.sent.contains("members")
            && reading.dropped.iter().any(|name| is_like_members(name))
        {
            return Err(nearly_members().into());
        }
        let Self { own, members, dropped, .. } = reading;
        Ok(GroupBody { draft: draft(own)?, members, dropped })
    }

    fn take(&mut self, name: &str, value: &[u8]) -> Result<(), Fault> {
        let name = GROUP.split_urn(name, self.strictness).map_or(name, |(_, rest)| rest);
        if name.eq_ignore_ascii_case("schemas") {
            self.schemas = Some(stream::small(value)?);
            return Ok(());
        }
        let Some(attribute) = GROUP.schema.attribute(name) else {
            if self.strictness == Strictness::Strict {
                let detail = format!("{name}: a group has no such attribute");
                return Err(ScimError::new(ScimType::InvalidSyntax, detail).into());
            }
            // Dropped, it would clear what it names.
            if let Some(above) = GROUP.attribute_above(name) {
                return Err(below(above.name).into());
            }
            self.dropped.push(name.to_owned());
            return Ok(());
        };
        if !self.sent.insert(attribute.name) {
            return Err(twice(attribute.name).into());
        }
        match attribute.name {
            "members" if self.strictness == Strictness::Strict && is_object(value) => {
                let detail = "members: send an array";
                return Err(ScimError::new(ScimType::InvalidValue, detail).into());
            }
            "members" => each_id(value, self.strictness, |id| {
                self.members.insert(id);
            })?,
            "displayName" | "externalId" => {
                let value = stream::small(value)?;
                self.own.extend(own_member(attribute, value, self.strictness)?);
            }
            // Computed by the service.
            _ => {}
        }
        Ok(())
    }
}

/// Whether an unknown name is probably a misspelt `members`: ignored, it would empty the group.
pub(crate) fn is_like_members(name: &str) -> bool {
    let name = name.split(['.', '[']).next().unwrap_or(name);
    // The groups of a group.
    let is_other = name.replace(['_', '-'], "").eq_ignore_ascii_case("memberOf");
    let known = GROUP.schema.attributes.iter().map(|attribute| attribute.name);
    !is_other && nearest(name, known) == Some("members")
}

/// The error for a misspelt `members`.
pub(crate) fn nearly_members() -> ScimError {
    let detail = "an attribute is unknown whose name is nearly members: send members";
    ScimError::new(ScimType::InvalidSyntax, detail)
}

fn require_schemas(schemas: Option<&Json>) -> Result<(), ScimError> {
    let says = |urn: &Json| matches!(urn, Json::Text(urn) if urn.eq_ignore_ascii_case(GROUP_URN));
    match schemas {
        Some(Json::Array(urns)) if !urns.is_empty() && urns.iter().all(says) => Ok(()),
        _ => {
            let detail = format!("schemas: send {GROUP_URN} alone");
            Err(ScimError::new(ScimType::InvalidSyntax, detail))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "0190d1c2-8000-7000-8000-000000000001";

    fn of(text: &str, strictness: Strictness) -> Result<GroupBody, ScimError> {
        read(text.as_bytes(), strictness).expect("JSON")
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
    fn a_path_below_a_known_attribute_is_an_error() {
        for name in [
            "members.value".to_owned(),
            "Members[type eq \\\"User\\\"]".to_owned(),
            format!("{GROUP_URN}:members.value"),
            "displayName.x".to_owned(),
        ] {
            for body in [
                format!(r#"{{"displayName":"a","{name}":"{ONE}"}}"#),
                format!(r#"{{"{GROUP_URN}":{{"displayName":"a","{name}":"{ONE}"}}}}"#),
            ] {
                let refused = of(&body, Strictness::Tolerant).expect_err(&body);
                assert_eq!(refused.scim_type, Some(ScimType::InvalidSyntax), "{body}");
            }
        }
        let dotted =
            format!(r#"{{"displayName":"a","{GROUP_URN}.members":[{{"value":"{ONE}"}}]}}"#);
        assert_eq!(of(&dotted, Strictness::Tolerant).expect("a group").members.len(), 1);
        let others = r#"{"displayName":"a","meta.x":1,"custom.name":"x"}"#;
        assert!(of(others, Strictness::Tolerant).is_ok());
    }

    #[test]
    fn a_group_needs_a_name_and_members_with_ids() {
        for body in [
            "{}",
            r#"{"displayName":null}"#,
            r#"{"displayName":""}"#,
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
