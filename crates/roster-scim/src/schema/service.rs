//! The schemas of the resources that describe the service (RFC 7643 sections 5 to 7 and 8.7.2,
//! RFC 9865 section 4). Nobody writes them.

use super::{AttributeSchema, AttributeType, Schema, common::text};

/// The URN of `/ServiceProviderConfig`.
pub const CONFIG_URN: &str = "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig";
/// The URN of a resource type.
pub const RESOURCE_TYPE_URN: &str = "urn:ietf:params:scim:schemas:core:2.0:ResourceType";
/// The URN of a schema.
pub const SCHEMA_URN: &str = "urn:ietf:params:scim:schemas:core:2.0:Schema";

/// The schemas of what describes the service.
pub static SERVICE_SCHEMAS: [Schema; 3] = [
    Schema {
        urn: CONFIG_URN,
        name: "Service Provider Configuration",
        description: "What the service supports",
        attributes: CONFIG,
    },
    Schema {
        urn: RESOURCE_TYPE_URN,
        name: "ResourceType",
        description: "A kind of resource and where it is",
        attributes: RESOURCE_TYPE,
    },
    Schema {
        urn: SCHEMA_URN,
        name: "Schema",
        description: "The attributes of a resource",
        attributes: SCHEMA,
    },
];

const CONFIG: &[AttributeSchema] = &[
    link("documentationUri", "Where the service is described"),
    group("patch", "Whether resources can be patched", SUPPORTED),
    group(
        "bulk",
        "Whether one request can have several operations",
        &[
            SUPPORT,
            number("maxOperations", "The maximum number of operations"),
            number("maxPayloadSize", "The maximum size of a request, in bytes"),
        ],
    ),
    group(
        "filter",
        "Whether lists can be filtered",
        &[SUPPORT, number("maxResults", "The maximum number of resources on a page")],
    ),
    group("changePassword", "Whether passwords can be changed", SUPPORTED),
    group("sort", "Whether lists can be sorted", SUPPORTED),
    group("etag", "Whether resources have versions", SUPPORTED),
    AttributeSchema { required: false, ..group("pagination", "How lists are paged", PAGINATION) },
    AttributeSchema {
        multi_valued: true,
        ..group("authenticationSchemes", "How callers are authenticated", SCHEMES)
    },
];

const SUPPORT: AttributeSchema =
    AttributeSchema::boolean("supported", "Whether it is supported").read_only().required();

const SUPPORTED: &[AttributeSchema] = &[SUPPORT];

const PAGINATION: &[AttributeSchema] = &[
    AttributeSchema::boolean("cursor", "Whether pages have cursors").read_only().required(),
    AttributeSchema::boolean("index", "Whether pages have indexes").read_only().required(),
    text("defaultPaginationMethod", "The method of a request that names none").read_only(),
    optional_number("defaultPageSize", "The size of a page if the request has no count"),
    optional_number("maxPageSize", "The maximum size of a page"),
    optional_number("cursorTimeout", "How long a cursor is valid, in seconds"),
];

const SCHEMES: &[AttributeSchema] = &[
    text("type", "The kind of the scheme").read_only().required().suggesting(&[
        "oauth",
        "oauth2",
        "oauthbearertoken",
        "httpbasic",
        "httpdigest",
    ]),
    text("name", "The name of the scheme").read_only().required(),
    text("description", "What the scheme is").read_only().required(),
    link("specUri", "The specification of the scheme"),
    link("documentationUri", "How the scheme is used"),
    AttributeSchema::boolean("primary", "Whether it is the preferred scheme").read_only(),
];

const RESOURCE_TYPE: &[AttributeSchema] = &[
    text("name", "The name of the resource type").read_only().required(),
    text("description", "What the resource type is").read_only(),
    uri("endpoint", "Where resources of the type are, relative to the base URL").required(),
    uri("schema", "The URN of the main schema").required(),
    AttributeSchema {
        multi_valued: true,
        required: false,
        ..group(
            "schemaExtensions",
            "The further schemas of the type",
            &[
                uri("schema", "The URN of the extension").required(),
                AttributeSchema::boolean("required", "Whether each resource has the extension")
                    .read_only()
                    .required(),
            ],
        )
    },
];

const SCHEMA: &[AttributeSchema] = &[
    text("name", "The name of the schema").read_only(),
    text("description", "What the schema is for").read_only(),
    AttributeSchema {
        multi_valued: true,
        ..group("attributes", "The attributes of the schema", ATTRIBUTE)
    },
];

/// What a schema says of an attribute, and the further entries.
macro_rules! attribute {
    ($($further:expr)?) => {
        &[
            NAME,
            TYPE,
            MULTI_VALUED,
            DESCRIPTION,
            REQUIRED,
            CANONICAL_VALUES,
            CASE_EXACT,
            MUTABILITY,
            RETURNED,
            UNIQUENESS,
            REFERENCE_TYPES,
            $($further)?
        ]
    };
}

/// An attribute. Its parts have no parts.
const ATTRIBUTE: &[AttributeSchema] = attribute!(AttributeSchema {
    multi_valued: true,
    required: false,
    ..group("subAttributes", "The parts of a complex attribute", attribute!())
});

const NAME: AttributeSchema = text("name", "The name").exact().read_only().required();
const TYPE: AttributeSchema = text("type", "The data type").read_only().required().suggesting(&[
    "string",
    "boolean",
    "decimal",
    "integer",
    "dateTime",
    "reference",
    "binary",
    "complex",
]);
const MULTI_VALUED: AttributeSchema =
    AttributeSchema::boolean("multiValued", "Whether it has a list of values")
        .read_only()
        .required();
const DESCRIPTION: AttributeSchema = text("description", "What it is").exact().read_only();
const REQUIRED: AttributeSchema =
    AttributeSchema::boolean("required", "Whether a resource must have it").read_only();
const CANONICAL_VALUES: AttributeSchema = AttributeSchema {
    multi_valued: true,
    ..text("canonicalValues", "Suggested values").exact().read_only()
};
const CASE_EXACT: AttributeSchema =
    AttributeSchema::boolean("caseExact", "Whether comparisons are case-sensitive").read_only();
const MUTABILITY: AttributeSchema = text("mutability", "Who may set it")
    .exact()
    .read_only()
    .suggesting(&["readOnly", "readWrite", "immutable", "writeOnly"]);
const RETURNED: AttributeSchema = text("returned", "When it is returned")
    .exact()
    .read_only()
    .suggesting(&["always", "never", "default", "request"]);
const UNIQUENESS: AttributeSchema =
    text("uniqueness", "Whether two resources may have the same value")
        .exact()
        .read_only()
        .suggesting(&["none", "server", "global"]);
const REFERENCE_TYPES: AttributeSchema = AttributeSchema {
    multi_valued: true,
    ..text("referenceTypes", "The resource types that a reference may have").exact().read_only()
};

const fn group(
    name: &'static str,
    description: &'static str,
    parts: &'static [AttributeSchema],
) -> AttributeSchema {
    AttributeSchema::complex(name, description, parts).read_only().required()
}

const fn link(name: &'static str, description: &'static str) -> AttributeSchema {
    AttributeSchema::url(name, description).read_only()
}

const fn uri(name: &'static str, description: &'static str) -> AttributeSchema {
    AttributeSchema { reference_types: &["uri"], ..link(name, description) }
}

const fn optional_number(name: &'static str, description: &'static str) -> AttributeSchema {
    AttributeSchema { kind: AttributeType::Integer, ..text(name, description).read_only() }
}

const fn number(name: &'static str, description: &'static str) -> AttributeSchema {
    optional_number(name, description).required()
}
