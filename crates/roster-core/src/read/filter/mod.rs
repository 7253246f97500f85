//! Filters: conditions on users, in the grammar of SCIM (RFC 7644 section 3.4.2.2) with the member
//! names of the REST interface.
//!
//! A text is parsed once into an expression with typed and normalized operands; evaluation cannot
//! fail. All engines and the oracle use this evaluator, so their results agree. An invalid filter
//! is an error with a position, never an empty result.
//!
//! ```
//! use roster_core::filter::Filter;
//!
//! let filter = Filter::parse(r#"family_name sw "Love" and title pr"#).unwrap();
//! assert_eq!(filter.to_string(), r#"family_name sw "Love" and title pr"#);
//!
//! let fault = Filter::parse("nmae pr").unwrap_err();
//! assert_eq!(fault.position, 0);
//! assert!(fault.detail.contains("did you mean name?"));
//! ```

mod cost;
mod evaluate;
mod expression;
mod literal;
mod names;
mod number;
mod parse;
mod print;

use std::sync::OnceLock;

use crate::{
    group::GroupRef,
    limits::USER_BYTES_MAX,
    read::project::Members,
    user::{CorruptRecord, User, attribute::Attribute},
    work::Work,
};
use evaluate::Notes;

pub use evaluate::{Found, compares, holds};
pub use expression::{
    Compared, Comparison, Expression, FreePath, GroupPart, Operand, Operator, Path, Test,
};
pub use literal::{check_operator, operand};
pub use names::{Dialect, KEY_EXPECTED, MemberNames, Names, free_path};
pub use parse::{ValuePath, parse, parse_value_path};

/// A parsed filter.
#[derive(Clone, Debug)]
pub struct Filter {
    expression: Expression,
    /// The members that the filter reads; `None` if there are so many that whole records are
    /// parsed. Computed for the first record.
    reads: OnceLock<Option<Members>>,
    /// The tests of groups and the conditions on groups.
    group_terms: Vec<Expression>,
}

/// The results of a filter's tests of groups for one user. The user's groups are added one by one,
/// so that a user may be in any number of groups.
#[derive(Clone, Debug, Default)]
pub struct Memberships {
    /// For each test or condition, whether it is true for any group; empty without groups.
    met: Vec<bool>,
}

/// Why a text is not a valid filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterFault {
    /// The position of the error, in bytes from the start of the text.
    pub position: usize,
    /// What was expected there, as text for people.
    pub detail: String,
}

/// The number of bytes of a record that are skipped in the time of one comparison.
const SKIPPED_BYTES_PER_COMPARISON: usize = 256;

/// The number of bytes of a record that are parsed in the time of one comparison.
pub(crate) const PARSED_BYTES_PER_COMPARISON: usize = 16;

/// The maximum number of comparisons that parsing a record takes.
const RECORD_COMPARISONS_MAX: usize = 1
    + USER_BYTES_MAX / SKIPPED_BYTES_PER_COMPARISON
    + USER_BYTES_MAX / PARSED_BYTES_PER_COMPARISON;

/// The comparisons that the record of a group takes.
const GROUP_COMPARISONS: usize = 8;

/// A filter that reads more members than this is evaluated on whole records.
const CUT_MEMBERS_MAX: usize = 6;

impl Filter {
    /// Parses a filter with the member names of the REST interface, without a declared member.
    pub fn parse(text: &str) -> Result<Self, FilterFault> {
        Self::parse_with(text, &MemberNames(|_: &str| None))
    }

    /// Parses a filter with the names of an interface.
    pub fn parse_with<N: Names<Path = Path>>(text: &str, names: &N) -> Result<Self, FilterFault> {
        parse(text, names).map(Self::new)
    }

    /// The filter of an expression.
    pub fn new(expression: Expression) -> Self {
        let mut group_terms = Vec::new();
        expression.add_group_terms(&mut group_terms);
        Self { expression, reads: OnceLock::new(), group_terms }
    }

    /// Whether it reads the groups of a user, which are not in the record.
    pub const fn reads_groups(&self) -> bool {
        !self.group_terms.is_empty()
    }

    /// Evaluates the tests of groups for another group of the user. Counts the comparisons.
    pub fn add_group(&self, memberships: &mut Memberships, group: &GroupRef, work: &Work) {
        let notes = Notes::default();
        memberships.met.resize(self.group_terms.len(), false);
        for (met, term) in memberships.met.iter_mut().zip(&self.group_terms) {
            *met |= evaluate::matches_group(term, group, &notes);
        }
        work.count(GROUP_COMPARISONS + notes.comparisons());
    }

    /// The results of the tests of groups for these groups.
    pub fn memberships<'g>(&self, groups: impl IntoIterator<Item = &'g GroupRef>) -> Memberships {
        let (mut memberships, work) = (Memberships::default(), Work::new(u64::MAX));
        groups.into_iter().for_each(|group| self.add_group(&mut memberships, group, &work));
        memberships
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
        (read.len() - always <= CUT_MEMBERS_MAX).then(|| Members::new(&read))
    }

    /// An upper bound of the comparisons for one record.
    pub fn comparisons_max(&self) -> usize {
        cost::comparisons_max(&self.expression)
    }

    /// The expression.
    pub const fn expression(&self) -> &Expression {
        &self.expression
    }

    /// Whether the user matches. `groups` has the results for the user's groups.
    pub fn matches(&self, user: &User, groups: &Memberships) -> bool {
        self.matches_noted(user, groups, &Notes::default())
    }

    fn matches_noted(&self, user: &User, groups: &Memberships, notes: &Notes) -> bool {
        evaluate::matches(&self.expression, user, notes, &|term| {
            notes.count(1 + self.group_terms.len() / 8);
            let at = self.group_terms.iter().position(|known| known == term);
            let met = at.and_then(|at| groups.met.get(at));
            met.copied().unwrap_or_else(|| evaluate::matches_no_group(term))
        })
    }

    /// Whether the user with this canonical JSON matches. Only the members that the filter names
    /// are parsed. Counts the comparisons, in which parsing is included.
    pub fn matches_record(
        &self,
        record: &[u8],
        groups: &Memberships,
        work: &Work,
    ) -> Result<bool, CorruptRecord> {
        let mut cut = Vec::new();
        let read = if let Some(members) = self.reads.get_or_init(|| self.reads()) {
            cut.reserve(256);
            let corrupt = || CorruptRecord { member: "its JSON".to_owned() };
            members.project(record, &mut cut).ok_or_else(corrupt)?;
            &cut
        } else {
            record
        };
        let notes = Notes::of(work);
        notes.count(1 + record.len() / SKIPPED_BYTES_PER_COMPARISON);
        notes.count(read.len() / PARSED_BYTES_PER_COMPARISON);
        let user = User::from_record(read)?;
        let matched = self.matches_noted(&user, groups, &notes);
        work.count(notes.comparisons());
        Ok(matched)
    }
}

impl PartialEq for Filter {
    fn eq(&self, other: &Self) -> bool {
        self.expression == other.expression
    }
}

#[cfg(test)]
mod tests;
