//! JSON text in and out, in the one dialect that Roster speaks.
//!
//! Reading is strict (I-JSON, RFC 7493): a duplicate member, a lone surrogate, a number that would
//! lose digits or too deep a nesting is an error, so that a text never means two things. Writing
//! is canonical: the same tree is always the same bytes.

mod merge;
mod read;
mod write;

pub use merge::merge;
pub use read::{JsonFault, read};
pub(crate) use write::{write_display, write_object};
pub use write::{write_json, write_text};

/// A JSON value. Objects keep the order of their members; no member stands twice.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number within 64 signed bits.
    Int(i64),
    /// Any other number; never NaN or infinite.
    Float(f64),
    /// A string.
    Text(String),
    /// An array.
    Array(Vec<Json>),
    /// An object.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// What kind of value this is, in words for a person.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::Float(_) => "a number",
            Self::Text(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    /// The member of an object by its name.
    pub fn member(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        members.iter().find(|(found, _)| found == name).map(|(_, value)| value)
    }
}
