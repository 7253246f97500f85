//! `/ServiceProviderConfig`, `/ResourceTypes` and `/Schemas` (RFC 7643 sections 5 to 7, RFC 9865
//! section 4), built from the attribute tables.

use roster_core::{Json, Sharing, UserSchema, limits::PAGE_SIZE_MAX, schema::ValueType};

use crate::{
    list::{COUNT_DEFAULT, LIST_RESPONSE_URN},
    schema::{
        AttributeSchema, AttributeType, CONFIG_URN, GROUP, Mutability, RESOURCE_TYPE_URN,
        ResourceType, Returned, SCHEMA_URN, SERVICE_SCHEMAS, Schema, USER, Uniqueness,
        declared::attribute_type,
    },
};

/// The resource types of this service.
pub const SERVED: &[&ResourceType] = &[&USER, &GROUP];

/// Features that the attribute tables do not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// The maximum number of operations and the maximum size in bytes of a bulk request; `None` if
    /// bulk is not supported.
    pub bulk: Option<(usize, usize)>,
    /// How long a cursor is valid, in seconds.
    pub cursor_timeout_s: i64,
}

/// `/ServiceProviderConfig`.
pub fn service_provider_config(base: &str, docs: &str, abilities: Abilities) -> Json {
    let supported = |supported| object([("supported", Json::Bool(supported))]);
    let (operations, bytes) = abilities.bulk.unwrap_or((0, 0));
    let bearer = object([
        ("type", text("oauthbearertoken")),
        ("name", text("Bearer token")),
        ("description", text("An API key of this service, or a token of a trusted issuer")),
        ("specUri", text("https://www.rfc-editor.org/rfc/rfc6750")),
        ("documentationUri", text(docs)),
        ("primary", Json::Bool(true)),
    ]);
    object([
        ("schemas", array([text(CONFIG_URN)])),
        ("documentationUri", text(docs)),
        ("patch", supported(true)),
        (
            "bulk",
            object([
                ("supported", Json::Bool(abilities.bulk.is_some())),
                ("maxOperations", number(operations)),
                ("maxPayloadSize", number(bytes)),
            ]),
        ),
        (
            "filter",
            object([("supported", Json::Bool(true)), ("maxResults", number(PAGE_SIZE_MAX))]),
        ),
        ("changePassword", supported(false)),
        ("sort", supported(true)),
        ("etag", supported(true)),
        (
            "pagination",
            object([
                ("cursor", Json::Bool(true)),
                ("index", Json::Bool(true)),
                ("defaultPaginationMethod", text("index")),
                ("defaultPageSize", number(COUNT_DEFAULT)),
                ("maxPageSize", number(PAGE_SIZE_MAX)),
                ("cursorTimeout", Json::Int(abilities.cursor_timeout_s)),
            ]),
        ),
        ("authenticationSchemes", array([bearer])),
        ("meta", meta("ServiceProviderConfig", format!("{base}/ServiceProviderConfig"))),
    ])
}

/// `/ResourceTypes`.
pub fn resource_types(base: &str, declared: &UserSchema) -> Json {
    list(SERVED.iter().map(|kind| resource_type(base, kind, declared)).collect())
}

/// `/ResourceTypes/{name}`.
pub fn find_resource_type(base: &str, name: &str, declared: &UserSchema) -> Option<Json> {
    let found = SERVED.iter().find(|kind| kind.name == name)?;
    Some(resource_type(base, found, declared))
}

/// `/Schemas`. `emails` is the current policy for primary addresses. `declared` has further
/// extensions of a user.
pub fn schemas(base: &str, emails: Sharing, declared: &UserSchema) -> Json {
    let served = served_schemas().map(|it| schema(base, it, emails));
    let further = declared.scim_schemas().into_iter();
    list(served.chain(further.map(|urn| declared_schema(base, urn, declared))).collect())
}

/// `/Schemas/{urn}`.
pub fn find_schema(base: &str, urn: &str, emails: Sharing, declared: &UserSchema) -> Option<Json> {
    if let Some(found) = served_schemas().find(|known| known.urn.eq_ignore_ascii_case(urn)) {
        return Some(schema(base, found, emails));
    }
    let mut further = declared.scim_schemas().into_iter();
    let urn = further.find(|known| known.eq_ignore_ascii_case(urn))?;
    Some(declared_schema(base, urn, declared))
}

fn served_schemas() -> impl Iterator<Item = &'static Schema> {
    SERVED.iter().flat_map(|kind| kind.schemas()).chain(&SERVICE_SCHEMAS)
}

fn resource_type(base: &str, kind: &ResourceType, declared: &UserSchema) -> Json {
    let further = if kind.name == USER.name { declared.scim_schemas() } else { Vec::new() };
    let extension = |urn: &str| {
        let required = declared.scim_members(urn).any(|member| member.required);
        object([("schema", text(urn)), ("required", Json::Bool(required))])
    };
    let urns = kind.extensions.iter().map(|schema| schema.urn).chain(further);
    let extensions: Vec<Json> = urns.map(extension).collect();
    let mut members = vec![
        ("schemas", array([text(RESOURCE_TYPE_URN)])),
        ("id", text(kind.name)),
        ("name", text(kind.name)),
        ("endpoint", text(kind.endpoint)),
        ("description", text(kind.description)),
        ("schema", text(kind.schema.urn)),
    ];
    if !extensions.is_empty() {
        members.push(("schemaExtensions", Json::Array(extensions)));
    }
    members.push(("meta", meta("ResourceType", format!("{base}/ResourceTypes/{}", kind.name))));
    object(members)
}

fn schema(base: &str, schema: &Schema, emails: Sharing) -> Json {
    let uniqueness = match emails {
        Sharing::Unique => Uniqueness::Server,
        Sharing::Shared => Uniqueness::None,
    };
    let in_force = |attribute: &AttributeSchema| match attribute.name {
        "emails" => AttributeSchema { uniqueness, ..*attribute },
        _ => *attribute,
    };
    let described: Vec<AttributeSchema> = schema.attributes.iter().map(in_force).collect();
    object([
        ("schemas", array([text(SCHEMA_URN)])),
        ("id", text(schema.urn)),
        ("name", text(schema.name)),
        ("description", text(schema.description)),
        ("attributes", attributes(&described)),
        ("meta", meta("Schema", format!("{base}/Schemas/{}", schema.urn))),
    ])
}

/// The schema of a declared extension.
fn declared_schema(base: &str, urn: &str, declared: &UserSchema) -> Json {
    let own = declared.scim_members(urn).map(|member| {
        let kind = attribute_type(member.value_type);
        let is_exact = member.case_exact || member.value_type != ValueType::String;
        let uniqueness = if member.is_unique() { Uniqueness::Server } else { Uniqueness::None };
        object([
            ("name", text(&member.name)),
            ("type", text(kind.as_str())),
            ("multiValued", Json::Bool(member.multi_valued)),
            ("description", text(member.description.as_deref().unwrap_or_default())),
            ("required", Json::Bool(member.required)),
            ("caseExact", Json::Bool(is_exact)),
            ("mutability", text(Mutability::ReadWrite.as_str())),
            ("returned", text(Returned::Default.as_str())),
            ("uniqueness", text(uniqueness.as_str())),
        ])
    });
    object([
        ("schemas", array([text(SCHEMA_URN)])),
        ("id", text(urn)),
        ("name", text(urn)),
        ("description", text("Attributes of a user that this service declares")),
        ("attributes", Json::Array(own.collect())),
        ("meta", meta("Schema", format!("{base}/Schemas/{urn}"))),
    ])
}

/// The common attributes are not part of a schema (RFC 7643 section 3.1). A complex attribute
/// without sub-attributes is left out: a schema cannot describe an object with any keys (section
/// 7).
fn attributes(attributes: &[AttributeSchema]) -> Json {
    let common = ["schemas", "id", "externalId", "meta"];
    let own = attributes.iter().filter(|attribute| {
        let is_free = attribute.is_complex() && attribute.sub_attributes.is_empty();
        !is_free && !common.contains(&attribute.name)
    });
    Json::Array(own.map(one).collect())
}

fn one(attribute: &AttributeSchema) -> Json {
    let words = |words: &[&str]| Json::Array(words.iter().map(|word| text(word)).collect());
    let mut members = vec![
        ("name", text(attribute.name)),
        ("type", text(attribute.kind.as_str())),
        ("multiValued", Json::Bool(attribute.multi_valued)),
        ("description", text(attribute.description)),
        ("required", Json::Bool(attribute.required)),
        ("caseExact", Json::Bool(attribute.case_exact)),
        ("mutability", text(attribute.mutability.as_str())),
        ("returned", text(attribute.returned.as_str())),
        ("uniqueness", text(attribute.uniqueness.as_str())),
    ];
    if !attribute.canonical_values.is_empty() {
        members.push(("canonicalValues", words(attribute.canonical_values)));
    }
    if attribute.kind == AttributeType::Reference {
        members.push(("referenceTypes", words(attribute.reference_types)));
    }
    if attribute.kind == AttributeType::Complex {
        let parts = attribute.sub_attributes.iter().map(one).collect();
        members.push(("subAttributes", Json::Array(parts)));
    }
    object(members)
}

fn list(resources: Vec<Json>) -> Json {
    object([
        ("schemas", array([text(LIST_RESPONSE_URN)])),
        ("totalResults", number(resources.len())),
        ("startIndex", Json::Int(1)),
        ("itemsPerPage", number(resources.len())),
        ("Resources", Json::Array(resources)),
    ])
}

fn meta(resource_type: &str, location: String) -> Json {
    object([("resourceType", text(resource_type)), ("location", Json::Text(location))])
}

fn object<'a>(members: impl IntoIterator<Item = (&'a str, Json)>) -> Json {
    Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn array<const N: usize>(items: [Json; N]) -> Json {
    Json::Array(items.into())
}

fn text(text: &str) -> Json {
    Json::Text(text.to_owned())
}

fn number(number: usize) -> Json {
    Json::Int(i64::try_from(number).unwrap_or(i64::MAX))
}
