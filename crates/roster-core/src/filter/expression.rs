//! What a filter says, as a tree. Chains of `and` and of `or` are flat.
//!
//! The tree is the same whatever is asked about: `P` names values of a user, or of whatever else a
//! face lets its callers choose from.

use std::iter;

use crate::{
    attribute::{Attribute, Kind, PartKind, TextRule},
    id::UserId,
    part::Part,
    timestamp::Timestamp,
    user::Status,
};

/// A condition on one user.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression<P = Path> {
    /// All of these hold; at least two.
    And(Vec<Expression<P>>),
    /// Any of these holds; at least two.
    Or(Vec<Expression<P>>),
    /// This does not hold.
    Not(Box<Expression<P>>),
    /// A test of a value.
    Test(Test<P>),
    /// Some entry of the list meets the condition, whose paths are parts of that entry.
    Entry(P, Box<Expression<P>>),
}

/// A test of the values of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Test<P = Path> {
    /// Which values.
    pub path: P,
    /// How they are compared.
    pub operator: Operator,
    /// With what.
    pub operand: Operand,
}

/// Names values of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Path {
    /// A member.
    Member(Attribute),
    /// A part of a member's entries; inside [`Expression::Entry`], of that entry.
    Part(Attribute, Part),
    /// A value below `attributes`, by its keys, exactly as spelled.
    Free(Vec<String>),
}

macro_rules! operators {
    ($($(#[$doc:meta])* $variant:ident $text:literal,)*) => {
        /// How values are compared.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Operator {
            $($(#[$doc])* $variant,)*
        }

        impl Operator {
            /// Every operator.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The operator as it is spelled.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
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
    /// The operator of that spelling, without regard to case.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|operator| operator.as_str().eq_ignore_ascii_case(text))
    }
}

/// What values are compared with, in the form in which they are compared.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// Nothing: the operator says it all.
    None,
    /// No value.
    Null,
    /// A text.
    Text {
        /// As it was typed.
        typed: String,
        /// The key that is compared; `None` where no value can have it.
        key: Option<String>,
    },
    /// A whole number.
    Integer(i64),
    /// Another number.
    Number(f64),
    /// A boolean.
    Flag(bool),
    /// A moment.
    Time(Timestamp),
    /// A status.
    Status(Status),
    /// One of these ids, for the member `id` alone.
    Ids(Vec<UserId>),
}

/// What a test reads: it knows how its values compare.
pub trait Compared {
    /// In which way.
    fn comparison(&self) -> Comparison;
}

/// In which way the values of a path compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Texts, without regard to case.
    Folded,
    /// Texts, exactly.
    Exact,
    /// User names, by their key.
    Username,
    /// E-mail addresses: equality by their key, else as shown, without regard to case.
    Email,
    /// Telephone numbers, by their key.
    PhoneNumber,
    /// Moments.
    Time,
    /// Whole numbers.
    Integer,
    /// Booleans.
    Flag,
    /// The status.
    Status,
    /// Values of free JSON, each kind with its own.
    Json,
    /// They do not: there is a value, or not.
    Presence,
}

impl Path {
    /// The member that the path begins with.
    pub const fn attribute(&self) -> Attribute {
        match self {
            Self::Member(attribute) | Self::Part(attribute, _) => *attribute,
            Self::Free(_) => Attribute::Attributes,
        }
    }
}

impl Compared for Path {
    fn comparison(&self) -> Comparison {
        match self {
            Self::Free(_) => Comparison::Json,
            Self::Part(attribute, part) => match part_kind(*attribute, *part) {
                Some(PartKind::Flag) => Comparison::Flag,
                Some(PartKind::Text(rule)) => of_rule(rule),
                None => Comparison::Presence,
            },
            Self::Member(attribute) => match attribute.kind() {
                Kind::ServerMade if *attribute == Attribute::Id => Comparison::Exact,
                Kind::ServerMade if *attribute == Attribute::Version => Comparison::Integer,
                Kind::ServerMade => Comparison::Time,
                Kind::Status => Comparison::Status,
                Kind::Text(_) if *attribute == Attribute::ExternalId => Comparison::Exact,
                Kind::Text(rule) | Kind::ShortForm { rule, .. } => of_rule(rule),
                Kind::Flag { .. } => Comparison::Flag,
                Kind::One(_) | Kind::Many(_) | Kind::Object => Comparison::Presence,
            },
        }
    }
}

/// What kind of value a part of a member takes, if the member has it.
pub(super) fn part_kind(attribute: Attribute, part: Part) -> Option<PartKind> {
    let (Kind::One(shape) | Kind::Many(shape)) = attribute.kind() else { return None };
    shape.parts.iter().find(|(found, _)| *found == part).map(|(_, kind)| *kind)
}

const fn of_rule(rule: TextRule) -> Comparison {
    match rule {
        TextRule::Username => Comparison::Username,
        TextRule::Email => Comparison::Email,
        TextRule::PhoneNumber => Comparison::PhoneNumber,
        TextRule::Url | TextRule::Certificate => Comparison::Exact,
        TextRule::Plain
        | TextRule::AddressLines
        | TextRule::LanguageTag
        | TextRule::Zone
        | TextRule::Country => Comparison::Folded,
    }
}

impl<P> Expression<P> {
    /// Both hold; what is such a chain itself becomes part of it.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::chain(self, vec![other], Self::And)
    }

    /// Either holds; what is such a chain itself becomes part of it.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::chain(self, vec![other], Self::Or)
    }

    /// The links as one expression; a link that is such a chain itself is part of it.
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
    /// A member that has this key, as [`crate::keys`] makes it.
    pub fn equal(attribute: Attribute, key: String) -> Self {
        Self::member(attribute, Operand::Text { typed: key.clone(), key: Some(key) })
    }

    /// A user of this status.
    pub fn status(status: Status) -> Self {
        Self::member(Attribute::Status, Operand::Status(status))
    }

    /// One of these users.
    pub fn ids(ids: Vec<UserId>) -> Self {
        Self::member(Attribute::Id, Operand::Ids(ids))
    }

    fn member(attribute: Attribute, operand: Operand) -> Self {
        Self::Test(Test { path: Path::Member(attribute), operator: Operator::Equal, operand })
    }

    /// Whether it holds for every user there can be: it asks for a member that all have.
    pub fn is_always(&self) -> bool {
        let Self::Test(Test { path: Path::Member(attribute), operator, .. }) = self else {
            return false;
        };
        let had_by_all = matches!(
            attribute,
            Attribute::Id
                | Attribute::Version
                | Attribute::Status
                | Attribute::Username
                | Attribute::CreatedAt
                | Attribute::UpdatedAt
        );
        had_by_all && *operator == Operator::Present
    }

    /// A condition that every user meets.
    pub fn always() -> Self {
        let path = Path::Member(Attribute::Id);
        Self::Test(Test { path, operator: Operator::Present, operand: Operand::None })
    }

    /// A condition that nobody meets.
    pub fn never() -> Self {
        Self::Not(Box::new(Self::always()))
    }

    /// Shows each member that is read to `show`.
    pub fn each_attribute(&self, show: &mut impl FnMut(Attribute)) {
        match self {
            Self::And(all) | Self::Or(all) => {
                for one in all {
                    one.each_attribute(show);
                }
            }
            Self::Not(inner) => inner.each_attribute(show),
            Self::Entry(list, _) => show(list.attribute()),
            Self::Test(test) => {
                let attribute = test.path.attribute();
                // A short form is read off its list.
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
