//! What is wrong with a user that somebody sent.
//!
//! A violation points at one place (RFC 6901), has a stable code for programs and one sentence for
//! people. The violations of a request are listed together, up to a limit; the others are counted.
//! A sentence never repeats the value: it may be personal.

use std::{borrow::Cow, collections::BTreeMap};

use crate::{attribute::Attribute, capped::Capped, limits::ERRORS_MAX, part::Part};

/// The rules that SCIM's tolerant profile does not enforce: identity providers send such values,
/// and a directory that refuses a picture for its URL loses the user. An exported user may hold
/// them, so an import accepts them too.
pub const TOLERATED: &[ViolationCode] = &[
    ViolationCode::InvalidCountry,
    ViolationCode::InvalidLanguageTag,
    ViolationCode::InvalidPhoneNumber,
    ViolationCode::InvalidUrl,
    ViolationCode::InvalidZone,
];

/// The violations of a request, as far as a response lists them.
pub type Violations = Capped<Violation>;

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

/// The violations of a draft, each with what would excuse it.
///
/// Whether one counts is known only with the stored user, which may excuse any of them. Violations
/// that the same value excuses are excused together, so each such group keeps as many as a response
/// lists, and counts the others by their code. What a single entry or part excuses is always kept:
/// the parser bounds it by the most entries of a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    kept: Vec<(Violation, Excuse)>,
    /// How many were found: by the member that excuses them, if one does, and by their code.
    counts: BTreeMap<(Option<Attribute>, ViolationCode), usize>,
}

impl Findings {
    /// Adds a violation; its place and its sentence are made only if it is kept.
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

    /// Those that count, in the order in which they were found, and how many more there are.
    pub(crate) fn counting(&self, excuses: impl Fn(Excuse) -> bool) -> (Vec<Violation>, usize) {
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
