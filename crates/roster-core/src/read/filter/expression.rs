//! The expression tree of a filter. Chains of `and` and of `or` are flat.
//!
//! The tree is generic: `P` is the path to values of a user, or of other things that an interface
//! filters.

use std::iter;

use crate::{
    id::UserId,
    timestamp::Timestamp,
    user::{
        Status,
        attribute::{Attribute, Kind, PartKind, TextRule},
        part::Part,
    },
};

/// A condition on one user.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression<P = Path> {
    /// All of these are true; at least two.
    And(Vec<Expression<P>>),
    /// Any of these is true; at least two.
    Or(Vec<Expression<P>>),
    /// This is false.
    Not(Box<Expression<P>>),
    /// A test of the values of a path.
    Test(Test<P>),
    /// Any entry of the list matches the condition, whose paths are parts of that entry.
    Entry(P, Box<Expression<P>>),
}

/// A test of the values of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Test<P = Path> {
    /// The path.
    pub path: P,
    /// The operator.
    pub operator: Operator,
    /// The operand.
    pub operand: Operand,
}

/// A path to values of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Path {
    /// A member.
    Member(Attribute),
    /// A part of a member's entries; inside [`Expression::Entry`], of that entry.
    Part(Attribute, Part),
    /// A value below `attributes`.
    Free(FreePath),
    /// The groups that the user is a direct member of, which the record does not contain.
    Groups,
    /// A part of each of these groups; inside [`Expression::Entry`], of that group.
    Group(GroupPart),
}

/// A path to a value below `attributes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreePath {
    /// Its exact keys.
    pub keys: Vec<String>,
    /// How its values are compared, which depends on the declaration of the member.
    pub comparison: Comparison,
}

/// A part of a group of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupPart {
    /// The id.
    Value,
    /// The name.
    Display,
}

impl GroupPart {
    /// Both parts.
    pub const ALL: &[Self] = &[Self::Value, Self::Display];

    /// The name of the part.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Display => "display",
        }
    }
}

macro_rules! operators {
    ($($(#[$doc:meta])* $variant:ident $text:literal,)*) => {
        /// A comparison operator.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Operator {
            $($(#[$doc])* $variant,)*
        }

        impl Operator {
            /// Every operator.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The operator in a filter.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// Whether it is `eq` or `ne`.
            pub const fn is_equality(self) -> bool {
                matches!(self, Self::Equal | Self::NotEqual)
            }

            /// Whether it compares a part of a text: `co`, `sw` or `ew`.
            pub const fn is_by_part(self) -> bool {
                matches!(self, Self::Contains | Self::StartsWith | Self::EndsWith)
            }
        }
    };
}

operators! {
    /// Equal.
    Equal "eq",
    /// Not equal.
    NotEqual "ne",
    /// Contains.
    Contains "co",
    /// Starts with.
    StartsWith "sw",
    /// Ends with.
    EndsWith "ew",
    /// Greater.
    Greater "gt",
    /// Greater or equal.
    GreaterOrEqual "ge",
    /// Less.
    Less "lt",
    /// Less or equal.
    LessOrEqual "le",
    /// There is a value.
    Present "pr",
}

impl Operator {
    /// Parses an operator, regardless of case.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|operator| operator.as_str().eq_ignore_ascii_case(text))
    }
}

/// The operand of a test, in the normalized form that is compared.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// None: the operator needs no operand.
    None,
    /// Null.
    Null,
    /// A text.
    Text {
        /// The text in the filter.
        typed: String,
        /// The key to compare; `None` if no value can have it.
        key: Option<String>,
    },
    /// A whole number.
    Integer(i64),
    /// Another number.
    Number(f64),
    /// A boolean.
    Flag(bool),
    /// A time.
    Time(Timestamp),
    /// A status.
    Status(Status),
    /// A list of ids, only for the member `id`.
    Ids(Vec<UserId>),
}

/// A path that knows how its values are compared.
pub trait Compared {
    /// The comparison.
    fn comparison(&self) -> Comparison;
}

/// How the values of a path are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Texts, regardless of case.
    Folded,
    /// Texts, exactly.
    Exact,
    /// Usernames, by their key.
    Username,
    /// E-mail addresses: equality by their key, other operators by the stored text, regardless of
    /// case.
    Email,
    /// Telephone numbers, by their key.
    PhoneNumber,
    /// Times.
    Time,
    /// Whole numbers.
    Integer,
    /// Booleans.
    Flag,
    /// The status.
    Status,
    /// Values of free JSON, each type only with itself.
    Json,
    /// The same, but texts regardless of case.
    FoldedJson,
    /// Texts of free JSON as times.
    TimeJson,
    /// No comparison: only presence can be tested.
    Presence,
}

/// The name of a user's groups in a filter.
pub(super) const GROUPS: &str = "groups";

impl Path {
    /// The first member of the path; `None` for groups, which are not in the record.
    pub const fn attribute(&self) -> Option<Attribute> {
        match self {
            Self::Member(attribute) | Self::Part(attribute, _) => Some(*attribute),
            Self::Free(_) => Some(Attribute::Attributes),
            Self::Groups | Self::Group(_) => None,
        }
    }

    /// The name of the list or object that the path is in.
    pub(super) const fn list_name(&self) -> &'static str {
        match self.attribute() {
            Some(attribute) => attribute.name(),
            None => GROUPS,
        }
    }
}

impl Compared for Path {
    fn comparison(&self) -> Comparison {
        match self {
            Self::Free(path) => path.comparison,
            Self::Groups => Comparison::Presence,
            // Ids are compared without case too.
            Self::Group(GroupPart::Value | GroupPart::Display) => Comparison::Folded,
            Self::Part(_, Part::Ref) => Comparison::Exact,
            Self::Part(attribute, part) => match part_kind(*attribute, *part) {
                Some(PartKind::Flag) => Comparison::Flag,
                Some(PartKind::Text(rule)) => of_rule(rule),
                None => Comparison::Presence,
            },
            Self::Member(attribute) => match attribute.kind() {
                Kind::ServerMade if *attribute == Attribute::Id => Comparison::Folded,
                Kind::ServerMade if *attribute == Attribute::Version => Comparison::Integer,
                Kind::ServerMade => Comparison::Time,
                Kind::Status => Comparison::Status,
                Kind::Text(_) if *attribute == Attribute::ExternalId => Comparison::Exact,
                Kind::Text(rule) | Kind::ShortForm { rule, .. } => of_rule(rule),
                Kind::Flag { .. } | Kind::Mark => Comparison::Flag,
                Kind::One(_) | Kind::Many(_) | Kind::Object => Comparison::Presence,
            },
        }
    }
}

/// The kind of a part's value, if the member has the part.
pub(super) fn part_kind(attribute: Attribute, part: Part) -> Option<PartKind> {
    let (Kind::One(shape) | Kind::Many(shape)) = attribute.kind() else { return None };
    shape.parts.iter().find(|(found, _)| *found == part).map(|(_, kind)| *kind)
}

const fn of_rule(rule: TextRule) -> Comparison {
    match rule {
        TextRule::Username => Comparison::Username,
        TextRule::Email => Comparison::Email,
        TextRule::PhoneNumber => Comparison::PhoneNumber,
        TextRule::Time => Comparison::Time,
        TextRule::Url | TextRule::Certificate => Comparison::Exact,
        TextRule::Plain
        | TextRule::Name
        | TextRule::EntryText
        | TextRule::AddressLines
        | TextRule::LanguageTag
        | TextRule::Zone
        | TextRule::Country => Comparison::Folded,
    }
}

impl<P> Expression<P> {
    /// Both are true. Operands that are chains of `and` are flattened.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::chain(self, vec![other], Self::And)
    }

    /// Either is true. Operands that are chains of `or` are flattened.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::chain(self, vec![other], Self::Or)
    }

    /// A chain of these links. Links that are such chains are flattened.
    pub(super) fn chain(first: Self, further: Vec<Self>, link: fn(Vec<Self>) -> Self) -> Self {
        if further.is_empty() {
            return first;
        }
        let is_and = matches!(link(Vec::new()), Self::And(_));
        let mut flat = Vec::with_capacity(further.len() + 1);
        for one in iter::once(first).chain(further) {
            match one {
                Self::And(more) if is_and => flat.extend(more),
                Self::Or(more) if !is_and => flat.extend(more),
                one @ (Self::And(_)
                | Self::Or(_)
                | Self::Not(_)
                | Self::Entry(..)
                | Self::Test(_)) => flat.push(one),
            }
        }
        link(flat)
    }
}

impl Expression {
    /// A test for a member with this key (see [`crate::user::keys`]).
    pub fn equal(attribute: Attribute, key: String) -> Self {
        Self::member(attribute, Operand::Text { typed: key.clone(), key: Some(key) })
    }

    /// A test for this status.
    pub fn status(status: Status) -> Self {
        Self::member(Attribute::Status, Operand::Status(status))
    }

    /// A test for one of these ids.
    pub fn ids(ids: Vec<UserId>) -> Self {
        Self::member(Attribute::Id, Operand::Ids(ids))
    }

    fn member(attribute: Attribute, operand: Operand) -> Self {
        Self::Test(Test { path: Path::Member(attribute), operator: Operator::Equal, operand })
    }

    /// Whether it is true for every user: it tests the presence of a member that all users have.
    pub fn is_always(&self) -> bool {
        let Self::Test(Test { path: Path::Member(attribute), operator, .. }) = self else {
            return false;
        };
        let is_always_present = matches!(
            attribute,
            Attribute::Id
                | Attribute::Version
                | Attribute::Status
                | Attribute::Username
                | Attribute::CreatedAt
                | Attribute::UpdatedAt
        );
        is_always_present && *operator == Operator::Present
    }

    /// A condition that is true for every user.
    pub fn always() -> Self {
        let path = Path::Member(Attribute::Id);
        Self::Test(Test { path, operator: Operator::Present, operand: Operand::None })
    }

    /// A condition that is true for no user.
    pub fn never() -> Self {
        Self::Not(Box::new(Self::always()))
    }

    /// Adds the tests of groups and the conditions on groups that the expression has.
    pub(super) fn add_group_terms(&self, terms: &mut Vec<Self>) {
        match self {
            Self::And(all) | Self::Or(all) => {
                for one in all {
                    one.add_group_terms(terms);
                }
            }
            Self::Not(inner) => inner.add_group_terms(terms),
            Self::Entry(path, _) | Self::Test(Test { path, .. }) => {
                if path.attribute().is_none() {
                    terms.push(self.clone());
                }
            }
        }
    }

    /// Calls `show` for each member that the expression reads.
    pub fn each_attribute(&self, show: &mut impl FnMut(Attribute)) {
        match self {
            Self::And(all) | Self::Or(all) => {
                for one in all {
                    one.each_attribute(show);
                }
            }
            Self::Not(inner) => inner.each_attribute(show),
            Self::Entry(list, _) => list.attribute().into_iter().for_each(show),
            Self::Test(test) => {
                let Some(attribute) = test.path.attribute() else { return };
                // A short form is the value of its list.
                let read = if let Kind::ShortForm { list, .. } = attribute.kind() {
                    list
                } else {
                    attribute
                };
                show(read);
            }
        }
    }
}
