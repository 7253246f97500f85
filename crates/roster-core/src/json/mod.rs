//! Strict parsing and canonical writing of JSON.
//!
//! The parser is strict (I-JSON, RFC 7493): a duplicate member, a lone surrogate, a number that
//! would lose digits, or nesting that is too deep is an error, so a text has only one meaning. The
//! writer is canonical: it always writes the same bytes for the same tree.

use std::{
    collections::{HashMap, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
};

mod merge;
mod read;
mod skip;
mod write;

pub use merge::merge;
pub use read::{JsonFault, read};
pub(crate) use skip::{member_name, value as skip_value};
pub use write::{separate, write_json, write_text};
pub(crate) use write::{write_display, write_object};

/// The memory of a name of a member, without its text.
const NAME_MEMORY: usize = size_of::<String>();

/// A JSON value. Objects keep the order of their members and have no duplicates.
///
/// Values are compared by meaning: the order of members is irrelevant (RFC 8259 section 4), and so
/// is the difference between `12` and `12.0`, which many clients do not preserve.
#[derive(Clone, Debug)]
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

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(one), Self::Bool(other)) => one == other,
            (Self::Int(one), Self::Int(other)) => one == other,
            (Self::Float(one), Self::Float(other)) => one == other,
            (Self::Int(whole), Self::Float(number)) | (Self::Float(number), Self::Int(whole)) => {
                digits(*number) == whole.to_string()
            }
            (Self::Text(one), Self::Text(other)) => one == other,
            (Self::Array(one), Self::Array(other)) => one == other,
            (Self::Object(one), Self::Object(other)) => same_members(one, other),
            _ => false,
        }
    }
}

/// The text of a number. Of a whole one it is exact: as many digits as the number has.
fn digits(number: f64) -> String {
    if number.fract() == 0.0 { format!("{number:.0}") } else { number.to_string() }
}

/// The members that have a value.
pub fn present<const N: usize>(members: [(&str, Option<Json>); N]) -> Vec<(String, Json)> {
    let present = |(name, value): (&str, Option<Json>)| Some((name.to_owned(), value?));
    members.into_iter().filter_map(present).collect()
}

/// Whether two objects have the same members, in any order.
pub(crate) fn same_members(one: &[(String, Json)], other: &[(String, Json)]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    // Members usually have the same order, so each is first compared with the one at its index.
    let same_names = one.iter().zip(other).take_while(|((name, _), (found, _))| name == found);
    let ordered = same_names.count();
    let (first, rest) = one.split_at(ordered);
    if first.iter().zip(other).any(|((_, value), (_, found))| value != found) {
        return false;
    }
    // A scan for each member would take time proportional to the square of their number.
    let others: HashMap<&str, &Json> =
        other.iter().skip(ordered).map(|(name, value)| (name.as_str(), value)).collect();
    rest.iter().all(|(name, value)| others.get(name.as_str()).is_some_and(|found| *found == value))
}

/// The number of bytes that members take at least as JSON.
pub fn size_of_members(members: &[(String, Json)]) -> usize {
    members.iter().map(|(name, value)| name.len() + 3 + value.size()).sum()
}

impl Json {
    /// The type of the value, as text for people.
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

    /// Whether it is the text without characters. Where a member or part is one text, it is no
    /// value, as null is.
    pub fn is_empty_text(&self) -> bool {
        matches!(self, Self::Text(text) if text.is_empty())
    }

    /// The number of bytes that the value takes at least as JSON. It measures the work that is done
    /// with it.
    pub fn size(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::Float(_) => 2,
            Self::Text(text) => text.len() + 2,
            Self::Array(items) => items.iter().map(Self::size).sum::<usize>() + 2,
            Self::Object(members) => size_of_members(members) + 2,
        }
    }

    /// About the number of bytes of memory that the value takes.
    pub fn memory(&self) -> usize {
        let inner = match self {
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::Float(_) => 0,
            Self::Text(text) => text.capacity(),
            Self::Array(items) => items.iter().map(Self::memory).sum(),
            Self::Object(members) => {
                members.iter().map(|(name, value)| NAME_MEMORY + name.len() + value.memory()).sum()
            }
        };
        size_of::<Self>() + inner
    }

    /// A hash of the value. Equal values have the same hash.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        match self {
            Self::Null => 0_u8.hash(&mut hasher),
            Self::Bool(flag) => flag.hash(&mut hasher),
            Self::Int(number) => number.to_string().hash(&mut hasher),
            // A whole number has the digits of the equal integer; zero has two signs.
            Self::Float(number) => digits(number + 0.0).hash(&mut hasher),
            Self::Text(text) => text.hash(&mut hasher),
            Self::Array(items) => {
                for item in items {
                    item.fingerprint().hash(&mut hasher);
                }
            }
            // The order of members is irrelevant.
            Self::Object(members) => {
                let sum = members.iter().fold(0_u64, |sum, (name, value)| {
                    let mut hasher = DefaultHasher::new();
                    (name, value.fingerprint()).hash(&mut hasher);
                    sum.wrapping_add(hasher.finish())
                });
                sum.hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// The items of an array; no item for null; otherwise the value as the only item.
    pub fn into_values(self) -> Vec<Self> {
        if let Self::Array(items) = self {
            return items;
        }
        if matches!(self, Self::Null) { Vec::new() } else { vec![self] }
    }

    /// The value of a member of an object.
    pub fn member(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        members.iter().find(|(found, _)| found == name).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_mean_the_same_are_equal() {
        let tree = |text: &str| read(text.as_bytes()).expect("valid");
        for (one, other) in [
            (r#"{"a":1,"b":[{"c":2,"d":3}]}"#, r#"{"b":[{"d":3,"c":2.0}],"a":1.0}"#),
            ("-0.0", "0.0"),
            ("9007199254740993", "9007199254740993"),
        ] {
            assert_eq!(tree(one), tree(other));
            assert_eq!(tree(one).fingerprint(), tree(other).fingerprint(), "{one} and {other}");
        }
        for (one, other) in [
            (r#"{"a":1,"b":2}"#, r#"{"a":1}"#),
            (r#"{"a":1,"b":2}"#, r#"{"a":1,"c":2}"#),
            ("[1,2]", "[2,1]"),
            ("1", "1.5"),
            ("1", "\"1\""),
            ("9007199254740993", "9007199254740992.0"),
            ("null", "false"),
            (r#"{"a":1,"b":2,"c":3}"#, r#"{"a":1,"c":2,"b":3}"#),
        ] {
            assert_ne!(tree(one), tree(other));
        }
    }
}
