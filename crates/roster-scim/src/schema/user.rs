//! The schema of a user (RFC 7643 section 4.1).

use super::{
    AttributeSchema, AttributeType, ENTERPRISE_USER, Mutability, ROSTER_USER, ResourceType, Schema,
    USER_URN, Uniqueness,
    common::{EXTERNAL_ID, ID, META, SCHEMAS, text},
};

/// The resource type of a user.
pub static USER: ResourceType = ResourceType {
    name: "User",
    endpoint: "/Users",
    description: "User Account",
    schema: &USER_SCHEMA,
    extensions: &[&ENTERPRISE_USER, &ROSTER_USER],
};

static USER_SCHEMA: Schema = Schema {
    urn: USER_URN,
    name: "User",
    description: "User Account",
    attributes: &[
        SCHEMAS,
        ID,
        EXTERNAL_ID,
        META,
        AttributeSchema {
            required: true,
            uniqueness: Uniqueness::Server,
            ..text("userName", "What the user signs in with; unique without regard to case")
        },
        AttributeSchema::complex("name", "The parts of the user's name", NAME),
        text("displayName", "The name to display"),
        text("nickName", "What the user is called"),
        AttributeSchema::url("profileUrl", "A page about the user"),
        text("title", "The user's position, such as Vice President"),
        text("userType", "The user's relationship to the organisation, such as Contractor"),
        text("preferredLanguage", "The language that the user prefers (BCP 47)"),
        text("locale", "The user's region, for dates, numbers and money (BCP 47)"),
        text("timezone", "The user's time zone, such as Europe/London"),
        // Every user has it, and it cannot be removed: clients that test that an attribute which is
        // not required can be removed would fail.
        AttributeSchema::boolean("active", "Whether the user is active; false when suspended")
            .required(),
        AttributeSchema::list("emails", "The user's e-mail addresses", EMAILS),
        AttributeSchema::list("phoneNumbers", "The user's telephone numbers", PHONE_NUMBERS),
        AttributeSchema::list("ims", "The user's instant messaging addresses", PLAIN),
        AttributeSchema::list("photos", "URLs of pictures of the user", PHOTOS),
        AttributeSchema::list("addresses", "The user's postal addresses", ADDRESSES),
        AttributeSchema::list("entitlements", "What the user is entitled to", PLAIN),
        AttributeSchema::list("roles", "The roles that the user has", PLAIN),
        AttributeSchema::list("x509Certificates", "The user's certificates", CERTIFICATES),
        AttributeSchema {
            mutability: Mutability::ReadOnly,
            ..AttributeSchema::list("groups", "The groups that the user is a member of", GROUPS)
        },
    ],
};

/// Only changes of a group change them (RFC 7643 section 4.1.2).
const GROUPS: &[AttributeSchema] = &[
    text("value", "The id of the group").exact().read_only(),
    AttributeSchema {
        reference_types: &["Group"],
        ..AttributeSchema::url("$ref", "Where the group is").read_only()
    },
    text("display", "The group's name").read_only(),
    text("type", "How the user is a member").suggesting(&["direct"]).read_only(),
];

const NAME: &[AttributeSchema] = &[
    text("formatted", "The full name, for display"),
    text("familyName", "The family name"),
    text("givenName", "The given name"),
    text("middleName", "The middle names"),
    text("honorificPrefix", "A title before the name, such as Dr."),
    text("honorificSuffix", "A suffix after the name, such as III"),
];

const TYPE: AttributeSchema = text("type", "The kind of the value");
const PRIMARY: AttributeSchema =
    AttributeSchema::boolean("primary", "Whether this is the value to prefer; true once at most");
const DISPLAY: AttributeSchema = text("display", "A description of the value");

const EMAILS: &[AttributeSchema] = &[
    text("value", "An e-mail address").required(),
    TYPE.suggesting(&["work", "home", "other"]),
    PRIMARY,
    DISPLAY,
];

const PHONE_NUMBERS: &[AttributeSchema] = &[
    text("value", "A telephone number").required(),
    TYPE.suggesting(&["work", "home", "mobile", "fax", "pager", "other"]),
    PRIMARY,
    DISPLAY,
];

const PHOTOS: &[AttributeSchema] = &[
    AttributeSchema::url("value", "The URL of a picture").required(),
    TYPE.suggesting(&["photo", "thumbnail"]),
    PRIMARY,
    DISPLAY,
];

const PLAIN: &[AttributeSchema] = &[text("value", "The value").required(), TYPE, PRIMARY, DISPLAY];

const CERTIFICATES: &[AttributeSchema] = &[
    AttributeSchema {
        kind: AttributeType::Binary,
        case_exact: true,
        ..text("value", "A certificate: DER in base64").required()
    },
    TYPE,
    PRIMARY,
    DISPLAY,
];

const ADDRESSES: &[AttributeSchema] = &[
    text("formatted", "The whole address, for a label").lines(),
    text("streetAddress", "Street, house number, and the like").lines(),
    text("locality", "The city"),
    text("region", "The state or region"),
    text("postalCode", "The postal code"),
    text("country", "The country (ISO 3166-1 alpha-2)"),
    TYPE.suggesting(&["work", "home", "other"]),
    PRIMARY,
];
