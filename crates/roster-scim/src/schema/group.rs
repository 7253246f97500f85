//! The schema of a group (RFC 7643 section 4.2).

use super::{
    AttributeSchema, AttributeType, GROUP_URN, Mutability, ResourceType, Schema, Uniqueness,
    common::{EXTERNAL_ID, ID, META, SCHEMAS, text},
};

/// The resource type of a group.
pub static GROUP: ResourceType = ResourceType {
    name: "Group",
    endpoint: "/Groups",
    description: "Group",
    schema: &GROUP_SCHEMA,
    extensions: &[],
};

static GROUP_SCHEMA: Schema = Schema {
    urn: GROUP_URN,
    name: "Group",
    description: "Group",
    attributes: &[
        SCHEMAS,
        ID,
        EXTERNAL_ID,
        META,
        AttributeSchema {
            required: true,
            uniqueness: Uniqueness::Server,
            ..text("displayName", "The group's name; unique without regard to case")
        },
        AttributeSchema::list("members", "Who belongs to the group", MEMBERS),
    ],
};

/// A member is added or removed as a whole (RFC 7643 section 4.2).
const MEMBERS: &[AttributeSchema] = &[
    AttributeSchema {
        mutability: Mutability::Immutable,
        ..text("value", "The id of the member").exact().required()
    },
    AttributeSchema {
        kind: AttributeType::Reference,
        case_exact: true,
        mutability: Mutability::Immutable,
        reference_types: &["User", "Group"],
        ..text("$ref", "Where the member is")
    },
    AttributeSchema {
        mutability: Mutability::Immutable,
        ..text("type", "Which kind of member it is").suggesting(&["User", "Group"])
    },
];
