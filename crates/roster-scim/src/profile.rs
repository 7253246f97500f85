//! How a body is read: the clients' way or the standard's. What is written is always strict.

use std::fmt;

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

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
