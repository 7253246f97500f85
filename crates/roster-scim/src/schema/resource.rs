//! Schemas and resource types (RFC 7643 sections 6 and 7).

use super::{AttributeSchema, GROUP, USER};

/// The attributes under one URN.
#[derive(Debug)]
pub struct Schema {
    /// Its URN.
    pub urn: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it is, in words.
    pub description: &'static str,
    /// Its attributes.
    pub attributes: &'static [AttributeSchema],
}

impl Schema {
    /// The attribute of that name, in whatever case.
    pub fn attribute(&self, name: &str) -> Option<&'static AttributeSchema> {
        self.attributes.iter().find(|known| known.name.eq_ignore_ascii_case(name))
    }
}

/// A kind of resource.
#[derive(Debug)]
pub struct ResourceType {
    /// Its name, which is its id too.
    pub name: &'static str,
    /// Where it is served, below the base of SCIM.
    pub endpoint: &'static str,
    /// What it is, in words.
    pub description: &'static str,
    /// The schema of what stands at the top of a resource.
    pub schema: &'static Schema,
    /// The schemas whose attributes stand below their URN.
    pub extensions: &'static [&'static Schema],
}

impl ResourceType {
    /// Every kind that there is a table for.
    pub const ALL: &[&Self] = &[&USER, &GROUP];

    /// The schemas, the main one first.
    pub fn schemas(&self) -> impl Iterator<Item = &'static Schema> {
        std::iter::once(self.schema).chain(self.extensions.iter().copied())
    }

    /// The schema of that URN, in whatever case.
    pub fn schema_of(&self, urn: &str) -> Option<&'static Schema> {
        self.schemas().find(|schema| schema.urn.eq_ignore_ascii_case(urn))
    }

    /// What a path names: the schema, its attribute, and the part of it. A path is
    /// `[urn:]attribute[.part]`, in whatever case (RFC 7644 section 3.10).
    pub fn find(&self, path: &str) -> Option<Found> {
        let (schema, rest) = self.split_urn(path)?;
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

    /// The schema that a path is qualified with, and the rest of the path; the main schema where
    /// it is not qualified. `None` where its URN is none of ours.
    pub fn split_urn<'p>(&self, path: &'p str) -> Option<(&'static Schema, &'p str)> {
        if !path.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("urn:")) {
            return Some((self.schema, path));
        }
        self.schemas().find_map(|schema| {
            let (urn, rest) = path.split_at_checked(schema.urn.len())?;
            let rest = rest.strip_prefix(':')?;
            urn.eq_ignore_ascii_case(schema.urn).then_some((schema, rest))
        })
    }
}

/// What a path names.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// In which schema.
    pub schema: &'static Schema,
    /// The attribute.
    pub attribute: &'static AttributeSchema,
    /// The part of it, where the path names one.
    pub sub_attribute: Option<&'static AttributeSchema>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{AttributeType, ENTERPRISE_URN};

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
        for none in ["", "nick", "department", "name.x", "urn:x:y", ENTERPRISE_URN, "title.x"] {
            assert_eq!(name(none), None, "{none}");
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
