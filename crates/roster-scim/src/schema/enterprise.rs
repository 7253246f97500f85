//! The enterprise extension of a user (RFC 7643 section 4.3).

use super::{AttributeSchema, ENTERPRISE_URN, Schema, user::text};

/// What companies keep of their people.
pub static ENTERPRISE_USER: Schema = Schema {
    urn: ENTERPRISE_URN,
    name: "EnterpriseUser",
    description: "What companies keep of their people",
    attributes: &[
        text("employeeNumber", "The number of the user within the organisation"),
        text("costCenter", "The name of a cost centre"),
        text("organization", "The name of an organisation"),
        text("division", "The name of a division"),
        text("department", "The name of a department"),
        AttributeSchema::complex("manager", "Whom the user reports to", MANAGER),
    ],
};

const MANAGER: &[AttributeSchema] = &[text("value", "The id of the manager").required()];
