//! Filters: which users are meant, in the grammar of SCIM (RFC 7644 section 3.4.2.2) over our own
//! member names.
//!
//! A text is parsed once into an expression whose operands are typed and already in the form in
//! which they are compared; from there on nothing can fail. The evaluator here is the only one:
//! every engine and the oracle ask it, so all answer alike. What is not understood is a fault with
//! its place, never an empty answer.

mod evaluate;
mod expression;
mod literal;
mod names;
mod number;
mod parse;
mod print;

use std::sync::OnceLock;

use crate::{
    attribute::Attribute,
    project::Members,
    user::{CorruptRecord, User},
};

pub use evaluate::{Found, compares, holds};
pub use expression::{Compared, Comparison, Expression, Operand, Operator, Path, Test};
pub use literal::{check_operator, operand};
pub use names::{Dialect, KEY_EXPECTED, MemberNames, Names, free_path};
pub use parse::{ValuePath, parse, parse_value_path};

/// A filter that was understood.
#[derive(Clone, Debug)]
pub struct Filter {
    expression: Expression,
    /// Cuts a record down to what the filter reads; `None` where that is most of it. Made when
    /// the first record comes.
    reads: OnceLock<Option<Members>>,
}

/// Why a text is no filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterFault {
    /// Where, in bytes from the start of the text.
    pub position: usize,
    /// What was expected there, in words for a person.
    pub detail: String,
}

/// A filter that reads more members than these tests whole records.
const CUT_MEMBERS_MAX: usize = 6;

impl Filter {
    /// Reads a filter over the member names of the REST face.
    pub fn parse(text: &str) -> Result<Self, FilterFault> {
        Self::parse_with(text, &MemberNames)
    }

    /// Reads a filter over the names of a face.
    pub fn parse_with<N: Names<Path = Path>>(text: &str, names: &N) -> Result<Self, FilterFault> {
        parse(text, names).map(Self::new)
    }

    /// The filter of an expression.
    pub const fn new(expression: Expression) -> Self {
        Self { expression, reads: OnceLock::new() }
    }

    fn reads(&self) -> Option<Members> {
        let mut read = vec![
            Attribute::Id,
            Attribute::Version,
            Attribute::Status,
            Attribute::CreatedAt,
            Attribute::UpdatedAt,
        ];
        let always = read.len();
        self.expression.each_attribute(&mut |attribute| {
            if !read.contains(&attribute) {
                read.push(attribute);
            }
        });
        (read.len() - always <= CUT_MEMBERS_MAX).then(|| Members::new(read))
    }

    /// What it says.
    pub const fn expression(&self) -> &Expression {
        &self.expression
    }

    /// Whether it means this user.
    pub fn matches(&self, user: &User) -> bool {
        evaluate::matches(&self.expression, user)
    }

    /// Whether it means the user of this canonical JSON. Only the members that the filter names
    /// are read.
    pub fn matches_record(&self, record: &[u8]) -> Result<bool, CorruptRecord> {
        let Some(members) = self.reads.get_or_init(|| self.reads()) else {
            return User::from_record(record).map(|user| self.matches(&user));
        };
        let mut cut = Vec::with_capacity(256);
        match members.project(record, &mut cut) {
            Some(()) => User::from_record(&cut).map(|user| self.matches(&user)),
            None => Err(CorruptRecord { member: "its JSON".to_owned() }),
        }
    }
}

impl PartialEq for Filter {
    fn eq(&self, other: &Self) -> bool {
        self.expression == other.expression
    }
}

#[cfg(test)]
mod tests;
