//! How a body is read: the clients' way or the standard's. What is written is always strict.

use std::fmt;

use roster_core::Json;

/// How what a client sends is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// As identity providers send it: booleans as strings, names in any case, unknown attributes
    /// passed over.
    #[default]
    Tolerant,
    /// By the letter of the RFCs: what does not fit is refused.
    Strict,
}

impl Profile {
    /// Every profile.
    pub const ALL: &[Self] = &[Self::Tolerant, Self::Strict];

    /// Whether it takes more than the standard has.
    pub const fn is_tolerant(self) -> bool {
        matches!(self, Self::Tolerant)
    }

    /// The profile as it is spelled.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tolerant => "tolerant",
            Self::Strict => "strict",
        }
    }

    /// The profile of that spelling.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|profile| profile.as_str() == text)
    }
}

/// A boolean that came as a text, in whatever case; any other value as it is.
pub(crate) fn as_flag(value: Json) -> Json {
    let Json::Text(text) = value else { return value };
    if text.eq_ignore_ascii_case("true") {
        Json::Bool(true)
    } else if text.eq_ignore_ascii_case("false") {
        Json::Bool(false)
    } else {
        Json::Text(text)
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
