//! The statements of a page.
//!
//! Each names the index that it reads (`INDEXED BY`), so that no statistics and no release of
//! SQLite can turn a page into a scan. A row of another status is stepped over without its record
//! being read. No statement has a limit; rows are stepped one by one.

use std::fmt::Write as _;

use roster_core::{
    list::{Direction, Sort, SortBy},
    plan::{Index, Lookup, Range},
};

use super::range::Bounds;

/// The parameter of the key that a page begins after.
pub(crate) const AFTER_KEY: usize = 1;
/// The parameter of the id that a page begins after, and of the id of a single row.
pub(crate) const AFTER_ID: usize = 2;
/// The parameter of the lower bound of a range.
pub(crate) const FROM: usize = 3;
/// The parameter of the upper bound of a range.
pub(crate) const TO: usize = 4;
/// The parameter of the status.
pub(crate) const STATUS: usize = 5;

/// The users that have an e-mail address besides their primary one.
pub(crate) const FURTHER_EMAIL: &str = "SELECT id FROM further_keys WHERE kind = 0 AND key = ?1";
/// The users that have a telephone number besides their primary one.
pub(crate) const FURTHER_PHONE_NUMBER: &str =
    "SELECT id FROM further_keys WHERE kind = 1 AND key = ?1";
/// The users that have a word of a beginning, once for each such word.
pub(crate) const WORDS: &str = "SELECT id FROM words WHERE word >= ?1 AND word <= ?2";

/// The users of one key of a column.
pub(crate) const fn key(lookup: &Lookup) -> &'static str {
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

/// Whether a range has its rows in this order by its keys. Otherwise it has one key, and its rows
/// are in the order of ids.
pub(super) fn is_in_order(range: &Range, sort: Sort) -> bool {
    range.index == Index::Sort(sort.by)
}

/// The rows of a range in the order of the page: id, version, key, record (NULL for another
/// status).
pub(crate) fn along(
    range: &Range,
    sort: Sort,
    bounds: &Bounds,
    is_after: bool,
    has_status: bool,
) -> String {
    let mut sql = select(sort.by, has_status);
    let _infallible = write!(sql, " INDEXED BY {}", index(range.index));
    let column = range.index.column();
    let word = bounds.write(&mut sql, column);
    let (comparison, way) = match sort.direction {
        Direction::Ascending => ('>', ""),
        Direction::Descending => ('<', " DESC"),
    };
    // Writing to a string does not fail.
    if is_in_order(range, sort) && column != "id" {
        if is_after {
            let after = format!("({column}, id) {comparison} (?{AFTER_KEY}, ?{AFTER_ID})");
            let _infallible = write!(sql, " {word} {after}");
        }
        let _infallible = write!(sql, " ORDER BY {column}{way}, id{way}");
    } else {
        if is_after {
            let _infallible = write!(sql, " {word} id {comparison} ?{AFTER_ID}");
        }
        let _infallible = write!(sql, " ORDER BY id{way}");
    }
    sql
}

/// The row of one id, with the columns of [`along`].
pub(crate) fn row(by: SortBy, has_status: bool) -> String {
    format!("{} INDEXED BY users_id WHERE id = ?{AFTER_ID}", select(by, has_status))
}

/// The key of one id.
pub(crate) fn place(by: SortBy) -> String {
    let key = Index::Sort(by).column();
    format!("SELECT {key} FROM users INDEXED BY users_id WHERE id = ?{AFTER_ID}")
}

/// The ids of a range, in no order.
pub(crate) fn ids(range: &Range, bounds: &Bounds) -> String {
    within("id", range, bounds)
}

/// The rows of a range, without a value.
pub(crate) fn rows_of(range: &Range, bounds: &Bounds) -> String {
    within("1", range, bounds)
}

fn within(what: &str, range: &Range, bounds: &Bounds) -> String {
    let mut sql = format!("SELECT {what} FROM users INDEXED BY {}", index(range.index));
    bounds.write(&mut sql, range.index.column());
    sql
}

fn select(by: SortBy, has_status: bool) -> String {
    let key = if by == SortBy::Id { "NULL" } else { Index::Sort(by).column() };
    let record = if has_status {
        format!("CASE WHEN status IS ?{STATUS} THEN record END")
    } else {
        "record".to_owned()
    };
    format!("SELECT id, version, {key}, {record} FROM users")
}

const fn index(index: Index) -> &'static str {
    match index {
        Index::Sort(SortBy::Id) => "users_id",
        Index::Sort(SortBy::UpdatedAt) => "users_updated_at",
        Index::Sort(SortBy::Username) => "users_username",
        Index::Sort(SortBy::Email) => "users_email",
        Index::Sort(SortBy::FamilyName) => "users_family_name",
        Index::Sort(SortBy::Name) => "users_name",
        Index::ExternalId => "users_external_id",
        Index::PhoneNumber => "users_phone_number",
        Index::Status => "users_status",
    }
}
