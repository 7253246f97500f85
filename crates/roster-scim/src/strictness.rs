//! Tolerant and strict parsing of requests. Responses always follow the RFCs.

use std::fmt;

use roster_core::Json;

/// How strictly requests are parsed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Strictness {
    /// Accepts what identity providers send: booleans as strings, names in any case. Ignores
    /// unknown attributes.
    #[default]
    Tolerant,
    /// Accepts only what the RFCs allow.
    Strict,
}

impl Strictness {
    /// Both values.
    pub const ALL: &[Self] = &[Self::Tolerant, Self::Strict];

    /// Whether it is [`Strictness::Tolerant`].
    pub const fn is_tolerant(self) -> bool {
        matches!(self, Self::Tolerant)
    }

    /// The name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tolerant => "tolerant",
            Self::Strict => "strict",
        }
    }

    /// The value with this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|strictness| strictness.as_str() == text)
    }
}

/// Converts the strings `true` and `false`, in any case, to booleans. Returns other values
/// unchanged.
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

/// In tolerant parsing, converts an integer to a string, because some clients send employee numbers
/// as numbers, and tabs and line breaks in a string to spaces. Returns other values unchanged.
pub(crate) fn as_text(value: Json, strictness: Strictness) -> Json {
    if !strictness.is_tolerant() {
        return value;
    }
    if let Json::Int(number) = value {
        return Json::Text(number.to_string());
    }
    if let Json::Text(text) = &value
        && text.contains(is_break)
    {
        let words: Vec<&str> = text.split(is_break).filter(|word| !word.is_empty()).collect();
        return Json::Text(words.join(" "));
    }
    value
}

const fn is_break(c: char) -> bool {
    matches!(c, '\t' | '\r' | '\n')
}

impl fmt::Display for Strictness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
