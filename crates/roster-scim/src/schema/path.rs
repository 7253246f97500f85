//! The SCIM path of each member of the record.
//!
//! The match has no wildcard: a new member of the record does not compile until it has a path here.
//! Mapping, filters and the paths in errors use this function.

use roster_core::{Attribute, Part};

use super::{ENTERPRISE_URN, ROSTER_URN, USER_URN};

/// A path in a SCIM resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScimPath {
    /// The URN of the schema.
    pub urn: &'static str,
    /// The attribute.
    pub attribute: &'static str,
    /// The sub-attribute, if the member is a part of a complex attribute.
    pub sub_attribute: Option<&'static str>,
    /// The JSON text that starts a further member of an object, with the last name of the path.
    pub member: &'static str,
}

/// Builds a path. Its last name is written once and kept in both forms.
macro_rules! path {
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

/// The path of a member. The short forms have none: SCIM has only their lists. A username that is
/// the address is a `userName` like any other.
pub const fn scim_path(attribute: Attribute) -> Option<ScimPath> {
    Some(match attribute {
        Attribute::Id => path!(USER_URN, "id"),
        Attribute::Version => path!(USER_URN, "meta", "version"),
        Attribute::Status => path!(USER_URN, "active"),
        Attribute::ExpiresAt => path!(ROSTER_URN, "expires_at"),
        Attribute::Username => path!(USER_URN, "userName"),
        Attribute::Name => path!(USER_URN, "name", "formatted"),
        Attribute::GivenName => path!(USER_URN, "name", "givenName"),
        Attribute::MiddleName => path!(USER_URN, "name", "middleName"),
        Attribute::FamilyName => path!(USER_URN, "name", "familyName"),
        Attribute::HonorificPrefix => path!(USER_URN, "name", "honorificPrefix"),
        Attribute::HonorificSuffix => path!(USER_URN, "name", "honorificSuffix"),
        Attribute::DisplayName => path!(USER_URN, "displayName"),
        Attribute::Nickname => path!(USER_URN, "nickName"),
        Attribute::Title => path!(USER_URN, "title"),
        Attribute::UserType => path!(USER_URN, "userType"),
        Attribute::UsernameFromEmail
        | Attribute::Email
        | Attribute::PhoneNumber
        | Attribute::Picture => return None,
        Attribute::EmailVerified => path!(ROSTER_URN, "email_verified"),
        Attribute::Emails => path!(USER_URN, "emails"),
        Attribute::PhoneNumberVerified => path!(ROSTER_URN, "phone_number_verified"),
        Attribute::PhoneNumbers => path!(USER_URN, "phoneNumbers"),
        Attribute::Photos => path!(USER_URN, "photos"),
        Attribute::Profile => path!(USER_URN, "profileUrl"),
        Attribute::Addresses => path!(USER_URN, "addresses"),
        Attribute::Locale => path!(USER_URN, "locale"),
        Attribute::Zoneinfo => path!(USER_URN, "timezone"),
        Attribute::PreferredLanguage => path!(USER_URN, "preferredLanguage"),
        Attribute::ExternalId => path!(USER_URN, "externalId"),
        Attribute::EmployeeNumber => path!(ENTERPRISE_URN, "employeeNumber"),
        Attribute::CostCenter => path!(ENTERPRISE_URN, "costCenter"),
        Attribute::Organization => path!(ENTERPRISE_URN, "organization"),
        Attribute::Division => path!(ENTERPRISE_URN, "division"),
        Attribute::Department => path!(ENTERPRISE_URN, "department"),
        Attribute::Manager => path!(ENTERPRISE_URN, "manager"),
        Attribute::Roles => path!(USER_URN, "roles"),
        Attribute::Entitlements => path!(USER_URN, "entitlements"),
        Attribute::Ims => path!(USER_URN, "ims"),
        Attribute::X509Certificates => path!(USER_URN, "x509Certificates"),
        Attribute::Attributes => path!(ROSTER_URN, "attributes"),
        Attribute::CreatedAt => path!(USER_URN, "meta", "created"),
        Attribute::UpdatedAt => path!(USER_URN, "meta", "lastModified"),
    })
}

/// The SCIM name of a part of an entry.
pub const fn scim_part(part: Part) -> &'static str {
    match part {
        // The manager's id is a `value`, as all references in SCIM.
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
        Part::DisplayName => "displayName",
        Part::Ref => "$ref",
    }
}

#[cfg(test)]
mod tests {
    use roster_core::attribute::Kind;

    use super::*;
    use crate::schema::{AttributeType, USER};

    #[test]
    fn every_path_of_a_member_is_in_the_tables() {
        for attribute in Attribute::ALL {
            let Some(path) = scim_path(*attribute) else { continue };
            let schema = USER.schema_of(path.urn).expect("a schema of users");
            let found = schema.attribute(path.attribute).expect(path.attribute);
            assert_eq!(found.name, path.attribute);
            if let Some(part) = path.sub_attribute {
                assert_eq!(found.sub_attribute(part).map(|part| part.name), Some(part));
            }
            if let Kind::One(shape) | Kind::Many(shape) = attribute.kind() {
                let parts: Vec<&str> =
                    shape.parts.iter().map(|(part, _)| scim_part(*part)).collect();
                let known: Vec<&str> = found.sub_attributes.iter().map(|part| part.name).collect();
                assert_eq!(parts, known, "{}", path.attribute);
            }
        }
    }

    #[test]
    fn every_attribute_in_the_tables_has_a_member() {
        let has = |urn: &str, name: &str, part: Option<&str>| {
            Attribute::ALL.iter().filter_map(|attribute| scim_path(*attribute)).any(|path| {
                path.urn == urn
                    && path.attribute == name
                    && (part.is_none()
                        || path.sub_attribute.is_none()
                        || path.sub_attribute == part)
            })
        };
        // The service computes these; they are not in the record.
        let made = ["schemas", "status", "resourceType", "location"];
        for schema in USER.schemas() {
            // Groups are not in the record either.
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
