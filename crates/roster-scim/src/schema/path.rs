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
    /// Its last name as the JSON text that begins a further member of an object.
    pub member: &'static str,
}

/// A place; its last name is given once and kept in both its forms.
macro_rules! place {
    ($urn:expr, $attribute:literal) => {
        ScimPath {
            urn: $urn,
            attribute: $attribute,
            sub_attribute: None,
            member: concat!(",\"", $attribute, "\":"),
        }
    };
    ($urn:expr, $attribute:literal, $part:literal) => {
        ScimPath {
            urn: $urn,
            attribute: $attribute,
            sub_attribute: Some($part),
            member: concat!(",\"", $part, "\":"),
        }
    };
}

/// Where a member stands. The short forms have no place of their own: SCIM has their lists alone.
pub const fn scim_path(attribute: Attribute) -> Option<ScimPath> {
    Some(match attribute {
        Attribute::Id => place!(USER_URN, "id"),
        Attribute::Version => place!(USER_URN, "meta", "version"),
        Attribute::Status => place!(USER_URN, "active"),
        Attribute::Username => place!(USER_URN, "userName"),
        Attribute::Name => place!(USER_URN, "name", "formatted"),
        Attribute::GivenName => place!(USER_URN, "name", "givenName"),
        Attribute::MiddleName => place!(USER_URN, "name", "middleName"),
        Attribute::FamilyName => place!(USER_URN, "name", "familyName"),
        Attribute::HonorificPrefix => place!(USER_URN, "name", "honorificPrefix"),
        Attribute::HonorificSuffix => place!(USER_URN, "name", "honorificSuffix"),
        Attribute::DisplayName => place!(USER_URN, "displayName"),
        Attribute::Nickname => place!(USER_URN, "nickName"),
        Attribute::Title => place!(USER_URN, "title"),
        Attribute::UserType => place!(USER_URN, "userType"),
        Attribute::Email | Attribute::PhoneNumber | Attribute::Picture => return None,
        Attribute::EmailVerified => place!(ROSTER_URN, "email_verified"),
        Attribute::Emails => place!(USER_URN, "emails"),
        Attribute::PhoneNumberVerified => place!(ROSTER_URN, "phone_number_verified"),
        Attribute::PhoneNumbers => place!(USER_URN, "phoneNumbers"),
        Attribute::Photos => place!(USER_URN, "photos"),
        Attribute::Profile => place!(USER_URN, "profileUrl"),
        Attribute::Addresses => place!(USER_URN, "addresses"),
        Attribute::Locale => place!(USER_URN, "locale"),
        Attribute::Zoneinfo => place!(USER_URN, "timezone"),
        Attribute::PreferredLanguage => place!(USER_URN, "preferredLanguage"),
        Attribute::ExternalId => place!(USER_URN, "externalId"),
        Attribute::EmployeeNumber => place!(ENTERPRISE_URN, "employeeNumber"),
        Attribute::CostCenter => place!(ENTERPRISE_URN, "costCenter"),
        Attribute::Organization => place!(ENTERPRISE_URN, "organization"),
        Attribute::Division => place!(ENTERPRISE_URN, "division"),
        Attribute::Department => place!(ENTERPRISE_URN, "department"),
        Attribute::Manager => place!(ENTERPRISE_URN, "manager"),
        Attribute::Roles => place!(USER_URN, "roles"),
        Attribute::Entitlements => place!(USER_URN, "entitlements"),
        Attribute::Ims => place!(USER_URN, "ims"),
        Attribute::X509Certificates => place!(USER_URN, "x509Certificates"),
        Attribute::Attributes => place!(ROSTER_URN, "attributes"),
        Attribute::CreatedAt => place!(USER_URN, "meta", "created"),
        Attribute::UpdatedAt => place!(USER_URN, "meta", "lastModified"),
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
