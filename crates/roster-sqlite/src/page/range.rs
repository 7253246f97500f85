//! Ranges of an order's index, in SQL.
//!
//! A walk begins at the bound of the range or after the row where the last page ended, whichever
//! comes later; only one of them stands in the statement, so that SQLite has no choice.

use std::{fmt::Write as _, ops::Bound};

use roster_core::{
    list::{Direction, PageKey, Sort, SortBy},
    plan::{Range, RangeKey},
};
use rusqlite::{CachedStatement, types::Value};

use super::sql::{AFTER_ID, AFTER_KEY, key_column, sort_index};

/// The parameter of the lower bound.
const FROM: usize = 8;
/// The parameter of the upper bound.
const TO: usize = 9;

/// The bounds that stand in a statement: comparison and value.
pub(crate) struct Bounds {
    from: Option<(&'static str, Value)>,
    to: Option<(&'static str, Value)>,
}

impl Bounds {
    /// Both bounds of a range. Absent keys, which come after every text, are in none.
    pub(crate) fn of(range: &Range) -> Self {
        let text = !matches!(range.by, SortBy::Id | SortBy::UpdatedAt);
        let from = match &range.from {
            Bound::Included(key) => Some((">=", value(key))),
            Bound::Excluded(key) => Some((">", value(key))),
            Bound::Unbounded => None,
        };
        let to = match &range.to {
            Bound::Included(key) => Some(("<=", value(key))),
            Bound::Excluded(key) => Some(("<", value(key))),
            Bound::Unbounded => text.then(|| ("<", Value::Blob(Vec::new()))),
        };
        Self { from, to }
    }

    /// The bounds of a walk that goes on after a row of the range, which takes the place of the
    /// bound behind it.
    pub(crate) fn after(range: &Range, sort: Sort, after: Option<&PageKey>) -> (Self, bool) {
        let mut bounds = Self::of(range);
        let Some(after) = after else { return (bounds, false) };
        let standing = match sort.direction {
            Direction::Ascending => &mut bounds.from,
            Direction::Descending => &mut bounds.to,
        };
        // A row of the range lies within both bounds; from elsewhere the bound stands.
        if range.holds_after(after, sort.direction) {
            *standing = None;
            (bounds, true)
        } else {
            (bounds, false)
        }
    }

    pub(super) fn bind(&self, statement: &mut CachedStatement<'_>) -> rusqlite::Result<()> {
        for (parameter, bound) in [(FROM, &self.from), (TO, &self.to)] {
            if let Some((_, value)) = bound {
                statement.raw_bind_parameter(parameter, value)?;
            }
        }
        Ok(())
    }

    fn write(&self, sql: &mut String, column: &str) {
        let mut word = "WHERE";
        for (parameter, bound) in [(FROM, &self.from), (TO, &self.to)] {
            if let Some((comparison, _)) = bound {
                // Writing to a string does not fail.
                let _infallible = write!(sql, " {word} {column} {comparison} ?{parameter}");
                word = "AND";
            }
        }
    }

    const fn is_empty(&self) -> bool {
        self.from.is_none() && self.to.is_none()
    }
}

fn value(key: &RangeKey) -> Value {
    match key {
        RangeKey::Id(id) => Value::Blob(id.as_bytes().to_vec()),
        RangeKey::Time(moment) => Value::Integer(moment.as_millis()),
        RangeKey::Text(text) => Value::Text(text.clone()),
    }
}

/// The ids of a range, in no order.
pub(crate) fn ids(by: SortBy, bounds: &Bounds) -> String {
    let mut sql = format!("SELECT id FROM users INDEXED BY {}", sort_index(by));
    bounds.write(&mut sql, key_column(by).unwrap_or("id"));
    sql
}

/// What follows the columns of a statement that walks along a range.
pub(super) fn walk(sql: &mut String, sort: Sort, bounds: &Bounds, after: bool) {
    let _infallible = write!(sql, " FROM users INDEXED BY {}", sort_index(sort.by));
    let column = key_column(sort.by);
    bounds.write(sql, column.unwrap_or("id"));
    let (comparison, way) = match sort.direction {
        Direction::Ascending => ('>', ""),
        Direction::Descending => ('<', " DESC"),
    };
    if after {
        sql.push_str(if bounds.is_empty() { " WHERE " } else { " AND " });
        let _infallible = match column {
            Some(key) => write!(sql, "({key}, id) {comparison} (?{AFTER_KEY}, ?{AFTER_ID})"),
            None => write!(sql, "id {comparison} ?{AFTER_ID}"),
        };
    }
    let _infallible = match column {
        Some(key) => write!(sql, " ORDER BY {key}{way}, id{way}"),
        None => write!(sql, " ORDER BY id{way}"),
    };
}
