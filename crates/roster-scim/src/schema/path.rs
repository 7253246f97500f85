//! Where each member of the record stands in SCIM.
//!
//! Matched without a wildcard: a new member of the record breaks the build until it has a place
//! here. Mapping, filters and the places that errors name all read this.

use roster_core::{Attribute, Part};

use super::{ENTERPRISE_URN, ROSTER_URN, USER_URN};

/// A place in a SCIM resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScimPath {
    /// The URN of the schema.
    pub urn: &'static str,
    /// The attribute.
    pub attribute: &'static str,
    /// The part of it, where the member is a part of a complex attribute.
    pub sub_attribute: Option<&'static str>,
}

const fn core(attribute: &'static str) -> ScimPath {
    ScimPath { urn: USER_URN, attribute, sub_attribute: None }
}

const fn part_of(attribute: &'static str, sub_attribute: &'static str) -> ScimPath {
    ScimPath { urn: USER_URN, attribute, sub_attribute: Some(sub_attribute) }
}

const fn enterprise(attribute: &'static str) -> ScimPath {
    ScimPath { urn: ENTERPRISE_URN, attribute, sub_attribute: None }
}

const fn roster(attribute: &'static str) -> ScimPath {
    ScimPath { urn: ROSTER_URN, attribute, sub_attribute: None }
}

/// Where a member stands. The short forms have no place of their own: SCIM has their lists alone.
pub const fn scim_path(attribute: Attribute) -> Option<ScimPath> {
    Some(match attribute {
        Attribute::Id => core("id"),
        Attribute::Version => part_of("meta", "version"),
        Attribute::Status => core("active"),
        Attribute::Username => core("userName"),
        Attribute::Name => part_of("name", "formatted"),
        Attribute::GivenName => part_of("name", "givenName"),
        Attribute::MiddleName => part_of("name", "middleName"),
        Attribute::FamilyName => part_of("name", "familyName"),
        Attribute::HonorificPrefix => part_of("name", "honorificPrefix"),
        Attribute::HonorificSuffix => part_of("name", "honorificSuffix"),
        Attribute::DisplayName => core("displayName"),
        Attribute::Nickname => core("nickName"),
        Attribute::Title => core("title"),
        Attribute::UserType => core("userType"),
        Attribute::Email | Attribute::PhoneNumber | Attribute::Picture => return None,
        Attribute::EmailVerified => roster("email_verified"),
        Attribute::Emails => core("emails"),
        Attribute::PhoneNumberVerified => roster("phone_number_verified"),
        Attribute::PhoneNumbers => core("phoneNumbers"),
        Attribute::Photos => core("photos"),
        Attribute::Profile => core("profileUrl"),
        Attribute::Addresses => core("addresses"),
        Attribute::Locale => core("locale"),
        Attribute::Zoneinfo => core("timezone"),
        Attribute::PreferredLanguage => core("preferredLanguage"),
        Attribute::ExternalId => core("externalId"),
        Attribute::EmployeeNumber => enterprise("employeeNumber"),
        Attribute::CostCenter => enterprise("costCenter"),
        Attribute::Organization => enterprise("organization"),
        Attribute::Division => enterprise("division"),
        Attribute::Department => enterprise("department"),
        Attribute::Manager => enterprise("manager"),
        Attribute::Roles => core("roles"),
        Attribute::Entitlements => core("entitlements"),
        Attribute::Ims => core("ims"),
        Attribute::X509Certificates => core("x509Certificates"),
        Attribute::Attributes => roster("attributes"),
        Attribute::CreatedAt => part_of("meta", "created"),
        Attribute::UpdatedAt => part_of("meta", "lastModified"),
    })
}

/// What SCIM calls a part of an entry.
pub const fn scim_part(part: Part) -> &'static str {
    match part {
        // The manager's id is a value, as everywhere in SCIM.
        Part::Id | Part::Value => "value",
        Part::Formatted => "formatted",
        Part::StreetAddress => "streetAddress",
        Part::Locality => "locality",
        Part::Region => "region",
        Part::PostalCode => "postalCode",
        Part::Country => "country",
        Part::Type => "type",
        Part::Primary => "primary",
        Part::Display => "display",
    }
}

#[cfg(test)]
mod tests {
    use roster_core::attribute::Kind;

    use super::*;
    use crate::schema::{AttributeType, USER};

    #[test]
    fn every_place_of_a_member_is_in_the_tables() {
        for attribute in Attribute::ALL {
            let Some(place) = scim_path(*attribute) else { continue };
            let schema = USER.schema_of(place.urn).expect("a schema of users");
            let found = schema.attribute(place.attribute).expect(place.attribute);
            assert_eq!(found.name, place.attribute);
            if let Some(part) = place.sub_attribute {
                assert_eq!(found.sub_attribute(part).map(|part| part.name), Some(part));
            }
            if let Kind::One(shape) | Kind::Many(shape) = attribute.kind() {
                let parts: Vec<&str> =
                    shape.parts.iter().map(|(part, _)| scim_part(*part)).collect();
                let known: Vec<&str> = found.sub_attributes.iter().map(|part| part.name).collect();
                assert_eq!(parts, known, "{}", place.attribute);
            }
        }
    }

    #[test]
    fn every_attribute_in_the_tables_has_a_member() {
        let has = |urn: &str, name: &str, part: Option<&str>| {
            Attribute::ALL.iter().filter_map(|attribute| scim_path(*attribute)).any(|place| {
                place.urn == urn
                    && place.attribute == name
                    && (part.is_none()
                        || place.sub_attribute.is_none()
                        || place.sub_attribute == part)
            })
        };
        // What the service makes of the resource rather than of the record.
        let made = ["schemas", "status", "resourceType", "location"];
        for schema in USER.schemas() {
            // Groups are no part of the record: they are asked for beside it.
            for attribute in schema.attributes.iter().filter(|it| it.name != "groups") {
                let known = made.contains(&attribute.name) || has(schema.urn, attribute.name, None);
                assert!(known, "{}", attribute.name);
                for part in attribute.sub_attributes {
                    let known = made.contains(&part.name)
                        || has(schema.urn, attribute.name, Some(part.name));
                    assert!(known, "{}.{}", attribute.name, part.name);
                }
            }
        }
        let complex = |name: &str| {
            USER.find(name).is_some_and(|it| it.attribute.kind == AttributeType::Complex)
        };
        assert!(complex("name") && complex("emails") && !complex("userName"));
    }
}
