//! The names that a filter may use: those of the REST face here, those of another face in its own
//! room.
//!
//! Names of members and parts are compared without regard to case (RFC 7644 section 3.4.2.2), keys
//! below `attributes` exactly.

use super::expression::{Path, part_kind};
use crate::{
    attribute::{Attribute, Kind},
    part::Part,
    text::nearest,
};

/// What the names of a face mean.
pub trait Names {
    /// The path that a name means; inside the brackets of a list, a part of that list's entries.
    /// The error says what was expected.
    fn resolve(&self, name: &str, within: Option<Attribute>) -> Result<Path, String>;
}

/// The member names of the REST face.
#[derive(Clone, Copy, Debug)]
pub struct MemberNames;

impl Names for MemberNames {
    fn resolve(&self, name: &str, within: Option<Attribute>) -> Result<Path, String> {
        if let Some(list) = within {
            return part(list, name).map(|part| Path::Part(list, part));
        }
        let (first, rest) = match name.split_once('.') {
            Some((first, rest)) => (first, Some(rest)),
            None => (name, None),
        };
        let attribute = attribute(first)?;
        match rest {
            None => Ok(Path::Member(attribute)),
            Some(keys) if attribute == Attribute::Attributes => free(keys),
            Some(rest) => part(attribute, rest).map(|part| Path::Part(attribute, part)),
        }
    }
}

fn attribute(name: &str) -> Result<Attribute, String> {
    let in_any_case =
        || Attribute::ALL.iter().copied().find(|known| known.name().eq_ignore_ascii_case(name));
    Attribute::from_name(name).or_else(in_any_case).ok_or_else(|| {
        let near = nearest(name, Attribute::ALL.iter().map(|known| known.name()));
        match near {
            Some(near) => format!("there is no member {name}; did you mean {near}?"),
            None => format!("there is no member {name}; your own data is under attributes"),
        }
    })
}

fn part(attribute: Attribute, name: &str) -> Result<Part, String> {
    let (Kind::One(shape) | Kind::Many(shape)) = attribute.kind() else {
        return Err(format!("{} has no parts", attribute.name()));
    };
    let found = shape.parts.iter().find(|(part, _)| part.name().eq_ignore_ascii_case(name));
    found.map(|(part, _)| *part).ok_or_else(|| {
        let names: Vec<&str> = shape.parts.iter().map(|(part, _)| part.name()).collect();
        format!("{} has the parts {}", attribute.name(), names.join(", "))
    })
}

/// The keys of a path below `attributes`, which must be such as can be filtered by.
fn free(keys: &str) -> Result<Path, String> {
    let usable = |key: &str| {
        key.len() <= 64
            && key.starts_with(|c: char| c.is_ascii_alphabetic())
            && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    };
    if keys.split('.').all(usable) {
        Ok(Path::Free(keys.split('.').map(str::to_owned).collect()))
    } else {
        Err("a key has 1 to 64 letters, digits, - and _, and begins with a letter".to_owned())
    }
}

/// The path that is meant by a member alone: of a list of values, their values.
pub(super) fn of_values(path: Path) -> Path {
    if let Path::Member(attribute) = path
        && part_kind(attribute, Part::Value).is_some()
    {
        return Path::Part(attribute, Part::Value);
    }
    path
}
