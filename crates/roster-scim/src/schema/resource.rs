//! Schemas and resource types (RFC 7643 sections 6 and 7).

use super::{AttributeSchema, Mutability};
use crate::strictness::Strictness;

/// The attributes of one URN.
#[derive(Debug)]
pub struct Schema {
    /// The URN.
    pub urn: &'static str,
    /// The name.
    pub name: &'static str,
    /// The description.
    pub description: &'static str,
    /// The attributes.
    pub attributes: &'static [AttributeSchema],
}

impl Schema {
    /// The attribute with this name, in any case.
    pub fn attribute(&self, name: &str) -> Option<&'static AttributeSchema> {
        self.attributes.iter().find(|known| known.name.eq_ignore_ascii_case(name))
    }
}

/// A resource type.
#[derive(Debug)]
pub struct ResourceType {
    /// The name, which is also the id.
    pub name: &'static str,
    /// The endpoint below the base URL of SCIM.
    pub endpoint: &'static str,
    /// The description.
    pub description: &'static str,
    /// The schema of the top level of a resource.
    pub schema: &'static Schema,
    /// The schemas whose attributes are below their URN.
    pub extensions: &'static [&'static Schema],
}

impl ResourceType {
    /// The schemas, the main one first.
    pub fn schemas(&self) -> impl Iterator<Item = &'static Schema> {
        std::iter::once(self.schema).chain(self.extensions.iter().copied())
    }

    /// The schema with this URN, in any case.
    pub fn schema_of(&self, urn: &str) -> Option<&'static Schema> {
        self.schemas().find(|schema| schema.urn.eq_ignore_ascii_case(urn))
    }

    /// Finds the attribute of a path: `[urn:]attribute[.part]`, in any case (RFC 7644 section
    /// 3.10).
    pub fn find(&self, path: &str) -> Option<Found> {
        let (schema, rest) = self.split_urn(path, Strictness::Tolerant)?;
        let (name, part) = match rest.split_once('.') {
            Some((name, part)) => (name, Some(part)),
            None => (rest, None),
        };
        let attribute = schema.attribute(name)?;
        let sub_attribute = match part {
            Some(part) => Some(attribute.sub_attribute(part)?),
            None => None,
        };
        Some(Found { schema, attribute, sub_attribute })
    }

    /// Finds a part of an attribute of an extension by a path without the URN.
    pub fn find_in_extensions(&self, path: &str) -> Option<Found> {
        let (name, part) = path.split_once('.')?;
        let schema = self.extension_with(name)?;
        let attribute = schema.attribute(name)?;
        let sub_attribute = Some(attribute.sub_attribute(part)?);
        Some(Found { schema, attribute, sub_attribute })
    }

    /// The attribute of which a name is a path to a part: a known name and a dot or a bracket.
    /// Read-only attributes are ignored in bodies, and so are paths to their parts.
    pub fn attribute_above(&self, name: &str) -> Option<&'static AttributeSchema> {
        let (schema, rest) = self.split_urn(name, Strictness::Tolerant)?;
        let (first, _) = rest.split_once(['.', '['])?;
        let extension = self.extension_with(first).filter(|_| rest.len() == name.len());
        let attribute = extension.unwrap_or(schema).attribute(first)?;
        (attribute.mutability != Mutability::ReadOnly).then_some(attribute)
    }

    /// The extension that has an attribute with this name, in any case, if the main schema has
    /// none.
    pub fn extension_with(&self, name: &str) -> Option<&'static Schema> {
        if self.schema.attribute(name).is_some() {
            return None;
        }
        self.extensions.iter().copied().find(|schema| schema.attribute(name).is_some())
    }

    /// The schema of a path and the rest of the path. A path without a URN belongs to the main
    /// schema. `None` for an unknown URN. In tolerant parsing a dot may follow the URN, as some
    /// clients send it, in place of the colon.
    pub fn split_urn<'p>(
        &self,
        path: &'p str,
        strictness: Strictness,
    ) -> Option<(&'static Schema, &'p str)> {
        if !path.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("urn:")) {
            return Some((self.schema, path));
        }
        self.schemas().find_map(|schema| {
            let (urn, rest) = path.split_at_checked(schema.urn.len())?;
            let dot = rest.strip_prefix('.').filter(|_| strictness.is_tolerant());
            let rest = rest.strip_prefix(':').or(dot)?;
            urn.eq_ignore_ascii_case(schema.urn).then_some((schema, rest))
        })
    }
}

/// The attribute that a path names.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// Its schema.
    pub schema: &'static Schema,
    /// The attribute.
    pub attribute: &'static AttributeSchema,
    /// The sub-attribute, if the path names one.
    pub sub_attribute: Option<&'static AttributeSchema>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{AttributeType, ENTERPRISE_URN, USER};

    #[test]
    fn a_path_is_found_in_any_case_with_and_without_its_urn() {
        let name = |path: &str| {
            let found = USER.find(path)?;
            let part = found.sub_attribute.map(|part| part.name);
            Some((found.schema.name, found.attribute.name, part))
        };
        assert_eq!(name("USERNAME"), Some(("User", "userName", None)));
        assert_eq!(name("Name.FamilyName"), Some(("User", "name", Some("familyName"))));
        let qualified = "urn:IETF:params:scim:schemas:core:2.0:User:emails.value";
        assert_eq!(name(qualified), Some(("User", "emails", Some("value"))));
        let manager = format!("{ENTERPRISE_URN}:manager.value");
        assert_eq!(name(&manager), Some(("EnterpriseUser", "manager", Some("value"))));
        let dotted = format!("{ENTERPRISE_URN}.manager");
        assert_eq!(name(&dotted), Some(("EnterpriseUser", "manager", None)));
        assert!(USER.split_urn(&dotted, Strictness::Strict).is_none());
        for none in ["", "nick", "department", "name.x", "urn:x:y", ENTERPRISE_URN, "title.x"] {
            assert_eq!(name(none), None, "{none}");
        }
    }

    #[test]
    fn a_path_to_a_part_is_found_by_its_attribute() {
        let above = |name: &str| USER.attribute_above(name).map(|attribute| attribute.name);
        assert_eq!(above("Name.givnName"), Some("name"));
        assert_eq!(above("emails[type eq \"work\"].value"), Some("emails"));
        assert_eq!(above("urn:ietf:params:scim:schemas:core:2.0:User:title.x"), Some("title"));
        assert_eq!(above(&format!("{ENTERPRISE_URN}.manager.x")), Some("manager"));
        assert_eq!(above("department.x"), Some("department"));
        for none in ["name", "custom.name", "meta.x", "groups[type pr]", "urn:x:1.0:User:name.x"] {
            assert_eq!(above(none), None, "{none}");
        }
    }

    #[test]
    fn only_complex_attributes_have_parts() {
        for schema in ResourceType::ALL.iter().flat_map(|kind| kind.schemas()) {
            for attribute in schema.attributes {
                let complex = attribute.kind == AttributeType::Complex;
                assert!(complex || attribute.sub_attributes.is_empty(), "{}", attribute.name);
                for part in attribute.sub_attributes {
                    assert!(!part.is_complex(), "{}.{}", attribute.name, part.name);
                }
            }
        }
    }
}
