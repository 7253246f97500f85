//! The names in filters: those of the REST interface are here, other interfaces implement
//! [`Names`].
//!
//! Names of members and parts are case-insensitive (RFC 7644 section 3.4.2.2); keys below
//! `attributes` are exact.

use super::{
    expression::{
        Compared, Comparison, Expression, FreePath, GROUPS, GroupPart, Operand, Operator, Path,
        Test, part_kind,
    },
    literal,
};
use crate::{
    json::Json,
    text::nearest,
    user::{
        attribute::{Attribute, Kind},
        part::Part,
    },
};

/// The names in an interface's filters. Every error says what was expected instead.
pub trait Names {
    /// A resolved name.
    type Name;
    /// The path of a test.
    type Path: Compared;

    /// The extensions of the grammar that are accepted.
    fn dialect(&self) -> Dialect {
        Dialect::default()
    }

    /// Resolves a word; inside the brackets of a list, as a part of that list's entries.
    fn resolve(&self, word: &str, within: Option<&Self::Name>) -> Result<Self::Name, String>;

    /// The error text if a name is missing.
    fn expected(&self, within: Option<&Self::Name>) -> String;

    /// Checks that a condition in brackets may follow.
    fn takes_brackets(&self, name: &Self::Name) -> Result<(), String>;

    /// Checks that the values support an operator.
    fn takes(&self, name: &Self::Name, operator: Operator) -> Result<(), String>;

    /// A test of the values with a literal, which is present unless the operator is `pr`.
    fn test(
        &self,
        name: &Self::Name,
        operator: Operator,
        literal: Option<Json>,
    ) -> Result<Expression<Self::Path>, String>;

    /// A condition that any entry of the list matches.
    fn entry(
        &self,
        list: &Self::Name,
        condition: Expression<Self::Path>,
    ) -> Result<Expression<Self::Path>, String>;
}

/// Extensions of the grammar of RFC 7644 section 3.4.2.2 that clients use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// A test of a part after the brackets: `emails[type eq "work"].value eq "x"`.
    pub part_after_brackets: bool,
    /// A one-word text without quotation marks.
    pub bare_words: bool,
}

/// The member names of the REST interface. The function returns how the values of a declared member
/// of `attributes` are compared.
#[derive(Clone, Copy)]
pub struct MemberNames<F>(pub F);

impl<F: Fn(&str) -> Option<Comparison>> Names for MemberNames<F> {
    type Name = Path;
    type Path = Path;

    fn resolve(&self, word: &str, within: Option<&Path>) -> Result<Path, String> {
        match within.map(Path::attribute) {
            Some(Some(list)) => return part(list, word).map(|part| Path::Part(list, part)),
            Some(None) => return group_part(word).map(Path::Group),
            None => {}
        }
        let (first, rest) = match word.split_once('.') {
            Some((first, rest)) => (first, Some(rest)),
            None => (word, None),
        };
        if first.eq_ignore_ascii_case(GROUPS) {
            return rest.map_or(Ok(Path::Groups), |rest| group_part(rest).map(Path::Group));
        }
        let attribute = attribute(first)?;
        match rest {
            None => Ok(Path::Member(attribute)),
            Some(keys) if attribute == Attribute::Attributes => {
                let mut path = free_path(keys).ok_or_else(|| KEY_EXPECTED.to_owned())?;
                path.comparison = (self.0)(keys).unwrap_or(path.comparison);
                Ok(Path::Free(path))
            }
            Some(rest) => part(attribute, rest).map(|part| Path::Part(attribute, part)),
        }
    }

    fn expected(&self, within: Option<&Path>) -> String {
        match within {
            Some(list) => format!("a part of {} was expected", list.list_name()),
            None => "the name of a member was expected".to_owned(),
        }
    }

    fn takes_brackets(&self, name: &Path) -> Result<(), String> {
        match name {
            Path::Member(attribute) if is_compound(*attribute) => Ok(()),
            Path::Groups => Ok(()),
            Path::Member(_) | Path::Part(..) | Path::Free(_) | Path::Group(_) => {
                Err("only a list takes a condition in brackets".to_owned())
            }
        }
    }

    fn takes(&self, name: &Path, operator: Operator) -> Result<(), String> {
        let comparison = values_of(name, operator).comparison();
        if comparison == Comparison::Presence && operator != Operator::Present {
            return Err(name.attribute().map_or_else(String::new, of_parts));
        }
        literal::check_operator(comparison, operator)
    }

    fn test(
        &self,
        name: &Path,
        operator: Operator,
        literal: Option<Json>,
    ) -> Result<Expression, String> {
        let path = values_of(name, operator);
        let operand = match literal {
            Some(literal) => literal::operand(path.comparison(), operator, literal)?,
            None => Operand::None,
        };
        Ok(Expression::Test(Test { path, operator, operand }))
    }

    fn entry(&self, list: &Path, condition: Expression) -> Result<Expression, String> {
        Ok(Expression::Entry(list.clone(), Box::new(condition)))
    }
}

const fn is_compound(attribute: Attribute) -> bool {
    matches!(attribute.kind(), Kind::One(_) | Kind::Many(_))
}

fn of_parts(attribute: Attribute) -> String {
    let name = attribute.name();
    if let Kind::One(shape) | Kind::Many(shape) = attribute.kind() {
        let part = shape.parts.first().map_or("", |(part, _)| part.name());
        format!("{name} has parts: name one, like {name}.{part}; by itself it takes pr")
    } else {
        format!("name a key of {name}, like {name}.team; by itself it takes pr")
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

fn group_part(name: &str) -> Result<GroupPart, String> {
    let mut all = GroupPart::ALL.iter().copied();
    let found = all.find(|part| part.name().eq_ignore_ascii_case(name));
    found.ok_or_else(|| format!("{GROUPS} has the parts value, display"))
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

/// The error text for an invalid key below `attributes`.
pub const KEY_EXPECTED: &str =
    "a key has 1 to 64 letters, digits, - and _, and begins with a letter";

/// The path of these keys below `attributes`, separated by dots; `None` if one of them cannot be
/// used in a filter.
pub fn free_path(keys: &str) -> Option<FreePath> {
    let usable = |key: &str| {
        key.len() <= 64
            && key.starts_with(|c: char| c.is_ascii_alphabetic())
            && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    };
    let all = || keys.split('.').map(str::to_owned).collect();
    let path = || FreePath { keys: all(), comparison: Comparison::Json };
    keys.split('.').all(usable).then(path)
}

/// The path whose values a test compares: for a list of values, their `value` parts.
fn values_of(name: &Path, operator: Operator) -> Path {
    match name {
        Path::Member(attribute)
            if operator != Operator::Present && part_kind(*attribute, Part::Value).is_some() =>
        {
            Path::Part(*attribute, Part::Value)
        }
        Path::Groups if operator != Operator::Present => Path::Group(GroupPart::Value),
        Path::Member(_) | Path::Part(..) | Path::Free(_) | Path::Groups | Path::Group(_) => {
            name.clone()
        }
    }
}
