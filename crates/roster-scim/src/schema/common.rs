//! The attributes that every resource has (RFC 7643 section 3.1).

use super::{AttributeSchema, AttributeType, Mutability, Returned, Uniqueness};

/// `schemas` (RFC 7643 section 3).
pub(super) const SCHEMAS: AttributeSchema = AttributeSchema {
    kind: AttributeType::Reference,
    multi_valued: true,
    required: true,
    case_exact: true,
    mutability: Mutability::ReadOnly,
    returned: Returned::Always,
    reference_types: &["uri"],
    ..text("schemas", "The URNs of the schemas that the resource uses")
};

/// `id` (RFC 7643 section 3.1).
pub(super) const ID: AttributeSchema = AttributeSchema {
    case_exact: true,
    mutability: Mutability::ReadOnly,
    returned: Returned::Always,
    uniqueness: Uniqueness::Server,
    ..text("id", "The id of the resource, which is never used again")
};

/// `externalId` (RFC 7643 section 3.1).
pub(super) const EXTERNAL_ID: AttributeSchema =
    text("externalId", "The id that the client knows the resource by").exact();

/// `meta` (RFC 7643 section 3.1).
pub(super) const META: AttributeSchema = AttributeSchema {
    mutability: Mutability::ReadOnly,
    ..AttributeSchema::complex("meta", "The metadata of the resource", META_PARTS)
};

const META_PARTS: &[AttributeSchema] = &[
    text("resourceType", "The name of the resource type").exact().read_only(),
    moment("created", "When the resource was created"),
    moment("lastModified", "When the resource was last changed"),
    AttributeSchema {
        reference_types: &["uri"],
        ..AttributeSchema::url("location", "Where the resource is").read_only()
    },
    text("version", "The version of the resource, as in its ETag").exact().read_only(),
];

pub(super) const fn text(name: &'static str, description: &'static str) -> AttributeSchema {
    AttributeSchema::text(name, description)
}

const fn moment(name: &'static str, description: &'static str) -> AttributeSchema {
    AttributeSchema { kind: AttributeType::DateTime, ..text(name, description).read_only() }
}
