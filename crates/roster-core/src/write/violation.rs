//! Violations of a request body.
//!
//! A violation has a JSON pointer (RFC 6901), a stable code for programs and a sentence for people.
//! The violations of a request are listed together, up to a limit; the others are counted. A
//! sentence never repeats the value, which may be personal.

use std::{borrow::Cow, collections::BTreeMap};

use crate::{
    json::Json,
    limits::ERRORS_MAX,
    text::Pointer,
    user::{attribute::Attribute, part::Part},
    write::capped::Capped,
};

/// The rules that tolerant SCIM parsing does not enforce: identity providers send such values, and
/// rejecting a user for the URL of a picture would lose the user. An exported user may have them,
/// so an import accepts them too.
pub const TOLERATED: &[ViolationCode] = &[
    ViolationCode::InvalidCountry,
    ViolationCode::InvalidEmail,
    ViolationCode::InvalidLanguageTag,
    ViolationCode::InvalidPhoneNumber,
    ViolationCode::InvalidUrl,
    ViolationCode::InvalidZone,
];

/// The violations of a request: those that a response lists, and the number of others.
pub type Violations = Capped<Violation>;

macro_rules! violation_codes {
    ($($(#[$doc:meta])* $variant:ident $text:literal,)*) => {
        /// The stable code of a violation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ViolationCode {
            $($(#[$doc])* $variant,)*
        }

        impl ViolationCode {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The code in JSON.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }
    };
}

violation_codes! {
    /// A short form and its list have different values.
    ConflictingShortForm "conflicting-short-form",
    /// A control character is not allowed here.
    ControlCharacter "control-character",
    /// A list flags more than one entry as primary.
    DuplicatePrimary "duplicate-primary",
    /// The `id` of the body differs from that of the path.
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
    /// Not a username (RFC 8265).
    InvalidUsername "invalid-username",
    /// Not one of the allowed values.
    InvalidValue "invalid-value",
    /// Not an IANA time zone.
    InvalidZone "invalid-zone",
    /// Roster stores no passwords.
    PasswordNotKept "password-not-kept",
    /// A required member is missing.
    Required "required",
    /// A URL that runs a script in the page that shows it. Tolerant parsing rejects it too.
    ScriptUrl "script-url",
    /// Nested too deep.
    TooDeep "too-deep",
    /// Too many bytes.
    TooLarge "too-large",
    /// Too many code points.
    TooLong "too-long",
    /// Too many entries.
    TooMany "too-many",
    /// Too few characters.
    TooShort "too-short",
    /// No member with this name.
    UnknownMember "unknown-member",
    /// The whole record is too large.
    UserTooLarge "user-too-large",
    /// The wrong JSON type.
    WrongType "wrong-type",
}

/// A rule that a value of a request body breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The value, as a JSON pointer into the body.
    pub pointer: String,
    /// The code.
    pub code: ViolationCode,
    /// A sentence that says what to do.
    pub detail: Cow<'static, str>,
}

impl Violation {
    /// A violation of the value at a pointer.
    pub fn new(
        pointer: impl Into<String>,
        code: ViolationCode,
        detail: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { pointer: pointer.into(), code, detail: detail.into() }
    }

    /// A violation of a member of the body itself.
    pub(crate) fn of_member(
        member: &str,
        code: ViolationCode,
        detail: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(Pointer::root().member(member), code, detail)
    }
}

/// What to send instead of a value that is no whole number.
pub(crate) fn not_whole(value: &Json) -> String {
    if let Json::Float(_) = value {
        return "send a whole number of 64 bits, without a point or an exponent".to_owned();
    }
    format!("send a whole number, not {}", value.kind())
}

/// Reads each member of a body with `set`. `what` names the record that is expected.
pub(crate) fn read_members(
    tree: &Json,
    what: &str,
    mut set: impl FnMut(&str, &Json) -> Result<(), Violation>,
) -> Result<(), Violations> {
    let Json::Object(members) = tree else {
        let detail = format!("send one {what} as a JSON object, not {}", tree.kind());
        return Err(Violation::new("", ViolationCode::WrongType, detail).into());
    };
    let mut violations = Violations::default();
    for (name, value) in members {
        if let Err(violation) = set(name, value) {
            violations.push(|| violation);
        }
    }
    if violations.is_empty() { Ok(()) } else { Err(violations) }
}

/// The stored value that excuses a violation: a value that equals the stored one is not checked
/// again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excuse {
    /// None: the value cannot be parsed.
    Never,
    /// The whole member equals the stored one.
    Member(Attribute),
    /// An equal entry is stored, at any index; the index is that of the draft.
    Entry(Attribute, usize),
    /// This part of any stored entry has the same text; the index is that of the draft.
    Part(Attribute, usize, Part),
}

/// The violations of a draft, each with what would excuse it.
///
/// The stored user decides which of them count, because it may excuse any of them. Violations with
/// the same excuse are excused together, so each such group keeps as many as a response lists and
/// counts the others by their code. Violations that a single entry or part excuses are always kept;
/// the parser limits their number by the maximum number of entries of a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    kept: Vec<(Violation, Excuse)>,
    /// The number of violations, by the member that excuses them, if any, and by code.
    counts: BTreeMap<(Option<Attribute>, ViolationCode), usize>,
}

impl Findings {
    /// Adds a violation. `words` is called only if it is kept.
    pub(crate) fn add<P: Into<String>, D: Into<Cow<'static, str>>>(
        &mut self,
        excuse: Excuse,
        code: ViolationCode,
        words: impl FnOnce() -> (P, D),
    ) {
        let group = match excuse {
            Excuse::Never => Some(None),
            Excuse::Member(attribute) => Some(Some(attribute)),
            Excuse::Entry(..) | Excuse::Part(..) => None,
        };
        if let Some(member) = group {
            let count = self.counts.entry((member, code)).or_insert(0);
            *count += 1;
            if *count > ERRORS_MAX {
                return;
            }
        }
        let (pointer, detail) = words();
        self.kept.push((Violation::new(pointer, code, detail), excuse));
    }

    /// Drops the violations of these codes.
    pub(crate) fn drop_codes(&mut self, codes: &[ViolationCode]) {
        self.kept.retain(|(violation, _)| !codes.contains(&violation.code));
        self.counts.retain(|(_, code), _| !codes.contains(code));
    }

    /// The violations that are not excused, in the order in which they were found, and the number
    /// of further ones.
    pub(crate) fn counting(
        &self,
        mut excuses: impl FnMut(Excuse) -> bool,
    ) -> (Vec<Violation>, usize) {
        let kept = self.kept.iter().filter(|(_, excuse)| !excuses(*excuse));
        let kept = kept.map(|(violation, _)| violation.clone()).collect();
        let others = self.counts.iter().filter_map(|((member, _), count)| {
            let others = count.saturating_sub(ERRORS_MAX);
            let excuse = member.map_or(Excuse::Never, Excuse::Member);
            (others > 0 && !excuses(excuse)).then_some(others)
        });
        (kept, others.sum())
    }
}
