//! What is wrong with a user that somebody sent.
//!
//! A violation points at one place (RFC 6901), has a stable code for programs and one sentence for
//! people. All violations of a request are told at once. A sentence never repeats the value: it
//! may be personal.

use std::borrow::Cow;

use crate::{attribute::Attribute, part::Part};

macro_rules! violation_codes {
    ($($(#[$doc:meta])* $variant:ident $text:literal,)*) => {
        /// The stable code of a violation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ViolationCode {
            $($(#[$doc])* $variant,)*
        }

        impl ViolationCode {
            /// Every code there is.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The code as it stands on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }
    };
}

violation_codes! {
    /// A short form and its list say different things.
    ConflictingShortForm "conflicting-short-form",
    /// A control character stands where none may.
    ControlCharacter "control-character",
    /// A list flags more than one entry as primary.
    DuplicatePrimary "duplicate-primary",
    /// The `id` of the body is not the one of the path.
    IdMismatch "id-mismatch",
    /// Not base64 of a certificate.
    InvalidCertificate "invalid-certificate",
    /// Not an assigned ISO 3166-1 alpha-2 code.
    InvalidCountry "invalid-country",
    /// Not an e-mail address (RFC 5321, RFC 6531).
    InvalidEmail "invalid-email",
    /// Not a language tag (BCP 47).
    InvalidLanguageTag "invalid-language-tag",
    /// Not a telephone number.
    InvalidPhoneNumber "invalid-phone-number",
    /// Not an absolute URL.
    InvalidUrl "invalid-url",
    /// Not a user name (RFC 8265).
    InvalidUsername "invalid-username",
    /// None of the values that the member takes.
    InvalidValue "invalid-value",
    /// Not an IANA time zone.
    InvalidZone "invalid-zone",
    /// Roster keeps no passwords.
    PasswordNotKept "password-not-kept",
    /// A member that must be there is missing.
    Required "required",
    /// Nested too deep.
    TooDeep "too-deep",
    /// Too many bytes.
    TooLarge "too-large",
    /// Too many code points.
    TooLong "too-long",
    /// Too many entries.
    TooMany "too-many",
    /// Fewer characters than there must be.
    TooShort "too-short",
    /// No member of that name.
    UnknownMember "unknown-member",
    /// The whole record is too large.
    UserTooLarge "user-too-large",
    /// Another JSON type than the member takes.
    WrongType "wrong-type",
}

/// One thing wrong with a user that somebody sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The place, as a JSON pointer into the body.
    pub pointer: String,
    /// What kind of fault it is.
    pub code: ViolationCode,
    /// One sentence that says what to do.
    pub detail: Cow<'static, str>,
}

impl Violation {
    /// A violation at a place.
    pub fn new(
        pointer: impl Into<String>,
        code: ViolationCode,
        detail: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { pointer: pointer.into(), code, detail: detail.into() }
    }
}

/// Which stored value excuses a violation: a value equal to the stored one is never judged again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excuse {
    /// None: the words themselves do not parse.
    Never,
    /// The whole member is as stored.
    Member(Attribute),
    /// The same entry is stored, wherever it stands; the index is the draft's.
    Entry(Attribute, usize),
    /// The same text stands in this part of some stored entry; the index is the draft's.
    Part(Attribute, usize, Part),
}
