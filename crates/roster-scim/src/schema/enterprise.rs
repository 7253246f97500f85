//! The enterprise extension of a user (RFC 7643 section 4.3).

use super::{AttributeSchema, AttributeType, ENTERPRISE_URN, Schema, common::text};

/// Attributes of employees.
pub static ENTERPRISE_USER: Schema = Schema {
    urn: ENTERPRISE_URN,
    name: "EnterpriseUser",
    description: "Enterprise User",
    attributes: &[
        text("employeeNumber", "The number of the user within the organisation"),
        text("costCenter", "The name of a cost centre"),
        text("organization", "The name of an organisation"),
        text("division", "The name of a division"),
        text("department", "The name of a department"),
        AttributeSchema::complex("manager", "Whom the user reports to", MANAGER),
    ],
};

const MANAGER: &[AttributeSchema] = &[
    text("value", "The id of the manager").required(),
    AttributeSchema {
        kind: AttributeType::Reference,
        case_exact: true,
        reference_types: &["User"],
        ..text("$ref", "The URL of the manager, as it was sent")
    },
    text("displayName", "The name of the manager, as it was sent"),
];
