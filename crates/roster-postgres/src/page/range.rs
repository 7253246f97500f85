//! Ranges of an order's index, in SQL.
//!
//! A walk begins at the bound of the range or after the row where the last page ended, whichever
//! comes later; only one of them stands in the statement.

use std::{fmt::Write as _, ops::Bound};

use roster_core::{
    list::{Direction, PageKey, Sort, SortBy},
    plan::{Range, RangeKey},
};

use super::{
    parameters::Parameters,
    sql::{Start, key_column, order},
};

/// The bounds that stand in a statement: comparison and value.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    from: Option<(&'static str, RangeKey)>,
    to: Option<To>,
}

#[derive(Clone, Debug)]
enum To {
    Key(&'static str, RangeKey),
    /// Absent keys, which come after every text, are in no range.
    Absent,
}

impl Bounds {
    /// Both bounds of a range.
    pub(crate) fn of(range: &Range) -> Self {
        let text = !matches!(range.by, SortBy::Id | SortBy::UpdatedAt);
        let from = match &range.from {
            Bound::Included(key) => Some((">=", key.clone())),
            Bound::Excluded(key) => Some((">", key.clone())),
            Bound::Unbounded => None,
        };
        let to = match &range.to {
            Bound::Included(key) => Some(To::Key("<=", key.clone())),
            Bound::Excluded(key) => Some(To::Key("<", key.clone())),
            Bound::Unbounded => text.then_some(To::Absent),
        };
        Self { from, to }
    }

    /// The bounds of a walk that goes on after a row of the range, which takes the place of the
    /// bound behind it.
    pub(crate) fn after(range: &Range, sort: Sort, after: Option<&PageKey>) -> (Self, Start) {
        let mut bounds = Self::of(range);
        let Some(after) = after else { return (bounds, Start::First) };
        // A row of the range lies within both bounds; from elsewhere the bound stands.
        if !range.holds_after(after, sort.direction) {
            return (bounds, Start::First);
        }
        match sort.direction {
            Direction::Ascending => bounds.from = None,
            Direction::Descending => bounds.to = None,
        }
        (bounds, Start::After)
    }

    /// Writes the bounds; gives the word that a further condition begins with.
    pub(super) fn write(
        &self,
        sql: &mut String,
        column: &str,
        parameters: &mut Parameters,
    ) -> &'static str {
        let mut word = "WHERE";
        if let Some((comparison, key)) = &self.from {
            // Writing to a string does not fail.
            let _infallible =
                write!(sql, " {word} {column} {comparison} {}", parameters.bound(key));
            word = "AND";
        }
        if let Some(to) = &self.to {
            let _infallible = match to {
                To::Key(comparison, key) => {
                    write!(sql, " {word} {column} {comparison} {}", parameters.bound(key))
                }
                To::Absent => write!(sql, " {word} {column} < '\\xff'"),
            };
            word = "AND";
        }
        word
    }
}

/// The ids of a range.
pub(crate) fn ids(by: SortBy, bounds: &Bounds, parameters: &mut Parameters) -> String {
    let mut sql = "SELECT id FROM users".to_owned();
    bounds.write(&mut sql, key_column(by).unwrap_or("id"), parameters);
    order(&mut sql, by, "");
    let _infallible = write!(sql, " LIMIT {}", parameters.limit());
    sql
}
