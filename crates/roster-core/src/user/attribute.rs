//! The attribute table: the members of the record, their kinds and their order.
//!
//! The parser, the canonical JSON, the list of changed members and both interfaces use this one
//! table. SCIM paths are defined in the SCIM crate, and the keys of columns in
//! [`Keys`](crate::Keys). A member has the name of its OpenID Connect claim, if there is one,
//! otherwise the name of its SCIM attribute in snake case.

use crate::{
    limits::{
        ADDRESS_TEXT_LENGTH_MAX, ADDRESSES_MAX, CERTIFICATE_LENGTH_MAX, EMAIL_LENGTH_MAX,
        ENTRIES_MAX, ENTRY_TEXT_LENGTH_MAX, PHONE_NUMBER_LENGTH_MAX, TEXT_LENGTH_MAX,
        URL_LENGTH_MAX,
    },
    user::part::Part,
};

macro_rules! attributes {
    ($($variant:ident $name:literal $kind:expr,)*) => {
        /// A member of the record, in the order of the canonical JSON.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Attribute {
            $(
                #[doc = concat!("`", $name, "`")]
                $variant,
            )*
        }

        impl Attribute {
            /// Every attribute, in the order of the canonical JSON.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The attribute's index in that order.
            #[expect(clippy::as_conversions, reason = "the index is the discriminant")]
            pub(crate) const fn index(self) -> usize {
                self as usize
            }

            /// The member's name in JSON.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The attribute with exactly this name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// The kind of the member's value.
            pub const fn kind(self) -> Kind {
                match self {
                    $(Self::$variant => $kind,)*
                }
            }
        }
    };
}

attributes! {
    Id "id" Kind::ServerMade,
    Version "version" Kind::ServerMade,
    Status "status" Kind::Status,
    ExpiresAt "expires_at" Kind::Text(TextRule::Time),
    Username "username" Kind::Text(TextRule::Username),
    UsernameFromEmail "username_from_email" Kind::Mark,
    Name "name" Kind::Text(TextRule::Name),
    GivenName "given_name" Kind::Text(TextRule::Name),
    MiddleName "middle_name" Kind::Text(TextRule::Name),
    FamilyName "family_name" Kind::Text(TextRule::Name),
    HonorificPrefix "honorific_prefix" Kind::Text(TextRule::Name),
    HonorificSuffix "honorific_suffix" Kind::Text(TextRule::Name),
    DisplayName "display_name" Kind::Text(TextRule::Name),
    Nickname "nickname" Kind::Text(TextRule::Name),
    Title "title" Kind::Text(TextRule::Plain),
    UserType "user_type" Kind::Text(TextRule::Plain),
    Email "email" Kind::ShortForm { list: Self::Emails, rule: TextRule::Email },
    EmailVerified "email_verified" Kind::Flag { vouches_for: Self::Emails },
    Emails "emails" Kind::Many(&EMAILS),
    PhoneNumber "phone_number" Kind::ShortForm {
        list: Self::PhoneNumbers,
        rule: TextRule::PhoneNumber,
    },
    PhoneNumberVerified "phone_number_verified" Kind::Flag { vouches_for: Self::PhoneNumbers },
    PhoneNumbers "phone_numbers" Kind::Many(&PHONE_NUMBERS),
    Picture "picture" Kind::ShortForm { list: Self::Photos, rule: TextRule::Url },
    Photos "photos" Kind::Many(&PHOTOS),
    Profile "profile" Kind::Text(TextRule::Url),
    Addresses "addresses" Kind::Many(&ADDRESSES),
    Locale "locale" Kind::Text(TextRule::LanguageTag),
    Zoneinfo "zoneinfo" Kind::Text(TextRule::Zone),
    PreferredLanguage "preferred_language" Kind::Text(TextRule::LanguageTag),
    ExternalId "external_id" Kind::Text(TextRule::Plain),
    EmployeeNumber "employee_number" Kind::Text(TextRule::Plain),
    CostCenter "cost_center" Kind::Text(TextRule::Plain),
    Organization "organization" Kind::Text(TextRule::Plain),
    Division "division" Kind::Text(TextRule::Plain),
    Department "department" Kind::Text(TextRule::Plain),
    Manager "manager" Kind::One(&MANAGER),
    Roles "roles" Kind::Many(&PLAIN_LIST),
    Entitlements "entitlements" Kind::Many(&PLAIN_LIST),
    Ims "ims" Kind::Many(&PLAIN_LIST),
    X509Certificates "x509_certificates" Kind::Many(&CERTIFICATES),
    Attributes "attributes" Kind::Object,
    CreatedAt "created_at" Kind::ServerMade,
    UpdatedAt "updated_at" Kind::ServerMade,
}

impl Attribute {
    /// The short form of this list, if it has one.
    pub const fn short_form(self) -> Option<Self> {
        if matches!(self, Self::Emails) {
            Some(Self::Email)
        } else if matches!(self, Self::PhoneNumbers) {
            Some(Self::PhoneNumber)
        } else if matches!(self, Self::Photos) {
            Some(Self::Picture)
        } else {
            None
        }
    }
}

/// The kind of a member's value.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Set by the server: allowed in a body, never stored from it.
    ServerMade,
    /// `true` or absent, set by the server: what it knows about another member.
    Mark,
    /// `active` or `suspended`.
    Status,
    /// One text.
    Text(TextRule),
    /// The value of the primary entry of a list, as a separate member.
    ShortForm {
        /// The list.
        list: Attribute,
        /// The rule of the list's values.
        rule: TextRule,
    },
    /// A boolean that states that the primary entry of a list was verified.
    Flag {
        /// The list.
        vouches_for: Attribute,
    },
    /// An object of named parts.
    One(&'static Shape),
    /// A list of objects of named parts.
    Many(&'static Shape),
    /// A free JSON object.
    Object,
}

/// The parts of an entry and the maximum number of entries.
#[derive(Debug)]
pub struct Shape {
    /// The maximum number of entries.
    pub entries_max: usize,
    /// The parts, in the order of the canonical JSON.
    pub parts: &'static [(Part, PartKind)],
    /// The part that every entry must have.
    pub required: Option<Part>,
}

/// The kind of a part's value.
#[derive(Clone, Copy, Debug)]
pub enum PartKind {
    /// One text.
    Text(TextRule),
    /// A boolean.
    Flag,
}

/// The rule for a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextRule {
    /// Any text without control characters.
    Plain,
    /// A name of a person: any text without control characters and with a visible character.
    Name,
    /// A text of an entry without control characters. It may be longer, because identity providers
    /// send long names of entitlements.
    EntryText,
    /// One or more lines of an address. TAB, CR and LF are allowed.
    AddressLines,
    /// A username (RFC 8265).
    Username,
    /// An e-mail address (RFC 5321, RFC 6531).
    Email,
    /// A telephone number as people write it.
    PhoneNumber,
    /// An absolute URL.
    Url,
    /// A language tag (BCP 47).
    LanguageTag,
    /// An IANA time zone.
    Zone,
    /// A time (RFC 3339), stored in the form of [`Timestamp`](crate::Timestamp).
    Time,
    /// An ISO 3166-1 alpha-2 code.
    Country,
    /// A certificate in base64 (RFC 7643 section 4.1.2).
    Certificate,
}

impl TextRule {
    /// The maximum number of code points.
    pub const fn length_max(self) -> usize {
        match self {
            Self::Plain
            | Self::Name
            | Self::Username
            | Self::LanguageTag
            | Self::Zone
            | Self::Time
            | Self::Country => TEXT_LENGTH_MAX,
            Self::EntryText => ENTRY_TEXT_LENGTH_MAX,
            Self::AddressLines => ADDRESS_TEXT_LENGTH_MAX,
            Self::Email => EMAIL_LENGTH_MAX,
            Self::PhoneNumber => PHONE_NUMBER_LENGTH_MAX,
            Self::Url => URL_LENGTH_MAX,
            Self::Certificate => CERTIFICATE_LENGTH_MAX,
        }
    }
}

/// A list of entries with a value, a type, a flag and a display name, as in SCIM's multi-valued
/// attributes (RFC 7643 section 2.4).
const fn entries(parts: &'static [(Part, PartKind)]) -> Shape {
    Shape { entries_max: ENTRIES_MAX, parts, required: Some(Part::Value) }
}

const PLAIN: PartKind = PartKind::Text(TextRule::Plain);

macro_rules! value_parts {
    ($rule:expr) => {
        value_parts!($rule, PLAIN)
    };
    ($rule:expr, $other:expr) => {
        &[
            (Part::Value, PartKind::Text($rule)),
            (Part::Type, $other),
            (Part::Primary, PartKind::Flag),
            (Part::Display, $other),
        ]
    };
}

static EMAILS: Shape = entries(value_parts!(TextRule::Email));
static PHONE_NUMBERS: Shape = entries(value_parts!(TextRule::PhoneNumber));
static PHOTOS: Shape = entries(value_parts!(TextRule::Url));
static PLAIN_LIST: Shape =
    entries(value_parts!(TextRule::EntryText, PartKind::Text(TextRule::EntryText)));
static CERTIFICATES: Shape = entries(value_parts!(TextRule::Certificate));
static MANAGER: Shape = Shape {
    entries_max: 1,
    parts: &[
        (Part::Id, PLAIN),
        (Part::Ref, PartKind::Text(TextRule::EntryText)),
        (Part::DisplayName, PLAIN),
    ],
    required: Some(Part::Id),
};
static ADDRESSES: Shape = Shape {
    entries_max: ADDRESSES_MAX,
    parts: &[
        (Part::Formatted, PartKind::Text(TextRule::AddressLines)),
        (Part::StreetAddress, PartKind::Text(TextRule::AddressLines)),
        (Part::Locality, PLAIN),
        (Part::Region, PLAIN),
        (Part::PostalCode, PLAIN),
        (Part::Country, PartKind::Text(TextRule::Country)),
        (Part::Type, PLAIN),
        (Part::Primary, PartKind::Flag),
    ],
    required: None,
};
