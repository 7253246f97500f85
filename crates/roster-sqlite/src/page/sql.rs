//! The statements of a page.
//!
//! Each names the index it reads along (`INDEXED BY`), so that no statistics and no release of
//! SQLite can turn a page into a scan. Conditions that the index does not answer are a `CASE`
//! around the record: a row that fails them is stepped over without its record being read. No
//! limit stands in a statement; rows are stepped one by one.

use std::fmt::Write as _;

use super::range::{self, Bounds};
use roster_core::{
    list::{Direction, Equals, Sort, SortBy},
    plan::{Condition, Driver, Lookup},
};

/// The parameter of the key that a page begins after.
pub(crate) const AFTER_KEY: usize = 1;
/// The parameter of the id that a page begins after, and of the id of a single row.
pub(crate) const AFTER_ID: usize = 2;

/// The number of a condition's parameter.
pub(crate) const fn parameter(condition: Condition) -> usize {
    match condition {
        Condition::Username => 3,
        Condition::Email => 4,
        Condition::ExternalId => 5,
        Condition::PhoneNumber => 6,
        Condition::Status => 7,
    }
}

/// The index of a condition's column.
const fn index(condition: Condition) -> &'static str {
    match condition {
        Condition::Username => "users_username",
        Condition::Email => "users_email",
        Condition::ExternalId => "users_external_id",
        Condition::PhoneNumber => "users_phone_number",
        Condition::Status => "users_status",
    }
}

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

pub(super) const fn sort_index(by: SortBy) -> &'static str {
    match by {
        SortBy::Id => "users_id",
        SortBy::UpdatedAt => "users_updated_at",
        SortBy::Username => "users_username",
        SortBy::Email => "users_email",
        SortBy::FamilyName => "users_family_name",
        SortBy::Name => "users_name",
    }
}

/// The users that hold a key beside their primary address.
pub(crate) const ANY_EMAIL: &str = "SELECT id FROM further_keys WHERE kind = 0 AND key = ?1";
/// The users that hold a key beside their primary number.
pub(crate) const ANY_PHONE_NUMBER: &str = "SELECT id FROM further_keys WHERE kind = 1 AND key = ?1";
/// The users that hold a word of a beginning, once for each such word.
pub(crate) const WORDS: &str = "SELECT id FROM words WHERE word >= ?1 AND word <= ?2";

/// The users of one key of a column.
pub(crate) const fn lookup(lookup: &Lookup) -> &'static str {
    match lookup {
        Lookup::Id(_) => "SELECT id FROM users INDEXED BY users_id WHERE id = ?1",
        Lookup::Username(_) => {
            "SELECT id FROM users INDEXED BY users_username WHERE username_key = ?1"
        }
        Lookup::Email(_) | Lookup::AnyEmail(_) => {
            "SELECT id FROM users INDEXED BY users_email WHERE email_key = ?1"
        }
        Lookup::ExternalId(_) => {
            "SELECT id FROM users INDEXED BY users_external_id WHERE external_id = ?1"
        }
        Lookup::PhoneNumber(_) | Lookup::AnyPhoneNumber(_) => {
            "SELECT id FROM users INDEXED BY users_phone_number WHERE phone_number_key = ?1"
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

impl Shape<'_> {
    /// The rows of the page in order: id, version, key, record (NULL where a condition fails).
    pub(crate) fn rows(&self, after: bool) -> String {
        let mut sql = String::with_capacity(256);
        self.select(&mut sql);
        let (comparison, way) = match self.sort.direction {
            Direction::Ascending => ('>', ""),
            Direction::Descending => ('<', " DESC"),
        };
        let key = if let Some(condition) = self.driver.condition() {
            from(&mut sql, condition);
            sql.push_str(if after { " AND " } else { "" });
            None
        } else {
            push(&mut sql, &[" FROM users INDEXED BY ", sort_index(self.sort.by)]);
            sql.push_str(if after { " WHERE " } else { "" });
            key_column(self.sort.by)
        };
        // Writing to a string does not fail.
        let _infallible = match (key, after) {
            (Some(key), true) => write!(
                sql,
                "({key}, id) {comparison} (?{AFTER_KEY}, ?{AFTER_ID}) \
                 ORDER BY {key}{way}, id{way}"
            ),
            (Some(key), false) => write!(sql, " ORDER BY {key}{way}, id{way}"),
            (None, true) => write!(sql, "id {comparison} ?{AFTER_ID} ORDER BY id{way}"),
            (None, false) => write!(sql, " ORDER BY id{way}"),
        };
        sql
    }

    /// The rows of a range of the wanted order, with the columns of [`Shape::rows`].
    pub(crate) fn rows_in(&self, bounds: &Bounds, after: bool) -> String {
        let mut sql = String::with_capacity(256);
        self.select(&mut sql);
        range::walk(&mut sql, self.sort, bounds, after);
        sql
    }

    /// The row of one id, with the columns of [`Shape::rows`].
    pub(crate) fn row(&self) -> String {
        let mut sql = String::with_capacity(256);
        self.select(&mut sql);
        one(&mut sql);
        sql
    }

    /// Ids and keys of the driver's rows, in no order.
    pub(crate) fn keys(&self) -> String {
        let key = key_column(self.sort.by).unwrap_or("NULL");
        self.of_driver(&format!("SELECT id, {key}"))
    }

    /// The driver's rows, showing nothing.
    pub(crate) fn driven(&self) -> String {
        self.of_driver("SELECT 1")
    }

    /// The driver's rows, showing whether each meets the other conditions.
    pub(crate) fn matches(&self) -> String {
        let mut sql = String::from("SELECT ");
        if !self.residual(&mut sql) {
            sql.push('1');
        }
        self.of_driver(&sql)
    }

    fn of_driver(&self, select: &str) -> String {
        let mut sql = String::from(select);
        match self.driver.condition() {
            Some(condition) => from(&mut sql, condition),
            None => one(&mut sql),
        }
        sql
    }

    fn select(&self, sql: &mut String) {
        push(sql, &["SELECT id, version, ", key_column(self.sort.by).unwrap_or("NULL"), ", "]);
        let mut condition = String::new();
        if self.residual(&mut condition) {
            push(sql, &["CASE WHEN ", &condition, " THEN record END"]);
        } else {
            sql.push_str("record");
        }
    }

    /// Writes the conditions that the driver does not answer; false if there is none.
    fn residual(&self, sql: &mut String) -> bool {
        let mut any = false;
        for condition in self.driver.residuals(self.equals) {
            let and = if any { " AND " } else { "" };
            let _infallible =
                write!(sql, "{and}{} IS ?{}", condition.column(), parameter(condition));
            any = true;
        }
        any
    }
}

fn from(sql: &mut String, condition: Condition) {
    push(sql, &[" FROM users INDEXED BY ", index(condition), " WHERE ", condition.column()]);
    let _infallible = write!(sql, " = ?{}", parameter(condition));
}

fn one(sql: &mut String) {
    let _infallible = write!(sql, " FROM users INDEXED BY users_id WHERE id = ?{AFTER_ID}");
}

fn push(sql: &mut String, parts: &[&str]) {
    for part in parts {
        sql.push_str(part);
    }
}
