//! The statements of a page.
//!
//! Each is told so that one index alone has its rows in its order: conditions that drive are
//! ranges of that index, and the order names all its columns. So no statistics turn a page into a
//! scan. Conditions that the index does not answer are a `CASE` around the record: a row that
//! fails them is stepped over without its record being sent.

use std::fmt::Write as _;

use roster_core::{
    list::{Direction, Equals, Sort, SortBy},
    plan::{Condition, Driver, Lookup},
};

use super::{parameters::Parameters, range::Bounds};

/// The column that holds an order's key; `None` for the id itself.
pub(super) const fn key_column(by: SortBy) -> Option<&'static str> {
    match by {
        SortBy::Id => None,
        SortBy::UpdatedAt => Some("updated_at"),
        SortBy::Username => Some("username_key"),
        SortBy::Email => Some("email_key"),
        SortBy::FamilyName => Some("family_name_key"),
        SortBy::Name => Some("name_key"),
    }
}

/// The users that hold a key beside their primary address or number.
pub(crate) const FURTHER: &str =
    "SELECT id FROM further_keys WHERE kind = $1 AND key = $2 ORDER BY kind, key, id LIMIT $3";

/// The users that hold a word of a beginning, once for each such word.
pub(crate) const WORDS: &str =
    "SELECT id FROM words WHERE word >= $1 AND word <= $2 ORDER BY word, id LIMIT $3";

/// The users of one key of a column.
pub(crate) const fn lookup(lookup: &Lookup) -> &'static str {
    match lookup {
        Lookup::Id(_) => "SELECT id FROM users WHERE id = $1 LIMIT $2",
        Lookup::Username(_) => "SELECT id FROM users WHERE username_key = $1 LIMIT $2",
        Lookup::Email(_) | Lookup::AnyEmail(_) => {
            "SELECT id FROM users WHERE email_key >= $1 AND email_key <= $1 \
             ORDER BY email_key, id LIMIT $2"
        }
        Lookup::ExternalId(_) => {
            "SELECT id FROM users WHERE external_id >= $1 AND external_id <= $1 \
             ORDER BY external_id, id LIMIT $2"
        }
        Lookup::PhoneNumber(_) | Lookup::AnyPhoneNumber(_) => {
            "SELECT id FROM users WHERE phone_number_key >= $1 AND phone_number_key <= $1 \
             ORDER BY phone_number_key, id LIMIT $2"
        }
    }
}

/// What all statements of a page have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape<'q> {
    /// The index that is read along.
    pub(crate) driver: &'q Driver,
    /// The order.
    pub(crate) sort: Sort,
    /// The conditions.
    pub(crate) equals: &'q Equals,
}

/// Where the rows of a statement begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    First,
    /// After a place, whose key and id are parameters.
    After,
}

impl Shape<'_> {
    /// The rows of the page in order: id, version, key, record (NULL where a condition fails).
    pub(crate) fn rows(&self, start: Start, to: &mut Parameters) -> String {
        let mut sql = self.select(to);
        let (comparison, way) = way(self.sort.direction);
        if let Some(condition) = self.driver.condition() {
            self.along(condition, start, &mut sql, to);
        } else {
            if start == Start::After {
                behind(&mut sql, "WHERE", self.sort.by, comparison, to);
            }
            order(&mut sql, self.sort.by, way);
        }
        let _infallible = write!(sql, " LIMIT {}", to.limit());
        sql
    }

    /// The rows of a range of the wanted order, with the columns of [`Shape::rows`].
    pub(crate) fn rows_in(&self, bounds: &Bounds, start: Start, to: &mut Parameters) -> String {
        let mut sql = self.select(to);
        let (comparison, way) = way(self.sort.direction);
        let word = bounds.write(&mut sql, key_column(self.sort.by).unwrap_or("id"), to);
        if start == Start::After {
            behind(&mut sql, word, self.sort.by, comparison, to);
        }
        order(&mut sql, self.sort.by, way);
        // Writing to a string does not fail.
        let _infallible = write!(sql, " LIMIT {}", to.limit());
        sql
    }

    /// The rows of some ids, in no order, with the columns of [`Shape::rows`].
    pub(crate) fn of_ids(&self, to: &mut Parameters) -> String {
        let mut sql = self.select(to);
        let _infallible = write!(sql, " WHERE id = ANY({})", to.ids());
        sql
    }

    /// Ids and keys of some ids, in no order.
    pub(crate) fn keys_of_ids(&self, to: &mut Parameters) -> String {
        let key = key_column(self.sort.by).unwrap_or("NULL::bytea");
        format!("SELECT id, {key} FROM users WHERE id = ANY({})", to.ids())
    }

    /// Ids and keys of the driver's rows, in no order.
    pub(crate) fn driven(&self, to: &mut Parameters) -> String {
        let key = key_column(self.sort.by).unwrap_or("NULL::bytea");
        self.of_driver(&format!("SELECT id, {key} FROM users"), to)
    }

    /// The driver's rows, showing whether each meets the other conditions.
    pub(crate) fn matches(&self, to: &mut Parameters) -> String {
        let condition = self.residual(to).unwrap_or_else(|| "true".to_owned());
        self.of_driver(&format!("SELECT {condition} FROM users"), to)
    }

    fn of_driver(&self, select: &str, to: &mut Parameters) -> String {
        let mut sql = select.to_owned();
        match self.driver.condition() {
            Some(condition) => self.along(condition, Start::First, &mut sql, to),
            None => {
                let _infallible = write!(sql, " WHERE id = ANY({})", to.ids());
            }
        }
        let _infallible = write!(sql, " LIMIT {}", to.limit());
        sql
    }

    /// The rows of one key, in the order of ids. The key stands in a range, not an equality, so
    /// that no index but its own has the rows in this order.
    fn along(&self, condition: Condition, start: Start, sql: &mut String, to: &mut Parameters) {
        let (_, way) = way(self.sort.direction);
        let (column, key) = (condition.column(), to.equal(condition, self.equals));
        let _infallible = match (condition, start, self.sort.direction) {
            (Condition::Username, ..) => return push(sql, &[" WHERE ", column, " = ", &key]),
            (_, Start::First, _) => {
                write!(sql, " WHERE {column} >= {key} AND {column} <= {key}")
            }
            (_, Start::After, Direction::Ascending) => {
                let id = to.after_id();
                write!(sql, " WHERE ({column}, id) > ({key}, {id}) AND {column} <= {key}")
            }
            (_, Start::After, Direction::Descending) => {
                let id = to.after_id();
                write!(sql, " WHERE ({column}, id) < ({key}, {id}) AND {column} >= {key}")
            }
        };
        let _infallible = write!(sql, " ORDER BY {column}{way}, id{way}");
    }

    fn select(&self, to: &mut Parameters) -> String {
        let key = key_column(self.sort.by).unwrap_or("NULL::bytea");
        match self.residual(to) {
            Some(condition) => format!(
                "SELECT id, version, {key}, CASE WHEN {condition} THEN record END FROM users"
            ),
            None => format!("SELECT id, version, {key}, record FROM users"),
        }
    }

    /// The conditions that the driver does not answer, if there are any.
    fn residual(&self, to: &mut Parameters) -> Option<String> {
        let tests: Vec<String> = self
            .driver
            .residuals(self.equals)
            .map(|condition| {
                format!("{} = {}", condition.column(), to.equal(condition, self.equals))
            })
            .collect();
        (!tests.is_empty()).then(|| tests.join(" AND "))
    }
}

const fn way(direction: Direction) -> (char, &'static str) {
    match direction {
        Direction::Ascending => ('>', ""),
        Direction::Descending => ('<', " DESC"),
    }
}

/// The rows behind a place. Of a user name, which one row has, also the row at the place itself:
/// whoever reads passes over it.
fn behind(sql: &mut String, word: &str, by: SortBy, comparison: char, to: &mut Parameters) {
    let _infallible = match (by, key_column(by)) {
        (SortBy::Username, Some(key)) => {
            write!(sql, " {word} {key} {comparison}= {}", to.after_key())
        }
        (_, Some(key)) => {
            let (after, id) = (to.after_key(), to.after_id());
            write!(sql, " {word} ({key}, id) {comparison} ({after}, {id})")
        }
        (_, None) => write!(sql, " {word} id {comparison} {}", to.after_id()),
    };
}

/// The order of an index. The one of user names has no id: each name is one row's.
pub(super) fn order(sql: &mut String, by: SortBy, way: &str) {
    let _infallible = match (by, key_column(by)) {
        (SortBy::Username, Some(key)) => write!(sql, " ORDER BY {key}{way}"),
        (_, Some(key)) => write!(sql, " ORDER BY {key}{way}, id{way}"),
        (_, None) => write!(sql, " ORDER BY id{way}"),
    };
}

fn push(sql: &mut String, parts: &[&str]) {
    for part in parts {
        sql.push_str(part);
    }
}

/// A statement that tells the head of the log in a first row, and then the rows of another one:
/// both are one snapshot.
pub(crate) fn with_head(rows: &str, by: SortBy) -> String {
    let key = match by {
        SortBy::UpdatedAt => "NULL::bigint",
        SortBy::Id | SortBy::Username | SortBy::Email | SortBy::FamilyName | SortBy::Name => {
            "NULL::bytea"
        }
    };
    format!(
        "SELECT NULL::uuid, position, {key}, NULL::text, active, suspended FROM log_head \
         WHERE number = 1 UNION ALL (SELECT rows.*, NULL::bigint, NULL::bigint FROM ({rows}) \
         AS rows)"
    )
}
