//! The statements of a page.
//!
//! Each is written so that one index alone has its rows in its order: keys are ranges of that
//! index, and the order names all its columns. So no statistics turn a page into a scan. A row of
//! another status is stepped over without its record being sent.

use std::{fmt::Write as _, ops::Bound};

use roster_core::{
    Status, UserId,
    list::{Direction, PageKey, Sort, SortBy},
    plan::{Index, Lookup, Range},
};

use super::parameters::Parameters;
use crate::columns::status_number;

/// The users that have a key besides their primary address or number.
pub(crate) const FURTHER: &str =
    "SELECT id FROM further_keys WHERE kind = $1 AND key = $2 ORDER BY kind, key, id LIMIT $3";

/// The users that have a word of a beginning, once for each such word.
pub(crate) const WORDS: &str =
    "SELECT id FROM words WHERE word >= $1 AND word <= $2 ORDER BY word, id LIMIT $3";

/// The users of one key of a column.
pub(crate) const fn key(lookup: &Lookup) -> &'static str {
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

/// The rows of a range in the order of the page, after a row: id, version, key, record (NULL for
/// another status). Of user names, the first row may be that row itself.
pub(crate) fn along(
    range: &Range,
    sort: Sort,
    after: Option<&PageKey>,
    status: Option<Status>,
    limit: usize,
    to: &mut Parameters,
) -> String {
    let mut sql = select(sort.by, status, to);
    if range.index == Index::Sort(sort.by) {
        let after = after.filter(|after| range.begins_after(after, sort));
        // The row replaces the bound that it has passed.
        let replaced = after.map(|_| sort.direction);
        let word = bounds(&mut sql, range, replaced, to);
        if let Some(after) = after {
            follow(&mut sql, word, sort, after, to);
        }
    } else {
        of_key(&mut sql, range, sort.direction, after, to);
    }
    order(&mut sql, range.index, sort.direction);
    let _infallible = write!(sql, " LIMIT {}", to.limit(limit));
    sql
}

/// The rows of some ids, in no order, with the columns of [`along`].
pub(crate) fn rows(
    ids: &[UserId],
    by: SortBy,
    status: Option<Status>,
    to: &mut Parameters,
) -> String {
    let select = select(by, status, to);
    format!("{select} WHERE id = ANY({})", to.ids(ids))
}

/// The keys and ids of some ids, in no order.
pub(crate) fn places(ids: &[UserId], by: SortBy, to: &mut Parameters) -> String {
    format!("SELECT {}, id FROM users WHERE id = ANY({})", key_column(by), to.ids(ids))
}

/// The ids of a range.
pub(crate) fn ids(range: &Range, limit: usize, to: &mut Parameters) -> String {
    within("SELECT id FROM users", range, limit, to)
}

/// How many rows a range has, up to a limit.
pub(crate) fn count(range: &Range, limit: usize, to: &mut Parameters) -> String {
    let rows = within("SELECT FROM users", range, limit, to);
    format!("SELECT count(*) FROM ({rows}) AS counted")
}

fn within(select: &str, range: &Range, limit: usize, to: &mut Parameters) -> String {
    let mut sql = select.to_owned();
    bounds(&mut sql, range, None, to);
    order(&mut sql, range.index, Direction::Ascending);
    let _infallible = write!(sql, " LIMIT {}", to.limit(limit));
    sql
}

fn select(by: SortBy, status: Option<Status>, to: &mut Parameters) -> String {
    let record = match status {
        Some(status) => {
            format!("CASE WHEN status = {} THEN record END", to.push(status_number(status)))
        }
        None => "record".to_owned(),
    };
    format!("SELECT id, version, {}, {record} FROM users", key_column(by))
}

fn key_column(by: SortBy) -> &'static str {
    if by == SortBy::Id { "NULL::bytea" } else { Index::Sort(by).column() }
}

/// Writes the bounds of a range, but the one that a walk in the `replaced` direction begins at.
/// Gives the word that a further condition begins with. Absent keys, which follow every text, are
/// in no range but the whole index.
fn bounds(
    sql: &mut String,
    range: &Range,
    replaced: Option<Direction>,
    to: &mut Parameters,
) -> &'static str {
    let column = range.index.column();
    let mut word = "WHERE";
    if replaced != Some(Direction::Ascending)
        && let Bound::Included(key) | Bound::Excluded(key) = &range.from
    {
        let comparison = if matches!(range.from, Bound::Included(_)) { ">=" } else { ">" };
        // Writing to a string does not fail.
        let _infallible = write!(sql, " WHERE {column} {comparison} {}", to.bound(key));
        word = "AND";
    }
    if replaced == Some(Direction::Descending) {
        return word;
    }
    let is_text = !matches!(range.index, Index::Sort(SortBy::Id | SortBy::UpdatedAt));
    let _infallible = match &range.to {
        Bound::Included(key) => write!(sql, " {word} {column} <= {}", to.bound(key)),
        Bound::Excluded(key) => write!(sql, " {word} {column} < {}", to.bound(key)),
        Bound::Unbounded if is_text && !range.is_whole() => {
            write!(sql, " {word} {column} < '\\xff'")
        }
        Bound::Unbounded => return word,
    };
    "AND"
}

/// Writes the rows that follow one in the order of the index. The index of user names has no id.
fn follow(sql: &mut String, word: &str, sort: Sort, after: &PageKey, to: &mut Parameters) {
    let column = Index::Sort(sort.by).column();
    let comparison = if sort.direction == Direction::Ascending { '>' } else { '<' };
    let _infallible = match sort.by {
        SortBy::Id => write!(sql, " {word} id {comparison} {}", to.id(after.id)),
        SortBy::Username => {
            write!(sql, " {word} {column} {comparison}= {}", to.sort_key(&after.key))
        }
        SortBy::UpdatedAt | SortBy::Email | SortBy::FamilyName | SortBy::Name => {
            let (key, id) = (to.sort_key(&after.key), to.id(after.id));
            write!(sql, " {word} ({column}, id) {comparison} ({key}, {id})")
        }
    };
}

/// Writes the rows of one key that follow an id. The key is a range and not an equality, so that no
/// index but its own has the rows in this order.
fn of_key(
    sql: &mut String,
    range: &Range,
    direction: Direction,
    after: Option<&PageKey>,
    to: &mut Parameters,
) {
    let Some(key) = range.key() else { return };
    let (column, key) = (range.index.column(), to.bound(key));
    let _infallible = match after {
        // At most one row has a user name.
        _ if range.index == Index::Sort(SortBy::Username) => write!(sql, " WHERE {column} = {key}"),
        None => write!(sql, " WHERE {column} >= {key} AND {column} <= {key}"),
        Some(after) => {
            let id = to.id(after.id);
            let (follows, bound) = match direction {
                Direction::Ascending => ('>', "<="),
                Direction::Descending => ('<', ">="),
            };
            write!(sql, " WHERE ({column}, id) {follows} ({key}, {id}) AND {column} {bound} {key}")
        }
    };
}

/// The order of an index. That of user names has no id: each name is one row's.
fn order(sql: &mut String, index: Index, direction: Direction) {
    let way = if direction == Direction::Ascending { "" } else { " DESC" };
    let column = index.column();
    let has_no_id = matches!(index, Index::Sort(SortBy::Id | SortBy::Username));
    let id = if has_no_id { String::new() } else { format!(", id{way}") };
    let _infallible = write!(sql, " ORDER BY {column}{way}{id}");
}

/// A statement with the head of the log in its first row, and then the rows of another statement:
/// both are one snapshot.
pub(crate) fn with_head(rows: &str, by: SortBy) -> String {
    let key = if by == SortBy::UpdatedAt { "NULL::bigint" } else { "NULL::bytea" };
    format!(
        "SELECT NULL::uuid, position, {key}, NULL::text, active, suspended FROM log_head \
         WHERE number = 1 UNION ALL (SELECT rows.*, NULL::bigint, NULL::bigint FROM ({rows}) \
         AS rows)"
    )
}
