//! The bounds of a range, in SQL.

use std::{fmt::Write as _, ops::Bound};

use roster_core::{
    list::{Direction, PageKey, PageQuery, SortBy},
    plan::{Index, Range, RangeKey},
};
use rusqlite::{CachedStatement, types::Value};

use super::sql::{FROM, TO, is_in_order};
use crate::columns::status_number;

/// The bounds that a statement has: comparison and value.
pub(crate) struct Bounds {
    from: Option<(&'static str, Value)>,
    to: Option<(&'static str, Value)>,
}

impl Bounds {
    /// Both bounds of a range. Absent keys, which follow every text, are in none but the whole
    /// index.
    pub(crate) fn of(range: &Range) -> Self {
        let is_text = !matches!(range.index, Index::Sort(SortBy::Id | SortBy::UpdatedAt));
        let from = match &range.from {
            Bound::Included(key) => Some((">=", value(key))),
            Bound::Excluded(key) => Some((">", value(key))),
            Bound::Unbounded => None,
        };
        let to = match &range.to {
            Bound::Included(key) => Some(("<=", value(key))),
            Bound::Excluded(key) => Some(("<", value(key))),
            Bound::Unbounded if range.is_whole() => None,
            Bound::Unbounded => is_text.then(|| ("<", Value::Blob(Vec::new()))),
        };
        Self { from, to }
    }

    /// The bounds of a page of a query, and the row that it begins after. Where that row is in the
    /// range, it replaces the bound that it has passed, so that SQLite has no choice.
    pub(crate) fn after<'q>(range: &Range, query: &'q PageQuery) -> (Self, Option<&'q PageKey>) {
        let mut bounds = Self::of(range);
        if !is_in_order(range, query.sort) {
            // Only the rows of one key are in the order of their ids.
            bounds = Self { from: range.key().map(|key| ("=", value(key))), to: None };
            return (bounds, query.after.as_ref());
        }
        let Some(after) = &query.after else { return (bounds, None) };
        if !range.begins_after(after, query.sort) {
            return (bounds, None);
        }
        match query.sort.direction {
            Direction::Ascending => bounds.from = None,
            Direction::Descending => bounds.to = None,
        }
        (bounds, Some(after))
    }

    pub(super) fn bind(&self, statement: &mut CachedStatement<'_>) -> rusqlite::Result<()> {
        for (parameter, bound) in [(FROM, &self.from), (TO, &self.to)] {
            if let Some((_, value)) = bound {
                statement.raw_bind_parameter(parameter, value)?;
            }
        }
        Ok(())
    }

    /// Writes the bounds; gives the word that a further condition begins with.
    pub(super) fn write(&self, sql: &mut String, column: &str) -> &'static str {
        let mut word = "WHERE";
        for (parameter, bound) in [(FROM, &self.from), (TO, &self.to)] {
            if let Some((comparison, _)) = bound {
                // Writing to a string does not fail.
                let _infallible = write!(sql, " {word} {column} {comparison} ?{parameter}");
                word = "AND";
            }
        }
        word
    }
}

fn value(key: &RangeKey) -> Value {
    match key {
        RangeKey::Id(id) => Value::Blob(id.as_bytes().to_vec()),
        RangeKey::Time(moment) => Value::Integer(moment.as_millis()),
        RangeKey::Text(text) => Value::Text(text.clone()),
        RangeKey::Status(status) => Value::Integer(status_number(*status)),
    }
}
